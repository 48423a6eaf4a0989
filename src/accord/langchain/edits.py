"""Calls that a person has changed in LangChain's own `HumanInTheLoopMiddleware`.

It leaves the message of the model as it is. What a person has put in the place of a call stands in the state of the
graph, by the id of the call, and takes its place when the tool is about to run. So a call is judged as it stands there.
INVARIANT: what it is replaced with on its way to the tool is what was judged, because that is written in its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from accord.diagnostics.visible import clip
from accord.langchain.messages import pending_calls
from accord.monitor.wording import quote_text

if TYPE_CHECKING:
    from langchain_core.messages import ToolCall as Asked
    from langgraph.prebuilt.tool_node import ToolCallRequest

    from accord.integrations.guard.decisions import Decision
    from accord.langchain.arguments import Toolbox

__all__ = ["EDITS", "as_edited", "call_it", "edited", "has_edits", "holding", "say_edited"]

EDITS = "hitl_edited_tool_calls"
"""Where that middleware keeps what people have put in the place of calls."""

_LONGEST = 2000


def edited(call: Asked, state: object, toolbox: Toolbox | None = None) -> Asked:
    """A call as a person has changed it, completed as those of models are; the same object if nobody has."""
    edits = state.get(EDITS) if isinstance(state, Mapping) else None
    edit = edits.get(call["id"]) if isinstance(edits, Mapping) and call["id"] else None
    if not isinstance(edit, Mapping):
        return call
    name, arguments = edit.get("name"), edit.get("args")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return call  # that middleware fails on it
    there: Asked = {**call, "name": name, "args": arguments}
    return there if toolbox is None else toolbox.completed(there)


def as_edited(request: ToolCallRequest, toolbox: Toolbox) -> ToolCallRequest:
    """The request for a call as a person has changed it, with the tool that it is for."""
    call = edited(request.tool_call, request.state, toolbox)
    if call is request.tool_call:
        return request
    if call["name"] == request.tool_call["name"]:
        return request.override(tool_call=call)
    tool = next((tool for tool in request.runtime.tools if tool.name == call["name"]), None)
    return request.override(tool_call=call, tool=tool)  # type: ignore[arg-type] # it may be for no tool


def holding(request: ToolCallRequest, arguments: Mapping[str, Any]) -> ToolCallRequest:
    """The request with exactly these arguments, also for whoever puts the change of a person in their place."""
    call = request.tool_call.copy()
    call["args"] = deepcopy(dict(arguments))
    if edited(call, request.state) is call:
        return request.override(tool_call=call)
    edits = {**request.state[EDITS], call["id"]: {"name": call["name"], "args": call["args"]}}
    return request.override(tool_call=call, state={**request.state, EDITS: edits})


def has_edits(state: Mapping[str, Any]) -> bool:
    """Whether a person has changed a call that waits."""
    return any(edited(call, state) is not call for call in pending_calls(state["messages"]))


def say_edited(decision: Decision) -> Decision:
    """The decision about a call that is not the one that the model has made, so that it does not look for its own."""
    call = decision.call
    said = (
        f"a person has changed this call to {quote_text(call.name)} with {_shown(call.arguments)}; {decision.message}"
    )
    return replace(decision, message=said)


def call_it(name: str, arguments: Mapping[str, Any]) -> str:
    """What a model is told to do so that a call is judged as somebody has changed it."""
    again = f"call {quote_text(name)} again, under a new id"
    return f"To have it run, {again}, with these arguments: {_shown(arguments)}"


def _shown(arguments: Mapping[str, Any]) -> str:
    """Arguments in one line."""
    return clip(json.dumps(dict(arguments), ensure_ascii=False, default=str), _LONGEST)
