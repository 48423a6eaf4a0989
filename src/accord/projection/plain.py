"""Values as JSON holds them, in containers of their own.

What is judged, written down and given to a tool must be one and the same, and nobody may change it in between. So
containers are copied, whatever their class, and a value of a class derived from `str`, `int` or `float` is what JSON
would write of it: what such a class does when it is compared or asked for its value decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from accord.canonical import LONE_SURROGATE

if TYPE_CHECKING:
    from accord.canonical import Json

__all__ = ["DEEPEST", "LARGEST", "NotPlainError", "is_text", "plain_text", "plain_value", "plainly"]

DEEPEST = 90
"""Containers inside containers: a little less than a ledger keeps."""
LARGEST = 200_000
"""Values in one payload; one that shares parts can be endless for all practical purposes."""
_FLAT = 16
"""Fields of a dictionary that is looked through at once."""


class NotPlainError(Exception):
    """JSON cannot hold it; the text says what is wrong."""


def plain_text(text: str) -> str:
    """The text itself, whatever class it has."""
    return text if type(text) is str else str.__str__(text)


def is_text(text: str) -> bool:
    """Whether it can be written down: half a character cannot."""
    return text.isascii() or LONE_SURROGATE.search(text) is None


def plainly(value: Mapping[str, Any]) -> dict[str, Json]:
    """A payload as JSON holds it; `NotPlainError` if it cannot.

    Example:
        >>> plainly({"a": (1, None)})
        {'a': [1, None]}
    """
    return _mapping(value, 0, [LARGEST])


def plain_value(value: object) -> Json:
    """Any value as JSON holds it; `NotPlainError` if it cannot, whatever goes wrong when it is looked at."""
    if type(value) is dict and (copy := _flat_copy(value)) is not None:
        return copy
    try:
        return _plain(value, 0, [LARGEST])
    except NotPlainError:
        raise
    except Exception as error:
        raise NotPlainError(f"it cannot be read: {type(error).__name__}") from error


def _flat_copy(value: dict[Any, Any]) -> dict[str, Json] | None:
    """A copy of a small dictionary that holds nothing but short keys, texts and the like, which most are; else `None`.

    Classes are compared and nothing is asked of the values, so nothing can go wrong.
    """
    copy = value.copy()
    if len(copy) > _FLAT:
        return None
    for key, item in copy.items():
        if type(key) is not str or not key.isascii():
            return None
        kind = type(item)
        if kind is str:
            if not item.isascii():
                return None
        elif kind is not int and kind is not bool and item is not None:
            return None
    return copy


def _plain(value: Any, depth: int, room: list[int]) -> Json:  # noqa: ANN401 - that is the question
    room[0] -= 1
    if room[0] < 0:
        raise NotPlainError(f"it is made of more than {LARGEST:,} values")
    if type(value) is str and value.isascii():  # nearly always
        return value
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        return _number(value)
    if depth >= DEEPEST:
        raise NotPlainError("it is nested too deeply, or inside itself")
    if isinstance(value, list):
        return [_plain(item, depth + 1, room) for item in list.__iter__(value)]
    if isinstance(value, tuple):
        return [_plain(item, depth + 1, room) for item in tuple.__iter__(value)]
    if isinstance(value, Mapping):
        return _mapping(value, depth + 1, room)
    raise NotPlainError(f"a {type(value).__name__} has no canonical JSON form")


def _mapping(value: Mapping[Any, Any], depth: int, room: list[int]) -> dict[str, Json]:
    try:
        items = dict(value)
    except Exception as error:
        raise NotPlainError(f"it cannot be read: {type(error).__name__}") from error
    plain: dict[str, Json] = {}
    for key, item in items.items():
        if not isinstance(key, str):
            raise NotPlainError("a key in it is no text")
        plain[_text(key)] = _plain(item, depth, room)
    if len(plain) != len(items):
        raise NotPlainError("two keys in it are the same text")
    return plain


def _text(value: str) -> str:
    text = plain_text(value)
    if not is_text(text):
        raise NotPlainError("a text in it holds half a character (a lone surrogate)")
    return text


def _number(value: float) -> float:
    number = float.__float__(value)
    if not isfinite(number):
        raise NotPlainError(f"{number} has no canonical JSON form")
    return number
