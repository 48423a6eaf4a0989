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

__all__ = ["is_cut_off", "items", "kind", "parse_arguments", "part", "text", "text_or_none", "tool_call"]


_CUT_OFF = frozenset(
    {
        "blocklist",
        "content_filter",
        "content_filtered",
        "error",
        "error_limit",
        "error_toxic",
        "guardrail_intervened",
        "incomplete",
        "language",
        "length",
        "malformed_function_call",
        "max_output_tokens",
        "max_tokens",
        "model_context_window_exceeded",
        "model_length",
        "other",
        "prohibited_content",
        "recitation",
        "refusal",
        "safety",
        "spii",
    }
)
"""Why models stop before their answer is complete, as OpenAI, Anthropic, Google, Amazon, Mistral and Cohere call it."""


def is_cut_off(reason: object) -> bool:
    """Whether a model that has stopped for this reason has not said all that it was about to say.

    Example:
        >>> is_cut_off("length"), is_cut_off("MAX_TOKENS"), is_cut_off("tool_calls"), is_cut_off(None)
        (True, True, False, False)
    """
    return isinstance(reason, str) and reason.lower() in _CUT_OFF


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


def tool_call(name: str, arguments: object, identity: str | None, *, cut_off: bool = False) -> ToolCall:
    """A call as an SDK describes it."""
    return ToolCall(name=name, arguments=arguments, id=identity or "", cut_off=cut_off)


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
