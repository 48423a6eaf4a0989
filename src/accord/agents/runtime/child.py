"""An agent in the care of a supervisor: what it is made from, and the life it has now, if it has one.

Its mailbox, what it had begun and what it remembers outlive its lives; the supervisor says when one ends and when the
next one begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from accord.agents.persistence import persistent_fields
from accord.agents.runtime.life import Life
from accord.agents.runtime.memory import Memory
from accord.agents.runtime.telling import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accord.agents.agent import Agent
    from accord.agents.declaring import Declaration
    from accord.agents.runtime.estates import Left, Will
    from accord.agents.runtime.hub import Hub

__all__ = ["Child"]


@dataclass(eq=False)
class Child:
    """An agent that is started, stopped and started again. `mailbox` is how much its mailbox holds."""

    name: str
    agent_class: type[Agent]
    declaration: Declaration
    wills: tuple[Will, ...]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    mailbox: int
    life: Life | None = None
    is_open: bool = False
    """Whether its mailbox is."""

    @property
    def current(self) -> object:
        """What a report of its failure is about: a life that is over by now is not asked about again."""
        return self.life

    def agents(self) -> Iterator[Child]:
        """Itself."""
        yield self

    async def open(self, hub: Hub) -> Left:
        """Open its mailbox, for the next life."""
        left = await hub.transport.open(self.name, self.wills, self.mailbox)
        self.is_open = True
        return left

    async def live(self, hub: Hub, left: Left, failed: Callable[[Life | None, BaseException], None]) -> None:
        """Begin a life; conversations of the life before are over, and those in them are told."""
        over = hub.over[self.name]
        for key in left.over:
            over.add(key)
        for conversation in left.begun:
            hub.note(conversation, self.name, "restarted", {"why": "the agent's life has ended in the middle of it"})
            over.add((conversation.conversation, conversation.part))
            await tell(hub, conversation, "crashed" if conversation.noticed_by else "lost")
            await hub.transport.end(self.name, conversation, (), broken=True)
        try:
            loss = partial(hub.transport.loss, self.name)
            fields = persistent_fields(self.agent_class)
            memory = Memory(hub.store, self.name, self.declaration, loss) if fields else None
            agent = self.agent_class(*self.arguments, **self.options)
            if memory is not None:
                memory.recall(agent)
        except Exception as error:  # noqa: BLE001 - an agent that cannot even be made has crashed
            failed(None, error)
            return
        self.life = Life(hub, self.name, agent, self.declaration, memory, failed)
        self.life.start()

    async def halt(self) -> None:
        """End what it does. Its mailbox stays open, and what it was in the middle of is known."""
        if self.life is not None:
            await self.life.stop()

    async def stop(self, hub: Hub) -> None:
        """End its life; the next one has to be told what was begun in it."""
        await self.halt()
        self.life = None
        if self.is_open:
            self.is_open = False
            await hub.transport.close(self.name)
