"""One canonical JSON, so that equal values have equal bytes and therefore equal digests.

The form is RFC 8785 for the values accord digests (objects with string keys, arrays, strings, integers, booleans,
null): keys sorted by UTF-16 code units, no white space, nothing escaped that need not be. Two additions where the RFC
refuses: integers beyond 2^53 are printed exactly, and lone surrogates are written as escapes.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from json.encoder import encode_basestring
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from msgspec.json import Encoder

__all__ = ["Json", "digest", "encode", "encode_plain", "is_plain_number"]

Json = dict[str, "Json"] | list["Json"] | tuple["Json", ...] | str | int | float | bool | None

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_BEYOND_THE_BASIC_PLANE = re.compile(b"[\xf0-\xf4]")


def encode(value: Json) -> bytes:
    """The canonical bytes of `value`.

    Raises `TypeError` for what JSON cannot hold.

    Example:
        >>> encode({"b": 1, "a": [True, None]})
        b'{"a":[true,null],"b":1}'
    """
    pieces: list[str] = []
    _write(value, pieces)
    return "".join(pieces).encode("utf-8")


def encode_plain(value: Json) -> bytes:
    """As `encode`, and many times as fast, for values of JSON's own types in which every float is a plain number.

    That is the caller's promise: a tuple, an enumeration or the float 1.0 in it would give other bytes.

    Example:
        >>> encode_plain({"b": 1.5, "a": [True, None]})
        b'{"a":[true,null],"b":1.5}'
    """
    try:
        data = _sorting_encoder().encode(value)
    except UnicodeEncodeError:  # a lone surrogate
        return encode(value)
    # Keys are sorted by code points here. That is the order of UTF-16 code units unless one is beyond the basic plane.
    if data.isascii() or not _BEYOND_THE_BASIC_PLANE.search(data) or _has_ascii_keys(value):
        return data
    return encode(value)


def is_plain_number(value: object) -> bool:
    """Whether it is a number that everybody writes in the same way."""
    if type(value) is int:
        return value.bit_length() < 63
    return type(value) is float and 1e-3 <= abs(value) < 1e15 and not value.is_integer()


@cache
def _sorting_encoder() -> Encoder:
    from msgspec.json import Encoder  # noqa: PLC0415 - loaded when it is first needed

    return Encoder(order="sorted")


def _has_ascii_keys(value: Json) -> bool:
    if isinstance(value, dict):
        return all(key.isascii() and _has_ascii_keys(item) for key, item in value.items())
    return not isinstance(value, list) or all(map(_has_ascii_keys, value))


def digest(value: Json) -> str:
    """`sha256:…` over the canonical bytes of `value`."""
    return "sha256:" + hashlib.sha256(encode(value)).hexdigest()


def _string(text: str) -> str:
    quoted = encode_basestring(text)
    return LONE_SURROGATE.sub(lambda m: f"\\u{ord(m[0]):04x}", quoted)


def _number(value: float) -> str:
    """A float as ECMAScript prints it: the shortest digits that come back, with an exponent only if it is far off."""
    if not isfinite(value):
        raise TypeError(f"{value} has no canonical JSON form")
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= 21:
        text = digits + "0" * (point - len(digits))
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = f"0.{'0' * -point}{digits}"
    else:
        rest = f".{digits[1:]}" if len(digits) > 1 else ""
        text = f"{digits[0]}{rest}e{point - 1:+d}"
    return sign + text


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _write(value: Json, out: list[str]) -> None:
    if value is None:
        out.append("null")
    elif value is True:
        out.append("true")
    elif value is False:
        out.append("false")
    elif isinstance(value, str):
        out.append(_string(value))
    elif isinstance(value, int):
        out.append(str(value))
    elif isinstance(value, float):
        out.append(_number(value))
    elif isinstance(value, dict):
        separator = "{"
        for key in sorted(value, key=_utf16):
            out += (separator, _string(key), ":")
            _write(value[key], out)
            separator = ","
        out.append("{}" if separator == "{" else "}")
    elif isinstance(value, list | tuple):
        separator = "["
        for item in value:
            out.append(separator)
            _write(item, out)
            separator = ","
        out.append("[]" if separator == "[" else "]")
    else:
        raise TypeError(f"a {type(value).__name__} has no canonical JSON form")
