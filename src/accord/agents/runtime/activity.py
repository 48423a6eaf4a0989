"""What is moving: so that one can wait until nothing is, and say who moves next.

Everything that can move is counted while it moves. Whoever waits for somebody else in this process waits by a `Pause`,
and who wakes it counts it again in the same moment, so that the count is never too low. When it falls to zero and no
letter is under way, everything waits: then a schedule, if there is one, lets one of those go on that wait for their
turn, and if there are none, all has settled.

Whoever waits for the world outside (a model, a timer, a server) is moving.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.agents.runtime.transport import Transport

__all__ = ["Activity", "Pause", "Presence", "Schedule"]

Schedule = Callable[[Sequence[str]], int]
"""Who goes on: given what waits for its turn, in words, the index of one. See `accord.testing.schedules`."""


class Activity:
    """The count of what moves in one supervisor."""

    def __init__(self, transport: Transport, schedule: Schedule | None) -> None:
        self._transport = transport
        self._schedule = schedule
        self._moving = 0
        self._turns: list[tuple[str, Pause]] = []
        self._settled: list[asyncio.Future[None]] = []

    def begin(self) -> None:
        """One more moves."""
        self._moving += 1

    def finish(self) -> None:
        """One less moves."""
        self._moving -= 1
        if not self._moving and not self._transport.untaken:
            self._rest()

    async def turn(self, what: str, presence: Presence) -> None:
        """Wait for one's turn, if there is a schedule."""
        if self._schedule is None:
            return
        pause = Pause(presence)
        self._turns.append((what, pause))
        try:
            await pause.wait()
        finally:
            self._turns = [(words, other) for words, other in self._turns if other is not pause]

    async def settled(self) -> None:
        """Wait until nothing moves, as somebody who is not counted."""
        await asyncio.sleep(0)  # what was started in this moment is counted when it runs
        while self._moving or self._transport.untaken:
            future = asyncio.get_running_loop().create_future()
            self._settled.append(future)
            try:
                await future  # then it is looked at again: meanwhile something may have crashed
            finally:
                self._settled.remove(future)

    def _rest(self) -> None:
        if self._schedule is not None and self._turns:
            chosen = self._schedule([words for words, _ in self._turns])
            self._turns.pop(chosen)[1].wake()
            return
        if self._transport.relieve():
            return
        for future in self._settled:
            if not future.done():
                future.set_result(None)


class Presence:
    """One strand in the count: it moves, unless a task of it waits for somebody.

    A handler may start tasks of its own and wait in several of them. It is not known what those do that do not wait
    here, so one that waits is enough for the strand to count as waiting.
    """

    __slots__ = ("_activity", "_ended", "_moves", "_waiting")

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._moves = True
        self._waiting = 0
        self._ended = False

    def rest(self) -> None:
        """A task of it begins to wait."""
        self._waiting += 1
        self.look()

    def look(self) -> None:
        """A task of it has begun to wait, or is over: does any other one wait?"""
        if self._waiting and self._moves and not self._ended:
            self._moves = False
            self._activity.finish()

    def move(self) -> None:
        """A task of it goes on."""
        if not self._moves and not self._ended:
            self._moves = True
            self._activity.begin()

    def wait_is_over(self) -> None:
        """A task of it does not wait any more."""
        self._waiting -= 1

    def end(self) -> None:
        """It counts no longer."""
        if self._moves and not self._ended:
            self._activity.finish()
        self._ended = True


class Pause:
    """A place to wait until somebody calls `wake`; a call that comes too early is not lost."""

    __slots__ = ("_future", "_presence", "_woken")

    def __init__(self, presence: Presence) -> None:
        self._presence = presence
        self._future: asyncio.Future[None] | None = None
        self._woken = False

    def wake(self) -> None:
        """Let whoever waits go on, or whoever is about to wait."""
        if self._future is None:
            self._woken = True
        elif not self._future.done():
            self._presence.move()  # INVARIANT: counted before it runs, so that nobody believes that all is at rest
            self._future.set_result(None)

    async def wait(self) -> None:
        """Wait until woken."""
        if self._woken:
            self._woken = False
            return
        self._future = future = asyncio.get_running_loop().create_future()
        self._presence.rest()
        try:
            await future
        finally:
            self._future = None
            self._presence.wait_is_over()
            self._presence.move()
