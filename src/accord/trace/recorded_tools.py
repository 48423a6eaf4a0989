"""Tools that record their calls and results, and are otherwise the tools they were."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

from accord.errors import UsageError

if TYPE_CHECKING:
    from accord.trace.recorder import TraceRecorder

__all__ = ["named_tools", "recorded_tool", "recorded_tools"]

Tool = Callable[..., Any]


def named_tools(tools: Mapping[str, Tool] | Iterable[Tool] | None) -> dict[str, Tool]:
    """Tools by name; functions in a list are known by their own."""
    if tools is None:
        return {}
    if isinstance(tools, Mapping):
        found = dict(tools)
    else:
        found = {}
        for tool in tools:
            name = getattr(tool, "__name__", None)
            if not isinstance(name, str) or name in found or name == "<lambda>":
                raise UsageError(f"the tools of a list have names of their own, got {tool!r}; give a mapping")
            found[name] = tool
    for name, tool in found.items():
        if not isinstance(name, str) or not name or not callable(tool):
            raise UsageError(f"a tool is a function under its name, got {name!r}: {tool!r}")
    return found


def recorded_tools(tools: Mapping[str, Tool], recorder: TraceRecorder) -> dict[str, Tool]:
    """The same tools, each of which records."""
    return {name: recorded_tool(name, tool, recorder) for name, tool in tools.items()}


def recorded_tool(name: str, tool: Tool, recorder: TraceRecorder) -> Tool:
    """A tool that records its calls and results. What it raises is recorded and raised."""
    signature = _signature(tool)

    def begin(given: tuple[Any, ...], named: dict[str, Any]) -> str:
        with recorder.numbering:
            call_id = f"call-{recorder.next_step}"
            recorder.record_tool_call(name, _arguments(signature, given, named), call_id)
        return call_id

    if inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(getattr(tool, "__call__", None)):  # noqa: B004

        @wraps(tool)
        async def recorded_async(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - the tool's own
            call_id = begin(given, named)
            try:
                result = await tool(*given, **named)
            except BaseException as error:
                recorder.record_tool_result(name, None, call_id, error=error)
                raise
            recorder.record_tool_result(name, result, call_id)
            return result

        return recorded_async

    @wraps(tool)
    def recorded(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - the tool's own
        call_id = begin(given, named)
        try:
            result = tool(*given, **named)
        except BaseException as error:
            recorder.record_tool_result(name, None, call_id, error=error)
            raise
        if inspect.isawaitable(result):
            return _when_done(result, name, call_id, recorder)
        recorder.record_tool_result(name, result, call_id)
        return result

    return recorded


async def _when_done(result: Any, name: str, call_id: str, recorder: TraceRecorder) -> Any:  # noqa: ANN401 - any
    try:
        value = await result
    except BaseException as error:
        recorder.record_tool_result(name, None, call_id, error=error)
        raise
    recorder.record_tool_result(name, value, call_id)
    return value


def _signature(tool: Tool) -> inspect.Signature | None:
    try:
        return inspect.signature(tool)
    except (TypeError, ValueError):  # a builtin that does not say
        return None


def _arguments(signature: inspect.Signature | None, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, as the tool will see them; by position where it has no names for them."""
    if signature is None or not given:
        return {**({"args": list(given)} if given else {}), **named}
    try:
        bound = signature.bind(*given, **named)
    except TypeError:  # which the tool will raise too
        return {"args": list(given), **named}
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            found.update(value)
        else:
            found[name] = list(value) if kind is inspect.Parameter.VAR_POSITIONAL else value
    return found
