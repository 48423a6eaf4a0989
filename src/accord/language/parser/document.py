"""Everything a text declares."""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Source, Span
from accord.language.labels import is_name
from accord.language.lexer import Token, tokenise
from accord.language.parser.cursor import Cursor
from accord.language.parser.events import read_events
from accord.language.parser.globals import read_global
from accord.language.parser.local import read_protocol
from accord.language.parser.rules import read_rule
from accord.language.parser.slices import read_slice
from accord.language.parser.tools import read_tools
from accord.language.parser.types import read_enum, read_record
from accord.language.tree import NOWHERE, Declaration, Document, Item

if TYPE_CHECKING:
    from accord.limits import Limits

__all__ = ["parse_document"]

_EMPTY_HELP = "write `end` for a session without messages"


def parse_document(source: Source, limits: Limits) -> tuple[Document, list[Diagnostic]]:
    """Everything a text declares, and every error of its form, in source order.

    A declaration in which an error was found yields no tree.
    """
    tokens, comments, unreadable = tokenise(source, limits)
    cursor = Cursor(source, tokens, list(unreadable), limits)
    starts = [at for at in range(len(tokens)) if _declares(tokens, at)]
    items: list[Item] = []
    places = sorted(problem.span.start for problem in unreadable)
    if len(tokens) == 1:
        if not unreadable:
            cursor.report("E020", "the contract is empty", Span(0, 0), help_=_EMPTY_HELP)
    elif not starts or starts[0] > 0:
        cursor.boundary = starts[0] if starts else len(tokens) - 1
        items += _readable(_bare(cursor), places, 0, tokens[cursor.boundary].start)
        if starts:
            cursor.report(
                "E013",
                "a bare protocol stands alone in its text",
                tokens[starts[0]].span,
                help_="give the first one a name too: `protocol Name = …`",
            )
    for start, boundary in pairwise([*starts, len(tokens) - 1]):
        cursor.at, cursor.boundary = start, boundary
        found = _READERS[tokens[start].value](cursor)
        items += _readable(found, places, tokens[start].start, tokens[boundary].start)
    cursor.problems.sort(key=lambda d: d.span)
    return Document(tuple(items), source, tuple(comments)), cursor.problems


def _declares(tokens: list[Token], at: int) -> bool:
    """Whether a declaration begins there: a keyword, its name and a sign.

    `rule name {` is meant to be one too, although the name of a rule stands in quotes.
    """
    word = tokens[at]
    if word.kind != "word" or word.value not in _READERS or at + 2 >= len(tokens):
        return False
    name, sign = tokens[at + 1], tokens[at + 2]
    if word.value == "protocol" and name.kind == "word":
        # One word too many is meant to be `open`.
        behind = tokens[at + 3] if sign.kind == "word" and at + 3 < len(tokens) else sign
        if behind.kind == "sign" and (behind.value == "=" or (behind is not sign and behind.value == "{")):
            return True
    if word.value != "rule":
        is_block = word.value in _BLOCKS
        brace = name if is_block else sign
        # Somebody called a message, a role, a loop or a protocol that.
        named = at > 0 and (tokens[at - 1].value in _BEFORE_A_NAME or (is_block and tokens[at - 1].value in _NAMING))
        is_name = is_block or name.kind == "word"
        return is_name and brace.kind == "sign" and brace.value == "{" and not named
    return name.kind == "string" or (name.kind == "word" and sign.kind == "sign" and sign.value == "{")


def _rule(cursor: Cursor) -> list[Item]:
    rule = read_rule(cursor)
    return [rule] if rule else []


def _record(cursor: Cursor) -> list[Item]:
    record = read_record(cursor)
    return [record] if record else []


def _enum(cursor: Cursor) -> list[Item]:
    enum = read_enum(cursor)
    return [enum] if enum else []


def _events(cursor: Cursor) -> list[Item]:
    events = read_events(cursor)
    return [events] if events else []


def _tools(cursor: Cursor) -> list[Item]:
    tools = read_tools(cursor)
    return [tools] if tools else []


def _bare(cursor: Cursor) -> list[Item]:
    start = cursor.token.start
    return _sliced(cursor, None, start, NOWHERE)


def _named(cursor: Cursor) -> list[Item]:
    start, name = cursor.tokens[cursor.at], cursor.tokens[cursor.at + 1]
    if cursor.ahead(2).value == "{":
        between_roles = read_global(cursor)
        return [between_roles] if between_roles else []
    is_open = cursor.ahead(2).kind == "word"
    if is_open and not _opened(cursor, name.value):
        return []
    cursor.at += 4 if is_open else 3
    if not is_name(name.value):
        cursor.report("E013", f"`{name.value}` cannot be the name of a protocol", name.span)
        return []
    if cursor.at_boundary():
        cursor.report("E020", f"protocol `{name.value}` is empty", name.span, help_=_EMPTY_HELP)
        return []
    return _sliced(cursor, name.value, start.start, name.span, is_open=is_open)


def _opened(cursor: Cursor, name: str) -> bool:
    """Whether what stands between a protocol's name and its sign is `open`, and may be."""
    word, sign = cursor.ahead(2), cursor.ahead(3)
    if word.value != "open":
        help_ = f"write `protocol {name} = …`, or `protocol {name} open = …` to let pass what it does not name"
        cursor.report("E013", f"expected `open` or `{sign.value}`; found {cursor.shown(word)}", word.span, help_=help_)
        return False
    if sign.value == "{":
        help_ = f"write `protocol {name} {{ … }}`; what its roles say to each other besides is not its business"
        cursor.report("E013", "a protocol between roles cannot be open", word.span, help_=help_)
        return False
    return True


def _sliced(cursor: Cursor, name: str | None, start: int, name_span: Span, *, is_open: bool = False) -> list[Item]:
    """A declaration from its slice on, if it has one."""
    reports_before = cursor.reports
    each = read_slice(cursor)
    body = None if cursor.at_boundary() else read_protocol(cursor)
    if body is None or cursor.reports > reports_before:
        return []
    return [Declaration(name, body, Span(start, body.span.end), name_span, each, is_open)]


def _readable(items: list[Item], places: list[int], start: int, end: int) -> list[Item]:
    """The items, unless something between start and end could not be read."""
    return items if bisect_left(places, start) == bisect_left(places, end + 1) else []


_READERS = {
    "protocol": _named, "rule": _rule, "events": _events, "tools": _tools, "record": _record, "enum": _enum,
}  # fmt: skip
"""What reads a declaration, by its first word."""

_BLOCKS = frozenset({"events", "tools"})
"""Those that have no name."""

_NAMING = frozenset({"protocol", "rec", "at"})
"""Words in front of a name that may stand in front of a brace."""

_BEFORE_A_NAME = frozenset("!?.-:,>")
