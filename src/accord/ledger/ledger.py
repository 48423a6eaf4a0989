"""`Ledger`: appends to a chain of entries, for any number of sessions and threads.

INVARIANT: what the ledger knows of its end is one value, replaced in one assignment after the sink has kept the line.
An interrupt at any other point leaves it where it was: the entry was not acknowledged, and the next one takes its
place.
"""

from __future__ import annotations

import secrets
from os import PathLike
from threading import RLock
from typing import TYPE_CHECKING, Self

from accord.errors import UsageError
from accord.ledger.chain import Head, verify
from accord.ledger.entries import begin_fields, check_key, fields_of, mend_fields, note_fields
from accord.ledger.linking import link
from accord.ledger.reading import lines_in_sink
from accord.ledger.tail import Tail, read_tail
from accord.turns import check_turn

if TYPE_CHECKING:
    from accord.canonical import Json
    from accord.ledger.chain import Verification
    from accord.ledger.entries import Attempt
    from accord.ledger.sinks import Sink

__all__ = ["Ledger", "check_ledger"]


class Ledger:
    """An append-only record in a sink; one that is there already is continued.

    With a `key` the hashes are HMACs: nobody without it can write a ledger that verifies with it. `identity` tells this
    ledger from all others; without one it is drawn at random.

    Example:
        >>> from accord import Ledger, MemorySink, Monitor, RecordedMonitor
        >>> ledger = Ledger(MemorySink())
        >>> session = RecordedMonitor(Monitor("!Ask.?Answer.end"), ledger)
        >>> session.send("Ask"), len(ledger), ledger.verify().ok
        (Ok(), 2, True)
    """

    __slots__ = ("_key", "_lock", "_mended", "_sink", "_tail")

    def __init__(self, sink: Sink, *, key: bytes | None = None, identity: str | None = None) -> None:
        check_key(key)
        if isinstance(sink, (str, PathLike)):
            raise UsageError(f"a ledger is kept in a sink, got {str(sink)!r}; a file is `FileSink(path)`")
        self._key = key
        self._sink = sink
        self._lock = RLock()
        try:
            self._tail = read_tail(sink, key)
            torn = self._tail.torn
            self._mended = len(torn)
            if not self._tail.entries:
                name = secrets.token_hex(16) if identity is None else identity
                self._write(begin_fields(name, keyed=key is not None))
            if torn:
                self._write(mend_fields(torn))
        except BaseException:
            sink.close()
            raise

    @property
    def head(self) -> str:
        """The last entry as `NUMBER:HASH`. Keep it elsewhere: only against it a cut-off end is seen."""
        tail = self._tail
        return str(Head(tail.entries - 1, tail.last))

    @property
    def mended(self) -> int:
        """How many bytes of an unacknowledged line a crash had left, and were cut off when this ledger was opened."""
        return self._mended

    def __len__(self) -> int:
        """How many entries there are, the one that begins the ledger included."""
        return self._tail.entries

    def __bool__(self) -> bool:
        return True

    def append(self, attempt: Attempt) -> str:
        """Record an attempt; the head after it.

        Raises what the sink raises, most often `OSError`, if it could not be kept; nothing is recorded then.
        """
        fields = fields_of(attempt)
        check_turn(self._lock)
        with self._lock:
            self._write(fields)
            return self.head

    def note(self, session: str, contract: str, protocol: str | None, what: str, detail: dict[str, object]) -> str:
        """Record what else happened to a session; `contract` is a digest. The head after it; errors as above."""
        fields = note_fields(session, contract, protocol, what, detail)
        check_turn(self._lock)
        with self._lock:
            self._write(fields)
            return self.head

    def verify(self, *, head: str | None = None) -> Verification:
        """Verify every entry that is there now."""
        return verify(lines_in_sink(self._sink, self._tail.size), key=self._key, head=head)

    def close(self) -> None:
        """Close the sink; what is tried after that cannot be recorded."""
        with self._lock:
            self._sink.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger of {len(self)} entries>"

    def _write(self, fields: dict[str, Json]) -> None:
        size, count, last, _ = self._tail
        line, sealed = link(fields, count, last, self._key)
        self._sink.write(size, line)
        self._tail = Tail(size + len(line), count + 1, sealed, b"")


def check_ledger(ledger: object) -> Ledger | None:
    """The ledger that somebody was given, if any; `UsageError` if it is none."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise UsageError("`ledger` is a `Ledger`, such as Ledger(FileSink(path))")
    return ledger
