"""What can be known at a place in the code: a world.

A strand of an agent works on conversations: the one whose message it received last, which it can reply to, and others
that it has opened. A world says in which state each of them is, and what the code knows of its local names: which
message a name holds, whether a condition is true. Worlds are values; there are finitely many, since equal conversations
are counted up to `MANY` only.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GONE", "MANY", "RESULT", "Conversation", "Known", "World", "fact"]

MANY = 4
"""So many or more."""

GONE = -1
"""The state of a conversation that is over because a partner has crashed."""

RESULT = "="
"""What the last `receive`, or the last method that was followed, gave."""


class Known(NamedTuple):
    """Something known of a value: `message` of a label, `truth`, `text`, or that it is `nothing`."""

    kind: str
    value: str | bool


class Conversation(NamedTuple):
    """A conversation: which of the agent's roles, and the state of its machine."""

    part: int
    state: int


class World(NamedTuple):
    """`last` is the conversation of the last message, `sender` who sent it, `replied` whether it was replied to."""

    last: Conversation | None = None
    sender: str = ""
    replied: bool = False
    others: tuple[tuple[Conversation, int], ...] = ()
    names: tuple[tuple[str, Known], ...] = ()

    def conversations(self) -> list[tuple[Conversation, bool]]:
        """All of them, and whether it is the last one; others that are equal once."""
        mine = [] if self.last is None or self.last.state == GONE else [(self.last, True)]
        return [*mine, *((conversation, False) for conversation, _ in self.others)]

    def knows(self, name: str) -> Known | None:
        """What is known of a name."""
        return next((known for other, known in self.names if other == name), None)

    def bind(self, name: str, known: Known | None) -> World:
        """The world in which a name holds something else."""
        rest = [item for item in self.names if item[0] != name]
        if known is not None:
            rest.append((name, known))
        return self._replace(names=tuple(sorted(rest)))

    def forget(self) -> World:
        """Without anything that is known of names."""
        return self._replace(names=())

    def with_other(self, conversation: Conversation) -> World:
        """One more conversation."""
        counts = dict(self.others)
        counts[conversation] = min(counts.get(conversation, 0) + 1, MANY)
        return self._replace(others=tuple(sorted(counts.items())))

    def without_other(self, conversation: Conversation) -> list[World]:
        """One less; where there were many, there may be many still."""
        counts = dict(self.others)
        left = counts.pop(conversation) - 1
        ways = [left, MANY] if left == MANY - 1 else [left]
        made = [{**counts, conversation: way} if way else counts for way in ways]
        return [self._replace(others=tuple(sorted(way.items()))) for way in made]


def fact(value: object) -> Known | None:
    """What is known of a constant."""
    if isinstance(value, str):
        return Known("text", value)
    if value is None:
        return Known("nothing", value=False)
    return Known("truth", bool(value))
