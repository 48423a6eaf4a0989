"""What a contract's clauses and rules see of requests, responses and batches, in the program's view.

| event | fields |
|---|---|
| a request to a model | the keyword arguments of the call |
| a response | `content`, and `tool_calls` with `id`, `name` and `arguments` each |
| a batch is asked for, under a fixed label | as a response |
| a batch has been answered, under a fixed label | `results` with `id`, `name`, `result` and `error` each |

What they see of a single call and of its end is made by `accord.projection.payloads`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.canonical import encode, encode_plain
from accord.ledger.represent import plain_copy
from accord.projection.plain import plain_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.integrations.exchange import ToolCall, ToolResult

__all__ = ["of_answers", "of_calls", "why_not_json"]


def of_calls(content: str | None, calls: Sequence[ToolCall]) -> dict[str, object]:
    """A response."""
    asked = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]
    return {"content": content, "tool_calls": asked}


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
    if value is None or plain_copy(value) is not None:
        return None
    try:
        plain = plain_value(value)
        try:
            encode_plain(plain)
        except Exception:  # noqa: BLE001 - a large integer
            encode(plain)
    except Exception as error:  # noqa: BLE001 - a value may do anything when it is looked at
        return f"{error}"
    return None
