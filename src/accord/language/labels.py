"""What a name and a label are, and how an event is written as a word.

A name is a letter or `_`, then letters, digits, `_`; a label is a name in which `-` and `:` may stand between label
characters. Letters are Unicode letters; combining marks may follow them. Every other label is written in quotes with
the escapes of JSON. Names and labels are compared in Unicode normal form C.

A *word* is an event in text: `!Ask`, `?"2nd try"`, `Airline!Query`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, cast

from accord.diagnostics.visible import is_hidden

if TYPE_CHECKING:
    from accord.language.tree import Direction

__all__ = [
    "RESERVED",
    "is_name",
    "is_word_character",
    "normalise",
    "parse_word",
    "print_label",
    "print_word",
    "quote",
    "why_suspicious",
]

RESERVED = frozenset({"rec", "end", "each"})

_ASCII_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[-:][A-Za-z0-9_]+)*\Z")
_ASCII_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def normalise(text: str) -> str:
    """Normal form C, in which all names and labels are compared."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def is_word_character(character: str) -> bool:
    """Whether a character may stand inside a name."""
    if character.isascii():
        return character.isalnum() or character == "_"
    category = unicodedata.category(character)
    return category[0] == "L" or category in {"Nd", "Mn", "Mc"}


def _starts_name(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] == "L"


def is_name(text: str) -> bool:
    """Whether `text` can be written as a name."""
    if text.isascii():
        return _ASCII_NAME.match(text) is not None and text not in RESERVED
    return bool(text) and _starts_name(text[0]) and all(map(is_word_character, text))


def _is_plain_label(text: str) -> bool:
    if text.isascii():
        return _ASCII_LABEL.match(text) is not None and text not in RESERVED
    pieces = re.split("[-:]", text)
    return (
        all(piece and all(map(is_word_character, piece)) for piece in pieces)
        and _starts_name(text[0])
        and not any(unicodedata.category(piece[0])[0] == "M" for piece in pieces)
        and normalise(text) == text
    )


def print_label(label: str) -> str:
    r"""A label as it is written in a contract: plain where that is possible, else in quotes.

    Example:
        >>> print_label("book-flight"), print_label("2nd try")
        ('book-flight', '"2nd try"')
    """
    if label and _is_plain_label(label):
        return label
    return quote(label)


def quote(text: str) -> str:
    """Text in quotes with the escapes of JSON.

    It must survive a copy through any terminal, so what cannot be seen is written as an escape.
    """
    if not any(map(is_hidden, text)):
        return json.dumps(text, ensure_ascii=False)
    return "".join(json.dumps(c, ensure_ascii=is_hidden(c))[1:-1] for c in text).join('""')


def print_word(direction: Direction, label: str, partner: str | None = None) -> str:
    """An event as a word."""
    return f"{partner or ''}{direction}{print_label(label)}"


_WORD = re.compile(r"([^!?\"]*)([!?])(.+)\Z", re.DOTALL)


def parse_word(word: str) -> tuple[Direction, str, str | None]:
    """The reverse of `print_word`: direction, label, partner.

    An unquoted label is taken as it stands, so `!my tool` is read too. Raises `ValueError` for anything else.
    """
    match = _WORD.match(word)
    if match is None:
        raise ValueError("an event is written `!label`, `?label` or `Role!label`")
    partner, direction, label = match.groups()
    if partner and not is_name(partner):
        raise ValueError(f"`{partner}` in front of `{direction}` is no role name")
    if label.startswith('"'):
        label = label if label.endswith('"') else ""  # nothing may follow the closing quote, not even a space
        try:
            label = json.loads(label)
        except ValueError:
            raise ValueError("the quoted label is not valid; the escapes of JSON apply") from None
        if not isinstance(label, str) or not label:
            raise ValueError("a label has at least one character")
    return cast("Direction", direction), label, partner or None


# Scripts that hold letters easily taken for one another. Other mixtures (Japanese with Latin) are everyday text.
_CONFUSABLE_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"})
_BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


# Characters that Unicode calls letters or marks and that show nothing.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def why_suspicious(label: str) -> str | None:
    """Why a reader may be deceived by this label, or `None`."""
    if label.isascii() and label.isprintable():
        return None
    if any(c in _BIDI_CONTROLS for c in label):
        return "it holds characters that change the direction of text"
    if any(map(is_hidden, label)) or _INVISIBLE.search(label):
        return "it holds characters that cannot be seen"
    scripts = {unicodedata.name(c, "").split(" ", 1)[0] for c in label if unicodedata.category(c)[0] == "L"}
    mixed = sorted(scripts & _CONFUSABLE_SCRIPTS)
    if len(mixed) > 1:
        return f"it mixes {' and '.join(s.capitalize() for s in mixed)} letters"
    return None
