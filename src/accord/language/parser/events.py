"""The `events` block: which messages of raw traffic have which label."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from accord.diagnostics import Span
from accord.language.clauses import Guard, Register
from accord.language.events import SPEAKERS, EventLine, Events, Named, Says
from accord.language.parser.blocks import Unreadable, fail, is_word, read_block, read_list, read_name, since, word
from accord.language.parser.data import read_guards

if TYPE_CHECKING:
    from accord.language.events import NamedKind, Origin, Speaker
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


def read_events(cursor: Cursor) -> Events | None:
    """The block between the cursor, where `events {` stands, and the boundary; `None` if it has errors."""
    found = read_block(cursor, "events", _line, _A_LINE_IS)
    return None if found is None else Events(*found)


def _line(cursor: Cursor) -> EventLine:
    first, reports_before = cursor.token, cursor.reports
    if is_word(first, "as") and is_word(cursor.ahead(1), "named"):
        label_span = Span(first.start, cursor.ahead(1).end)
        cursor.at += 2
        if not word(cursor, "otherwise"):
            raise fail(cursor, "expected `otherwise` behind `as named`", cursor.token, _A_LINE_IS)
        return EventLine(None, None, (), since(cursor, first), label_span, as_named=True)
    found = cursor.label("a label")
    if found is None or cursor.reports > reports_before:
        raise Unreadable
    label = None if first.kind == "word" and found[0] == IGNORE else found[0]
    label_span = Span(first.start, found[1])
    if word(cursor, "otherwise"):
        return EventLine(label, None, (), since(cursor, first), label_span)
    if not word(cursor, "when"):
        raise fail(cursor, "expected `when` or `otherwise` behind the label", cursor.token, _A_LINE_IS)
    origin = _origin(cursor)
    guards: tuple[Guard, ...] = ()
    if word(cursor, "where"):
        guards = _guards(cursor)
    return EventLine(label, origin, guards, since(cursor, first), label_span)


def _guards(cursor: Cursor) -> tuple[Guard, ...]:
    clauses = read_guards(cursor)
    if clauses is None:
        raise Unreadable
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
    if word(cursor, "call") or word(cursor, "event"):
        return Named(cast("NamedKind", token.value), _names(cursor))
    raise fail(cursor, "expected where the messages come from", token, _AN_ORIGIN_IS)


def _says(cursor: Cursor, speaker: Speaker) -> Says:
    is_pattern = word(cursor, "matches")
    token = cursor.token
    if token.kind != "string":
        help_ = 'write `says "text"` for a text that it holds, `says matches "…"` for a pattern; `says ""` is anything'
        raise fail(cursor, "expected what is said, in quotes", token, help_)
    cursor.at += 1
    return Says(speaker, token.value, is_pattern)


def _names(cursor: Cursor) -> tuple[str, ...]:
    following = cursor.ahead(1)
    if not (is_word(cursor.token, "in") and following.kind == "sign" and following.value == "["):
        return (read_name(cursor, "a name")[0],)
    cursor.at += 2
    return tuple([name for name, _ in read_list(cursor, following, "name", "a name")])


def _words(cursor: Cursor, first: str, second: str) -> bool:
    """Read past two words if they stand here."""
    if is_word(cursor.token, first) and is_word(cursor.ahead(1), second):
        cursor.at += 2
        return True
    return False
