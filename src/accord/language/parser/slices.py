"""`each field:` in front of a protocol or a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.language.parser.data import read_path

if TYPE_CHECKING:
    from accord.language.clauses import Path
    from accord.language.lexer import Token
    from accord.language.parser.cursor import Cursor

__all__ = ["misplaced_slice", "read_slice"]


def read_slice(cursor: Cursor) -> Path | None:
    """The field by which what follows is sliced; `None` if it is not, or if the field cannot be read."""
    if not _is_each(cursor.token):
        return None
    each = cursor.token
    cursor.at += 1
    path = read_path(cursor)
    if path is None:
        _skip_to_colon(cursor)
        return None
    if not _colon(cursor):
        found = cursor.shown(cursor.token)
        help_ = "write `each order_id: …`"
        cursor.report("E047", f"expected `:` behind the field of `each`; found {found}", cursor.token.span, help_=help_)
    elif _is_each(cursor.token):
        help_ = "let one field hold the whole key"
        cursor.report("E047", "there is one instance per value of one field", cursor.token.span, help_=help_)
        cursor.at += 1
        _skip_to_colon(cursor)
    elif cursor.at_boundary():
        cursor.report("E020", "nothing stands behind `each …:`", each.span, help_="say what each value has to follow")
    return path


def misplaced_slice(cursor: Cursor) -> bool:
    """Report `each` where a step must come, and tell whether a step follows behind its colon."""
    message = "`each` stands in front of a whole protocol or rule"
    help_ = 'write `protocol Name = each field: …`; a label of that name stands in quotes: `!"each"`'
    cursor.report("E047", message, cursor.token.span, help_=help_)
    cursor.at += 1
    return _skip_to_colon(cursor)


def _is_each(token: Token) -> bool:
    return token.kind == "word" and token.value == "each"


def _colon(cursor: Cursor) -> bool:
    if cursor.token.kind == "sign" and cursor.token.value == ":":
        cursor.at += 1
        return True
    return False


def _skip_to_colon(cursor: Cursor) -> bool:
    """Go behind the colon of a path that stands here; stay if there is none."""
    start = cursor.at
    while not cursor.at_boundary():
        token = cursor.token
        if _colon(cursor):
            return True
        if token.kind == "sign" and token.value != ".":
            break
        cursor.at += 1
    cursor.at = start
    return False
