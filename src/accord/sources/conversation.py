"""Messages of models as tracing tools keep them: in any of the shapes that SDKs write, mostly as JSON in a string.

Read with tolerance, because no two tools agree: OpenAI's `{role, content, tool_calls}`, the parts of OpenTelemetry's
conventions, blocks of Anthropic's, messages of LangChain plain or serialised, or a bare text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from accord.projection.bodies import as_text, as_value, decoded
from accord.projection.open_calls import OpenCalls
from accord.sources.model import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.projection.bodies import Body
    from accord.sources.model import Kind
    from accord.sources.moments import Moment

__all__ = ["Turn", "tool_content", "turn_messages", "turns_in"]

_ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "agent",
    "ai": "agent",
    "model": "agent",
    "tool": "tool",
    "function": "tool",
    "HumanMessage": "user",
    "AIMessage": "agent",
    "AIMessageChunk": "agent",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}
_HOLDING = ("messages", "input", "output", "generations", "choices", "message", "inputs", "outputs")
_DEEPEST = 6


@dataclass(slots=True)
class Turn:
    """One message of a model's conversation."""

    role: str
    text: str = ""
    calls: list[tuple[str | None, object, str | None]] = field(default_factory=list)
    """Name, arguments and id."""
    results: list[tuple[str | None, str | None, object]] = field(default_factory=list)
    """Id, name and body."""


def turns_in(value: object, bare: str, depth: int = 0) -> list[Turn]:
    """The messages in what a tool recorded; a text that is none has the role `bare`."""
    written = value
    value = decoded(value)
    if depth > _DEEPEST or value is None or value == "":
        return []
    if isinstance(value, str):
        return [Turn(bare, value)]
    if isinstance(written, str):
        found = turns_in(value, bare, depth + 1)
        return found if found or _asks_for_tools(value) else [Turn(bare, written)]
    if isinstance(value, list):
        return [turn for item in value for turn in turns_in(item, bare, depth + 1)]
    if not isinstance(value, dict):
        return []
    turn = _turn(value)
    if turn is not None:
        return [turn]
    for name in _HOLDING:
        if value.get(name) is not None:
            return turns_in(value[name], bare, depth + 1)
    text = value.get("text")
    return [Turn(bare, text)] if isinstance(text, str) and text else []


def _asks_for_tools(value: object) -> bool:
    """Whether a model answered with nothing but tools that it wants run, as some tools write it."""
    return isinstance(value, list) and all(isinstance(item, dict) and "tool.name" in item for item in value)


def _turn(value: dict[str, Any]) -> Turn | None:
    kwargs = value.get("kwargs")
    if isinstance(kwargs, dict) and isinstance(value.get("id"), list):  # serialised by LangChain
        name = str(value["id"][-1]) if value["id"] else ""
        value = {**kwargs, "role": name}
    elif isinstance(value.get("data"), dict) and isinstance(value.get("type"), str):
        value = {**value["data"], "role": value["type"]}
    role = value.get("role") if isinstance(value.get("role"), str) else value.get("type")
    if not isinstance(role, str) or not ({"content", "parts", "tool_calls"} & set(value)):
        return None
    turn = Turn(_ROLES.get(role, "system"))
    content = decoded(value.get("content")) if turn.role != "tool" else value.get("content")
    parts = value.get("parts") if value.get("parts") is not None else content if isinstance(content, list) else None
    if turn.role == "tool" and _is_definition(content):
        return Turn("system")
    if turn.role == "tool" and not _holds_results(parts):
        turn.results.append((_text(value.get("tool_call_id")), _text(value.get("name")), content))
        return turn
    if isinstance(parts, list):
        _add_parts(turn, parts)
    else:
        turn.text = as_text(cast("Body", content))
    calls = value.get("tool_calls")
    if not calls and isinstance(value.get("additional_kwargs"), dict):
        calls = value["additional_kwargs"].get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        _add_call(turn, call)
    return turn


def _is_definition(content: object) -> bool:
    """Whether a tool is only offered; some tracers write that as a message."""
    return isinstance(content, dict) and content.get("type") == "function" and isinstance(content.get("function"), dict)


def _holds_results(parts: object) -> bool:
    kinds = {"tool_call_response", "tool_result"}
    return isinstance(parts, list) and any(isinstance(part, dict) and part.get("type") in kinds for part in parts)


def tool_content(output: object) -> tuple[object, str | None, str | None]:
    """What a tool returned, with its name and the id of the call where it is kept as a message."""
    if isinstance(output, dict):
        kwargs = output.get("kwargs")
        message = kwargs if isinstance(kwargs, dict) else output
        if "content" in message and "tool_call_id" in message:
            return message["content"], _text(message.get("name")), _text(message["tool_call_id"])
    return output, None, None


def _add_parts(turn: Turn, parts: list[object]) -> None:
    texts = []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, dict) and kind in {"tool_call", "tool_use", "function_call"}:
            _add_call(turn, part)
        elif isinstance(part, dict) and kind in {"tool_call_response", "tool_result"}:
            body = next((part[name] for name in ("response", "result", "content") if name in part), None)
            turn.results.append((_text(part.get("id") or part.get("tool_use_id")), _text(part.get("name")), body))
        elif kind not in {"thinking", "reasoning"}:
            texts.append(as_text(cast("Body", [part])))
    turn.text = "\n".join(text for text in texts if text)


def _add_call(turn: Turn, call: object) -> None:
    if not isinstance(call, dict):
        return
    inner = call.get("function")
    about = inner if isinstance(inner, dict) else call
    name = about.get("name") if not isinstance(inner, str) else inner
    arguments = next((about[key] for key in ("arguments", "args", "input") if key in about), None)
    turn.calls.append((_text(name), arguments, _text(call.get("id"))))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def turn_messages(turns: Iterable[Turn], index: int | None = None, moment: Moment = None) -> list[Message]:
    """A conversation as messages of a run; all of them come from the message `index` of it, or each from its own."""
    found: list[Message] = []
    calls: OpenCalls[Message] = OpenCalls()
    for place, turn in enumerate(turns):
        here = place if index is None else index
        if turn.role in {"user", "agent"} and (turn.text or not (turn.calls or turn.results)):
            found.append(Message(cast("Kind", turn.role), here, turn.text, moment=moment))
        for name, arguments, call_id in turn.calls:
            call = Message("call", here, _body(arguments), name, call_id, None, moment)
            calls.add(call)
            found.append(call)
        for call_id, name, body in turn.results:
            answered = calls.answer(call_id, name)
            named = name or (answered.name if answered is not None else None)
            found.append(Message("result", here, _body(body), named, call_id, answered, moment))
    return found


def _body(value: object) -> Body:
    return cast("Body", as_value(cast("Body", value)))
