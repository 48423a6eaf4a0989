"""Lines of a ledger, read with bounded memory.

A line may be as long as whoever wrote the file likes; more than `LONGEST` bytes of it are never held, because one byte
more is enough to see that it is no entry.
"""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING

from accord.ledger.entries import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from _typeshed import WriteableBuffer

    from accord.ledger.sinks import Sink

__all__ = ["bounded_lines", "lines_as_they_come", "lines_in_sink"]

_TRIES = 20
_PAUSE = 0.005


def bounded_lines(stream: BinaryIO | io.BufferedIOBase) -> Iterator[bytes]:
    """Each line with its line feed, cut one byte behind the longest an entry can be."""
    return iter(lambda: stream.readline(LONGEST + 1), b"")


def lines_as_they_come(stream: BinaryIO) -> Iterator[bytes]:
    """The same for a file that may be growing: a writer gets a moment to finish the last line."""
    for line in bounded_lines(stream):
        whole = line
        for _ in range(_TRIES):
            if whole.endswith(b"\n") or len(whole) > LONGEST:
                break
            time.sleep(_PAUSE)
            whole += stream.readline(LONGEST + 1 - len(whole))
        yield whole


def lines_in_sink(sink: Sink, size: int) -> Iterator[bytes]:
    """The lines in the first `size` bytes of a sink."""
    return bounded_lines(io.BufferedReader(_Window(sink, size), 1 << 16))


class _Window(io.RawIOBase):
    """The first bytes of a sink as a file; what is appended meanwhile stays out of sight."""

    def __init__(self, sink: Sink, size: int) -> None:
        self._sink = sink
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        data = self._sink.read(self._at, min(len(view), self._size - self._at))
        view[: len(data)] = data
        self._at += len(data)
        return len(data)
