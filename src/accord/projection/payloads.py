"""What a contract's clauses and rules see of what took place: the one place where payloads are made.

| happening | fields |
|---|---|
| a call | its arguments; what is no object is `text` |
| the end of a call | the fields of the object that came back, else `text`; `error`; of a known call `call`, `call_id` |
| something said | `text` |
| an event of the program | what was given with it |

`error` is null if all went well, else the reason. A tool may set it in what it returns; of a call that failed it is the
reason, whatever came back. `call` are the arguments of the call and `call_id` its id: they stand over whatever a tool
returned, because it must not choose which call it answers.

A log cannot tell an object from the JSON of it, so a string of JSON is what it holds. The text of anything but a string
is its canonical JSON, and that of a list of content parts is the text in them.

INVARIANT: nothing here raises, whatever a value does when it is looked at: the tool has run, and that must count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from accord.canonical import LONE_SURROGATE, encode, encode_plain, is_plain_number
from accord.projection.bodies import as_object, as_value, decoded, text_in_parts
from accord.projection.plain import NotPlainError, plain_text, plain_value, plainly

if TYPE_CHECKING:
    from accord.projection.bodies import Body

__all__ = ["of_arguments", "of_error", "of_recorded_error", "of_recorded_result", "of_result"]

_FAILED = "failed"
"""The reason where none was given."""


def of_arguments(value: object) -> dict[str, object]:
    """Arguments as given to a live tool. Of those that JSON cannot hold, the fields that it can."""
    try:
        inside = _live(value)
        return inside if isinstance(inside, dict) else as_object(inside)  # type: ignore[arg-type] # JSON is a body
    except NotPlainError:
        return _what_can_be_held(value)


def _what_can_be_held(value: object) -> dict[str, object]:
    fields: dict[str, object] = {}
    try:
        for name in value if isinstance(value, Mapping) else ():
            try:
                fields |= plainly({name: value[name]})  # type: ignore[index] # a mapping
            except NotPlainError:
                continue
    except Exception:  # noqa: BLE001 - the invariant above
        return fields
    return fields


def of_result(value: object, call: dict[str, object] | None, call_id: str | None) -> dict[str, object]:
    """What a live tool returned; of what JSON cannot hold, only that there was no error.

    Example:
        >>> of_result([1, 2], {"x": 1}, "c1")
        {'text': '[1,2]', 'error': None, 'call': {'x': 1}, 'call_id': 'c1'}
    """
    try:
        fields = _fields(_live(value))
    except NotPlainError:
        fields = {}
    return _of_call(_without_error(fields), call, call_id, known=call is not None)


def of_error(reason: object, call: dict[str, object] | None, call_id: str | None) -> dict[str, object]:
    """Why a live call failed."""
    try:
        fields = _with_reason(plain_value(reason), _live(reason))
    except NotPlainError:
        said = _legible(reason)
        fields = _with_reason(said, said)
    return _of_call(fields, call, call_id, known=call is not None)


def of_recorded_result(body: Body, call: Body, call_id: str | None, *, known: bool) -> dict[str, object]:
    """What was recorded of a result; `known` says whether it is known which call it ends."""
    fields = _without_error(_fields(_inside(as_value(body))))
    return _of_call(fields, as_object(call) if known else None, call_id, known=known or call_id is not None)


def of_recorded_error(body: Body, call: Body, call_id: str | None, *, known: bool) -> dict[str, object]:
    """What was recorded of a failure; `known` says whether it is known which call it ends."""
    value = as_value(body)
    fields = _with_reason(value, _inside(value))
    return _of_call(fields, as_object(call) if known else None, call_id, known=known or call_id is not None)


def _of_call(
    fields: dict[str, object], call: dict[str, object] | None, call_id: str | None, *, known: bool
) -> dict[str, object]:
    """The fields of an end with what is known of its call; a tool cannot set these two."""
    if known:
        return with_call(fields, {} if call is None else call, call_id)
    fields.pop("call", None)
    fields.pop("call_id", None)
    return fields


def with_call(fields: Mapping[str, object], call: Mapping[str, object], call_id: str | None) -> dict[str, object]:
    """The fields of an end with those that say of its call; they stand over what a tool has returned."""
    return {**fields, "call": call, "call_id": call_id}


def _without_error(fields: dict[str, object]) -> dict[str, object]:
    if "error" not in fields:
        fields["error"] = None
    return fields


def _with_reason(value: object, inside: object) -> dict[str, object]:
    reason = _text(value if isinstance(inside, dict) else inside)
    if value is None or reason is None or not reason.strip():
        inside = reason = _FAILED
    return {**_fields(inside), "error": reason}


def _fields(inside: object) -> dict[str, object]:
    """The fields of what came back, in a dictionary of its own."""
    if isinstance(inside, dict):
        return {**inside}
    text = _text(inside)
    return {} if text is None else {"text": text}


def _inside(value: object) -> object:
    """What a value holds: it may be JSON in a string, or text in parts of a content."""
    inside = decoded(value)
    if isinstance(inside, list) and (text := text_in_parts(inside)):
        value, inside = text, decoded(text)
    return inside if isinstance(inside, dict | list) else value


def _live(value: object) -> object:
    """The same of a live value, as plain JSON; `NotPlainError` if JSON cannot hold it."""
    plain = plain_value(value)
    if type(plain) is dict or plain is None:
        return plain
    inside = _inside(plain)
    if inside is plain:
        return plain
    try:
        return plain_value(inside)
    except NotPlainError:  # what is in the string is deeper or larger than may be looked at
        return plain


def _text(value: object) -> str | None:
    """A string as it is, anything else as canonical JSON; `None` if there is none."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    try:
        return (encode_plain if _is_plain(value) else encode)(value).decode()  # type: ignore[arg-type] # that is the question
    except Exception:  # noqa: BLE001 - the invariant above
        return None


def _is_plain(value: object) -> bool:
    """Whether everybody writes it in the same way, but for the order of keys."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is list:
        return all(map(_is_plain, cast("list[object]", value)))
    return all(map(_is_plain, cast("dict[str, object]", value).values())) if kind is dict else is_plain_number(value)


def _legible(reason: object) -> str | None:
    """A reason that JSON cannot hold, as well as it can be written down."""
    if not issubclass(type(reason), str):  # what it says of its class decides nothing
        return None
    return LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", plain_text(cast("str", reason)))
