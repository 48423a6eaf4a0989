"""How a session under guard stands, in one word, wherever that is told.

A session that is stopped is `stopped`, although its contract may say that it could end here: nobody should take an
agent that was halted for one that is done. What is violated, incomplete or unrecognised for good keeps that word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from accord.monitor.step import Status, status

if TYPE_CHECKING:
    from accord.integrations.guard.state import State

__all__ = ["GuardStatus", "status_of"]

GuardStatus = Status | Literal["stopped"]


def status_of(state: State) -> GuardStatus:
    """`running`, `complete`, `stopped`, `violated`, `incomplete` or `unrecognised`, as if calls that are out failed."""
    found = status(state.settled)
    if found == "complete" and state.lost() and not all(world.complete for world in state.worlds() or ()):
        found = "running"  # something is owed if a call has happened of which nobody knows
    return "stopped" if state.desk.stopped is not None and found in {"running", "complete"} else found
