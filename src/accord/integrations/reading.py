"""Reading what SDKs return that accord does not import: by names, believing nothing.

They are names of attributes, or of keys where it is plain JSON: `response.model_dump()`, the body of a response.

What a model got wrong (arguments that are no JSON) is kept as it is, so that the model can be told. What an object got
wrong (it is not of the kind the adapter is for) is the program's mistake, a `UsageError`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from accord.errors import UsageError
from accord.integrations.exchange import ToolCall

__all__ = ["items", "kind", "parse_arguments", "part", "text", "text_or_none", "tool_call"]


def part(holder: object, name: str) -> object:
    """What an attribute holds, or the value of a key of plain JSON; `None` if it is not there."""
    return holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)


def items(holder: object, name: str) -> list[object]:
    """The list that an attribute or a key holds."""
    value = part(holder, name)
    if not isinstance(value, list | tuple):
        raise UsageError(f"expected a list in `{name}` of `{type(holder).__name__}`, got `{type(value).__name__}`")
    return list(value)


def text(holder: object, name: str) -> str:
    """The text that an attribute or a key holds."""
    value = part(holder, name)
    if not isinstance(value, str):
        raise UsageError(f"expected a text in `{name}` of `{type(holder).__name__}`, got `{type(value).__name__}`")
    return value


def text_or_none(holder: object, name: str) -> str | None:
    """The text that an attribute or a key holds; `None` if it holds nothing or is not there."""
    return None if part(holder, name) is None else text(holder, name)


def kind(holder: object) -> str:
    """The text in `type`, by which the SDKs tell the parts of a response apart."""
    return text(holder, "type")


def tool_call(name: str, arguments: object, identity: str | None) -> ToolCall:
    """A call as an SDK describes it."""
    return ToolCall(name=name, arguments=arguments, id=identity or "")


def parse_arguments(written: str) -> object:
    """Arguments that a model wrote as JSON; the text itself if it is none. No text at all is no arguments.

    Example:
        >>> parse_arguments('{"city": "Rome"}'), parse_arguments(""), parse_arguments('{"city": ')
        ({'city': 'Rome'}, {}, '{"city": ')
    """
    if not written.strip():
        return {}
    try:
        return json.loads(written, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return written


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")
