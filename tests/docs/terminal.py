"""What a terminal shows, as an SVG: text with colours in, the same bytes out on every machine.

Only what our commands write is understood: lines, and escapes that set one of a few colours, bold or faint.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

__all__ = ["picture"]

COLUMNS = 100
SIZE, WIDTH, HEIGHT, MARGIN = 14, 8.43, 20, 18
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "36": "#76e3ea"}
INK, PAPER = "#e6edf3", "#161b22"
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")


@dataclass(frozen=True)
class Piece:
    """A stretch of text in one style."""

    text: str
    codes: tuple[str, ...] = ()

    def svg(self) -> str:
        """A `tspan` in this style."""
        colour = next((COLOURS[code] for code in self.codes if code in COLOURS), None)
        style = f' fill="{colour}"' if colour else ""
        style += ' font-weight="bold"' if "1" in self.codes else ""
        style += ' opacity="0.6"' if "2" in self.codes else ""
        return f"<tspan{style}>{escape(self.text, quote=False)}</tspan>" if style else escape(self.text, quote=False)


def pieces(line: str) -> list[Piece]:
    """The line, cut where its style changes."""
    found: list[Piece] = []
    codes: tuple[str, ...] = ()
    at = 0
    for mark in ESCAPE.finditer(line):
        found.append(Piece(line[at : mark.start()], codes))
        new = tuple(mark[1].split(";"))
        codes = () if new in {("0",), ("",)} else codes + new
        at = mark.end()
    found.append(Piece(line[at:], codes))
    return [piece for piece in found if piece.text]


def folded(line: list[Piece]) -> list[list[Piece]]:
    """The line as a terminal breaks it: at the last space that fits, and what is left begins the next one."""
    text = "".join(piece.text for piece in line)
    if len(text) <= COLUMNS:
        return [line]
    cut = text.rfind(" ", 0, COLUMNS + 1)
    first: list[Piece] = []
    rest: list[Piece] = []
    at = 0
    for piece in line:
        here = min(max(cut - at, 0), len(piece.text))
        first.append(Piece(piece.text[:here], piece.codes))
        rest.append(Piece(piece.text[here:], piece.codes))
        at += len(piece.text)
    indent = " " * (len(text) - len(text.lstrip()) or 2)
    whole = [Piece(indent), *[piece for piece in rest if piece.text]]
    whole[1] = Piece(whole[1].text.lstrip(), whole[1].codes)
    return [[piece for piece in first if piece.text], *folded(whole)]


def picture(command: str, output: str, title: str) -> str:
    """An SVG of a terminal in which the command was given and the output came."""
    lines = [[Piece("$ ", ("2",)), Piece(command, ("1",))]]
    for line in output.rstrip("\n").split("\n"):
        lines += folded(pieces(line.rstrip()))
    wide = MARGIN * 2 + round(COLUMNS * WIDTH)
    high = MARGIN * 2 + HEIGHT * len(lines)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" role="img">',
        f"<title>{escape(title, quote=False)}</title>",
        f'<rect width="{wide}" height="{high}" rx="8" fill="{PAPER}"/>',
        f'<g font-family="{FONT}" font-size="{SIZE}" fill="{INK}" xml:space="preserve">',
    ]
    for number, line in enumerate(lines):
        if line:
            y = MARGIN + HEIGHT * number + SIZE
            inside = "".join(piece.svg() for piece in line)
            parts.append(f'<text x="{MARGIN}" y="{y}" xml:space="preserve">{inside}</text>')
    return "\n".join([*parts, "</g>", "</svg>", ""])
