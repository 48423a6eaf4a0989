"""What passes between a model and its tools, whatever the SDK: responses, tool calls, results.

Nothing here is checked when it is made. It comes from a model by way of somebody's adapter, and whoever uses it looks
at it first: a call with arguments that are no mapping is one a model can make, and it must be told so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from accord.integrations.session import Receipt
    from accord.monitor import Verdict

__all__ = ["LLMResponse", "ToolCall", "ToolResult"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks for a tool. `arguments` is a mapping if the model did it right; without an id, `id` is empty.

    `cut_off` says that the model was stopped before its answer was complete. Such a call may be half of what it was to
    be, or the first of two that belong together, so it does not run; the model is told to send it again.
    """

    name: str
    arguments: Any = field(default_factory=dict)
    id: str = ""
    cut_off: bool = False


@dataclass(frozen=True, slots=True)
class LLMResponse:
    """What a model answered: text, tool calls, or both. `raw` is the SDK's own object, for whoever needs more.

    Example:
        >>> LLMResponse(content="Hello").has_tool_calls
        False
    """

    content: str | None = None
    tool_calls: list[ToolCall] = field(default_factory=list)
    raw: Any = field(default=None, repr=False, compare=False)
    receipt: Receipt | None = field(default=None, repr=False, compare=False)
    """That a client has received it, so that nobody receives it again; set by `MonitoredClient`."""

    @property
    def has_tool_calls(self) -> bool:
        """Whether the model asks for tools."""
        return bool(self.tool_calls)


class ToolResult(msgspec.Struct, frozen=True, eq=False):
    """What became of a tool call.

    `error` is `None` if all went well; else it says what went wrong, in words for the model, and `result` is `None`.
    `verdict` is the monitor's answer if that was not `Ok`; it makes no difference to whether two results are equal.
    Where a tool has run and the contract refused its answer, `withheld` is what the tool returned: the program may need
    it, the model must not see it, and it is not shown.
    """

    # Made once a call, five times as fast as a frozen dataclass.
    tool_call_id: str
    tool_name: str
    result: Any = None
    error: str | None = None
    verdict: Verdict | None = None
    withheld: Any = None

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name != "withheld")
        return f"ToolResult({shown})"

    def _compared(self) -> tuple[object, ...]:
        return (self.tool_call_id, self.tool_name, self.result, self.error, self.withheld)

    def __eq__(self, other: object) -> bool:
        return self._compared() == other._compared() if type(other) is ToolResult else NotImplemented

    def __hash__(self) -> int:
        return hash(self._compared())

    @property
    def ok(self) -> bool:
        """Whether the tool has run and its result may be passed on."""
        return self.error is None

    @property
    def content(self) -> str:
        """What to tell the model: the error, or the result, as JSON if it is no text.

        Example:
            >>> ToolResult("c1", "search", ["Rome"]).content, ToolResult("c2", "book", error="sold out").content
            ('["Rome"]', 'error: sold out')
        """
        if self.error is not None:
            return f"error: {self.error}"
        return self.result if isinstance(self.result, str) else json.dumps(self.result, ensure_ascii=False)
