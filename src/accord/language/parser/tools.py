"""The `tools` block: what it means if a call fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import did_you_mean
from accord.language.parser.blocks import fail, is_word, read_block, read_list, read_name, sign, since, word
from accord.language.tools import FAILURES, ToolLine, Tools

if TYPE_CHECKING:
    from accord.diagnostics import Span
    from accord.language.parser.cursor import Cursor
    from accord.language.tools import Failure

__all__ = ["read_tools"]

_A_LINE_IS = "a line says `NAME fails undone`, `[a, b] fails unknown`, `NAME fails done` or `otherwise fails …`"
_A_TOOL = "the name of a tool"
_MEANINGS = "`undone`, `done` or `unknown`"


def read_tools(cursor: Cursor) -> Tools | None:
    """The block between the cursor, where `tools {` stands, and the boundary; `None` if it has errors."""
    found = read_block(cursor, "tools", _line, _A_LINE_IS)
    return None if found is None else Tools(*found)


def _line(cursor: Cursor) -> ToolLine:
    first = cursor.token
    names: list[tuple[str, Span]] | None = None
    spans: tuple[Span, ...] = (first.span,)
    if not word(cursor, "otherwise"):
        is_list = sign(cursor, "[")
        names = read_list(cursor, first, "tool", _A_TOOL) if is_list else [read_name(cursor, _A_TOOL)]
        spans = tuple([span for _, span in names])
    if not is_word(cursor.token, "fails"):
        raise fail(cursor, "expected `fails` behind the tool", cursor.token, _A_LINE_IS)
    cursor.at += 1
    fails = _meaning(cursor)
    named = None if names is None else tuple([name for name, _ in names])
    return ToolLine(named, fails, since(cursor, first), spans)


def _meaning(cursor: Cursor) -> Failure:
    token = cursor.token
    if token.kind == "word" and token.value in FAILURES:
        cursor.at += 1
        return token.value
    meant = did_you_mean(token.value, FAILURES) if token.kind == "word" else None
    help_ = f"did you mean `{meant}`?" if meant else f"a failed call is {_MEANINGS}"
    raise fail(cursor, f"expected {_MEANINGS} behind `fails`", token, help_)
