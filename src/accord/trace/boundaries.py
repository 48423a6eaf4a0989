"""Streams and generations: what begins ends, and nothing is outside.

Each is known by its id, or is the one without an id. An error closes what its own span opened: what it names by id, or
else what was opened last among those without one. It closes nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.trace.runs import Report, Run, remember
from accord.trace.violations import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from accord.trace.config import GenerateBoundariesConfig, StreamBoundariesConfig

    Payload = dict[str, Any]
    Handler = Callable[[Run, int, int, Payload], None]

__all__ = ["GenerateBoundaries", "StreamBoundaries", "close_by_error", "read_id"]


def read_id(
    report: Report, run: Run, position: int, seq: int, kind: str, payload: Payload, key: str
) -> str | int | None:
    """An id in a payload: a text or a whole number; anything else is told and counts as missing."""
    found = payload.get(key)
    if found is None or type(found) is str or type(found) is int:
        return found
    what = f"{shown(key)} is a `{type(found).__name__}`; an id is a text or a whole number"
    report.add(run, position, "INVALID_PAYLOAD", seq, kind, what, key=key)
    return None


class StreamBoundaries:
    """The validator of streams."""

    def __init__(self, config: StreamBoundariesConfig, report: Report) -> None:
        self.config = config
        self.report = report
        self._id_key = config.stream_id_key
        self._index_key = config.chunk_index_key
        self._first = config.first_chunk_index
        self._counts = config.require_monotonic_chunks

    def handlers(self) -> dict[str, list[Handler]]:
        """What to call for which kind of event."""
        config = self.config
        found: dict[str, list[Handler]] = {}
        for kind, handler in (
            (config.start_kind, self.start),
            (config.chunk_kind, self.chunk),
            (config.end_kind, self.end),
        ):
            found.setdefault(kind, []).append(handler)
        return found

    def start(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A stream begins."""
        stream = self._id(run, position, seq, payload, self.config.start_kind)
        opened = run.streams.get(stream)
        if opened is not None:
            self.report.add(
                run, position, "STREAM_NESTED", seq, self.config.start_kind,
                f"{_the('stream', stream)} begins again; it began at event {opened[1]} and has not ended",
                prior_start_seq=opened[1], **_of(self._id_key, stream),
            )  # fmt: skip
            del run.streams[stream]
        run.streams[stream] = [position, seq, self._first]

    def chunk(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A chunk. It is in one piece because it is hot."""
        stream = payload.get(self._id_key)
        if type(stream) is not str and stream is not None:
            stream = self._id(run, position, seq, payload, self.config.chunk_kind)
        opened = run.streams.get(stream)
        if opened is None:
            self._stray(run, position, seq, stream)
            return
        if self._counts:
            index = payload.get(self._index_key)
            if type(index) is int and index == opened[2]:
                opened[2] = index + 1
            else:
                self._mismatch(run, position, seq, opened, stream, index)

    def end(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A stream ends."""
        stream = self._id(run, position, seq, payload, self.config.end_kind)
        if run.streams.pop(stream, None) is None:
            again = "has ended already" if stream in run.ended_streams else "has not begun"
            self.report.add(
                run, position, "STREAM_NO_START", seq, self.config.end_kind,
                f"{_the('stream', stream)} ends, which {again}", **_of(self._id_key, stream),
            )  # fmt: skip
        else:
            remember(run.ended_streams, stream)

    def finish(self, run: Run) -> None:
        """The run is over."""
        if self.config.require_end:
            for stream, (position, seq, _) in run.streams.items():
                self.report.add(
                    run, position, "STREAM_NO_END", seq, self.config.start_kind,
                    f"{_the('stream', stream)} never ends", **_of(self._id_key, stream),
                )  # fmt: skip

    def open(self, run: Run) -> Iterator[int]:
        """Where what would be a violation at the end began."""
        if self.config.require_end:
            yield from (opened[0] for opened in run.streams.values())

    def _id(self, run: Run, position: int, seq: int, payload: Payload, kind: str) -> str | int | None:
        found = payload.get(self._id_key)
        if found is None or type(found) is str:
            return found
        return read_id(self.report, run, position, seq, kind, payload, self._id_key)

    def _stray(self, run: Run, position: int, seq: int, stream: str | int | None) -> None:
        ended = stream in run.ended_streams
        code = "STREAM_CHUNK_AFTER_END" if ended else "STREAM_CHUNK_BEFORE_START"
        detail = f"a chunk of {_the('stream', stream)}, which {'has ended' if ended else 'has not begun'}"
        self.report.add(run, position, code, seq, self.config.chunk_kind, detail, **_of(self._id_key, stream))

    def _mismatch(
        self,
        run: Run,
        position: int,
        seq: int,
        opened: list[int],
        stream: str | int | None,
        index: Any,  # noqa: ANN401
    ) -> None:
        expected = opened[2]
        if isinstance(index, float) and index == expected:
            opened[2] = expected + 1
            return
        is_index = type(index) is int
        opened[2] = index + 1 if is_index else expected + 1
        got = "has none" if index is None else f"has {shown(index)}"
        self.report.add(
            run, position, "STREAM_CHUNK_INDEX_MISMATCH", seq, self.config.chunk_kind,
            f"a chunk of {_the('stream', stream)} should have index {expected} and {got}",
            expected=expected, actual=index, **_of(self._id_key, stream),
        )  # fmt: skip


class GenerateBoundaries:
    """The validator of generations."""

    def __init__(self, config: GenerateBoundariesConfig, report: Report) -> None:
        self.config = config
        self.report = report
        self._id_key = config.generate_id_key

    def handlers(self) -> dict[str, list[Handler]]:
        """What to call for which kind of event."""
        config = self.config
        if config.start_kind == config.end_kind:
            return {config.start_kind: [self.start, self.end]}
        return {config.start_kind: [self.start], config.end_kind: [self.end]}

    def start(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A generation begins."""
        name = payload.get(self._id_key)
        if name is not None and type(name) is not str:
            name = read_id(self.report, run, position, seq, self.config.start_kind, payload, self._id_key)
        opened = run.generations.get(name)
        if opened is not None:
            self.report.add(
                run, position, "GENERATE_NESTED", seq, self.config.start_kind,
                f"{_the('generation', name)} begins again; it began at event {opened[1]} and has not ended",
                prior_start_seq=opened[1], **_of(self._id_key, name),
            )  # fmt: skip
            del run.generations[name]
        run.generations[name] = [position, seq]

    def end(self, run: Run, position: int, seq: int, payload: Payload) -> None:
        """A generation ends."""
        name = payload.get(self._id_key)
        if name is not None and type(name) is not str:
            name = read_id(self.report, run, position, seq, self.config.end_kind, payload, self._id_key)
        if run.generations.pop(name, None) is None:
            self.report.add(
                run, position, "GENERATE_NO_START", seq, self.config.end_kind,
                f"{_the('generation', name)} ends, which has not begun", **_of(self._id_key, name),
            )  # fmt: skip

    def finish(self, run: Run) -> None:
        """The run is over."""
        for name, (position, seq) in run.generations.items():
            self.report.add(
                run, position, "GENERATE_NO_END", seq, self.config.start_kind,
                f"{_the('generation', name)} never ends", **_of(self._id_key, name),
            )  # fmt: skip

    def open(self, run: Run) -> Iterator[int]:
        """Where what would be a violation at the end began."""
        return iter([opened[0] for opened in run.generations.values()])


def close_by_error(streams: StreamBoundaries | None, generations: GenerateBoundaries | None, call_key: str) -> Handler:
    """What an error event does to streams and generations; one that names a call does nothing to them."""
    stream_key = streams.config.stream_id_key if streams else None
    generate_key = generations.config.generate_id_key if generations else None

    def close(run: Run, _position: int, _seq: int, payload: Payload) -> None:
        named = False
        for key, held in ((stream_key, run.streams), (generate_key, run.generations)):
            name = None if key is None else payload.get(key)
            if type(name) is str or type(name) is int:
                named = True
                if held.pop(name, None) is not None and held is run.streams:
                    remember(run.ended_streams, name)
        if named or payload.get(call_key) is not None:
            return
        stream, generation = run.streams.get(None), run.generations.get(None)
        if stream is not None and (generation is None or stream[0] > generation[0]):
            del run.streams[None]
            remember(run.ended_streams, None)
        elif generation is not None:
            del run.generations[None]

    return close


def _the(what: str, name: str | int | None) -> str:
    return f"the {what}" if name is None else f"the {what} {shown(name)}"


def _of(key: str, name: str | int | None) -> dict[str, Any]:
    return {} if name is None else {key: name}
