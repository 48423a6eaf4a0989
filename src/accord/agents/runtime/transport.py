"""`Transport`: where mailboxes are. The interface is small, so that there can be others than the two of accord.

A mailbox belongs to a name and outlives the agent of that name. A letter is in it from when `post` returns until it is
settled; if the agent dies in between, its next life takes the letter again. So a letter that was posted is never lost,
and may be taken twice.

Whoever holds a mailbox holds it until another life opens it. A transport between processes also has to notice that a
process is dead, and to keep one that only seemed dead from going on: see `inherit` and `loss`. Within one process
there is nothing to notice, so these do nothing unless they are overridden.

A mailbox is bounded lane by lane (`Letter.lane`). If all letters had to share one bound, two agents that answer each
other could both wait for room for their answers, and neither would make any; and a letter that came too early could
keep out the one that has to come before it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.agents.following import Part
    from accord.agents.runtime.activity import Pause
    from accord.agents.runtime.estates import Estate, Left, Will
    from accord.agents.runtime.letters import Begun, Delivery, Letter
    from accord.errors import StoreError

__all__ = ["Transport"]


class Transport(ABC):
    """Mailboxes, and which agents there are. All errors are `StoreError`s: the answer is no, or not known."""

    @abstractmethod
    async def open(self, name: str, wills: Sequence[Will], capacity: int) -> Left:
        """Begin a life of the agent of that name: from now on it is found, and letters are taken for it.

        What the life before it has not settled will be taken again. Returns the conversations that it had begun and
        not ended, and those that ended as the protocol does not say.
        """

    @abstractmethod
    async def find(self, part: Part) -> list[str]:
        """The names of all agents that play a role, sorted."""

    @abstractmethod
    async def parts(self, name: str) -> list[Part]:
        """What the agent of a name plays; nothing if there is none."""

    @abstractmethod
    async def post(self, name: str, letter: Letter, pause: Pause) -> None:
        """Put a letter of an agent that lives here into a mailbox; one that says `gone` never waits for room.

        Who waits for somebody in this process waits by `pause`, so that it is known that nothing moves.
        """

    @abstractmethod
    async def take(self, name: str) -> Delivery:
        """The next letter of a mailbox that this life has not taken yet; waits for one."""

    @abstractmethod
    async def settle(self, name: str, numbers: Sequence[str]) -> None:
        """These letters are dealt with, for good."""

    @abstractmethod
    async def begin(self, name: str, begun: Begun) -> None:
        """Remember that the agent has begun a conversation."""

    @abstractmethod
    async def end(self, name: str, begun: Begun, numbers: Sequence[str], *, broken: bool) -> None:
        """Forget a conversation and settle its letters, in one step.

        If it is `broken`, letters of it may still be on their way; later lives are told that it is over.
        """

    @abstractmethod
    async def close(self, name: str) -> None:
        """The agent stops, or its estate is settled; its mailbox stays and takes letters."""

    async def inherit(self) -> Estate:
        """Open the mailbox of an agent that is dead, whom nobody has started again; waits for one.

        Whoever has mailboxes open is in here all the time, or soon again: this is also how others know that it lives.
        """
        never: asyncio.Future[Estate] = asyncio.get_running_loop().create_future()
        return await never

    def loss(self, name: str) -> StoreError | None:  # noqa: ARG002 - nobody else is there
        """Why the mailbox of that name, open here, may belong to somebody else by now; `None` if it does not."""
        return None

    def relieve(self) -> bool:
        """Everybody here waits. If somebody waits for room, let one letter in all the same; whether there was one.

        Two roles may each send more than the other has room for before either receives. The protocol allows that, so
        the bound has to give way: where everything stands still, and by one letter only.
        """
        return False

    @property
    def untaken(self) -> int:
        """Letters in mailboxes of this process that wait to be taken by a life that is there to take them."""
        return 0
