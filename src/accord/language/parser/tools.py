"""The `tools` block: what it means if a call fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Span, did_you_mean
from accord.language.tools import FAILURES, ToolLine, Tools

if TYPE_CHECKING:
    from accord.language.lexer import Token
    from accord.language.parser.cursor import Cursor
    from accord.language.tools import Failure

__all__ = ["read_tools"]

_A_LINE_IS = "a line says `NAME fails undone`, `[a, b] fails unknown`, `NAME fails done` or `otherwise fails …`"
_MEANINGS = "`undone`, `done` or `unknown`"


class _Unreadable(Exception):  # noqa: N818 - never leaves this module: the problem has been reported
    pass


def read_tools(cursor: Cursor) -> Tools | None:
    """The block between the cursor, where `tools {` stands, and the boundary; `None` if it has errors."""
    start, reports_before = cursor.token, cursor.reports
    cursor.at += 2
    lines: list[ToolLine] = []
    try:
        while not _sign(cursor, "}"):
            if cursor.at_boundary():
                raise _fail(cursor, "expected `}` at the end of the tools", cursor.token)
            lines.append(_line(cursor))
        end = cursor.tokens[cursor.at - 1].end
        if not cursor.at_boundary():
            raise _fail(cursor, "expected the next declaration", cursor.token)
    except _Unreadable:
        return None
    if not lines:
        cursor.report("E020", "the tools block is empty", Span(start.start, end), help_=_A_LINE_IS)
    return None if cursor.reports > reports_before else Tools(tuple(lines), Span(start.start, end))


def _line(cursor: Cursor) -> ToolLine:
    first = cursor.token
    names: list[str] | None = []
    spans: list[Span] = []
    if first.kind == "word" and first.value == "otherwise" and not cursor.is_joined():
        cursor.at += 1
        names = None
        spans.append(first.span)
    elif _sign(cursor, "["):
        names = _listed(cursor, first, spans)
    else:
        names = [_name(cursor, spans)]
    if not (cursor.token.kind == "word" and cursor.token.value == "fails"):
        raise _fail(cursor, "expected `fails` behind the tool", cursor.token, _A_LINE_IS)
    cursor.at += 1
    fails = _meaning(cursor)
    span = Span(first.start, cursor.tokens[cursor.at - 1].end)
    return ToolLine(None if names is None else tuple(names), fails, span, tuple(spans))


def _listed(cursor: Cursor, opening: Token, spans: list[Span]) -> list[str]:
    names: list[str] = []
    while not _sign(cursor, "]"):
        names.append(_name(cursor, spans))
        if not _sign(cursor, ","):
            if not _sign(cursor, "]"):
                raise _fail(cursor, "expected `,` or `]`", cursor.token)
            break
    if not names:
        raise _fail(cursor, "expected at least one tool in the list", opening)
    return names


def _name(cursor: Cursor, spans: list[Span]) -> str:
    first, reports_before = cursor.token, cursor.reports
    found = cursor.label("the name of a tool")
    if found is None or cursor.reports > reports_before:
        raise _Unreadable
    spans.append(Span(first.start, found[1]))
    return found[0]


def _meaning(cursor: Cursor) -> Failure:
    token = cursor.token
    if token.kind == "word" and token.value in FAILURES:
        cursor.at += 1
        return token.value
    meant = did_you_mean(token.value, FAILURES) if token.kind == "word" else None
    help_ = f"did you mean `{meant}`?" if meant else f"a failed call is {_MEANINGS}"
    raise _fail(cursor, f"expected {_MEANINGS} behind `fails`", token, help_)


def _sign(cursor: Cursor, sign: str) -> bool:
    """Read past a sign if it stands here."""
    if cursor.token.kind == "sign" and cursor.token.value == sign:
        cursor.at += 1
        return True
    return False


def _fail(cursor: Cursor, message: str, token: Token, help_: str = "") -> _Unreadable:
    cursor.report("E013", f"{message}; found {cursor.shown(token)}", token.span, help_=help_)
    return _Unreadable()
