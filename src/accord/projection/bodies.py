"""What messages hold, decoded when somebody looks: text, lists of parts, JSON, JSON in strings, or what is none of it.

None of these functions fails. Recorded data is what it is: content may be a string, a list of parts, an object or
nothing; arguments may be an object, JSON in a string, JSON in JSON, an empty string or a text that was cut off.
"""

from __future__ import annotations

from typing import TypeAlias, cast

import msgspec

__all__ = ["Body", "as_object", "as_text", "as_value", "decoded", "text_in_parts"]

Body: TypeAlias = "msgspec.Raw | str | dict[str, object] | list[object] | int | float | bool | None"

_TIMES_ENCODED = 3
"""How often JSON may stand inside a string of JSON: a model that escapes its arguments does it once too often."""

_decode_any = msgspec.json.Decoder().decode
_decode_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


def as_value(body: Body) -> object:
    """A body as JSON values; bytes that are no JSON as text."""
    if isinstance(body, msgspec.Raw):
        try:
            return cast("object", _decode_any(body))
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return bytes(body).decode("utf-8", "replace")
    return body


def as_text(body: Body) -> str:
    """A body as text: a string as it is, the texts of a list of parts in lines, anything else as JSON."""
    if isinstance(body, msgspec.Raw):
        try:
            return _decode_text(body)  # nearly always
        except (msgspec.MsgspecError, UnicodeError):
            body = cast("Body", as_value(body))
    if isinstance(body, str):
        return body
    if body is None:
        return ""
    if isinstance(body, list):
        texts = [text for text in map(_text_of_part, body) if text]
        return "\n".join(texts) if texts or _is_parts(body) else _as_json(body)
    if isinstance(body, dict) and "type" in body and (text := _text_of_part(body)):
        return text  # a content of one part, not in a list
    return _as_json(body)


def text_in_parts(body: list[object]) -> str:
    """The text in a content of several parts; empty if a list is none, or holds no text."""
    return "\n".join([text for text in map(_text_of_part, body) if text]) if _is_parts(body) else ""


def _is_parts(body: list[object]) -> bool:
    """Whether a list is a content of several parts, and not a list that somebody returned."""
    return all(isinstance(part, dict) and "type" in part for part in body)


def _text_of_part(part: object) -> str:
    """The text in one part of a content: a string, `{"text": …}`, `{"content": …}`. An image has none."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    for key in ("text", "content", "value"):
        inner = part.get(key)
        if isinstance(inner, str):
            return inner
        if isinstance(inner, list):
            return "\n".join(piece["text"] for piece in inner if isinstance(piece, dict) and _has_text(piece))
        if isinstance(inner, dict) and isinstance(inner.get("value"), str):
            return cast("str", inner["value"])
    return ""


def _has_text(piece: dict[object, object]) -> bool:
    return isinstance(piece.get("text"), str)


def _as_json(value: object) -> str:
    try:
        return _encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return str(type(value).__name__)


def decoded(value: object) -> object:
    """What a string of JSON holds, however often it was encoded; anything else as it is."""
    for _ in range(_TIMES_ENCODED):
        if not isinstance(value, str) or value.lstrip()[:1] not in {"{", "[", '"'}:
            break
        try:
            value = _decode_any(value)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            break
    return value


def as_object(body: Body) -> dict[str, object]:
    """A body as an object: as it is, or decoded from a string; nothing is `{}`; all else is `{"text": …}`."""
    value = decoded(as_value(body))
    if isinstance(value, list) and value and _is_parts(value):
        value = decoded(as_text(cast("Body", value)))
    if isinstance(value, dict):
        return value
    if value is None or (isinstance(value, str) and (not value or value.isspace())):
        return {}
    return {"text": as_text(cast("Body", value))}
