"""What has happened since a call was lost goes before it, where that makes no difference to anybody.

Nobody may ever say what became of a lost call, and its session goes on: everything that has a part in common with it
would stay in the log, and each step would look at all of that again. But of two payments under a budget it does not
matter which came first. So what has happened for certain is moved before the calls that are lost, and forgotten there,
if every part that they concern stands where it stood the other way round, whatever becomes of them and however they
have ended.

It is tried with the last few steps together, because what leads away from a place and back (a call and its result)
makes no difference only as a whole. What does make a difference stays in the log until the call is resolved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.calls.ends import after_every_end
from accord.calls.entries import Firm, Out
from accord.calls.worlds import has_happened, parts, take, worlds
from accord.machine.events import Event
from accord.machine.extent import Extent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accord.calls.entries import Logged, Step
    from accord.calls.footprint import Footprint
    from accord.machine.clocks import Time
    from accord.monitor.step import Situation

__all__ = ["overtake"]

_LONGEST = 8
"""So many steps are tried together."""
_FIRST = 24
"""Of so many entries: trying costs what has to be gone through, and where much makes a difference it would not pay."""


def overtake(settled: Situation, log: tuple[Logged, ...]) -> tuple[Situation, tuple[Logged, ...]]:
    """The session with a log that is as short as it can be while calls are lost.

    Calls that are running return soon; while there are any, nothing is moved.
    """
    if len(log) < 2 or type(log[-1]) is Out or any(type(one) is Out and one.lost is None for one in log):
        return settled, log
    moved = _with_one_moved(settled, log)
    while moved is not None:
        settled, log = moved
        moved = _with_one_moved(settled, log)
    return settled, log


def _with_one_moved(settled: Situation, log: tuple[Logged, ...]) -> tuple[Situation, tuple[Logged, ...]] | None:
    """The session after some steps were moved before all of its log; `None` if there are none that could be."""
    for start, end in _stretches(log):
        if end > _FIRST:
            continue
        before, steps = log[:start], [logged.step for logged in log[start:end] if type(logged) is Firm]
        if _may_overtake(settled, before, steps):
            after = _through(settled, steps)
            if after is not None:
                return after, (*_retimed(after, before), *log[end:])
    return None


def _stretches(log: tuple[Logged, ...]) -> Iterator[tuple[int, int]]:
    """The steps that are tried together: those at once behind a call, and the last ones."""
    calls = [place for place, logged in enumerate(log) if type(logged) is Out]
    for call, following in zip(calls, [*calls[1:], len(log)], strict=True):
        many = following - call - 1
        yield from ((call + 1, call + 1 + length) for length in range(1, min(many, _LONGEST) + 1))
        if following == len(log):
            yield from ((len(log) - length, len(log)) for length in range(1, min(many - 1, _LONGEST) + 1))


def _may_overtake(settled: Situation, log: Sequence[Logged], steps: Sequence[Step]) -> bool:
    """Whether nothing is different if these steps come before all of the log, instead of after it."""
    for place in range(len(log) - 1, -1, -1):
        here = worlds(settled, log[:place])
        if here is None or not all(_is_the_same(world, log[place], steps) for world in here):
            return False
    return True


def _is_the_same(world: Situation, logged: Logged, steps: Sequence[Step]) -> bool:
    """Whether an entry and the steps behind it lead to the same places in either order, step by step legally."""
    first = _through(world, steps)
    if first is None:
        return False
    (later,) = _retimed(first, (logged,))
    touches = logged.touches
    if type(logged) is Firm:
        mine, theirs = _through(world, [logged.step, *steps]), _through(first, [later.step])  # type: ignore[union-attr] # the same entry
        return mine is not None and theirs is not None and _stands_as(mine, theirs, touches)
    # INVARIANT: the protocol offers the same ends, with the same registers, in either order.
    if logged.ends and _protocol(world, touches) != _protocol(first, touches):  # type: ignore[union-attr] # it is out
        return False
    before, behind = _ways(world, logged), _ways(first, later)  # type: ignore[arg-type] # they are out
    if before is None or behind is None or len(before) != len(behind):
        return False
    for (supposed, taken), (other, there) in zip(before, behind, strict=True):
        mine = _through(taken, steps)
        if supposed != other or mine is None or not _stands_as(mine, there, touches):
            return False
    return True


def _through(world: Situation, steps: Sequence[Step]) -> Situation | None:
    """Where steps lead; `None` if one of them is not legal there."""
    for what in steps:
        world, verdict = take(world, what)
        if type(what) is Event and not has_happened(verdict):
            return None
    return world


def _ways(world: Situation, out: Out) -> list[tuple[object, Situation]] | None:
    """Where a lost call may lead that was made: it has ended in any way, or its end will be refused."""
    taken = _through(world, out.events)
    if taken is None:
        return None
    ways: list[tuple[object, Situation]] = [*after_every_end(taken, out.arguments, out.ends)]
    return ways if ways and not _may_be_refused(world, out, ways) else [(None, taken), *ways]


def _may_be_refused(world: Situation, out: Out, ways: Sequence[tuple[Any, Situation]]) -> bool:
    """Whether the protocol looks into an end of the call, or a rule forbids one."""
    machine = world.stage.stages.machine
    labels = [end.label for end in out.ends if not end.to_rules]
    symbols = [machine.symbols[number] for label in labels for number in machine.by_event.get(("?", label), ())]
    refusals = [is_refused for supposed, _ in ways for _, is_refused in filter(None, supposed)]
    return any(symbol.clauses for symbol in symbols) or any(refusals)


def _stands_as(one: Situation, other: Situation, touches: Footprint | None) -> bool:
    """Whether all parts stand in one as in the other, of instances those that are touched."""
    touched = None if touches is None else set(touches)
    same_time = not isinstance(one.holding, Extent) or one.holding.now == other.holding.now  # type: ignore[union-attr] # the same contract
    return same_time and list(parts(one, touched)) == list(parts(other, touched))


def _protocol(world: Situation, touches: Footprint | None) -> object:
    """Where the protocol stands, of a sliced one the instances that are touched."""
    held = world.holding
    if not isinstance(held, Extent):
        return world.standing, held
    if held.course is None:
        return world.standing, held.registers
    instances = held.course.instances
    if touches is None:
        return instances
    return [instances.get(part[1]) for part in touches if part[0] == "instance"]  # type: ignore[call-overload] # its key


def _retimed(first: Situation, log: Sequence[Logged]) -> tuple[Logged, ...]:
    """The entries as if they had happened when something else has, which they come after now."""
    held = first.holding
    if not isinstance(held, Extent) or held.now is None or not first.stage.stages.is_timed:
        return tuple(log)
    return tuple([_entry_at(logged, held.now) for logged in log])


def _entry_at(logged: Logged, now: Time) -> Logged:
    if type(logged) is Firm:
        step = logged.step
        late = step.at is None or step.at < now
        return logged._replace(step=step._replace(at=now)) if late else logged
    assert type(logged) is Out  # noqa: S101 - there is nothing else
    events = [event if event.time >= now else event._replace(at=now) for event in logged.events]
    return logged._replace(events=tuple(events))
