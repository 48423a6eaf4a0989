"""The result of one file, as bytes: verdicts in chunks of columns, and the tally behind them.

A line is a chunk of up to some thousand runs, or, as the last one, the tally. So whoever writes and whoever reads holds
one chunk at a time, however many runs a file has, and a result whose last line is no tally was not finished. Columns
cost a tenth of objects where all runs of a file are judged at once.

Neither the file's name nor its folder is in there: a result belongs to the bytes of the file.
"""

from __future__ import annotations

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
    "letter_of",
    "letters",
    "read_result",
    "read_tally",
    "verdicts_of",
    "write_line",
]

FORMAT = 1
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


def read_result(path: Path) -> Iterator[_Line]:
    """The lines of a result, the tally last."""
    with path.open("rb") as stream:
        for line in stream:
            try:
                yield _decode(line)
            except msgspec.MsgspecError as error:
                raise InternalError(f"the result {path} cannot be read ({error})") from None


_TAIL = 1 << 16


def read_tally(path: Path) -> Tally | None:
    """The tally of a result; `None` if there is no finished result."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            reach = _TAIL
            while True:
                stream.seek(max(0, size - reach))
                tail = stream.read()
                start = tail.rfind(b"\n", 0, len(tail) - 1)
                if start >= 0 or reach >= size:
                    break
                reach *= 4
    except FileNotFoundError:
        return None
    try:
        last = _decode(tail[start + 1 :]) if tail.endswith(b"\n") else None
    except msgspec.MsgspecError:
        return None
    return last if isinstance(last, Tally) else None
