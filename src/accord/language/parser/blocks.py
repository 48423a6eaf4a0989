"""Blocks of lines, `events { … }` and `tools { … }`: what reading them has in common.

A line that cannot be read ends the block: what is behind it could be meant in too many ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from accord.diagnostics import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.language.lexer import Token
    from accord.language.parser.cursor import Cursor

__all__ = ["Unreadable", "fail", "is_word", "read_block", "read_list", "read_name", "sign", "since", "word"]

T = TypeVar("T")


class Unreadable(Exception):  # noqa: N818 - never leaves `read_block`: the problem has been reported
    """A line cannot be read."""


def read_block(
    cursor: Cursor, what: str, line: Callable[[Cursor], T], a_line_is: str
) -> tuple[tuple[T, ...], Span] | None:
    """The lines between the cursor, where `what {` stands, and the boundary, and their place; `None` on errors."""
    start, reports_before = cursor.token, cursor.reports
    cursor.at += 2
    lines: list[T] = []
    try:
        while not sign(cursor, "}"):
            if cursor.at_boundary():
                raise fail(cursor, f"expected `}}` at the end of the {what}", cursor.token)
            lines.append(line(cursor))
        span = since(cursor, start)
        if not cursor.at_boundary():
            raise fail(cursor, "expected the next declaration", cursor.token)
    except Unreadable:
        return None
    if not lines:
        cursor.report("E020", f"the {what} block is empty", span, help_=a_line_is)
    return None if cursor.reports > reports_before else (tuple(lines), span)


def read_list(cursor: Cursor, opening: Token, item: str, what: str) -> list[tuple[str, Span]]:
    """The names of a list behind its `[`, each with its place."""
    names: list[tuple[str, Span]] = []
    while not sign(cursor, "]"):
        names.append(read_name(cursor, what))
        if not sign(cursor, ","):
            if not sign(cursor, "]"):
                raise fail(cursor, "expected `,` or `]`", cursor.token)
            break
    if not names:
        raise fail(cursor, f"expected at least one {item} in the list", opening)
    return names


def read_name(cursor: Cursor, what: str) -> tuple[str, Span]:
    """A name and its place."""
    first, reports_before = cursor.token, cursor.reports
    found = cursor.label(what)
    if found is None or cursor.reports > reports_before:
        raise Unreadable
    return found[0], Span(first.start, found[1])


def is_word(token: Token, expected: str) -> bool:
    """Whether a token is a word."""
    return token.kind == "word" and token.value == expected


def word(cursor: Cursor, expected: str) -> bool:
    """Read past a word if it stands here."""
    if is_word(cursor.token, expected) and not cursor.is_joined():
        cursor.at += 1
        return True
    return False


def sign(cursor: Cursor, expected: str) -> bool:
    """Read past a sign if it stands here."""
    if cursor.token.kind == "sign" and cursor.token.value == expected:
        cursor.at += 1
        return True
    return False


def since(cursor: Cursor, first: Token) -> Span:
    """From a token to what was read last."""
    return Span(first.start, cursor.tokens[cursor.at - 1].end)


def fail(cursor: Cursor, message: str, token: Token, help_: str = "") -> Unreadable:
    """Report what is wrong with a line."""
    cursor.report("E013", f"{message}; found {cursor.shown(token)}", token.span, help_=help_)
    return Unreadable()
