"""Any Python value as JSON, with nothing changed in silence.

What JSON can hold is kept as it is. What it cannot hold becomes a *mark*: an object with the key `$accord` that says
what stood there. A mapping that has such a key of its own is written as a mark too, so a mark always means what it
says.

| value | mark |
|---|---|
| NaN, infinities, negative zero | `{"$accord": "float", "value": "nan"}` |
| an integer beyond 64 bits | `{"$accord": "int", "value": "0x…"}` |
| text with lone surrogates | `{"$accord": "text", "value": …}`, with the escapes of JSON |
| bytes | `{"$accord": "bytes", "value": …}`, in base64 |
| a mapping with other keys than text | `{"$accord": "mapping", "items": [[key, value], …]}` |
| a container inside itself | `{"$accord": "cycle", "up": n}`, so many containers further out |
| nesting beyond `DEEPEST` | `{"$accord": "left out", "why": …}` |
| more than `KEPT` bytes in all | `{"$accord": "left out", "bytes": n, "sha256": …}`, over what would have stood here |
| any other object | `{"$accord": "object", "type": …, "repr": …}` |
| what raises an error when read | `{"$accord": "unreadable", "type": …, "error": …}` |

Tuples are arrays, and 1.0 is the number 1: JSON knows no difference. INVARIANT: nothing here raises, whatever the value
does when it is looked at; an attempt must not escape the record because of what it carries.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from typing import cast

from accord.canonical import LONE_SURROGATE, Json, encode, is_plain_number

__all__ = [
    "DEEPEST",
    "KEPT",
    "LOOKED_AT",
    "MARK",
    "MOST_VALUES",
    "is_plain_number",
    "own_copy",
    "plain_copy",
    "represent",
]

MARK = "$accord"

DEEPEST = 100
"""Containers inside containers."""
KEPT = 1 << 20
"""Bytes of one value in a ledger; of more than that only the digest is kept."""
LOOKED_AT = 1 << 26
"""About so many bytes of one value are looked at; a value can share parts and be endless for all practical purposes."""
MOST_VALUES = 1_000_000
"""So many values are looked at: each takes a hundred bytes of memory, whatever is written of it."""

_WORST = 16  # bytes of JSON for a unit of room: six for a character, and a value costs eight units before it has any
_LONGEST_REPR = 1000
# INVARIANT: a plain payload is smaller than KEPT: twelve entries of twelve, each a key and a text of escapes, six bytes
# for a character.
_LONGEST_PLAIN = 500
_MOST_PLAIN = 12
_DEEPEST_PLAIN = 1
_INT64 = 1 << 63
_SCALARS = frozenset({type(None), bool, int, float, str, bytes})


class _TooLargeError(Exception):
    """There is no end to it in sight."""


def represent(value: object, *, kept: int = KEPT, reprs: bool = True) -> Json:
    """The value as JSON; see the table above.

    `kept` is how many bytes of it are kept. Without `reprs` an object is known by its type alone: what it says of
    itself is often where it lies in memory.

    Example:
        >>> represent({"a": (1, float("nan"))})
        {'a': [1, {'$accord': 'float', 'value': 'nan'}]}
    """
    if _is_plain_scalar(value):
        return cast("Json", value)
    plain = plain_copy(value) if kept >= KEPT else None
    if plain is not None:
        return cast("Json", plain)
    walk = _Walk(LOOKED_AT, reprs=reprs)
    try:
        found = walk.keep(value, 0)
        if (LOOKED_AT - walk.room) * _WORST > kept:
            data = encode(found)
            if len(data) > kept:
                return {MARK: "left out", "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    except _TooLargeError:
        many = f"it is made of more than {MOST_VALUES:,} values"
        return {MARK: "left out", "why": many if walk.values < 0 else f"it is larger than {LOOKED_AT >> 20} MiB"}
    except Exception as error:  # noqa: BLE001 - the invariant above
        return _unreadable(value, error)
    return found


def own_copy(value: object, depth: int = 0, copies: dict[int, tuple[object, object]] | None = None) -> object:
    """A copy of the containers in a payload, so that what is judged is what is recorded, whatever others do to it.

    Values that are no containers are the same objects. What cannot be copied is left as it is. What is shared stays
    shared, so that a copy costs no more than what it is of, however many ways lead to its parts.
    """
    copies = {} if copies is None else copies
    known = copies.get(id(value))
    if known is not None:
        return known[1]
    kind = type(value)
    if depth > DEEPEST or (kind not in {dict, list, tuple} and not isinstance(value, Mapping)):
        return value
    # INVARIANT: what was copied is kept beside its copy. A mapping may make its values when it is asked, and one that
    # is let go of leaves its `id` to the next.
    if kind is list:
        items = list(cast("list[object]", value))
        copies[id(value)] = value, items
        for index, item in enumerate(items):
            if type(item) not in _SCALARS:
                items[index] = own_copy(item, depth + 1, copies)
        return items
    if kind is tuple:
        same = tuple([own_copy(item, depth + 1, copies) for item in cast("tuple[object, ...]", value)])
        copies[id(value)] = value, same
        return same
    fields = dict(cast("Mapping[object, object]", value))
    copies[id(value)] = value, fields
    for key, item in fields.items():
        if type(item) not in _SCALARS:
            fields[key] = own_copy(item, depth + 1, copies)
    return fields


def plain_copy(value: object, depth: int = _DEEPEST_PLAIN) -> dict[str, Json] | None:
    """A copy of a small and simple payload, `None` of any other.

    Of these, and most are, it is known without a further look that `represent` changes nothing and that msgspec writes
    them canonically: short ASCII text, integers of 62 bits, numbers with a fraction and without an exponent.
    """
    return _plain_dict(value, depth) if type(value) is dict else None


def _plain_dict(value: dict[object, object], depth: int) -> dict[str, Json] | None:
    copy = value.copy()
    if len(copy) > _MOST_PLAIN:
        return None
    for key, item in copy.items():
        if type(key) is not str or not key.isascii() or key == MARK or len(key) > _LONGEST_PLAIN:
            return None
        if not _is_plain_scalar(item):
            if depth == 0 or (inner := _plain_container(item, depth - 1)) is None:
                return None
            copy[key] = inner
    return cast("dict[str, Json]", copy)


def _plain_container(value: object, depth: int) -> Json:
    """A copy of a plain dictionary or list, `None` if it is none."""
    if type(value) is dict:
        return _plain_dict(value, depth)
    if type(value) is not list or len(value) > _MOST_PLAIN:
        return None
    copy = value.copy()
    for place, item in enumerate(copy):
        if not _is_plain_scalar(item):
            if depth == 0 or (inner := _plain_container(item, depth - 1)) is None:
                return None
            copy[place] = inner
    return copy


def _is_plain_scalar(value: object) -> bool:
    kind = type(value)
    if kind is str:
        text = cast("str", value)
        return text.isascii() and len(text) <= _LONGEST_PLAIN
    return value is None or kind is bool or is_plain_number(value)


class _Walk:
    """One walk through a value: how much may still be looked at, and which containers are open."""

    __slots__ = ("open", "reprs", "room", "values")

    def __init__(self, room: int, *, reprs: bool) -> None:
        self.room = room
        self.values = MOST_VALUES
        self.reprs = reprs
        self.open: list[int] = []

    def use(self, units: int) -> None:
        self.room -= units
        if self.room < 0:
            raise _TooLargeError

    def keep(self, value: object, depth: int) -> Json:
        self.use(8)
        self.values -= 1
        if self.values < 0:
            raise _TooLargeError
        if value is None or value is True or value is False:
            return value
        try:
            if isinstance(value, str):
                return self.text(str.__str__(value))
            if isinstance(value, int):
                return self.integer(int.__index__(value))
            if isinstance(value, float):
                return _float(float.__float__(value))
            if isinstance(value, bytes | bytearray):
                self.use(2 * len(value))
                return {MARK: "bytes", "value": base64.b64encode(value).decode()}
            if isinstance(value, list | tuple | Mapping):
                return self.container(value, depth)
            return self.other(value)
        except _TooLargeError:
            raise
        except Exception as error:  # noqa: BLE001 - a value may do anything when it is looked at
            return _unreadable(value, error)

    def text(self, text: str) -> Json:
        self.use(len(text))
        if not text.isascii() and LONE_SURROGATE.search(text):
            return {MARK: "text", "value": json.dumps(text)[1:-1]}
        return text

    def integer(self, number: int) -> Json:
        if -_INT64 <= number < _INT64:
            return number
        self.use(number.bit_length() // 4)
        return {MARK: "int", "value": hex(number)}  # decimal digits of a huge one take ages

    def container(self, value: list[object] | tuple[object, ...] | Mapping[object, object], depth: int) -> Json:
        if id(value) in self.open:
            return {MARK: "cycle", "up": len(self.open) - self.open.index(id(value))}
        if depth >= DEEPEST:
            return {MARK: "left out", "why": f"it is nested deeper than {DEEPEST}"}
        self.open.append(id(value))
        try:
            if not isinstance(value, Mapping):
                return [self.keep(item, depth + 1) for item in value]
            return self.mapping(value, depth)
        finally:
            self.open.pop()

    def mapping(self, value: Mapping[object, object], depth: int) -> Json:
        items = list(value.items())
        kept = {key: self.keep(item, depth + 1) for key, item in items if _is_plain_key(key)}
        if len(kept) == len(items):
            for key in kept:
                self.use(len(cast("str", key)))
            return cast("Json", kept)
        pairs: list[Json] = [[self.keep(key, depth + 1), self.keep(item, depth + 1)] for key, item in items]
        return {MARK: "mapping", "items": pairs}

    def other(self, value: object) -> Json:
        if not self.reprs:
            return {MARK: "object", "type": _type_name(value)}
        shown = repr(value)
        cut = shown if len(shown) <= _LONGEST_REPR else shown[: _LONGEST_REPR - 1] + "…"
        self.use(_LONGEST_REPR)
        return {MARK: "object", "type": _type_name(value), "repr": self.text(cut)}


def _is_plain_key(key: object) -> bool:
    return type(key) is str and key != MARK and (key.isascii() or not LONE_SURROGATE.search(key))


def _float(number: float) -> Json:
    if math.isfinite(number) and (number or math.copysign(1, number) > 0):
        return number
    return {MARK: "float", "value": repr(number)}


def _unreadable(value: object, error: Exception) -> Json:
    return {MARK: "unreadable", "type": _type_name(value), "error": _type_name(error)}


def _type_name(value: object) -> str:
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    return name.encode("ascii", "backslashreplace").decode()[:_LONGEST_REPR]
