"""One canonical JSON, so that equal values have equal bytes and therefore equal digests.

The form is RFC 8785 for the values accord digests (objects with string keys, arrays, strings, integers, booleans,
null): keys sorted by UTF-16 code units, no white space, nothing escaped that need not be. Two additions where the RFC
refuses: integers beyond 2^53 are printed exactly, and lone surrogates are written as escapes.
"""

from __future__ import annotations

import hashlib
import re
from json.encoder import encode_basestring
from math import isfinite

__all__ = ["Json", "digest", "encode"]

Json = dict[str, "Json"] | list["Json"] | tuple["Json", ...] | str | int | float | bool | None

LONE_SURROGATE = re.compile("[\ud800-\udfff]")


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
