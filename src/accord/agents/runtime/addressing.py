"""Whom a message is for: a role, an agent by its name, or the only agent of a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.agents.references import AgentRef
from accord.errors import UsageError

if TYPE_CHECKING:
    from accord.agents.following import Following, Part
    from accord.agents.runtime.conversation import Conversation
    from accord.agents.runtime.life import Life

__all__ = ["Addressee", "address"]


@dataclass(frozen=True, slots=True)
class Addressee:
    """A role, or the name of an agent with what it plays."""

    role: str | None
    name: str | None = None
    parts: frozenset[Part] = frozenset()

    def is_role(self, conversation: Conversation, role: str) -> bool:
        """Whether it is, or can be, that role of a conversation."""
        if self.role is not None:
            return self.role == role
        known = conversation.cast.get(role)
        return known == self.name if known is not None else self.plays(conversation.following, role)

    def plays(self, following: Following, role: str) -> bool:
        """Whether it can be that role of a protocol."""
        return self.role == role or following.part._replace(role=role) in self.parts

    def shares(self, following: Following) -> bool:
        """Whether it has a part in a protocol that is not the one of whoever sends to it."""
        return any(self.plays(following, role) for role in following.choreography.roles if role != following.role)

    def role_of(self, following: Following) -> str | None:
        """Its role in a protocol, or one of them."""
        return self.role or next((r for r in following.choreography.roles if self.plays(following, r)), None)

    def role_in(self, conversation: Conversation) -> str | None:
        """Its role in a conversation, as far as it is known."""
        roles = conversation.following.choreography.roles
        return self.role or next((role for role in roles if self.is_role(conversation, role)), None)

    def __str__(self) -> str:
        return f"role `{self.role}`" if self.role is not None else f"agent `{self.name}`"


async def address(life: Life, to: object) -> Addressee:
    """Whom `send` was told to send to."""
    if isinstance(to, str):
        return Addressee(to)
    name = to.name if isinstance(to, AgentRef) else life.hub.name_of(to)
    if name is None:
        kind = to.__name__ if isinstance(to, type) else type(to).__name__
        raise UsageError(f"a message goes to a role (`str`), an `AgentRef`, or an agent's class, got `{kind}`")
    return Addressee(None, name, frozenset(await life.hub.transport.parts(name)))
