"""How a session under guard stands, in one word, wherever that is told.

A session that is stopped is `stopped`, although its contract may say that it could end here: nobody should take an
agent that was halted for one that is done. What is violated, incomplete or unrecognised for good keeps that word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from accord.calls.entries import Out
from accord.calls.state import Calls
from accord.monitor.step import Status, status

if TYPE_CHECKING:
    from accord.integrations.guard.state import State

__all__ = ["GuardStatus", "status_of"]

GuardStatus = Status | Literal["stopped"]


def status_of(state: State) -> GuardStatus:
    """`running`, `complete`, `stopped`, `violated`, `incomplete` or `unrecognised`, as if calls that are out failed."""
    found = status(state.settled)
    if state.lost() and found in {"running", "complete"}:  # is nothing owed, whatever became of them?
        known = tuple([logged for logged in state.log if type(logged) is not Out or logged.lost is not None])
        here = Calls(state.settled, known).worlds()
        found = "complete" if here and all(world.complete for world in here) else "running"
    return "stopped" if state.desk.stopped is not None and found in {"running", "complete"} else found
