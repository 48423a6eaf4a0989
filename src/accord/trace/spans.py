"""A stream or a generation that is going on, for the block that is in charge of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.trace.events import TraceEvent
    from accord.trace.recorder import TraceRecorder

__all__ = ["GenerationSpan", "StreamSpan"]


class StreamSpan:
    """A stream: counts its chunks and remembers its text. Used by one task at a time."""

    __slots__ = ("_count", "_id", "_recorder", "_texts", "ended")

    def __init__(self, recorder: TraceRecorder, stream_id: str | None) -> None:
        self._recorder = recorder
        self._id = stream_id
        self._count = 0
        self._texts: list[str] | None = []
        self.ended = False

    def chunk(self, chunk: object) -> TraceEvent:
        """The next chunk."""
        index = self._count
        self._count += 1
        if self._texts is not None and isinstance(chunk, str):
            self._texts.append(chunk)
        else:
            self._texts = None
        return self._recorder.record_stream_chunk(chunk, index, stream_id=self._id)

    def end(self, full_response: object = None) -> None:
        """The stream is complete; what it said in all is put together from its chunks, if they are texts."""
        if self.ended:
            return
        self.ended = True
        if full_response is None and self._texts is not None:
            full_response = "".join(self._texts)
        self._recorder.record_stream_end(full_response, self._count, stream_id=self._id)

    def fail(self, error: BaseException) -> None:
        """The stream breaks off."""
        if not self.ended:
            self.ended = True
            self._recorder.record_error(error, stream_id=self._id)


class GenerationSpan:
    """A generation."""

    __slots__ = ("_id", "_recorder", "ended")

    def __init__(self, recorder: TraceRecorder, generate_id: str | None) -> None:
        self._recorder = recorder
        self._id = generate_id
        self.ended = False

    def end(self, response: object, usage: object = None) -> None:
        """The model has answered."""
        if not self.ended:
            self.ended = True
            self._recorder.record_generate_end(response, usage, generate_id=self._id)
