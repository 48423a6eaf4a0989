"""What leaves for a terminal or a pipe.

Colour is decided once per stream: `NO_COLOR` wins, then `FORCE_COLOR`, then whether it is a terminal. Text is painted
by writing escapes around it and never by a markup language, so nothing in a user's text can be taken for markup. That
no control character is in the text itself is the duty of whoever prints it: see `accord.diagnostics.visible`.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import textwrap
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

import click

from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.diagnostics import Diagnostic

__all__ = ["Screen", "Style", "complain", "is_live", "open_input", "open_screen", "print_diagnostics", "read_live"]

Style = Literal["good", "error", "warning", "strong", "faint"]

_CODES: dict[Style, str] = {"good": "32", "error": "1;31", "warning": "33", "strong": "1", "faint": "2"}
_WIDEST = 100


@dataclass(frozen=True, slots=True)
class Screen:
    """Standard output or standard error, and how to write to it."""

    err: bool
    colour: bool
    width: int | None
    """Where lines of prose are broken; `None` in a pipe, where a sentence stays a line for `grep` to find."""

    def paint(self, style: Style, text: str) -> str:
        """The text in a style, if the stream shows colour."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.colour and text else text

    def prose(self, text: str, indent: str = "") -> str:
        """The text indented, and broken into lines where people read it."""
        if self.width is None:
            return indent + text
        # Neither hyphens nor long words are broken: what is quoted in the text must stay whole to be copied.
        return textwrap.fill(
            text,
            self.width,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )

    def print(self, text: str = "") -> None:
        """Write a line and flush it, so that a pipe gets each line when it is made."""
        click.echo(text, err=self.err, color=self.colour)


def open_screen(*, err: bool = False) -> Screen:
    """Standard output, or standard error."""
    stream = sys.stderr if err else sys.stdout
    terminal = stream.isatty()
    if os.environ.get("NO_COLOR"):
        colour = False
    elif os.environ.get("FORCE_COLOR"):
        colour = True
    else:
        colour = terminal and os.environ.get("TERM") != "dumb"
    width = min(shutil.get_terminal_size().columns, _WIDEST) if terminal else None
    return Screen(err, colour, width)


def open_input() -> io.TextIOWrapper:
    """Standard input as UTF-8. Bytes that are none come through as surrogates, so that whoever reads can say where."""
    stream = sys.stdin
    if not isinstance(stream, io.TextIOWrapper):
        raise UsageError("standard input cannot be read here")
    stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    return stream


def print_diagnostics(screen: Screen, diagnostics: Iterable[Diagnostic]) -> None:
    """All diagnostics, in full."""
    from accord.diagnostics.text import render_all

    screen.print(render_all(diagnostics, colour=screen.colour))


def complain(message: str, hint: str = "") -> None:
    """What went wrong, on standard error."""
    from accord.diagnostics.visible import visible

    screen = open_screen(err=True)
    screen.print(f"{screen.paint('error', 'error')}: {visible(message)}")
    if hint:
        screen.print(screen.paint("faint", hint))


def is_live() -> bool:
    """Whether somebody can be asked: a person sees what is printed and types what is read."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def read_live(prompt: str) -> str | None:
    """The next line that is typed; `None` at the end."""
    with suppress(ImportError):
        import_module("readline")  # being loaded is enough for `input` to edit lines and remember them
    try:
        return input(prompt)
    except EOFError:
        click.echo()
        return None
