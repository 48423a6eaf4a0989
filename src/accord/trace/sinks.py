"""Traces written line by line while they happen, so that a run of any length is recorded in the same memory."""

from __future__ import annotations

import os
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, BinaryIO, Protocol

import msgspec

from accord.canonical import encode
from accord.errors import UsageError
from accord.trace.values import NotJsonError, check_json

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from accord.trace.events import TraceEvent

__all__ = ["JsonlSink", "TraceSink", "event_line"]

_ENCODER = msgspec.json.Encoder()


class TraceSink(Protocol):
    """Whatever takes events one by one."""

    def write(self, event: TraceEvent) -> None:
        """Take an event."""

    def close(self) -> None:
        """Nothing more will come."""


def event_line(event: TraceEvent) -> bytes:
    """An event as a line of JSON, without its end.

    Raises `UsageError` for what JSON cannot hold; what a recorder recorded has nothing of that.
    """
    value = event.to_dict()
    try:
        check_json(value)
    except NotJsonError as error:
        raise UsageError(f"event {event.seq} cannot be written: {error}") from None
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:  # a lone surrogate, which is written as an escape
        return encode(value)


class JsonlSink:
    """A file with one event in each line. Many recorders may share one.

    A path is opened for appending, which `append=False` makes an error if there is something already; a binary file is
    written to as it is and left open by `close`.
    """

    __slots__ = ("_file", "_lock", "_owns")

    def __init__(self, file: str | os.PathLike[str] | BinaryIO, *, append: bool = True) -> None:
        self._lock = RLock()
        self._owns = isinstance(file, str | os.PathLike)
        if isinstance(file, str | os.PathLike):
            try:
                self._file: BinaryIO = Path(file).open("ab" if append else "xb")  # noqa: SIM115 - open until `close`
            except (OSError, ValueError) as error:
                raise UsageError(f"cannot write {os.fspath(file)}: {getattr(error, 'strerror', error)}") from None
        else:
            self._file = file

    def write(self, event: TraceEvent) -> None:
        """Write an event. It is in the file when the buffer is full, or with `flush`."""
        line = event_line(event) + b"\n"
        with self._lock:
            self._file.write(line)

    def flush(self) -> None:
        """Hand what was written to the operating system."""
        with self._lock:
            self._file.flush()

    def close(self) -> None:
        """Write what is left."""
        with self._lock:
            if self._owns:
                self._file.close()
            else:
                self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self.close()
