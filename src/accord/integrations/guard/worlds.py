"""Where a session may be while calls are out: once for each way in which they can end.

Each call that is out will count or will not. A *world* is where the session stands for one choice of these. INVARIANT:
what is let happen is legal in every world, so that whatever becomes of the calls that are out, everything that has
happened stays legal. Two calls of which one needs the other are therefore never out together, and of two that exclude
each other only one is.

Different choices mostly lead to the same place, so there are few worlds; if there are more than `MOST`, nothing else is
let happen until a call has returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import InternalError
from accord.integrations.guard.state import Firm, Passing, Restart, State
from accord.monitor.quick import quick_step
from accord.monitor.restart import restart
from accord.monitor.step import step, tick
from accord.monitor.verdicts import OK, Blocked, Ok

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accord.integrations.guard.state import Logged, Step
    from accord.monitor import Verdict
    from accord.monitor.step import Situation

__all__ = ["MOST", "TOO_MANY", "add", "fold", "judge", "worlds"]

MOST = 64
"""Worlds that are looked at; beyond, a call has to wait."""

TOO_MANY = Blocked("too many calls are out to tell what may follow; wait until one has returned")


def take(situation: Situation, what: Step) -> tuple[Situation, Verdict]:
    """One step in one world."""
    if isinstance(what, Passing):
        return tick(situation, "refuse", None, what.at)
    if isinstance(what, Restart):
        return restart(situation, what.at), OK
    quick = quick_step(situation, what)
    if quick is not None:
        return quick, OK
    return step(situation, what, "refuse")


def worlds(state: State) -> list[Situation] | None:
    """Where the session may be, the world in which every call counts first; `None` if there are too many."""
    here = [state.settled]
    for logged in state.log:
        if type(logged) is Firm:
            here = _distinct(_after(world, logged.step) for world in here)
            continue
        taken = here
        for event in logged.events:  # type: ignore[union-attr] # it is out
            taken = [_after(world, event) for world in taken]
        here = _distinct(taken if logged.kept else [*taken, *here])  # type: ignore[union-attr] # the same
        if len(here) > MOST:
            return None
    return here


def _after(world: Situation, what: Step) -> Situation:
    after, verdict = take(world, what)
    if type(verdict) is not Ok and type(what) is not Passing:
        raise InternalError(f"what was let happen is not legal in every world: {what}")
    return after


def _distinct(situations: Iterable[Situation]) -> list[Situation]:
    distinct: list[Situation] = []
    for situation in situations:
        if situation not in distinct:
            distinct.append(situation)
    return distinct


def judge(here: Sequence[Situation], steps: Sequence[Step]) -> tuple[Verdict, bool]:
    """The verdict on steps taken one after the other, which must be legal in all worlds.

    Also whether it is a matter of calls that are out: whether they are legal in some world. What is refused is
    explained for the world in which every call counts, if it is refused there.
    """
    verdicts = [_in_one(world, steps) for world in here]
    refused = [verdict for verdict in verdicts if type(verdict) is not Ok]
    return (refused[0] if refused else OK), len(refused) < len(verdicts)


def _in_one(world: Situation, steps: Sequence[Step]) -> Verdict:
    verdict: Verdict = OK
    for what in steps:
        world, verdict = take(world, what)
        if type(verdict) is not Ok:
            break
    return verdict


def add(state: State, logged: Logged) -> State:
    """The state after something more has happened."""
    return fold(state._replace(log=(*state.log, logged)))


def fold(state: State) -> State:
    """The state with everything that is certain moved out of its log."""
    settled, log = state.settled, state.log
    firm = 0
    for logged in log:
        if type(logged) is not Firm:
            break
        settled = _after(settled, logged.step)
        firm += 1
    return State(settled, log[firm:], state.desk) if firm else state
