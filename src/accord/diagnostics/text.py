"""Diagnostics for people: the line, carets under the place, the help, in colour if the caller wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics.visible import display_width, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from accord.diagnostics.model import Diagnostic, Source, Span

__all__ = ["render", "render_all"]

# A line wider than this is shown as a window around the place: a minified contract must not flood the terminal.
WINDOW = 100
TAB = "    "

BOLD, RED, YELLOW, BLUE, CYAN = "1", "1;31", "1;33", "1;34", "36"


def _plain(_: str, text: str) -> str:
    return text


def _ansi(style: str, text: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if text else text


def _shown(text: str) -> str:
    return visible(text.replace("\t", TAB))


def _excerpt(source: Source, span: Span) -> tuple[int, int, str, int, int]:
    """Line, column, the text to show, and where in it the carets start and how many there are."""
    start = min(span.start, len(source.text))
    line, column = source.line_and_column(start)
    text = source.line(line)
    first = column - 1
    last = max(min(span.end - source.line_start(line), len(text)), first)
    left = right = ""
    if len(text) > WINDOW:
        low = max(0, first - WINDOW // 2)
        high = min(len(text), low + WINDOW)
        left, right = ("…" if low else ""), ("…" if high < len(text) else "")
        text, first, last = text[low:high], first - low, min(last, high) - low
    before, under = _shown(text[:first]), _shown(text[first:last])
    shown = left + before + under + _shown(text[last:]) + right
    return line, column, shown, display_width(left + before), max(display_width(under), 1)


def _snippet(
    source: Source,
    span: Span,
    caret: str,
    message: str,
    style: str,
    paint: Callable[[str, str], str],
    gutter: int,
) -> list[str]:
    line, _, shown, indent, width = _excerpt(source, span)
    bar = paint(BLUE, "|")
    number = paint(BLUE, f"{line:>{gutter}}")
    mark = paint(style, caret * width + (f" {message}" if message else ""))
    return [f"{number} {bar} {shown}".rstrip(), f"{'':>{gutter}} {bar} {'':{indent}}{mark}"]


def render(diagnostic: Diagnostic, *, colour: bool = False) -> str:
    """One diagnostic as text of several lines, without a final newline."""
    paint = _ansi if colour else _plain
    style = RED if diagnostic.severity == "error" else YELLOW
    source = diagnostic.source
    line, column = source.line_and_column(min(diagnostic.span.start, len(source.text)))
    lines = [line, *(source.line_and_column(note.span.start)[0] for note in diagnostic.notes)]
    gutter = len(str(max(lines)))
    pad = " " * gutter
    out = [
        paint(style, f"{diagnostic.severity}[{diagnostic.code}]") + paint(BOLD, f": {visible(diagnostic.message)}"),
        f"{pad}{paint(BLUE, '-->')} {visible(source.name)}:{line}:{column}",
        f"{pad} {paint(BLUE, '|')}",
    ]
    out += _snippet(source, diagnostic.span, "^", visible(diagnostic.label), style, paint, gutter)
    for note in diagnostic.notes:
        out += _snippet(source, note.span, "-", visible(note.message), BLUE, paint, gutter)
    if diagnostic.help:
        out.append(f"{pad} {paint(BLUE, '=')} {paint(CYAN, 'help')}: {visible(diagnostic.help)}")
    return "\n".join(out)


def render_all(diagnostics: Iterable[Diagnostic], *, colour: bool = False) -> str:
    """Several diagnostics, a blank line between them."""
    return "\n\n".join(render(d, colour=colour) for d in diagnostics)
