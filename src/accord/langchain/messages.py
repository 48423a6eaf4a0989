"""Messages and commands of LangChain: what a model asked for, what it is told, what a tool has returned."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from accord.diagnostics.visible import clip
from accord.errors import ViolationError
from accord.integrations.batch import CUT_OFF
from accord.integrations.reading import is_cut_off
from accord.monitor.wording import name_plainly, quote_text
from accord.projection.payloads import of_result

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from langchain_core.messages import AnyMessage
    from langchain_core.messages import ToolCall as Asked

    from accord.integrations.guard.decisions import Decision

__all__ = [
    "Outcome",
    "add_update",
    "answer_to",
    "broken_calls",
    "check_ids",
    "outcome_of",
    "pending_calls",
    "refusal",
    "replaced",
    "strip",
    "tell_changed",
    "told",
    "was_cut_off",
]


_WHY_IT_STOPPED = ("finish_reason", "stop_reason", "stopReason", "done_reason", "status")
"""Where providers say why a model has stopped."""

_BROKEN = "the arguments of this call are not JSON, so it was not run; send it again"
_LONGEST_CHANGED = 2000


class Outcome(NamedTuple):
    """What a tool has returned, as a contract sees it, or what went wrong."""

    result: dict[str, Any]
    error: str | None


def pending_calls(messages: Sequence[AnyMessage]) -> list[Asked]:
    """The calls of the last message of the model that nobody has answered, as the graph will run them."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        if isinstance(message, AIMessage):
            return [call for call in message.tool_calls if call["id"] not in answered]
    return []


def answer_to(call_id: str, state: object) -> ToolMessage | None:
    """The answer that a call of the last message has already, for a graph that sends off what was answered.

    Given back as it is, it takes its own place: models must not see two answers to one call.
    """
    messages = state.get("messages", ()) if isinstance(state, dict) else ()
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            break
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id and message.id:
            return message
    return None


def check_ids(calls: Sequence[Asked]) -> None:
    """`ViolationError` for a call that could not be answered."""
    for call in calls:
        if not call["id"]:
            raise ViolationError(f"the model has called {quote_text(call['name'])} without an id; nothing runs")


def was_cut_off(messages: Sequence[AnyMessage]) -> bool:
    """Whether the last answer of the model is not complete, in the words of whatever provider it comes from.

    LangChain completes arguments that end in the middle when an answer is streamed, so they look whole.
    """
    answer = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
    return answer is not None and any(is_cut_off(answer.response_metadata.get(key)) for key in _WHY_IT_STOPPED)


def broken_calls(messages: Sequence[AnyMessage]) -> list[ToolMessage]:
    """What to tell the model if its last answer was meant to call tools and holds no call that can be read.

    LangChain would take it for the end of the turn. Where some can be read it tells the model of the others itself.
    """
    answer = messages[-1] if messages else None
    if not isinstance(answer, AIMessage) or answer.tool_calls:
        return []
    why = CUT_OFF if was_cut_off(messages) else _BROKEN
    return [refusal(call["id"], call["name"] or "", why) for call in answer.invalid_tool_calls if call["id"]]


def refusal(call_id: str, name: str, why: str) -> ToolMessage:
    """What a model is told about a call that does not run."""
    return ToolMessage(content=f"error: {why}", tool_call_id=call_id, name=name, status="error")


def told(decision: Decision) -> ToolMessage:
    """What a model is told about a call that does not run, or whose result it must not see.

    What `on_violation` has replied is told as it is.
    """
    call, reply = decision.call, decision.reply
    if isinstance(reply, ToolMessage):
        return reply.model_copy(update={"tool_call_id": call.id, "name": call.name, "id": None})
    if isinstance(reply, str):
        return ToolMessage(content=reply, tool_call_id=call.id, name=call.name, status="error")
    return refusal(call.id, call.name, decision.message)


def replaced(message: ToolMessage, why: str | ToolMessage) -> ToolMessage:
    """What a model is told instead of a result that it must not see; it takes the place of the message."""
    if isinstance(why, str):
        why = refusal(message.tool_call_id, message.name or "", why)
    return why.model_copy(update={"id": message.id})


def outcome_of(result: object, call_id: str) -> Outcome:
    """What became of a call, from what its tool has given back to the graph."""
    message = next((each for each in _messages_of(result) if each.tool_call_id == call_id), None)
    if message is None:
        return Outcome(of_result(None, None, None), None)
    text = str(message.text)
    if message.status == "error":
        return Outcome({}, text or "the tool has failed")
    return Outcome(of_result(text, None, None), None)


def _messages_of(result: object) -> Iterable[ToolMessage]:
    if isinstance(result, ToolMessage):
        yield result
    elif isinstance(result, Command):
        for name, value in _pairs(result.update):
            if name == "messages":
                yield from _messages_of(value)
    elif isinstance(result, list | tuple):
        for each in result:
            yield from _messages_of(each)


def strip(result: Any, keys: Collection[str]) -> Any:  # noqa: ANN401 - what a tool gives back is passed on as it is
    """What a tool has given back, without what it says about our keys; only a middleware writes those."""
    if isinstance(result, list):
        return [strip(each, keys) for each in result]
    if not isinstance(result, Command) or result.update is None:
        return result
    if isinstance(result.update, dict):
        ours = [name for name in result.update if name in keys]
        if not ours:
            return result
        return replace(result, update={name: value for name, value in result.update.items() if name not in keys})
    return replace(result, update=[pair for pair in _pairs(result.update) if pair[0] not in keys])


def add_update(result: Any, more: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the same
    """What a tool has given back, with something added to the state of the graph."""
    if not more:
        return result
    if isinstance(result, ToolMessage):
        return Command(update={"messages": [result], **more})
    if isinstance(result, Command) and result.graph is None:
        return replace(result, update=[*_pairs(result.update), *more.items()])
    return [*(result if isinstance(result, list) else [result]), Command(update=dict(more))]


def _pairs(update: object) -> list[tuple[str, Any]]:
    if update is None:
        return []
    if isinstance(update, dict):
        return list(update.items())
    if isinstance(update, list | tuple):
        return [pair for pair in update if isinstance(pair, tuple) and len(pair) == 2]
    return [(str(name), value) for name, value in Command(update=update)._update_as_tuples()]  # noqa: SLF001 - any object


def tell_changed(result: Any, arguments: Mapping[str, Any], by: str) -> Any:  # noqa: ANN401 - as above
    """The result of a call that ran with other arguments than the model gave, with a word about that."""
    if not isinstance(result, ToolMessage) or not isinstance(result.content, str):
        return result
    shown = clip(json.dumps(dict(arguments), ensure_ascii=False), _LONGEST_CHANGED)
    said = f"({name_plainly(by)} has changed the arguments to {shown}) {result.content}"
    return result.model_copy(update={"content": said})
