"""Any Python value as telemetry shows it: short, harmless, and read without running anything.

A payload comes from a model or a tool, and what is recorded of it leaves the program. So:

- texts are cut after `LONGEST` characters, containers after `WIDEST` entries and `DEEPEST` levels, and the whole after
  about `ROOM` characters; where something was cut, it says how much there was;
- characters that cannot be seen are written as escapes, but for line feeds and tabs, so that nothing hides, reorders
  its surroundings, or cannot be sent;
- a text that a backend would take for a file to store or to show (`data:…;base64,…`) stands in quotes, so that it is
  taken for nothing.

INVARIANT: nothing here calls a method of a foreign class, because looking must not change what is judged. Of such a
value only the name of its class is told.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from accord.diagnostics.visible import is_hidden, visible

if TYPE_CHECKING:
    from accord.canonical import Json

__all__ = ["DEEPEST", "LONGEST", "ROOM", "WIDEST", "cut", "excerpt"]

LONGEST = 500
"""Characters of one text."""
WIDEST = 50
"""Entries of one container."""
DEEPEST = 8
"""Containers inside containers."""
ROOM = 20_000
"""Characters of one value in all."""

_SEEN = frozenset("\n\t")
_TAKEN_FOR_FILES = ("data:", "@@@langfuseMedia:")
_LARGEST = 2**53 - 1  # what every reader of JSON takes for the same number
_MOST_BITS = 1024


def excerpt(value: object) -> Json:
    """The value as it is shown.

    Example:
        >>> excerpt({"to": "ana", "text": "x" * 600, "parts": (1, 2.5, None), "raw": b"abc"})["parts"]
        [1, 2.5, None]
        >>> excerpt({"picture": "data:image/png;base64,AAAA", "raw": b"abc"})
        {'picture': '"data:image/png;base64,AAAA"', 'raw': '(bytes, 3 bytes)'}
    """
    try:
        return _Reader().read(value, 0)
    except Exception:  # noqa: BLE001 - such as a container that another thread changes; there is nothing to be shown
        return f"(unreadable {_class_of(value)})"


def cut(text: str, longest: int = LONGEST) -> str:
    r"""The text as it is shown, at most about `longest` characters of it.

    Example:
        >>> cut("abcdef", 3), cut("a\u202eb\n")
        ('abc… (6 characters)', 'a\\u202eb\n')
    """
    text = str.__str__(text)
    shown = text[:longest]
    if not (shown.isascii() and shown.isprintable()):
        shown = "".join([visible(c) if is_hidden(c) and c not in _SEEN else c for c in shown])
    if shown.lstrip().startswith(_TAKEN_FOR_FILES):
        shown = f'"{shown}"'
    return shown if len(text) <= longest else f"{shown}… ({len(text):,} characters)"


class _Reader:
    """One walk through a value, and how much may still be shown."""

    __slots__ = ("room",)

    def __init__(self) -> None:
        self.room = ROOM

    def read(self, value: object, depth: int) -> Json:
        self.room -= 16  # what stands around it included
        if value is None or value is True or value is False:
            return value
        kind = type(value)  # `isinstance` would ask the value itself
        if issubclass(kind, str):
            return self.text(cast("str", value))
        if issubclass(kind, int):
            return _integer(int.__index__(cast("int", value)))
        if issubclass(kind, float):
            number = float.__float__(cast("float", value))
            return number if abs(number) < float("inf") else f"({float.__repr__(number)})"
        if issubclass(kind, dict | list | tuple):
            return self.container(value, depth)
        size = f", {bytes.__len__(cast('bytes', value)):,} bytes" if issubclass(kind, bytes) else ""
        return f"({_class_of(value)}{size})"

    def text(self, text: str) -> str:
        shown = cut(text, max(0, min(LONGEST, self.room)))
        self.room -= len(shown)
        return shown

    def container(self, value: object, depth: int) -> Json:
        if depth >= DEEPEST or self.room <= 0:
            return f"… ({_class_of(value)})"
        if issubclass(type(value), dict):
            return self.mapping(cast("dict[object, object]", value), depth)
        base: Any = list if issubclass(type(value), list) else tuple
        size, first = base.__len__(value), base.__getitem__(value, slice(WIDEST))
        shown: list[Json] = []
        for item in first:
            if self.room <= 0:
                break
            shown.append(self.read(item, depth + 1))
        return shown if len(shown) >= size else [*shown, f"… ({size - len(shown):,} more)"]

    def mapping(self, value: dict[object, object], depth: int) -> Json:
        size, count = dict.__len__(value), 0
        shown: dict[str, Json] = {}
        for key, item in islice(dict.items(value), WIDEST):
            if self.room <= 0:
                break
            name = self.text(cast("str", key)) if issubclass(type(key), str) else str(self.read(key, DEEPEST))
            while name in shown:  # different keys that are cut alike
                name += "…"
            shown[name] = self.read(item, depth + 1)
            count += 1
        return shown if count >= size else {**shown, "…": f"({size - count:,} more)"}


def _integer(number: int) -> Json:
    if -_LARGEST <= number <= _LARGEST:
        return number
    return str(number) if number.bit_length() <= _MOST_BITS else f"(int, {number.bit_length():,} bits)"


def _class_of(value: object) -> str:
    # Past a class of classes that has a name of its own.
    return cut(cast("str", type.__dict__["__name__"].__get__(type(value))), 100)
