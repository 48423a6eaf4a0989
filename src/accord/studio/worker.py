"""A process that answers requests, one after the other, and is ended by a timer if one of them takes too long.

Of work on a large file it tells how far it is, and the timer begins anew: what gets on is not what hangs.

Nothing else ends work that is in the middle of something, be it a search, a pattern or a parser written in C. It reads
requests from its standard input and ends when that ends, so it does not outlive the studio.
"""

from __future__ import annotations

import resource
import signal
import struct
import sys
from pathlib import Path
from typing import IO

import msgspec

from accord.studio.answering import encode, reply
from accord.studio.answers import ANSWERS
from accord.studio.bounds import Bounds
from accord.studio.workshop import Workshop

__all__ = ["OUT_OF_MEMORY", "PROGRESS", "main", "read_frame", "write_frame"]

OUT_OF_MEMORY = 75
"""The exit status of a worker that has needed more memory than it may."""

PROGRESS = 102
"""In place of a status: what comes is not the answer yet."""

_HEAD = struct.Struct(">HQ")


def write_frame(file: IO[bytes], mark: int, content: bytes) -> None:
    """A number below 65,536 and some bytes."""
    file.write(_HEAD.pack(mark, len(content)))
    file.write(content)
    file.flush()


def read_frame(file: IO[bytes]) -> tuple[int, bytes] | None:
    """What `write_frame` has written; nothing if the other side is gone."""
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    mark, size = _HEAD.unpack(head)
    content = file.read(size)
    return (mark, content) if len(content) == size else None


def main() -> int:
    """Answer until there is nobody to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the studio ends this one
    asked, told = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what anything prints is no answer
    begun = read_frame(asked)
    if begun is None:
        return 0
    bounds, uploads = msgspec.json.decode(begun[1], type=tuple[Bounds, str])
    resource.setrlimit(resource.RLIMIT_DATA, (bounds.memory_bytes, bounds.memory_bytes))
    try:
        _work(asked, told, bounds, Path(uploads))
    except MemoryError:
        return OUT_OF_MEMORY
    except SystemError:  # what is written in C may fail like this if it gets no memory
        if 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < bounds.memory_bytes // 2:
            raise
        return OUT_OF_MEMORY
    return 0


def _work(asked: IO[bytes], told: IO[bytes], bounds: Bounds, uploads: Path) -> None:
    def tell(progress: dict[str, object]) -> None:
        signal.setitimer(signal.ITIMER_REAL, bounds.seconds)
        write_frame(told, PROGRESS, encode(progress))

    workshop = Workshop(bounds, uploads, tell)
    while (frame := read_frame(asked)) is not None:
        size, content = frame
        signal.setitimer(signal.ITIMER_REAL, bounds.seconds)
        status, answer = reply(ANSWERS, workshop, content[:size].decode(), content[size:])
        signal.setitimer(signal.ITIMER_REAL, 0)
        write_frame(told, status, answer)


if __name__ == "__main__":
    sys.exit(main())
