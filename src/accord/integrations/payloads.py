"""What a contract's clauses and rules see of requests, responses, tool calls and results.

| event | fields |
|---|---|
| a request to a model | the keyword arguments of the call |
| a response | `content`, and `tool_calls` with `id`, `name` and `arguments` each |
| a tool is asked for | its arguments |
| a tool has answered | the fields of its result, or `text` if that is no mapping; `error`, `null` if all went well |
| the same, under a guard | also `call`, the arguments of the call, and `call_id` |
| a batch is asked for, under a fixed label | as a response |
| a batch has been answered, under a fixed label | `results` with `id`, `name`, `result` and `error` each |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.canonical import encode
from accord.ledger.represent import own_copy, plain_copy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.integrations.exchange import ToolCall, ToolResult

__all__ = ["of_answer", "of_answers", "of_calls", "of_value", "why_not_json"]


def of_calls(content: str | None, calls: Sequence[ToolCall]) -> dict[str, object]:
    """A response."""
    asked = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]
    return {"content": content, "tool_calls": asked}


def of_answer(result: ToolResult) -> dict[str, object]:
    """The answer of one tool. A result may have a field `error` of its own, which then is what counts."""
    return {"error": result.error} if result.error is not None else of_value(result.result)


def of_value(value: object) -> dict[str, object]:
    """What a tool returned: its fields, or its text; of what is no JSON, only that there was no error."""
    if type(value) is dict and plain_copy(value) is not None:
        return {"error": None, **value}
    if value is None:
        return {"error": None}
    if why_not_json(value) is not None:
        return {"error": None}
    if isinstance(value, dict):
        own = own_copy(value)
        return {"error": None, **own}  # type: ignore[dict-item] # a dictionary stays one
    return {"error": None, "text": value if isinstance(value, str) else encode(value).decode()}  # type: ignore[arg-type] # JSON


def of_answers(results: Sequence[ToolResult]) -> dict[str, object]:
    """The answers of a batch."""
    answers = [
        {"id": result.tool_call_id, "name": result.tool_name, "result": result.result, "error": result.error}
        for result in results
    ]
    return {"results": answers}


def why_not_json(value: object) -> str | None:
    """Why a model cannot be given that value; `None` if it can.

    Example:
        >>> why_not_json({"a": [1, "b", None]}), why_not_json({"a": float("nan")})
        (None, 'nan has no canonical JSON form')
    """
    if plain_copy(value) is not None:
        return None
    try:
        encode(value)  # type: ignore[arg-type] # that is the question
    except RecursionError:
        return "it is nested too deeply, or inside itself"
    except AttributeError:
        return "a key in it is no text"
    except Exception as error:  # noqa: BLE001 - a value may do anything when it is looked at
        return f"{error}"
    return None
