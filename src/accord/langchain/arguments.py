"""What a tool will really be called with.

LangChain reads the arguments of a call by the tool's own schema: defaults are filled in, texts become numbers and
`"yes"` becomes `true`, what the schema does not know is dropped. A contract that looks at data has to judge what comes
out of that, and people have to be shown it. So calls are completed as soon as the model has made them, in its message;
whoever reads that later, in this process or another, reads the same.

A schema that is no class of pydantic changes nothing. Where what it makes of the arguments cannot be written as JSON
and read back, they are judged as they were given.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from accord.monitor.wording import quote_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain.agents.middleware.types import ModelResponse
    from langchain_core.messages import ToolCall as Asked

__all__ = ["Toolbox", "complete", "differs"]

_VARIADIC = ("args", "kwargs")
"""Fields that stand for parameters of any number, which LangChain leaves out."""
_NUMBERS = (int, float)


def complete(tool: BaseTool, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments with which a tool would run, as JSON; `None` if that cannot be told, or it would not run."""
    schema = _schema(tool)
    if schema is None:
        return None
    try:
        read = schema.model_validate(dict(given))
        written = read.model_dump(mode="json", by_alias=True, exclude=_left_out(schema, read, given))
        return written if schema.model_validate(written) == read else None
    except Exception:  # noqa: BLE001 - a schema may do anything; the tool itself says what it does not take
        return None


def _schema(tool: BaseTool) -> type[BaseModel] | None:
    """The schema of what the model gives; what the graph adds is no business of a contract."""
    whole = tool.args_schema
    if not (isinstance(whole, type) and issubclass(whole, BaseModel)):
        return None
    seen = tool.tool_call_schema
    if not (isinstance(seen, type) and issubclass(seen, BaseModel)):
        return None
    return whole if whole.model_fields.keys() == seen.model_fields.keys() else seen


def _left_out(schema: type[BaseModel], read: BaseModel, given: Mapping[str, Any]) -> set[str]:
    known = given.keys() | read.model_fields_set
    return {name for name in _VARIADIC if name in schema.model_fields and name not in known}


class Toolbox:
    """The tools of agents, by their names."""

    def __init__(self, weighs: Callable[[str], bool]) -> None:
        self._weighs = weighs
        self._known: dict[str, BaseTool] = {}

    def learn(self, tools: Sequence[Any]) -> None:
        """Remember the tools of a request, or of an agent."""
        self._known.update({tool.name: tool for tool in tools if isinstance(tool, BaseTool)})

    def get(self, name: str) -> BaseTool | None:
        """A tool, if it is known."""
        return self._known.get(name)

    def complete_all(self, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """The answer of a model, with its calls completed where the law weighs their arguments."""
        result = [self._message(each) if isinstance(each, AIMessage) else each for each in response.result]
        same = all(new is old for new, old in zip(result, response.result, strict=True))
        return response if same else replace(response, result=result)

    def why_not(self, name: str, arguments: Mapping[str, object]) -> str | None:
        """What is wrong with arguments that somebody has put in the place of others; `None` if nothing is known."""
        tool = self._known.get(name)
        full = None if tool is None else complete(tool, arguments)
        return None if full is None else differs(full, arguments)

    def completed(self, call: Asked) -> Asked:
        """A call with all that its tool will be called with, where the law weighs that; the same object if it is so."""
        tool = self._known.get(call["name"])
        full = complete(tool, call["args"]) if tool is not None and self._weighs(call["name"]) else None
        return call if full is None or differs(full, call["args"]) is None else {**call, "args": full}

    def _message(self, message: AIMessage) -> AIMessage:
        calls = [self.completed(call) for call in message.tool_calls]
        same = all(new is old for new, old in zip(calls, message.tool_calls, strict=True))
        return message if same else message.model_copy(update={"tool_calls": calls})


def differs(full: Mapping[str, Any], judged: Mapping[str, Any]) -> str | None:
    """In which argument a tool would run otherwise than was judged; `None` if in none."""
    for name in full:
        if name not in judged:
            return f"the argument {quote_text(name)} is missing"
        if not _same(full[name], judged[name]):
            return f"the argument {quote_text(name)} is not given as the tool takes it"
    unknown = [name for name in judged if name not in full]
    return f"there is no argument {quote_text(unknown[0])}" if unknown else None


def _same(one: object, other: object) -> bool:
    """Whether two values are the same JSON: 150 and 150.0 are one number there, but `true` is not 1."""
    if type(one) in _NUMBERS and type(other) in _NUMBERS:
        return one == other
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other
