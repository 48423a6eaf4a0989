"""`InProcess`: mailboxes in memory, for agents of one process; the default."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accord.agents.runtime.estates import Left
from accord.agents.runtime.letters import MOST_REMEMBERED, Delivery
from accord.agents.runtime.transport import Transport
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.agents.following import Part
    from accord.agents.runtime.activity import Pause
    from accord.agents.runtime.estates import Will
    from accord.agents.runtime.letters import Begun, Key, Letter

__all__ = ["InProcess"]


@dataclass(eq=False)
class _Place:
    """Somebody who waits for room in a lane."""

    lane: str
    pause: Pause
    let_in: bool = False


@dataclass
class _Box:
    capacity: int
    parts: tuple[Part, ...] = ()
    waiting: deque[Delivery] = field(default_factory=deque)
    taken: dict[str, Delivery] = field(default_factory=dict)
    lanes: Counter[str] = field(default_factory=Counter)
    full: deque[_Place] = field(default_factory=deque)
    begun: dict[Key, Begun] = field(default_factory=dict)
    broken: deque[Key] = field(default_factory=lambda: deque(maxlen=MOST_REMEMBERED))
    is_open: bool = False
    arrival: asyncio.Future[None] | None = None


class InProcess(Transport):
    """Mailboxes in memory; supervisors of one event loop can share them."""

    def __init__(self) -> None:
        self._boxes: dict[str, _Box] = {}
        self._posted = 0

    async def open(self, name: str, wills: Sequence[Will], capacity: int) -> Left:
        """Begin a life."""
        box = self._boxes.setdefault(name, _Box(capacity))
        if box.is_open:
            raise UsageError(f"there is an agent `{name}` already")
        box.is_open, box.capacity, box.parts = True, capacity, tuple([will.part for will in wills])
        again = sorted(box.taken.values(), key=lambda delivery: int(delivery.number))
        box.waiting.extendleft(reversed(again))
        box.taken.clear()
        return Left(list(box.begun.values()), list(box.broken))

    async def find(self, part: Part) -> list[str]:
        """All agents that play a role."""
        return sorted(name for name, box in self._boxes.items() if part in box.parts)

    async def parts(self, name: str) -> list[Part]:
        """What an agent plays."""
        return list(self._boxes[name].parts) if name in self._boxes else []

    async def post(self, name: str, letter: Letter, pause: Pause) -> None:
        """Put a letter into a mailbox."""
        box = self._boxes.get(name)
        if box is None:
            raise UsageError(f"there is no agent `{name}`")
        # Who has waited goes first: else somebody might wait forever.
        must_wait = not letter.gone and (box.lanes[letter.lane] >= box.capacity or self._queues(box, letter.lane))
        while must_wait:
            place = _Place(letter.lane, pause)
            box.full.append(place)
            try:
                await pause.wait()
            finally:
                if place in box.full:
                    box.full.remove(place)
            must_wait = box.lanes[letter.lane] >= box.capacity and not place.let_in
        self._posted += 1
        box.lanes[letter.lane] += 1
        box.waiting.append(Delivery(str(self._posted), letter))
        if box.arrival is not None and not box.arrival.done():
            box.arrival.set_result(None)

    @staticmethod
    def _queues(box: _Box, lane: str) -> bool:
        return any(place.lane == lane for place in box.full)

    async def take(self, name: str) -> Delivery:
        """The next letter."""
        box = self._boxes[name]
        while not box.waiting:
            box.arrival = asyncio.get_running_loop().create_future()
            await box.arrival
        delivery = box.waiting.popleft()
        box.taken[delivery.number] = delivery
        return delivery

    async def settle(self, name: str, numbers: Sequence[str]) -> None:
        """These letters are dealt with."""
        box = self._boxes[name]
        for number in numbers:
            delivery = box.taken.pop(number, None)
            if delivery is None:
                continue
            lane = delivery.letter.lane
            box.lanes[lane] -= 1
            if not box.lanes[lane]:
                del box.lanes[lane]
            for place in box.full:
                if place.lane == lane:
                    box.full.remove(place)
                    place.pause.wake()
                    break

    async def begin(self, name: str, begun: Begun) -> None:
        """Remember a conversation."""
        self._boxes[name].begun[begun.conversation, begun.part] = begun

    async def end(self, name: str, begun: Begun, numbers: Sequence[str], *, broken: bool) -> None:
        """Forget a conversation."""
        key = (begun.conversation, begun.part)
        self._boxes[name].begun.pop(key, None)
        if broken:
            self._boxes[name].broken.append(key)
        await self.settle(name, numbers)

    async def close(self, name: str) -> None:
        """The agent stops."""
        self._boxes[name].is_open = False

    def relieve(self) -> bool:
        """Let in one that waits for room, in the mailbox where the fewest letters are."""
        full = [box for box in self._boxes.values() if box.full]
        if not full:
            return False
        place = min(full, key=lambda box: sum(box.lanes.values())).full.popleft()
        place.let_in = True
        place.pause.wake()
        return True

    @property
    def untaken(self) -> int:
        """Letters that wait for a life that is there."""
        return sum(len(box.waiting) for box in self._boxes.values() if box.is_open)
