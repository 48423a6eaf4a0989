"""`Source`, `Span` and `Diagnostic`: plain values that know nothing of how they are shown."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Diagnostic", "Note", "Severity", "Source", "Span", "did_you_mean"]

Severity = Literal["error", "warning"]


class Span(NamedTuple):
    """A stretch of a source text, in characters: `start` is in, `end` is out."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """A text and the name under which people know it."""

    text: str
    name: str = "<contract>"
    _line_starts: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0]
        find = self.text.find
        at = find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = find("\n", at + 1)
        object.__setattr__(self, "_line_starts", starts)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """The 1-based line and column of a character offset."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_start(self, line: int) -> int:
        """The offset of the first character of a 1-based line."""
        return self._line_starts[line - 1]

    def line(self, line: int) -> str:
        """The text of a 1-based line without its end."""
        start = self._line_starts[line - 1]
        end = self._line_starts[line] if line < len(self._line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


@dataclass(frozen=True, slots=True)
class Note:
    """A second place that belongs to a finding."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: a stable code, a sentence, the place, a word at the caret, and help."""

    code: str
    message: str
    source: Source
    span: Span
    label: str = ""
    help: str = ""
    notes: tuple[Note, ...] = ()

    @property
    def severity(self) -> Severity:
        """`W…` codes warn, all others are errors."""
        return "warning" if self.code.startswith("W") else "error"


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate a person most likely meant by `word`, if one is close enough."""
    from difflib import get_close_matches  # noqa: PLC0415 - needed only when something is wrong

    pool = [candidate for candidate in dict.fromkeys(candidates) if candidate != word]
    folded = {candidate.casefold(): candidate for candidate in reversed(pool)}
    if word.casefold() in folded:
        return folded[word.casefold()]
    close = get_close_matches(word[:200], pool[:10_000], n=1, cutoff=0.6)
    return close[0] if close else None
