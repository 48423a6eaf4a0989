"""What a store is: a few things each kind must do, and what all of them can do with that.

The heart is `exchange`, the one atomic compare-and-step: what is there is shown to a function, and what that function
makes of it is kept, record and ledger together, if and only if nobody has changed it meanwhile. The rest is reading.

The functions of a session never see a store half way: `exchange` returns after everything is kept, or raises and
nothing is.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Self

from accord.errors import CorruptSessionError, StoreError, UsageError
from accord.ledger.chain import BadEntryError, Finding, Head, Verification, Walk
from accord.ledger.entries import check_key
from accord.monitor.events import make_time
from accord.stores.moving import readdressed
from accord.stores.record import EXPIRED, NOTHING, Row, check_name, read, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from accord.machine.clocks import Time
    from accord.monitor.step import Mode
    from accord.stores.record import KeptStatus, Record

__all__ = ["Change", "Judge", "SessionInfo", "Store"]

_LINES_AT_A_TIME = 256


class Change(NamedTuple):
    """What becomes of a session: its new row, and lines to be added to its ledger, the first of which has that number.

    Without a row the session is removed with its ledger. With `drop` the ledger is removed, and the row stays.
    """

    row: Row | None
    first: int = 0
    lines: tuple[bytes, ...] = ()
    drop: bool = False


Judge = Callable[[Row | None], Change | None]
"""Given what is there, what it should become; `None` if nothing is to be changed. It may be asked more than once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A session of a store, as a list shows it.

    `head` is that of its ledger. `fault` says what is wrong with a corrupted one; nothing else is known of it then.
    """

    key: str
    contract: str = ""
    protocol: str | None = None
    mode: Mode | None = None
    status: KeptStatus | None = None
    events: int = 0
    head: str = ""
    expires: Time | None = None
    fault: str | None = None


class Store(ABC):
    """Where sessions and their ledgers are kept.

    A kind of store has `exchange`, `row`, `rows`, `lines` and `close`; a store of your own that passes
    `accord.testing.StoreConformance` can be used wherever these can. With a `secret` all seals are HMACs: nobody
    without it can write a session that is accepted.
    """

    secret: bytes | None

    def __init__(self, *, secret: bytes | None = None) -> None:
        check_key(secret)
        self.secret = secret

    # -- what a kind of store does -------------------------------------------------------------------------------------

    @abstractmethod
    def exchange(self, key: str, guess: Row | None, judge: Judge) -> None:
        """Show `judge` what is kept for a key, and keep what it makes of it, in one step that nobody comes between.

        `guess` is what the caller believes to be there, `None` if it has no idea: a store may ask `judge` about it
        first and then keep the result if the guess was right, which saves a question. `judge` is asked again about what
        is really there if it was not; so often, and no more, as to be bounded.

        Raises `StoreError`, or what `judge` raises, if nothing was kept, or if that is not known.
        """

    @abstractmethod
    def row(self, key: str) -> Row | None:
        """What is kept for a key."""

    @abstractmethod
    def rows(self) -> Iterator[tuple[str, Row]]:
        """What is kept, for every key."""

    @abstractmethod
    def lines(self, key: str, start: int, count: int) -> list[bytes]:
        """Lines of a session's ledger, from number `start` on, `count` of them or as many as there are."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""

    def due(self, at: Time) -> Iterator[str]:
        """The keys of sessions that expire at that time or before it."""
        return (key for key, row in self.rows() if row.expires is not None and row.expires <= at)

    # -- what all stores can do ----------------------------------------------------------------------------------------

    def sessions(self, *, contract: str | None = None, status: KeptStatus | None = None) -> Iterator[SessionInfo]:
        """All sessions, those of a contract (by its digest), or those of a status; corrupted ones are always told."""
        for key, row in self.rows():
            info = self._info(key, row)
            wanted = contract in (None, info.contract) and status in (None, info.status)
            if wanted or info.fault is not None:
                yield info

    def session(self, key: str) -> SessionInfo | None:
        """One session, whatever contract it is of; `None` if there is none."""
        row = self.row(check_name(key))
        return None if row is None else self._info(key, row)

    def ledger(self, key: str) -> Iterator[bytes]:
        """The lines of a session's ledger, up to the entry its record names; `UsageError` if there is no session."""
        record = self._record(check_name(key))
        return self._lines(key, record.version + 1)

    def verify(self, key: str, *, head: str | None = None) -> Verification:
        """Whether a session's ledger is whole, unchanged, and the one its record names.

        Because the record holds the head of the ledger, an end that was cut off is found too. `head` is a head that
        was kept elsewhere, against somebody who put back an older record together with an older ledger.
        """
        record = self._record(check_name(key))
        walking = Walk(self.secret, head)
        finding = None
        try:
            for line in self._lines(key, record.version + 1):
                walking.take(line)
            walking.end()
        except BadEntryError as error:
            finding = error.finding
        if finding is None and (walking.count, walking.last) != (record.version + 1, record.head):
            said = f"the session's record names entry {record.version}, {record.head[:12]}…"
            finding = Finding(walking.count, "missing", f"the ledger ends here with another entry: {said}")
        if finding is None and self.lines(key, record.version + 1, 1) and self._record(key) == record:
            finding = Finding(walking.count, "other history", "there is an entry behind the one that the record names")
        return Verification(walking.count, walking.head, finding)

    def export(self, key: str, path: str | PathLike[str]) -> str:
        """Write a session's ledger to a new file that `accord verify` can read, for its owner alone; its head.

        A ledger that is not whole is not written: `CorruptSessionError`, and there is no file.
        """
        record = self._record(check_name(key))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123 - it is open already
                return self._export(key, record, file)
        except BaseException:
            os.unlink(path)  # noqa: PTH108 - a path may be bytes
            raise

    def _export(self, key: str, record: Record, file: BinaryIO) -> str:
        walking = Walk(self.secret)
        try:
            for line in self._lines(key, record.version + 1):
                walking.take(line)
                file.write(line)
            walking.end()
        except BadEntryError as error:
            raise CorruptSessionError(f"the ledger of session `{key}` is bad: {error.finding}") from None
        if (walking.count, walking.last) != (record.version + 1, record.head):
            said = f"it has {walking.count} entries, and not the end that the session's record names"
            raise CorruptSessionError(f"the ledger of session `{key}` is bad: {said}")
        return str(walking.head)

    def sweep(self, at: Time) -> list[str]:
        """End the sessions that expire at that time or before it; their keys.

        Of each a small record stays, so that its key is not taken for a new session, and with it the head of its
        ledger; the ledger itself goes. `forget` removes the rest.
        """
        time = make_time(at)
        if time is None:
            raise UsageError("`sweep` is told the time by `at`, in seconds")
        return [key for key in list(self.due(time)) if self._expire(key, time)]

    def forget(self, key: str) -> bool:
        """Remove a session and its ledger without a trace, corrupted or not; whether there was one.

        The next attempt under this key begins a new session, in which everything may happen again.
        """
        found = False

        def remove(row: Row | None) -> Change | None:
            nonlocal found
            found = row is not None
            return Change(None) if found else None

        self.exchange(check_name(key), None, remove)
        return found

    def move(self, key: str, new: str) -> None:
        """Give a session another key, with its ledger, whose last entry then says where it comes from.

        `UsageError` if there is no such session, or another one under the new key; `StoreError` if the session took a
        step meanwhile. Then everything is as it was. If the store fails half way, both keys may have the session.
        """
        row = self.row(check_name(key))
        record = self._record(key)
        lines = list(self._lines(key, record.version + 1))
        moved, line = readdressed(record, lines, check_name(new), self.secret)

        def put(there: Row | None) -> Change:
            if there is not None:
                raise UsageError(f"there is a session `{new}` already; nothing was moved")
            return Change(moved, 0, (*lines, line))

        def remove(there: Row | None) -> Change:
            if there is None or there != row or there.version != record.version:
                raise StoreError(f"session `{key}` took a step while it was to be moved; try it again")
            return Change(None)

        # INVARIANT: there is one copy at least, whatever becomes of the store meanwhile.
        try:
            self.exchange(new, None, put)
            self.exchange(key, row, remove)
        except BaseException as error:
            if self.row(key) is not None:
                self.exchange(new, moved, lambda there: Change(None) if there == moved else None)
                raise
            if not isinstance(error, StoreError):
                raise
            # It is there no more, so it was moved; only the answer of the store was lost.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _info(self, key: str, row: Row) -> SessionInfo:
        try:
            record = read(key, row, self.secret)
        except CorruptSessionError as error:
            return SessionInfo(key=key, fault=str(error))
        return SessionInfo(
            key=key,
            contract=record.contract,
            protocol=record.protocol,
            mode=record.mode,
            status=record.status,
            events=record.events,
            head=str(Head(record.version, record.head)),
            expires=record.expires,
        )

    def _record(self, key: str) -> Record:
        row = self.row(key)
        if row is None:
            raise UsageError(f"there is no session `{key}`")
        record = read(key, row, self.secret)
        if record.status == EXPIRED:
            head = Head(record.version, record.head)
            raise UsageError(f"session `{key}` has expired and its ledger is gone; the head of it was {head}")
        return record

    def _lines(self, key: str, count: int) -> Iterator[bytes]:
        start = 0
        while start < count:
            some = self.lines(key, start, min(_LINES_AT_A_TIME, count - start))
            yield from some
            if not some:
                return
            start += len(some)

    def _expire(self, key: str, at: Time) -> bool:
        done = False

        def end(row: Row | None) -> Change | None:
            nonlocal done
            done = False
            if row is None or row.expires is None or row.expires > at:
                return None
            record = read(key, row, self.secret)
            done = True
            ended = _ended(record)
            return Change(write(ended, self.secret), drop=True)

        try:
            self.exchange(key, None, end)
        except CorruptSessionError:
            return False  # it stays for a person to look at; `sessions` tells of it
        return done


def _ended(record: Record) -> Record:
    from msgspec.structs import replace  # noqa: PLC0415 - rarely needed

    return replace(record, status=EXPIRED, session=NOTHING, guard=NOTHING, expires=None)
