"""What a model is shown: the tools that it may call now, and no result that the contract refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from accord.integrations.batch import withheld
from accord.integrations.guard.patience import is_waiting
from accord.langchain.messages import replaced
from accord.monitor.verdicts import Ok

if TYPE_CHECKING:
    from langchain.agents.middleware.types import ModelRequest

    from accord.langchain.law import Law
    from accord.langchain.sessions import Sitting

__all__ = ["only_callable", "without_refused"]


def only_callable(request: ModelRequest[Any], sitting: Sitting, law: Law) -> ModelRequest[Any]:
    """The request with those tools only that may be called; what is no tool of ours to run is left alone."""
    state = sitting.opened.state if sitting.is_still else sitting.session.here()
    waits = is_waiting(state, state.desk.now)
    here = state.worlds() or [state.settled]
    shown = [
        tool
        for tool in request.tools
        if not (isinstance(tool, BaseTool) and law.judges(tool.name))
        or (not waits and law.may_be_shown(here, tool.name))
    ]
    return request if len(shown) == len(request.tools) else request.override(tools=shown)


def without_refused(request: ModelRequest[Any], sitting: Sitting) -> ModelRequest[Any]:
    """The request without results that the contract refuses: a tool can send the graph here past `before_model`."""
    folded = sitting.fold(sitting.rehearse())
    refused = {returned.ticket: withheld(verdict) for returned, verdict in folded if type(verdict) is not Ok}
    if not refused:
        return request
    messages = [
        replaced(each, refused[each.tool_call_id])
        if isinstance(each, ToolMessage) and each.tool_call_id in refused
        else each
        for each in request.messages
    ]
    return request.override(messages=messages)
