"""Tools of LangChain whose functions really run.

LangChain makes a text of whatever a tool returns. Of a coroutine, a generator or a task that is `<coroutine object …>`,
which looks like a result of something that has not run. So a function that is about to be run through LangChain gives
its result through `accord.calling`. Tools of other classes than LangChain's own decide for themselves how they run.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

from langchain_core.tools import StructuredTool, Tool

from accord.calling import to_the_end, to_the_end_async

if TYPE_CHECKING:
    from collections.abc import Callable

    from langgraph.prebuilt.tool_node import ToolCallRequest

__all__ = ["run_whole"]


def run_whole(request: ToolCallRequest) -> ToolCallRequest:
    """The request for a tool whose functions run to their end, or fail."""
    tool = request.tool
    if type(tool) not in {StructuredTool, Tool}:
        return request
    functions = {
        "func": None if tool.func is None else _in_turn(tool.func),  # type: ignore[union-attr] # both classes have it
        "coroutine": None if tool.coroutine is None else _at_once(tool.coroutine),  # type: ignore[union-attr]
    }
    return request.override(tool=tool.model_copy(update=functions))  # type: ignore[union-attr] # the same


def _in_turn(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def whole(*args: Any, **kwargs: Any) -> object:  # noqa: ANN401 - whatever the function takes
        return to_the_end(function(*args, **kwargs))

    return whole


def _at_once(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    async def whole(*args: Any, **kwargs: Any) -> object:  # noqa: ANN401 - whatever the function takes
        return await to_the_end_async(function(*args, **kwargs))

    return whole
