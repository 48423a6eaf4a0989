"""What a guard does when a protocol is over and the user speaks again: nothing, or the protocol begins again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.calls.entries import Firm, Restart
from accord.integrations.guard.decisions import Change, Remark
from accord.integrations.guard.reserving import pass_time
from accord.monitor.restart import is_done, restart

if TYPE_CHECKING:
    from accord.integrations.guard.policy import Policy
    from accord.integrations.guard.state import State
    from accord.machine.clocks import Time

__all__ = ["begin_turn"]


def begin_turn(policy: Policy, state: State, at: Time | None) -> Change[bool]:
    """A user's turn begins. Whether the protocol begins again: only if it is done whatever becomes of calls."""
    if policy.when_over != "restart":
        return Change(state, (), False)  # noqa: FBT003 - the answer
    passed = pass_time(policy, state, at)
    here = passed.state.worlds()
    if here is None or not all(map(is_done, here)) or all(restart(world, at) == world for world in here):
        return Change(state, (), False)  # noqa: FBT003 - the same
    after = passed.state.at(passed.state.calls.with_entry(Firm(Restart(at))))
    return Change(after, (*passed.notes, Remark("protocol begins again", {"at": at})), True)  # noqa: FBT003 - the same
