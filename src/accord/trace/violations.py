"""`Violation`: something in a trace that the configuration does not allow."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from accord.diagnostics.visible import clip

if TYPE_CHECKING:
    from accord.trace.events import RunId
    from accord.trace.redaction import Cover

__all__ = ["CODES", "Violation", "shown"]

CODES = {
    "STREAM_NESTED": "a stream begins while one of the same id is open",
    "STREAM_CHUNK_BEFORE_START": "a chunk of a stream that has not begun",
    "STREAM_CHUNK_AFTER_END": "a chunk of a stream that has ended",
    "STREAM_CHUNK_INDEX_MISMATCH": "a chunk is missing, twice there or out of order",
    "STREAM_NO_START": "the end of a stream that has not begun",
    "STREAM_NO_END": "a stream that never ends",
    "GENERATE_NESTED": "a generation begins while one of the same id is open",
    "GENERATE_NO_START": "the end of a generation that has not begun",
    "GENERATE_NO_END": "a generation that never ends",
    "TOOL_RESULT_BEFORE_CALL": "a result without a call of its own before it",
    "TOOL_NO_RESULT": "a call that is never answered",
    "INVALID_PAYLOAD": "a payload that is not what its tool or its kind asks for",
    "TOOL_MISSING_REQUIRED_ARG": "an argument is missing",
    "TOOL_INVALID_ARG_TYPE": "an argument has another type",
    "TOOL_ORDER_VIOLATION": "a call that the order of tools forbids",
    "TOOL_UNKNOWN": "a call of a tool that nobody knows",
    "PROTOCOL_VIOLATION": "an event that the contract does not allow there",
    "PROTOCOL_INCOMPLETE": "a run that ends where the contract does not allow it",
    "VALIDATOR_FAILED": "the code of a validator of your own failed, so the rest was not judged",
}


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong, at which event, and the facts of it.

    `event_seq` is the number of the event that is wrong; for what never ends, of the event that began it; for what is
    owed at the end, of the last event that mattered, or the first of the run if none did.
    """

    code: str
    event_seq: int
    detail: str
    event_kind: str | None = None
    context: dict[str, Any] = field(default_factory=dict)
    run_id: RunId = None
    example_id: RunId = None

    def __hash__(self) -> int:
        return hash((self.code, self.event_seq, self.detail, self.run_id, self.example_id))

    def __str__(self) -> str:
        return f"{self.code} at event {self.event_seq}: {self.detail}"

    def covered(self, cover: Cover) -> Violation:
        """The same without what must not be seen."""
        if not cover:
            return self
        return replace(self, detail=cover.text(self.detail), context=cover.over(self.context))

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ids that are missing are left out."""
        found: dict[str, Any] = {
            "code": self.code,
            "event_seq": self.event_seq,
            "event_kind": self.event_kind,
            "detail": self.detail,
            "context": dict(self.context),
        }
        if self.run_id is not None:
            found["run_id"] = self.run_id
        if self.example_id is not None:
            found["example_id"] = self.example_id
        return found


def shown(value: object) -> str:
    """User text in a sentence: in backticks, clipped and safe to print."""
    return f"`{clip(str(value), 80)}`"
