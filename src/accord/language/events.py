"""The tree of an `events` block: what a contract's labels mean in raw agent traffic.

Each line gives a label to the messages of one source, or has them ignored. The first line that fits a message decides.
What the agent does is sent (`!`), what reaches it is received (`?`), so a line's source tells its direction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from accord.diagnostics import Span

if TYPE_CHECKING:
    from accord.language.clauses import Guard
    from accord.language.tree import Direction

__all__ = [
    "DIRECTIONS",
    "NAMED_KINDS",
    "SPEAKERS",
    "EventLine",
    "Events",
    "MessageKind",
    "Named",
    "NamedKind",
    "Origin",
    "Says",
    "Speaker",
]

NOWHERE = Span(0, 0)

Speaker: TypeAlias = Literal["user", "agent"]
SPEAKERS: tuple[Speaker, ...] = ("user", "agent")

NamedKind: TypeAlias = Literal["call", "user call", "result", "error", "event"]
MessageKind: TypeAlias = Speaker | NamedKind

NAMED_KINDS: frozenset[NamedKind] = frozenset({"call", "result", "error", "event"})
"""The messages whose name is their label where nothing else is said."""

DIRECTIONS: dict[MessageKind, Direction] = {
    "user": "?",
    "agent": "!",
    "call": "!",
    "user call": "?",  # the other party's tools: the agent at most learns of it
    "result": "?",
    "error": "?",
    "event": "?",  # fired by the program around the agent
}
"""Which way messages of each kind go."""


@dataclass(frozen=True, slots=True)
class Says:
    """`user says "text"`: it holds the text anywhere; `says matches "pattern"`: the pattern is found in it."""

    kind: Speaker
    text: str
    is_pattern: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """`call NAME`, `result of NAME`, `event NAME`, …; with `in [NAME, …]`, any of them."""

    kind: NamedKind
    names: tuple[str, ...]


Origin: TypeAlias = Says | Named


@dataclass(frozen=True, slots=True)
class EventLine:
    """`Label when origin where guards`, or `Label otherwise`, which has no origin. Without a label: `ignore`.

    `as named otherwise` has neither: messages that have a name keep it as their label, as they do without a block.
    """

    label: str | None
    origin: Origin | None
    guards: tuple[Guard, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    label_span: Span = field(default=NOWHERE, compare=False, repr=False)
    as_named: bool = False

    @property
    def direction(self) -> Direction | None:
        """Which way its messages go; `None` where that depends on the message."""
        return None if self.origin is None else DIRECTIONS[self.origin.kind]


@dataclass(frozen=True, slots=True)
class Events:
    """`events { … }`."""

    lines: tuple[EventLine, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def keeps_names(self) -> bool:
        """Whether messages that no line takes keep their names as labels."""
        return any(line.as_named for line in self.lines)
