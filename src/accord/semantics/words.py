"""Words: an action as one writes it, `!Ask`, `B?reply`, `?"2nd try"`.

The product has a printer of its own. This is a second one on purpose: a mistake in either shows.
"""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.language.tree import Action

__all__ = ["word"]

RESERVED = frozenset({"rec", "end", "each"})


def word(action: Action) -> str:
    """The action as text: partner, direction, label."""
    label = action.label
    text = label if is_plain(label) else "".join(map(quoted, label)).join('""')
    return f"{action.partner or ''}{action.direction}{text}"


def quoted(character: str) -> str:
    """A character inside quotes: as JSON writes it, and as an escape if it cannot be seen."""
    hidden = unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    return json.dumps(character, ensure_ascii=hidden)[1:-1]


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
