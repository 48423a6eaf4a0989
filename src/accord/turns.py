"""One step at a time under a lock, also within one thread.

A lock keeps other threads out of a step. It does not keep out what its own thread runs in the middle of one: a
finalizer or the callback of a weak reference, which run wherever garbage is collected, the handler of a signal, a
function of the caller that is asked something meanwhile. If that takes a step under the same lock, it waits for itself
for ever; if the lock may be taken twice, it finds a step half taken. So it is told that it is not its turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import UsageError

if TYPE_CHECKING:
    from threading import RLock

__all__ = ["check_turn"]


def check_turn(lock: RLock) -> None:
    """`UsageError` if this thread is in the middle of what the lock is for; asked right before it is taken.

    INVARIANT: the lock itself knows its thread, from the moment it is taken. A note of ours would come too late, and an
    interrupt could leave it behind.
    """
    if lock._is_owned():  # type: ignore[attr-defined] # noqa: SLF001 - as `threading.Condition` asks it
        raise UsageError(
            "this thread is taking a step already, and has come here in the middle of it, by a finalizer, a signal or "
            "a function that it calls: one step at a time"
        )
