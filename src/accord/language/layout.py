"""A small pretty-printing engine: pieces in, lines out.

Pieces are texts, places where a line may break, and groups. A group that fits on the rest of the line is written
flat; otherwise all its own breaks become line ends. Comments force the groups around them to break. Groups are
matched by a scan with a stack, so depth costs no recursion.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Break", "Close", "IfBroken", "Note", "Open", "Piece", "arrange"]


@dataclass(frozen=True, slots=True)
class Open:
    """A group starts; its broken lines are indented by `indent` more. If it is `broken`, it never fits on one."""

    indent: int = 0
    broken: bool = False


@dataclass(frozen=True, slots=True)
class Close:
    """The innermost group ends."""


@dataclass(frozen=True, slots=True)
class Break:
    """A possible line end: `flat` if the group stays on one line, else a new line, indented less by `dedent`."""

    flat: str = ""
    dedent: int = 0


@dataclass(frozen=True, slots=True)
class IfBroken:
    """A text that is written only if the group is broken into lines."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A comment: on a line of its own, or at the end of the line on which it is met."""

    text: str
    own_line: bool
    blank_after: bool = False


Piece = str | Open | Close | Break | IfBroken | Note

_TOO_WIDE = 1 << 60

# Deeper lines stay at this column: the text of a deeply nested contract must not grow with the square of its depth.
_DEEPEST_INDENT = 60


def _widths(pieces: list[Piece]) -> dict[int, int]:
    """For each `Open`, the width of its group if written flat; a group with a comment never fits."""
    widths: dict[int, int] = {}
    starts: list[tuple[int, int]] = []
    total = 0
    for index, piece in enumerate(pieces):
        if isinstance(piece, str):
            total += len(piece)
        elif isinstance(piece, Break):
            total += len(piece.flat)
        elif isinstance(piece, Note):
            total += _TOO_WIDE
        elif isinstance(piece, Open):
            starts.append((index, total))
        elif isinstance(piece, Close):
            start, before = starts.pop()
            widths[start] = total - before
    return widths


class _Lines:
    """The output, line by line."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.line = ""
        self.suffix = ""
        self.blank_next = False
        self.break_next = False

    def end(self, indent: int) -> None:
        self.done.append((self.line.rstrip() + self.suffix).rstrip())
        if self.blank_next:
            self.done.append("")
        self.line, self.suffix = " " * min(indent, _DEEPEST_INDENT), ""
        self.break_next = self.blank_next = False

    def note(self, note: Note, indent: int) -> None:
        if not note.own_line and self.line.strip() and not self.break_next:
            self.suffix += f"  {note.text}"
            self.break_next = True
            return
        if self.line.strip() or self.suffix:
            self.end(indent)
        self.line = " " * min(indent, _DEEPEST_INDENT) + note.text
        self.break_next, self.blank_next = True, note.blank_after

    def write(self, text: str, indent: int) -> None:
        if self.break_next and text:
            self.end(indent)
        self.line += text


def arrange(pieces: list[Piece], width: float) -> str:
    """The text of the pieces in lines of at most `width` characters where that is possible; no final newline."""
    widths = _widths(pieces)
    out = _Lines()
    groups: list[tuple[bool, int]] = [(False, 0)]
    for index, piece in enumerate(pieces):
        flat, indent = groups[-1]
        if isinstance(piece, str):
            out.write(piece, indent)
        elif isinstance(piece, Open):
            column = min(indent, _DEEPEST_INDENT) if out.break_next else len(out.line)
            fits = flat or (not piece.broken and column + widths[index] <= width)
            groups.append((fits, indent + piece.indent))
        elif isinstance(piece, Close):
            groups.pop()
        elif isinstance(piece, Note):
            out.note(piece, indent)
        elif isinstance(piece, IfBroken):
            out.line += "" if flat else piece.text
        elif flat:
            out.write(piece.flat, indent)
        else:
            out.end(indent - piece.dedent)
    out.end(0)
    return "\n".join(out.done)
