"""The `events` block: which messages of raw traffic have which label."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from accord.diagnostics import Span
from accord.language.clauses import Guard, Register
from accord.language.events import SPEAKERS, EventLine, Events, Named, Says
from accord.language.parser.data import read_guards

if TYPE_CHECKING:
    from accord.language.events import NamedKind, Origin, Speaker
    from accord.language.lexer import Token
    from accord.language.parser.cursor import Cursor

__all__ = ["read_events"]

_A_LINE_IS = (
    'a line says `Label when user says matches "…"`, `Label when call NAME`, `Label when result of NAME where …`, '
    "`ignore when …`, `Label otherwise` or `as named otherwise`"
)
_AN_ORIGIN_IS = (
    "messages come from `user says`, `agent says`, `call NAME`, `user call NAME`, `result of NAME`, `error of NAME` or "
    "`event NAME`; several names are written `in [a, b]`"
)
IGNORE = "ignore"


class _Unreadable(Exception):  # noqa: N818 - never leaves this module: the problem has been reported
    pass


def read_events(cursor: Cursor) -> Events | None:
    """The block between the cursor, where `events {` stands, and the boundary; `None` if it has errors."""
    start, reports_before = cursor.token, cursor.reports
    cursor.at += 2
    lines: list[EventLine] = []
    try:
        while not _sign(cursor, "}"):
            if cursor.at_boundary():
                raise _fail(cursor, "expected `}` at the end of the events", cursor.token)
            lines.append(_line(cursor))
        end = cursor.tokens[cursor.at - 1].end
        if not cursor.at_boundary():
            raise _fail(cursor, "expected the next declaration", cursor.token)
    except _Unreadable:
        return None
    if not lines:
        cursor.report("E020", "the events block is empty", Span(start.start, end), help_=_A_LINE_IS)
    return None if cursor.reports > reports_before else Events(tuple(lines), Span(start.start, end))


def _line(cursor: Cursor) -> EventLine:
    first, reports_before = cursor.token, cursor.reports
    if _is_word(first, "as") and _is_word(cursor.ahead(1), "named"):
        label_span = Span(first.start, cursor.ahead(1).end)
        cursor.at += 2
        if not _word(cursor, "otherwise"):
            raise _fail(cursor, "expected `otherwise` behind `as named`", cursor.token, _A_LINE_IS)
        return EventLine(None, None, (), _since(cursor, first), label_span, as_named=True)
    found = cursor.label("a label")
    if found is None or cursor.reports > reports_before:
        raise _Unreadable
    label = None if first.kind == "word" and found[0] == IGNORE else found[0]
    label_span = Span(first.start, found[1])
    if _word(cursor, "otherwise"):
        return EventLine(label, None, (), _since(cursor, first), label_span)
    if not _word(cursor, "when"):
        raise _fail(cursor, "expected `when` or `otherwise` behind the label", cursor.token, _A_LINE_IS)
    origin = _origin(cursor)
    guards: tuple[Guard, ...] = ()
    if _word(cursor, "where"):
        guards = _guards(cursor)
    return EventLine(label, origin, guards, _since(cursor, first), label_span)


def _guards(cursor: Cursor) -> tuple[Guard, ...]:
    clauses = read_guards(cursor)
    if clauses is None:
        raise _Unreadable
    for clause in clauses:
        if not isinstance(clause, Guard) or isinstance(clause.operand, Register):
            help_ = "compare with a literal; a label says what a message is, whatever happened before"
            cursor.report("E053", "events have no registers", clause.span, help_=help_)
    return tuple(clause for clause in clauses if isinstance(clause, Guard))


def _origin(cursor: Cursor) -> Origin:
    token = cursor.token
    for speaker in SPEAKERS:
        if _words(cursor, speaker, "says"):
            return _says(cursor, speaker)
    if _words(cursor, "user", "call"):
        return Named("user call", _names(cursor))
    if _words(cursor, "result", "of") or _words(cursor, "error", "of"):
        return Named(cast("NamedKind", token.value), _names(cursor))
    if _word(cursor, "call") or _word(cursor, "event"):
        return Named(cast("NamedKind", token.value), _names(cursor))
    raise _fail(cursor, "expected where the messages come from", token, _AN_ORIGIN_IS)


def _says(cursor: Cursor, speaker: Speaker) -> Says:
    is_pattern = _word(cursor, "matches")
    token = cursor.token
    if token.kind != "string":
        help_ = 'write `says "text"` for a text that it holds, `says matches "…"` for a pattern; `says ""` is anything'
        raise _fail(cursor, "expected what is said, in quotes", token, help_)
    cursor.at += 1
    return Says(speaker, token.value, is_pattern)


def _names(cursor: Cursor) -> tuple[str, ...]:
    following = cursor.ahead(1)
    if not (_is_word(cursor.token, "in") and following.kind == "sign" and following.value == "["):
        return (_name(cursor),)
    cursor.at += 2
    names: list[str] = []
    while not _sign(cursor, "]"):
        names.append(_name(cursor))
        if not _sign(cursor, ","):
            if not _sign(cursor, "]"):
                raise _fail(cursor, "expected `,` or `]`", cursor.token)
            break
    if not names:
        raise _fail(cursor, "expected at least one name in the list", following)
    return tuple(names)


def _name(cursor: Cursor) -> str:
    reports_before = cursor.reports
    found = cursor.label("a name")
    if found is None or cursor.reports > reports_before:
        raise _Unreadable
    return found[0]


def _since(cursor: Cursor, first: Token) -> Span:
    return Span(first.start, cursor.tokens[cursor.at - 1].end)


def _is_word(token: Token, word: str) -> bool:
    return token.kind == "word" and token.value == word


def _word(cursor: Cursor, word: str) -> bool:
    """Read past a word if it stands here."""
    if _is_word(cursor.token, word) and not cursor.is_joined():
        cursor.at += 1
        return True
    return False


def _words(cursor: Cursor, first: str, second: str) -> bool:
    """Read past two words if they stand here."""
    if _is_word(cursor.token, first) and _is_word(cursor.ahead(1), second):
        cursor.at += 2
        return True
    return False


def _sign(cursor: Cursor, sign: str) -> bool:
    """Read past a sign if it stands here."""
    if cursor.token.kind == "sign" and cursor.token.value == sign:
        cursor.at += 1
        return True
    return False


def _fail(cursor: Cursor, message: str, token: Token, help_: str = "") -> _Unreadable:
    cursor.report("E013", f"{message}; found {cursor.shown(token)}", token.span, help_=help_)
    return _Unreadable()
