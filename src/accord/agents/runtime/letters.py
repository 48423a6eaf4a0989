"""What travels between agents, and what is remembered of a conversation beyond an agent's life."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

from accord.agents.following import Part

__all__ = ["MOST_REMEMBERED", "Begun", "Delivery", "Gone", "Key", "Letter"]

Key = tuple[str, Part]
"""A conversation, and the role that an agent has in it."""
MOST_REMEMBERED = 10_000
"""How many conversations that are over an agent remembers, so that nothing late opens one of them again."""
Gone = Literal["", "crashed", "lost"]


class Letter(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message on its way, between two roles of one conversation.

    `cast` says which agent plays which role. A letter that says `gone` carries no message: its sender has crashed where
    the protocol lets somebody notice that (`crashed`, and `noticed_by` says who), or the conversation is over for
    everybody (`lost`).

    `nth` counts the messages from this sender to this receiver in the conversation, from 1: so one that comes twice is
    taken once, and one that comes out of its order is noticed.
    """

    conversation: str
    contract: str
    protocol: str
    sender: str
    receiver: str
    label: str
    payload: dict[str, Any]
    cast: dict[str, str]
    nth: int = 0
    opens: bool = False
    gone: Gone = ""
    noticed_by: tuple[str, ...] = ()

    @property
    def part(self) -> Part:
        """The role it is for."""
        return Part(self.contract, self.protocol, self.receiver)

    @property
    def lane(self) -> str:
        """What it takes room in: each sender of a conversation has a lane, conversations yet to be opened share one."""
        return "" if self.opens else f"{self.conversation}/{self.sender}"


class Delivery(NamedTuple):
    """A letter as it was taken from a mailbox, with the number by which it is settled."""

    number: str
    letter: Letter


class Begun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A conversation in which an agent has done something that others know of.

    `noticed_by` are the roles that would notice if the agent crashed now, as the protocol says; if there are none, its
    crash would end the conversation for everybody.
    """

    conversation: str
    part: Part
    cast: dict[str, str]
    noticed_by: tuple[str, ...] = ()
