"""`TraceEvent`: one thing that happened in a run, in its place.

A run is known by its `run_id` and `example_id`, either of which may be missing. `seq` is a logical number, never a
time: a trace is the same on every machine and on every day.

| kind | payload |
|---|---|
| `generate_start`, `stream_start` | `prompt`, `params` |
| `chat_start` | `messages`, `params` |
| `generate_end`, `chat_end` | `response`, `usage` |
| `stream_chunk` | `chunk`, `chunk_index` |
| `stream_end` | `full_response`, `chunk_count` |
| `tool_call_start` | `tool_name`, `arguments`, `step`, `tool_call_id` |
| `tool_result` | `tool_name`, `result`, `ok`, `tool_call_id`, `error` |
| `error` | `error`, `error_type` |
| `retry` | `attempt`, `reason` |

What belongs to a stream or a generation that has an id carries it, as `stream_id` or `generate_id`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from accord.errors import UsageError
from accord.trace.sealed import seal, unseal

__all__ = [
    "CHAT_END",
    "CHAT_START",
    "ERROR",
    "GENERATE_END",
    "GENERATE_START",
    "RETRY",
    "STREAM_CHUNK",
    "STREAM_END",
    "STREAM_START",
    "TOOL_CALL_START",
    "TOOL_RESULT",
    "RunId",
    "RunKey",
    "TraceEvent",
    "as_event",
]

GENERATE_START, GENERATE_END = "generate_start", "generate_end"
CHAT_START, CHAT_END = "chat_start", "chat_end"
STREAM_START, STREAM_CHUNK, STREAM_END = "stream_start", "stream_chunk", "stream_end"
TOOL_CALL_START, TOOL_RESULT = "tool_call_start", "tool_result"
ERROR, RETRY = "error", "retry"

RunId: TypeAlias = str | int | None
RunKey: TypeAlias = tuple[RunId, RunId]
"""What tells runs in one trace apart: `run_id` and `example_id`."""


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One thing that happened. It cannot be changed, and neither can anything in its payload.

    Example:
        >>> event = TraceEvent(0, "tool_call_start", {"tool_name": "search", "arguments": {"query": "Rome"}})
        >>> event.payload["arguments"]["query"]
        'Rome'
        >>> event.payload["arguments"]["query"] = "Oslo"
        Traceback (most recent call last):
            ...
        TypeError: what was recorded cannot be changed; change a copy
    """

    seq: int
    kind: str
    payload: dict[str, Any] = field(default_factory=dict)
    run_id: RunId = None
    example_id: RunId = None

    def __post_init__(self) -> None:
        if type(self.seq) is not int:
            raise UsageError(f"the `seq` of an event is an `int`, got {self.seq!r}")
        if not isinstance(self.kind, str) or not self.kind:
            raise UsageError(f"the `kind` of an event is a text, got {self.kind!r}")
        if not isinstance(self.payload, Mapping):
            raise UsageError(f"the payload of an event is a mapping, got `{type(self.payload).__name__}`")
        for name in ("run_id", "example_id"):
            if type(getattr(self, name)) not in {str, int, type(None)}:
                raise UsageError(f"`{name}` is a text or a number, got {getattr(self, name)!r}")
        try:
            object.__setattr__(self, "payload", seal(dict(self.payload)))
        except ValueError as error:
            raise UsageError(f"the payload of event {self.seq} cannot be kept: {error}") from None

    def __hash__(self) -> int:
        return hash((self.seq, self.kind, self.run_id, self.example_id))

    @property
    def run(self) -> RunKey:
        """What tells its run apart from others in the same trace."""
        return self.run_id, self.example_id

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they stand in a line of a trace; ids that are missing are left out."""
        found: dict[str, Any] = {"seq": self.seq, "kind": self.kind, "payload": unseal(self.payload)}
        if self.run_id is not None:
            found["run_id"] = self.run_id
        if self.example_id is not None:
            found["example_id"] = self.example_id
        return found


def as_event(value: object, place: int = 0) -> TraceEvent:
    """An event from what callers have: an event, or a mapping as `TraceEvent.to_dict` gives it.

    `place` is its number if it has none of its own.
    """
    if isinstance(value, TraceEvent):
        return value
    if not isinstance(value, Mapping):
        raise UsageError(f"event {place} is a `{type(value).__name__}`; expected a `TraceEvent` or a mapping")
    if "kind" not in value:
        raise UsageError(f"event {place} has no `kind`")
    payload = value.get("payload")
    return TraceEvent(
        value.get("seq", place),
        value["kind"],
        {} if payload is None else payload,
        value.get("run_id"),
        value.get("example_id"),
    )
