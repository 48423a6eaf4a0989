"""Words: an action as one writes it, `!Ask`, `B?reply`, `?"2nd try"`, `!pay(amount <= t)`, `?Approval by human`.

The product has a printer of its own. This is a second one on purpose: a mistake in either shows.
"""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING

from accord.language.clauses import Bind, Collect, Guard, Register, Value

if TYPE_CHECKING:
    from accord.language.clauses import Clause, Scalar
    from accord.language.tree import Action

__all__ = ["word"]

RESERVED = frozenset({"rec", "end", "each"})


def word(action: Action) -> str:
    """The action as text: partner, direction, label, clauses, gate."""
    label = action.label if is_plain(action.label) else in_quotes(action.label)
    clauses = ", ".join(map(clause_text, action.clauses))
    data = f"({clauses})" if clauses else ""
    gate = " by human" if action.gated else ""
    return f"{action.partner or ''}{action.direction}{label}{data}{gate}"


def clause_text(clause: Clause) -> str:
    """A clause as text: the path, what is done with the field, and the other side."""
    path = ".".join(segment if is_name(segment) else in_quotes(segment) for segment in clause.path)
    match clause:
        case Bind(register=name):
            return f"{path} as {name}"
        case Collect(register=name):
            return f"{path} into {name}"
        case Guard(operator=operator, operand=Register(name)):
            return f"{path} {operator} {name}"
        case Guard(operator=operator, operand=Value(scalar)):
            return f"{path} {operator} {literal_text(scalar)}"
    raise TypeError(f"no clause: {clause!r}")


def literal_text(scalar: Scalar) -> str:
    """A literal as JSON writes it."""
    match scalar:
        case str():
            return in_quotes(scalar)
        case tuple():
            return ", ".join(map(literal_text, scalar)).join("[]")
        case float():
            return repr(scalar)
        case _:
            return json.dumps(scalar)


def in_quotes(text: str) -> str:
    """Text in quotes: as JSON writes it, and what cannot be seen as an escape."""
    return "".join(map(quoted, text)).join('""')


def quoted(character: str) -> str:
    """A character inside quotes."""
    hidden = unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    return json.dumps(character, ensure_ascii=hidden)[1:-1]


def is_name(text: str) -> bool:
    """Whether a segment of a path needs no quotes. Reserved words are as good as any other there."""
    return text != "" and (is_letter(text[0]) or text[0] == "_") and all(map(is_label_character, text))


def is_plain(label: str) -> bool:
    """Whether a label needs no quotes."""
    if label in RESERVED or not label or not (is_letter(label[0]) or label[0] == "_"):
        return False
    # Split at every joint: an empty piece is a joint at an edge or next to another one.
    pieces = label.replace(":", "-").split("-")
    return all(piece and all(map(is_label_character, piece)) for piece in pieces)


def is_letter(character: str) -> bool:
    """Whether Unicode calls this a letter."""
    return unicodedata.category(character).startswith("L")


def is_label_character(character: str) -> bool:
    """Whether this may stand in a plain label, joints apart."""
    return is_letter(character) or character == "_" or unicodedata.category(character) in {"Nd", "Mn", "Mc"}
