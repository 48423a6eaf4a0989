"""Taking up a ledger that is already there: its first line, its last whole line, and what a crash left behind that.

Only these are looked at, so opening a long ledger is quick. That all between them is sound is what `accord verify` is
for; a ledger that was tampered with can be continued, and stays as bad as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.errors import UsageError
from accord.ledger.chain import BadEntryError, Walk
from accord.ledger.entries import FORMAT, FRAMED, LONGEST, OPENING, read_entry
from accord.ledger.reading import lines_in_sink

if TYPE_CHECKING:
    from accord.ledger.sinks import Sink

__all__ = ["Tail", "read_tail"]

_BLOCK = 1 << 16
_BEGINNING = OPENING + b'{"act":"begin","format":"%b",' % FORMAT.encode()


class Tail(NamedTuple):
    """Where a ledger goes on: behind `size` bytes, after `entries` entries, the last of which has the hash `last`.

    `torn` is the piece of a line behind that. Nothing in it was ever acknowledged.
    """

    size: int
    entries: int
    last: str
    torn: bytes


def read_tail(sink: Sink, key: bytes | None) -> Tail:
    """The tail of what is in a sink; `UsageError` if that cannot be continued."""
    size = sink.size
    walking = Walk(key)
    if not size:
        return Tail(0, 0, walking.last, b"")
    first = next(lines_in_sink(sink, size))
    if not first.endswith(b"\n"):
        # INVARIANT: nothing is cut off that is not certain to be ours.
        if not (first.startswith(_BEGINNING) or _BEGINNING.startswith(first)) or len(first) > LONGEST:
            raise UsageError("this is no ledger; it is left as it is")
        return Tail(0, 0, walking.last, first)
    last, torn = _last_lines(sink, size)
    whole = size - len(torn)
    try:
        walking.take(first)
        if whole > len(first):
            _jump(walking, last)
            walking.take(last)
    except BadEntryError as error:
        which = "the first entry" if walking.count == 0 else "the last entry"
        raise UsageError(f"the ledger cannot be continued: {which} is bad: {error.finding.reason}") from None
    return Tail(whole, walking.count, walking.last, torn)


def _jump(walking: Walk, line: bytes) -> None:
    """Believe a line where it stands; everything else about it is still to be checked."""
    try:
        entry = read_entry(line[len(OPENING) : -FRAMED])
    except (ValueError, RecursionError, OverflowError):
        return  # the walk says why
    walking.count, walking.last = max(entry.seq, 1), entry.prev


def _last_lines(sink: Sink, size: int) -> tuple[bytes, bytes]:
    """The last whole line, and what stands behind it."""
    block, data = _BLOCK, b""
    while len(data) < size and data.count(b"\n") < 2 and len(data) <= 2 * LONGEST:
        data = _read_exactly(sink, max(size - block, 0), size)
        block *= 4
    end = data.rfind(b"\n") + 1
    begin = data.rfind(b"\n", 0, end - 1) + 1
    if end - begin > LONGEST or len(data) - end > LONGEST:
        raise UsageError("the ledger cannot be continued: what stands at its end is longer than any entry")
    return data[begin:end], data[end:]


def _read_exactly(sink: Sink, start: int, end: int) -> bytes:
    pieces = []
    while start < end:
        piece = sink.read(start, end - start)
        if not piece:
            raise UsageError("the ledger became shorter while it was opened")
        pieces.append(piece)
        start += len(piece)
    return b"".join(pieces)
