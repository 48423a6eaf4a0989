"""`TraceRecorder`: what an agent does, as events in order.

The recorder has no clock. An event's number is its place, and places are given under a lock, so a trace is gapless
whatever threads and tasks record into it.

INVARIANT: recording never breaks what is recorded. A value that JSON cannot hold is recorded as such, with its type; a
sink that fails is remembered, told by `sink_error`, and raised by `close`, when the agent is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any

from accord.errors import UsageError
from accord.ledger.represent import LOOKED_AT, MARK, plain_copy, represent
from accord.trace.events import (
    CHAT_END,
    CHAT_START,
    ERROR,
    GENERATE_END,
    GENERATE_START,
    RETRY,
    STREAM_CHUNK,
    STREAM_END,
    STREAM_START,
    TOOL_CALL_START,
    TOOL_RESULT,
    TraceEvent,
)
from accord.trace.spans import GenerationSpan, StreamSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

    from accord.trace.events import RunId
    from accord.trace.sinks import TraceSink

__all__ = ["TraceRecorder"]

_MISSING: Any = object()


class TraceRecorder:
    """Records one run.

    With a `sink` every event is also written there. `keep` is how many events stay in memory: all of them, or with a
    sink none, unless told otherwise. `on_event` is called with each event, in order, one at a time.

    Example:
        >>> recorder = TraceRecorder(run_id="r-1")
        >>> call = recorder.record_tool_call("search", {"query": "Rome"})
        >>> result = recorder.record_tool_result("search", ["AZ1"])
        >>> [event.kind for event in recorder.events], recorder.get_tool_sequence()
        (['tool_call_start', 'tool_result'], ['search'])
    """

    def __init__(
        self,
        run_id: RunId = None,
        example_id: RunId = None,
        *,
        sink: TraceSink | None = None,
        keep: int | None = _MISSING,
        on_event: Callable[[TraceEvent], None] | None = None,
        enabled: bool = True,
    ) -> None:
        TraceEvent(0, "run", {}, run_id, example_id)  # checks the ids
        if keep is _MISSING:
            keep = None if sink is None else 0
        if keep is not None and (type(keep) is not int or keep < 0):
            raise UsageError(f"`keep` is how many events stay in memory, or `None` for all, got {keep!r}")
        self.run_id = run_id
        self.example_id = example_id
        self.enabled = enabled
        self.sink_error: Exception | None = None
        """What the sink, or `on_event`, failed with first. Nothing is written to the sink after that."""
        self._sink = sink
        self._keep = keep
        self._on_event = on_event
        # A lock that one thread may take twice: a value that is dropped inside may run code that records.
        self._lock = self.numbering = RLock()
        self._events: list[TraceEvent] = []
        self._tools: list[str] = []
        self._count = 0
        self._step = 0

    # -- what was recorded ---------------------------------------------------------------------------------------------

    @property
    def events(self) -> list[TraceEvent]:
        """The events that are kept, in order; a list of your own."""
        with self._lock:
            return list(self._events)

    @property
    def count(self) -> int:
        """How many events were recorded, kept or not."""
        return self._count

    @property
    def next_step(self) -> int:
        """The number that the next tool call gets; it stays that while one holds `numbering`."""
        return self._step

    def __len__(self) -> int:
        return self._count

    def get_tool_sequence(self) -> list[str]:
        """The tools that were called, in order; as long as `keep` allows."""
        with self._lock:
            return list(self._tools)

    # -- recording -----------------------------------------------------------------------------------------------------

    def record(self, kind: str, payload: Mapping[str, Any] | None = None) -> TraceEvent:
        """Record an event of any kind."""
        return self._record(kind, {} if payload is None else payload, None)

    def record_generate_start(self, prompt: object, *, generate_id: str | None = None, **params: object) -> TraceEvent:
        """A model is asked to complete a prompt."""
        return self._record(GENERATE_START, _some(prompt=prompt, params=params or None, generate_id=generate_id), None)

    def record_generate_end(
        self, response: object, usage: object = None, *, generate_id: str | None = None
    ) -> TraceEvent:
        """The model has answered."""
        return self._record(GENERATE_END, {"response": response, **_some(usage=usage, generate_id=generate_id)}, None)

    def record_chat_start(self, messages: object, *, generate_id: str | None = None, **params: object) -> TraceEvent:
        """A model is asked to go on with a conversation."""
        return self._record(CHAT_START, _some(messages=messages, params=params or None, generate_id=generate_id), None)

    def record_chat_end(self, response: object, usage: object = None, *, generate_id: str | None = None) -> TraceEvent:
        """The model has answered."""
        return self._record(CHAT_END, {"response": response, **_some(usage=usage, generate_id=generate_id)}, None)

    def record_stream_start(self, prompt: object, *, stream_id: str | None = None, **params: object) -> TraceEvent:
        """A model is asked, and will answer bit by bit."""
        return self._record(STREAM_START, _some(prompt=prompt, params=params or None, stream_id=stream_id), None)

    def record_stream_chunk(self, chunk: object, chunk_index: int, *, stream_id: str | None = None) -> TraceEvent:
        """A bit of the answer."""
        payload = {"chunk": chunk, "chunk_index": chunk_index, **_some(stream_id=stream_id)}
        return self._record(STREAM_CHUNK, payload, None)

    def record_stream_end(
        self, full_response: object = None, chunk_count: int | None = None, *, stream_id: str | None = None
    ) -> TraceEvent:
        """The answer is complete."""
        payload = _some(full_response=full_response, chunk_count=chunk_count, stream_id=stream_id)
        return self._record(STREAM_END, payload, None)

    def record_tool_call(
        self,
        tool_name: str,
        arguments: object = None,
        tool_call_id: str | None = None,
        *,
        step: int | None = None,
    ) -> TraceEvent:
        """A tool is called. `step` counts calls, unless told otherwise."""
        payload = {
            "tool_name": tool_name,
            "arguments": {} if arguments is None else arguments,
            "step": step,
            **_some(tool_call_id=tool_call_id),
        }
        return self._record(TOOL_CALL_START, payload, tool_name)

    def record_tool_result(
        self,
        tool_name: str,
        result: object = None,
        tool_call_id: str | None = None,
        *,
        ok: bool | None = None,
        error: object = None,
    ) -> TraceEvent:
        """A tool has returned, or failed with an `error`: a text or an exception."""
        payload: dict[str, object] = {
            "tool_name": tool_name,
            "result": result,
            "ok": error is None if ok is None else ok,
            **_some(tool_call_id=tool_call_id, error=_error_text(error)),
        }
        return self._record(TOOL_RESULT, payload, None)

    def record_error(self, error: object, error_type: str | None = None, **more: object) -> TraceEvent:
        """Something failed: a text or an exception. `stream_id`, `generate_id` or `tool_call_id` say what."""
        if error_type is None and _is_exception(error):
            error_type = type(error).__name__
        return self._record(ERROR, {"error": _error_text(error), **_some(error_type=error_type, **more)}, None)

    def record_retry(self, attempt: int, reason: object = None, **more: object) -> TraceEvent:
        """Something is tried again."""
        return self._record(RETRY, {"attempt": attempt, **_some(reason=_error_text(reason), **more)}, None)

    @contextmanager
    def stream(self, prompt: object, *, stream_id: str | None = None, **params: object) -> Iterator[StreamSpan]:
        """A stream around a block: chunks are counted, and the stream is closed however the block ends.

        Example:
            >>> recorder = TraceRecorder()
            >>> with recorder.stream("Say hello") as stream:
            ...     _ = stream.chunk("hel"), stream.chunk("lo")
            >>> recorder.events[-1].payload
            {'full_response': 'hello', 'chunk_count': 2}
        """
        self.record_stream_start(prompt, stream_id=stream_id, **params)
        span = StreamSpan(self, stream_id)
        try:
            yield span
        except BaseException as error:
            span.fail(error)
            raise
        span.end()

    @contextmanager
    def generation(
        self, prompt: object, *, generate_id: str | None = None, **params: object
    ) -> Iterator[GenerationSpan]:
        """A generation around a block. `span.end(response)` ends it, or the end of the block does."""
        self.record_generate_start(prompt, generate_id=generate_id, **params)
        span = GenerationSpan(self, generate_id)
        try:
            yield span
        except BaseException as error:
            if not span.ended:
                self.record_error(error, generate_id=generate_id)
            raise
        if not span.ended:
            span.end(None)

    def _record(self, kind: str, payload: Mapping[str, Any], tool: str | None) -> TraceEvent:
        if not isinstance(kind, str) or not kind:
            raise UsageError(f"the kind of an event is a text, got {kind!r}")
        if not isinstance(payload, Mapping):
            raise UsageError("the payload of an event is a mapping")
        kept = _kept(payload)
        if not self.enabled:
            return TraceEvent(0, kind, kept, self.run_id, self.example_id)
        with self._lock:
            if tool is not None:
                if kept["step"] is None:
                    kept["step"] = self._step
                self._step += 1
                if self._keep is None or len(self._tools) < self._keep:
                    name = kept["tool_name"]
                    self._tools.append(name if isinstance(name, str) else type(tool).__name__)
            event = TraceEvent(self._count, kind, kept, self.run_id, self.example_id)
            self._count += 1
            if self._keep is None or len(self._events) < self._keep:
                self._events.append(event)
            self._pass_on(event)
        return event

    def _pass_on(self, event: TraceEvent) -> None:
        for take in (self._on_event, None if self._sink is None or self.sink_error else self._sink.write):
            if take is not None:
                try:
                    take(event)
                except Exception as error:  # noqa: BLE001 - the invariant above
                    self.sink_error = self.sink_error or error

    def close(self) -> None:
        """Close the sink. Raises what it failed with, if it did."""
        if self._sink is not None:
            try:
                self._sink.close()
            except Exception as error:  # noqa: BLE001 - the first failure is the one to tell
                self.sink_error = self.sink_error or error
        if self.sink_error is not None:
            raise UsageError(f"the trace is not whole: {self.sink_error}") from self.sink_error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except UsageError:
            if kind is None:  # else the body's own error is the one to see
                raise


def _kept(payload: Mapping[str, Any]) -> dict[str, Any]:
    """A payload of our own in which everything is JSON. Each field is kept by itself: one bad one spoils no other.

    What cannot be looked at, or would read as one of our marks, is kept as a whole.
    """
    plain = plain_copy(payload, 3)
    if plain is not None:
        return plain
    try:
        fields = dict(payload.items())
    except Exception:  # noqa: BLE001 - a mapping may do anything when it is looked at
        fields = None
    if fields is not None and not all(type(key) is str for key in fields):
        raise UsageError("the payload of an event is a mapping with texts as keys")
    if fields is None or MARK in fields:
        return {"payload": represent(payload, kept=LOOKED_AT, reprs=False)}
    return {key: represent(value, kept=LOOKED_AT, reprs=False) for key, value in fields.items()}


def _some(**fields: object) -> dict[str, object]:
    """The fields that are there."""
    return {name: value for name, value in fields.items() if value is not None}


def _is_exception(value: object) -> bool:
    return issubclass(type(value), BaseException)  # `isinstance` would also ask the value itself


def _error_text(error: object) -> object:
    if not _is_exception(error):
        return error
    try:
        return str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - an error may be broken itself
        return type(error).__name__
