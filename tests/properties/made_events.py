"""What random blocks of events are made of, and which of their lines decided about a message."""

from __future__ import annotations

from collections.abc import Iterator

from accord.language.clauses import OPERATORS
from accord.language.events import EventLine, Events, Named
from tests.census import Census
from tests.properties.made import OPERANDS, block, kind_of

SAID = ("user says", "agent says", "user says matches", "agent says matches")
NAMED = ("call", "user call", "result", "error", "event")
SHAPES = ("labelled", "ignored", "several names", "empty text", "no guard", "one guard", "several guards")
REST = ("otherwise", "as named otherwise")
PLACES = ("first", "between", "last", "alone", "decided", "guards held")


class MadeEvents:
    """The tables."""

    def __init__(self) -> None:
        never = block(SAID, ["several names"], "speech has no name")
        never |= block((*NAMED, *REST), ["empty text"], "only speech has a text")
        never |= block(["as named otherwise"], ["labelled"], "the message has the label")
        never |= block(["as named otherwise"], ["alone"], "it stands beside other lines")
        never |= block(
            REST, ["several names", "one guard", "several guards", "guards held"], "it takes whatever is left"
        )
        self.lines = Census("lines of events", (*SAID, *NAMED, *REST), (*SHAPES, *PLACES), never)
        literals = tuple(name for name in OPERANDS if name not in {"register", "set"})
        never = block(["in", "not in"], [n for n in literals if "list" not in n], "what something is in is a list")
        never |= block(["matches"], [n for n in literals if n != "text"], "a pattern is a text")
        self.guards = Census("guards of events", OPERATORS, literals, never)

    def add(self, events: Events) -> None:
        """Count one block."""
        for number, line in enumerate(events.lines):
            self.lines.add((_origin(line), shape) for shape in _shapes(line))
            self.lines.add([(_origin(line), _place(number, len(events.lines)))])
            self.guards.add((guard.operator, kind_of(guard.operand)) for guard in line.guards)

    def decided(self, line: EventLine) -> None:
        """Count a line that a message was taken by."""
        self.lines.add([(_origin(line), "guards held" if line.guards else "decided")])

    def check(self) -> None:
        """Every cell was filled, or stays empty for a reason."""
        self.lines.check(5)
        self.guards.check(5)

    def table(self) -> str:
        """Both tables as text."""
        return f"{self.lines.table()}\n{self.guards.table()}"


def _origin(line: EventLine) -> str:
    if line.origin is None:
        return "as named otherwise" if line.as_named else "otherwise"
    if isinstance(line.origin, Named):
        return line.origin.kind
    return f"{line.origin.kind} says{' matches' * line.origin.is_pattern}"


def _shapes(line: EventLine) -> Iterator[str]:
    yield "ignored" if line.label is None else "labelled"
    yield ("no guard", "one guard", "several guards")[len(line.guards)]
    if isinstance(line.origin, Named):
        if len(line.origin.names) > 1:
            yield "several names"
    elif line.origin is not None and not line.origin.text:
        yield "empty text"


def _place(number: int, lines: int) -> str:
    if lines == 1:
        return "alone"
    return "first" if number == 0 else "last" if number == lines - 1 else "between"
