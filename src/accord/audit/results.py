"""The result of one file, as bytes: verdicts in chunks of columns, and the tally behind them.

A line is a chunk of up to some thousand runs, or behind all of them the tally. So whoever writes and whoever reads
holds one chunk at a time, however many runs a file has. The last line is a seal: a checksum of all that stands before
it. What was not finished has none, and what was damaged has a wrong one. Columns cost a tenth of objects where all runs
of a file are judged at once.

Neither the file's name nor its folder is in there: a result belongs to the bytes of the file.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import msgspec

from accord.audit.model import Breach, Refused, Status, Verdict
from accord.audit.tally import Tally
from accord.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "CHUNK",
    "FORMAT",
    "Chunk",
    "Chunks",
    "is_whole",
    "letter_of",
    "letters",
    "read_result",
    "read_tally",
    "seal",
    "verdicts_of",
    "write_line",
]

FORMAT = 3
"""Raised when lines change their meaning, so that results which were kept are not used."""

CHUNK = 5_000
"""Runs in a chunk."""

_LETTERS: dict[Status, str] = {"conforming": "c", "violating": "v", "incomplete": "i", "unrecognised": "u"}
letters: dict[str, Status] = {letter: status for status, letter in _LETTERS.items()}
"""What the letters of a chunk mean."""


class Chunk(msgspec.Struct, tag="chunk"):
    """Runs in columns. Those of `rows` have a breach."""

    run: list[str]
    status: str
    """A letter for each run."""
    events: list[int]
    line: list[int | None]
    """Empty if the file has no lines."""
    metadata: list[dict[str, Any]]
    """Empty if no run has any."""
    kinds: list[Refused]
    """What was refused, each once."""
    rows: list[int]
    kind: list[int]
    index: list[int | None]
    position: list[int]
    refused: list[int]


_Line: TypeAlias = Chunk | Tally

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Line).decode


def letter_of(status: Status) -> str:
    """How a chunk writes a status."""
    return _LETTERS[status]


def write_line(stream: BinaryIO, line: _Line) -> None:
    """Write a chunk or, at the end, the tally."""
    stream.write(_encode(line))
    stream.write(b"\n")


class Chunks:
    """Verdicts on their way to a stream, one by one."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._begin()

    def _begin(self) -> None:
        self._chunk = Chunk([], "", [], [], [], [], [], [], [], [], [])
        self._letters: list[str] = []
        self._kinds: dict[Refused, int] = {}

    def add(self, verdict: Verdict) -> None:
        """Write a verdict down."""
        chunk = self._chunk
        row = len(chunk.run)
        chunk.run.append(verdict.run)
        self._letters.append(_LETTERS[verdict.status])
        chunk.events.append(verdict.events)
        chunk.line.append(verdict.line)
        chunk.metadata.append(verdict.metadata)
        breach = verdict.breach
        if breach is not None:
            kind = self._kinds.setdefault(breach.what, len(self._kinds))
            if kind == len(chunk.kinds):
                chunk.kinds.append(breach.what)
            chunk.rows.append(row)
            chunk.kind.append(kind)
            chunk.index.append(breach.index)
            chunk.position.append(breach.position)
            chunk.refused.append(verdict.refused)
        if row + 1 >= CHUNK:
            self.flush()

    def flush(self) -> None:
        """Write what is there."""
        chunk = self._chunk
        if not chunk.run:
            return
        chunk.status = "".join(self._letters)
        if not any(chunk.metadata):
            chunk.metadata = []
        if not any(line is not None for line in chunk.line):
            chunk.line = []
        write_line(self._stream, chunk)
        self._begin()


def verdicts_of(chunk: Chunk, file: str) -> Iterator[Verdict]:
    """The verdicts in a chunk."""
    found = {row: place for place, row in enumerate(chunk.rows)}
    for row, run in enumerate(chunk.run):
        place = found.get(row)
        breach, refused = None, 0
        if place is not None:
            breach = Breach(chunk.kinds[chunk.kind[place]], chunk.index[place], chunk.position[place])
            refused = chunk.refused[place]
        yield Verdict(
            run,
            file,
            letters[chunk.status[row]],
            breach,
            chunk.line[row] if chunk.line else None,
            chunk.events[row],
            refused,
            chunk.metadata[row] if chunk.metadata else {},
        )


_SEAL = len(b'{"seal":"00000000"}\n')
_PIECE = 1 << 20


def _seal_of(checksum: int) -> bytes:
    return b'{"seal":"%08x"}\n' % checksum


def seal(stream: BinaryIO) -> None:
    """Finish a result that has been written to a stream."""
    stream.seek(0)
    checksum = 0
    while piece := stream.read(_PIECE):
        checksum = zlib.crc32(piece, checksum)
    stream.write(_seal_of(checksum))


def is_whole(path: Path) -> bool:
    """Whether there is a result that was finished and is as it was written."""
    try:
        with path.open("rb") as stream:
            left = stream.seek(0, 2) - _SEAL
            stream.seek(0)
            checksum = 0
            while left > 0:
                piece = stream.read(min(_PIECE, left))
                if not piece:
                    return False
                checksum = zlib.crc32(piece, checksum)
                left -= len(piece)
            return left == 0 and stream.read() == _seal_of(checksum)
    except OSError:
        return False


def read_result(path: Path) -> Iterator[_Line]:
    """The lines of a whole result, the tally last."""
    with path.open("rb") as stream:
        for line in stream:
            if line.startswith(b'{"seal"'):
                return
            try:
                yield _decode(line)
            except msgspec.MsgspecError as error:
                raise InternalError(f"the result {path} cannot be read ({error})") from None


_TAIL = 1 << 16


def read_tally(path: Path) -> Tally:
    """The tally of a whole result."""
    with path.open("rb") as stream:
        end = stream.seek(0, 2) - _SEAL
        reach = _TAIL
        while True:
            begin = max(0, end - reach)
            stream.seek(begin)
            tail = stream.read(end - begin)
            start = tail.rfind(b"\n", 0, len(tail) - 1)
            if start >= 0 or begin == 0:
                break
            reach *= 4
    last = _decode(tail[start + 1 :])
    if not isinstance(last, Tally):
        raise InternalError(f"the result {path} has no tally")
    return last
