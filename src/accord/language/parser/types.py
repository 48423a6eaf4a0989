"""`record Name { field: Type, … }` and `enum Name { a, b }`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Span
from accord.language.global_tree import DEEPEST, Enumeration, Field, FieldType, Record

if TYPE_CHECKING:
    from accord.language.lexer import Token
    from accord.language.parser.cursor import Cursor

__all__ = ["read_enum", "read_record"]

_RECORD_HELP = "write `record Name { field: Type, … }`"
_ENUM_HELP = "write `enum Name { first, second }`"


class _Unreadable(Exception):  # noqa: N818 - never leaves this module: the problem has been reported
    pass


def read_record(cursor: Cursor) -> Record | None:
    """The record at the cursor, where `record Name {` stands; `None` if it has errors."""
    start, name = cursor.token, cursor.ahead(1)
    reports_before = cursor.reports
    fields: list[Field] = []
    is_open = False
    try:
        _heading(cursor, name, "record")
        while not _sign(cursor, "}"):
            if _ellipsis(cursor):
                is_open = True
                _sign(cursor, ",")
                _closing(cursor, _RECORD_HELP)
                break
            fields.append(_field(cursor))
            if not _sign(cursor, ","):
                _closing(cursor, _RECORD_HELP)
                break
    except _Unreadable:
        return None
    span = _finish(cursor, start)
    return None if cursor.reports > reports_before else Record(name.value, tuple(fields), is_open, span, name.span)


def read_enum(cursor: Cursor) -> Enumeration | None:
    """The enum at the cursor, where `enum Name {` stands; `None` if it has errors."""
    start, name = cursor.token, cursor.ahead(1)
    reports_before = cursor.reports
    members: list[str] = []
    spans: list[Span] = []
    try:
        _heading(cursor, name, "enum")
        while not _sign(cursor, "}"):
            here = cursor.token
            label = cursor.label("a member of the enum")
            if label is None:
                return None
            members.append(label[0])
            spans.append(Span(here.start, label[1]))
            if not _sign(cursor, ","):
                _closing(cursor, _ENUM_HELP)
                break
    except _Unreadable:
        return None
    span = _finish(cursor, start)
    if not members and cursor.reports == reports_before:
        cursor.report("E039", f"enum `{name.value}` has no members", name.span, help_=_ENUM_HELP)
    if cursor.reports > reports_before:
        return None
    return Enumeration(name.value, tuple(members), span, name.span, tuple(spans))


def _heading(cursor: Cursor, name: Token, kind: str) -> None:
    cursor.at += 3
    if not cursor.good_name(name):
        cursor.report("E013", f"`{name.value}` cannot be the name of {kind}s", name.span)


def _field(cursor: Cursor) -> Field:
    name = cursor.token
    if name.kind not in {"word", "string"} or (name.kind == "string" and not name.value):
        raise _fail(cursor, "expected a field", _RECORD_HELP)
    cursor.at += 1
    if not _sign(cursor, ":"):
        raise _fail(cursor, "expected `:` and the type of the field", _RECORD_HELP)
    type_ = _type(cursor, 0)
    return Field(name.value, type_, Span(name.start, type_.span.end))


def _type(cursor: Cursor, depth: int) -> FieldType:
    name = cursor.token
    if name.kind != "word" or not cursor.good_name(name):
        help_ = "a type is such as `String`, `Int`, `List<Int>`, `Map<String, Int>`, `Option<Int>`, a record or an enum"
        raise _fail(cursor, "expected a type", help_)
    if depth > DEEPEST:
        cursor.report("E014", f"types are nested deeper than {DEEPEST}", name.span, help_="give the inner one a record")
        raise _Unreadable
    cursor.at += 1
    arguments: list[FieldType] = []
    if _sign(cursor, "<"):
        while True:
            arguments.append(_type(cursor, depth + 1))
            if _sign(cursor, ">"):
                break
            if not _sign(cursor, ","):
                raise _fail(cursor, "expected `,` or `>`")
    return FieldType(name.value, tuple(arguments), Span(name.start, cursor.tokens[cursor.at - 1].end))


def _ellipsis(cursor: Cursor) -> bool:
    dots = [cursor.ahead(count) for count in range(3)]
    if any(dot.kind != "sign" or dot.value != "." for dot in dots):
        return False
    cursor.at += 3
    return True


def _sign(cursor: Cursor, sign: str) -> bool:
    if cursor.token.kind == "sign" and cursor.token.value == sign:
        cursor.at += 1
        return True
    return False


def _closing(cursor: Cursor, help_: str) -> None:
    if not _sign(cursor, "}"):
        raise _fail(cursor, "expected `,` or `}`", help_)


def _finish(cursor: Cursor, start: Token) -> Span:
    if not cursor.at_boundary():
        found = cursor.shown(cursor.token)
        cursor.report("E013", f"expected the next declaration; found {found}", cursor.token.span)
    return Span(start.start, cursor.tokens[cursor.at - 1].end)


def _fail(cursor: Cursor, message: str, help_: str = "") -> _Unreadable:
    token = cursor.token
    cursor.report("E013", f"{message}; found {cursor.shown(token)}", token.span, help_=help_)
    return _Unreadable()
