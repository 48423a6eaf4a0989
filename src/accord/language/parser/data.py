"""Clauses behind a label: paths, operators, literals, registers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from accord.diagnostics import Span
from accord.language.clauses import Bind, Clause, Collect, Guard, Operator, Path, Register, Scalar, Value
from accord.language.labels import print_label

if TYPE_CHECKING:
    from accord.language.lexer import Token
    from accord.language.parser.cursor import Cursor

__all__ = ["read_clauses", "read_gate", "read_guards", "read_path"]

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_A_CLAUSE_IS = "a clause is `field as register`, `field into set`, or a comparison such as `field <= 3`"
_NO_ARITHMETIC = "the right side is a literal or a register; nothing is computed"
_HELP_BEHIND_A_CLAUSE = {
    "and": "a comma means *and*",
    "or": "write a branch for each, or `field in [a, b]`",
    "+": _NO_ARITHMETIC,
    "-": _NO_ARITHMETIC,
}
_WORDS = {"true": True, "false": False, "null": None}

# Lists in literals are nested no deeper than this; nobody writes more by hand.
_DEEPEST_LIST = 20
_LONGEST_NUMBER = 400


class _Unreadable(Exception):  # noqa: N818 - never leaves this module: the problem has been reported
    pass


def read_clauses(cursor: Cursor) -> tuple[Clause, ...] | None:
    """`(clause, …)` at the cursor; empty if there is none, `None` if it cannot be read."""
    opening, opening_at = cursor.token, cursor.at
    if opening.kind != "sign" or opening.value != "(":
        return ()
    cursor.at += 1
    clauses: list[Clause] = []
    try:
        while not _sign(cursor, ")"):
            clauses.append(_clause(cursor))
            if not _sign(cursor, ","):
                _expect(cursor, ")", "`,` or `)`")
                break
    except _Unreadable:
        _skip_parentheses(cursor, opening_at)
        return None
    if not clauses:
        span = Span(opening.start, cursor.tokens[cursor.at - 1].end)
        cursor.report("E013", "the parentheses behind a label hold at least one clause", span, help_=_A_CLAUSE_IS)
        return None
    return tuple(clauses)


def read_guards(cursor: Cursor) -> tuple[Clause, ...] | None:
    """`clause, …` at the cursor, without parentheses: one or more; `None` if they cannot be read."""
    try:
        clauses = [_clause(cursor)]
        while _sign(cursor, ","):
            clauses.append(_clause(cursor))
    except _Unreadable:
        return None
    return tuple(clauses)


def read_gate(cursor: Cursor) -> bool | None:
    """`by human` at the cursor; `None` if it cannot be read."""
    token = cursor.token
    if token.kind != "word" or token.value != "by":
        return False
    cursor.at += 1
    who = cursor.token
    if who.kind == "word" and who.value == "human":
        cursor.at += 1
        return True
    help_ = "which person is meant is said by the label, such as `?NurseApproval by human`; your program sees to it"
    cursor.report("E013", f"expected `human` after `by`; found {cursor.shown(who)}", who.span, help_=help_)
    return None


def read_path(cursor: Cursor) -> Path | None:
    """The path at the cursor; `None` if it cannot be read."""
    try:
        return _path(cursor, 'a path is `field`, `object.field` or `"odd name"`')
    except _Unreadable:
        return None


def _skip_parentheses(cursor: Cursor, opening_at: int) -> None:
    """Go on behind the parenthesis that closes the clauses, so that one mistake is one error."""
    failed_at = cursor.at
    cursor.at = opening_at
    depth = 0
    while not cursor.at_boundary():
        token = cursor.token
        cursor.at += 1
        if token.kind == "sign":
            depth += (token.value in "([{") - (token.value in ")]}")
            if depth == 0:
                return
    cursor.at = failed_at  # it is never closed


def _sign(cursor: Cursor, sign: str) -> bool:
    """Read past a sign if it stands here."""
    token = cursor.token
    if token.kind == "sign" and token.value == sign:
        cursor.at += 1
        return True
    return False


def _expect(cursor: Cursor, sign: str, wanted: str) -> None:
    token = cursor.token
    if not _sign(cursor, sign):
        help_ = _HELP_BEHIND_A_CLAUSE.get(token.value, "") if token.kind in {"word", "sign"} else ""
        raise _fail(cursor, f"expected {wanted}; found {cursor.shown(token)}", token, help_)


def _fail(cursor: Cursor, message: str, token: Token, help_: str = "") -> _Unreadable:
    cursor.report("E013", message, token.span, help_=help_)
    return _Unreadable()


def _clause(cursor: Cursor) -> Clause:
    start = cursor.token.start
    path = _path(cursor)
    token = cursor.token
    if token.kind == "word" and token.value in {"as", "into"}:
        cursor.at += 1
        name = _name(cursor, f"the name of a register after `{token.value}`")
        span = Span(start, cursor.tokens[cursor.at - 1].end)
        return Bind(path, name, span) if token.value == "as" else Collect(path, name, span)
    operator = _operator(cursor)
    operand = _operand(cursor)
    span = Span(start, cursor.tokens[cursor.at - 1].end)
    if operator == "matches" and not (isinstance(operand, Value) and isinstance(operand.scalar, str)):
        cursor.report("E013", "the pattern behind `matches` is a string", span, help_='write `field matches "…"`')
        raise _Unreadable
    return Guard(path, operator, operand, span)


def _path(cursor: Cursor, help_: str = _A_CLAUSE_IS) -> Path:
    segments: list[str] = []
    while True:
        token = cursor.token
        named = token.kind == "word" and (token.value[0].isalpha() or token.value[0] == "_")
        if token.kind != "string" and not named:
            if token.kind == "word":
                help_ = f"put it in quotes: {print_label(token.value)}"
            raise _fail(cursor, f"expected the name of a field; found {cursor.shown(token)}", token, help_)
        segments.append(token.value)
        cursor.at += 1
        if not _sign(cursor, "."):
            return tuple(segments)


def _name(cursor: Cursor, wanted: str) -> str:
    token = cursor.token
    if token.kind != "word" or not cursor.good_name(token) or token.value in _WORDS:
        raise _fail(cursor, f"expected {wanted}; found {cursor.shown(token)}", token)
    cursor.at += 1
    return token.value


def _operator(cursor: Cursor) -> Operator:
    first, second = cursor.token, cursor.ahead(1)
    joined = second.kind == "sign" and second.start == first.end
    pair = first.value + second.value if joined else first.value
    if first.kind == "sign":
        for sign in ("==", "!=", "<=", ">="):
            if pair == sign:
                cursor.at += 2
                return sign
        if first.value in {"<", ">"}:
            cursor.at += 1
            return first.value  # type: ignore[return-value] # one of the operators
    elif first.kind == "word" and first.value in {"in", "matches"}:
        cursor.at += 1
        return first.value  # type: ignore[return-value] # one of the operators
    elif first.kind == "word" and first.value == "not" and second.kind == "word" and second.value == "in":
        cursor.at += 2
        return "not in"
    help_ = "write `==` to compare" if first.kind == "sign" and first.value == "=" else _A_CLAUSE_IS
    raise _fail(cursor, f"expected `as`, `into` or a comparison; found {cursor.shown(first)}", first, help_)


def _operand(cursor: Cursor) -> Value | Register:
    token = cursor.token
    if token.kind == "word" and cursor.good_name(token) and token.value not in _WORDS:
        cursor.at += 1
        return Register(token.value)
    return Value(_scalar(cursor, 0))


def _scalar(cursor: Cursor, depth: int) -> Scalar:
    token = cursor.token
    if token.kind == "string":
        cursor.at += 1
        return token.value
    if token.kind == "word" and token.value in _WORDS:
        cursor.at += 1
        return _WORDS[token.value]
    if token.kind == "sign" and token.value == "[":
        return _list(cursor, depth)
    if (token.kind == "word" and token.value[0].isdigit()) or (token.kind == "sign" and token.value == "-"):
        return _number(cursor)
    raise _fail(cursor, f"expected a literal or a register; found {cursor.shown(token)}", token)


def _list(cursor: Cursor, depth: int) -> Scalar:
    opening = cursor.token
    if depth >= _DEEPEST_LIST:
        raise _fail(cursor, f"lists are nested deeper than {_DEEPEST_LIST}", opening)
    cursor.at += 1
    items: list[Scalar] = []
    while not _sign(cursor, "]"):
        items.append(_scalar(cursor, depth + 1))
        if not _sign(cursor, ","):
            _expect(cursor, "]", "`,` or `]`")
            break
    return tuple(items)


def _number(cursor: Cursor) -> int | float:
    """A number of JSON: the tokens that stand together without a space."""
    start = end = cursor.token.start
    while not cursor.at_boundary():
        token = cursor.token
        exponent = cursor.source.text[start:end][-1:] in {"e", "E"}
        digits = token.kind == "word" and token.value[0].isdigit()
        point = token.value == "." and cursor.ahead(1).start == token.end and cursor.ahead(1).value[:1].isdigit()
        sign = (token.value == "-" and end == start) or (token.value in {"-", "+"} and exponent)
        if token.start != end or not (digits or (token.kind == "sign" and (point or sign))):
            break
        end = token.end
        cursor.at += 1
    text = cursor.source.text[start:end]
    span = Span(start, end)
    if not _NUMBER.match(text) or len(text) > _LONGEST_NUMBER:
        cursor.report("E013", "this is no number", span, help_="numbers are written as in JSON; texts stand in quotes")
        raise _Unreadable
    number = float(text) if set(text) & set(".eE") else int(text)
    if number in {float("inf"), float("-inf")}:
        cursor.report("E013", "the number is too large", span)
        raise _Unreadable
    return number
