"""What is told of an event that a state machine does not allow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from accord.errors import ViolationError
from accord.integrations.guard.decisions import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from accord.langchain.fsm import Phase, ToolRef

__all__ = ["OnProtocolViolation", "ProtocolDecision", "ProtocolViolationError", "ViolationEvent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationEvent:
    """An event that was refused: `event` as traces show it, `expected` what might have happened instead.

    `message` says why, in the words that the model is told. A call of a tool has a `call_id`, and its `arguments`.
    """

    current_state: str
    event: str
    phase: Phase
    expected: list[str]
    trace: list[str]
    tool_ref: ToolRef | None = None
    event_label: str | None = None
    message: str = ""
    call_id: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


class ProtocolViolationError(ViolationError):
    """A protocol was violated; `violation` says how."""

    def __init__(self, message: str, violation: ViolationEvent | None = None, **more: Any) -> None:  # noqa: ANN401
        super().__init__(message, **more)
        self.violation = violation


OnProtocolViolation: TypeAlias = "Literal['block', 'raise', 'observe'] | Callable[[ViolationEvent], object]"


@dataclass(frozen=True, slots=True)
class ProtocolDecision(Decision):
    """A decision that knows which event it was about."""

    event: ViolationEvent | None = field(default=None, compare=False)
