"""Where a session may be while calls are out: it depends on which of them count, and on how they end.

Each call that is out will not count, or counts and has not ended, or counts and ends in some way. Each choice of these
is a *world*. INVARIANT: what the agent does is legal in every world, so that whatever becomes of the calls that are
out, and whatever they return, everything that it has done stays legal. What reaches the agent has happened, whatever
others return later: for that, a call that is out has not ended.

There are more worlds than anybody could look at, and there is no need to. An event is legal if the protocol allows it
and every rule does, each for itself; and where a part of the session (the protocol, a rule, an instance) stands depends
on nothing but the events that are its business. So it is enough to look at some situations in which, taken together,
every part stands in every way it may stand: a *cover*. An event is legal in every world exactly if it is legal in all
situations of a cover. Calls that have no part in common with an event are left out altogether.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from accord.calls.ends import after_any_end
from accord.calls.entries import Firm, Passing
from accord.calls.footprint import called_in, footprint, related
from accord.errors import InternalError
from accord.machine.events import Event
from accord.machine.extent import Extent
from accord.monitor.in_parts import take_in_parts
from accord.monitor.quick import quick_step
from accord.monitor.restart import restart
from accord.monitor.step import step, tick
from accord.monitor.verdicts import OK, Blocked, Ok, Unrecognized, Violation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from accord.calls.entries import Logged, Out, Step
    from accord.language.values import Frozen
    from accord.monitor import Verdict
    from accord.monitor.step import Situation

__all__ = [
    "MOST",
    "TOO_MANY",
    "fold",
    "has_happened",
    "if_all_count",
    "judge",
    "parts",
    "take",
    "worlds",
    "worlds_about",
]

MOST = 256
"""Situations of a cover; if there were more, nothing else is let happen until a call has returned."""
_FEW = 8
"""So many situations are looked at as they are."""

TOO_MANY = Blocked("too many calls are out to tell what may follow; wait until one has returned")


def take(situation: Situation, what: Step) -> tuple[Situation, Verdict]:
    """One step in one world."""
    if type(what) is Event:
        quick = quick_step(situation, what)
        if quick is not None:
            return quick, OK
        return step(situation, what, "refuse")
    if type(what) is Passing:
        return tick(situation, "refuse", None, what.at)
    return restart(situation, what.at), OK


def has_happened(verdict: Verdict) -> bool:
    """Whether a session has gone on: a word that is not recognised is remembered, what is refused is not."""
    return type(verdict) is Ok or type(verdict) is Unrecognized


def worlds(settled: Situation, log: Sequence[Logged], *, ends: bool = True) -> list[Situation] | None:
    """A cover of where the session may be, the world in which every call counts first; `None` if it is too large.

    Without `ends`, as far as calls that are running have not ended.
    """
    here = [settled]
    for logged in log:
        if type(logged) is Firm:
            here = _distinct(_after(world, logged.step) for world in here)
        else:
            here = _distinct(_with_call(here, logged, ends))  # type: ignore[arg-type] # it is out
        if len(here) > _FEW:
            here = _cover(here, _touched(log))
            if len(here) > MOST:
                return None
    return here


def worlds_about(settled: Situation, log: tuple[Logged, ...], events: Sequence[Event]) -> list[Situation] | None:
    """The worlds in which events must be legal: calls that have nothing to do with them are as if not made.

    They are legal one after the other if that is so for each; the last of them is what the others are made for.
    """
    ends = events[-1].direction == "!"
    if len(log) > 1:
        stages = settled.stage.stages
        about = footprint(stages, events, partial(called_in, stages, settled.holding, log))
        if about is not None:
            return worlds(settled, related(log, about), ends=ends)
    return worlds(settled, log, ends=ends)


def if_all_count(settled: Situation, log: Sequence[Logged]) -> Situation:
    """The world in which every call counts and those that are running have not ended: the first of all worlds."""
    here = settled
    for logged in log:
        firm = type(logged) is Firm
        here = _after(here, logged.step) if firm else next(_with_call([here], logged, ends=False))  # type: ignore[union-attr,arg-type] # it is one or the other
    return here


def _with_call(here: list[Situation], out: Out, ends: bool) -> Iterator[Situation]:
    """The situations that there may be once a call is out, or lost: then, if it has happened, it has ended."""
    taken = here
    for event in out.events:
        taken = [_after(world, event) for world in taken]
    lost = out.lost is not None
    if not (lost and out.ends):
        yield from taken
    if out.ends and (ends or lost):
        for world in taken:
            yield from after_any_end(world, out.arguments, out.ends)
    if out.failure != "done":
        yield from here


def _after(world: Situation, what: Step) -> Situation:
    after, verdict = take(world, what)
    if type(what) is not Event or has_happened(verdict):
        return after
    if what.direction == "!":
        raise InternalError(f"what was let happen is not legal in every world: {what}")
    # What has reached the agent need not be legal where something else is supposed to have ended before.
    return take_in_parts(world, what)


def _distinct(situations: Iterable[Situation]) -> list[Situation]:
    distinct: list[Situation] = []
    for situation in situations:
        if situation not in distinct:
            distinct.append(situation)
    return distinct


def _cover(situations: list[Situation], touched: set[tuple[object, ...]] | None) -> list[Situation]:
    """Those of the situations in which some part stands in a way in which it stands in none before."""
    seen: set[object] = set()
    kept = []
    for situation in situations:
        its = set(parts(situation, touched))
        if not its <= seen:
            seen |= its
            kept.append(situation)
    return kept


def parts(situation: Situation, touched: set[tuple[object, ...]] | None) -> Iterator[object]:
    """How each part of a session stands; of instances, those that were touched."""
    stage, held = situation.stage, situation.holding
    yield type(situation.place)
    yield from enumerate(stage.rules)
    if not isinstance(held, Extent):
        yield stage.standing, held
        return
    yield stage.standing, held.registers
    course, slices = held.course, held.slices
    if course is not None:
        for key in _keys(course.instances, touched, "instance"):
            yield "instance", key, course.instances.get(key)
    for place, sliced in enumerate(slices):
        yield "called", place, sliced.called
        for key in _keys(sliced.instances, touched, "slice", place):
            yield place, key, sliced.instances.get(key)


def _keys(all_of: Iterable[Frozen], touched: set[tuple[object, ...]] | None, *kind: object) -> Iterable[Frozen]:
    """The keys of the instances that were touched; all of them if that may be any."""
    if touched is None:
        return all_of
    return [part[-1] for part in touched if part[:-1] == kind]  # type: ignore[misc] # the last of these is a key


def _touched(log: Sequence[Logged]) -> set[tuple[object, ...]] | None:
    """What all of this can change; `None` if that may be anything."""
    found: set[tuple[object, ...]] = set()
    for logged in log:
        if type(logged) is Firm and type(logged.step) is not Event:
            continue
        if logged.touches is None:
            return None
        found |= logged.touches
    return found


def judge(here: Sequence[Situation], steps: Sequence[Step]) -> tuple[Verdict, bool]:
    """The verdict on steps taken one after the other, which must be legal in all situations.

    Also whether it is a matter of calls that are out: whether they are legal in some of them. Where several clauses
    refuse, each in other worlds, the first of the contract is named, as where they refuse in one; it is explained for
    the world in which every call counts, if it refuses there.
    """
    verdicts = [_in_one(world, steps) for world in here]
    refused = [verdict for verdict in verdicts if type(verdict) is not Ok]
    verdict = min(refused, key=_clause_number) if len(refused) > 1 else refused[0] if refused else OK
    return verdict, len(refused) < len(verdicts)


def _clause_number(verdict: Verdict) -> int:
    """Where the clause stands that refused: the protocol before all rules."""
    return verdict.clause_number if type(verdict) is Violation else -1


def _in_one(world: Situation, steps: Sequence[Step]) -> Verdict:
    verdict: Verdict = OK
    for what in steps:
        world, verdict = take(world, what)
        if type(verdict) is not Ok:
            break
    return verdict


def fold(settled: Situation, log: tuple[Logged, ...]) -> tuple[Situation, tuple[Logged, ...]]:
    """The session with everything that is certain moved out of its log.

    What happened after a call went out is certain as well if it has no part in common with the call; so a call of which
    nobody knows what became of it does not keep everything after it from being forgotten.
    """
    left: list[Logged] = []
    barrier: set[tuple[object, ...]] | None = set()
    for logged in log:
        touches = logged.touches
        apart = barrier is not None and touches is not None and touches.isdisjoint(barrier)
        if type(logged) is Firm and (not left or apart):
            settled = _after(settled, logged.step)
            continue
        left.append(logged)
        barrier = None if barrier is None or touches is None else barrier | touches
    return settled, (tuple(left) if len(left) < len(log) else log)
