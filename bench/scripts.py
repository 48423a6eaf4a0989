"""The protocols that are measured, with a legal session of each and its tables for the machine written by hand."""

from __future__ import annotations

import sys
from dataclasses import dataclass

__all__ = ["CHOICE", "EVENTS", "INTERLEAVING", "LINEAR", "LOOP", "Script", "row_of_actions"]

EVENTS = 2_000
"""Events in one session: long enough to time, short enough for a trace not to matter."""

_Table = dict[int, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Script:
    """A protocol and a legal session of it; `words` stand as in a trace."""

    name: str
    text: str
    words: tuple[str, ...]
    sends: _Table
    receives: _Table

    @property
    def labels(self) -> list[str]:
        """The labels, for a session that only sends; interned, as the literals of a program are."""
        return [sys.intern(word[1:]) for word in self.words]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The labels sent and received, for a session that does both in turns."""
        labels = self.labels
        return list(zip(labels[::2], labels[1::2], strict=True))


def row_of_actions(count: int) -> str:
    """A contract of that many distinct actions, one after the other."""
    return "".join(f"!Action{number}." for number in range(count)) + "end"


LINEAR = Script(
    "linear",
    row_of_actions(EVENTS),
    tuple(f"!Action{number}" for number in range(EVENTS)),
    {**{number: {sys.intern(f"Action{number}"): number + 1} for number in range(EVENTS)}, EVENTS: {}},
    {number: {} for number in range(EVENTS + 1)},
)

LOOP = Script(
    "loop",
    "rec X.!Ping.?Pong.X",
    ("!Ping", "?Pong") * (EVENTS // 2),
    {0: {"Ping": 1}, 1: {}},
    {0: {}, 1: {"Pong": 0}},
)

_ANSWERS = ("Yes", "No", "Maybe")

CHOICE = Script(
    "choice",
    "rec X.!Ask.?{Yes.X, No.X, Maybe.X}",
    tuple(word for number in range(EVENTS // 2) for word in ("!Ask", f"?{_ANSWERS[number % 3]}")),
    {0: {"Ask": 1}, 1: {}},
    {0: {}, 1: dict.fromkeys(_ANSWERS, 0)},
)

INTERLEAVING = Script(
    "interleaving",
    "rec X.(!Search.?Found | ?Progress.!Ack).X",
    ("!Search", "?Progress", "!Ack", "?Found") * (EVENTS // 4),
    {},
    {},
)
