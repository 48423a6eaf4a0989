"""`MemoryStore`: sessions that live as long as the process, for tests and for programs that need no more."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING

from accord.errors import StoreError
from accord.stores.forks import Forking
from accord.stores.store import Store
from accord.turns import check_turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.stores.record import Row
    from accord.stores.store import Change, Judge

__all__ = ["MemoryStore"]


class MemoryStore(Store, Forking):
    """Sessions in memory, shared by all threads of a process; a fork of it is refused.

    Example:
        >>> from accord import MemoryStore, StoredSession
        >>> store = MemoryStore()
        >>> StoredSession(store, "!Pay.end", "order-17").send("Pay")
        Ok()
        >>> StoredSession(store, "!Pay.end", "order-17").send("Pay")
        Violation(expected=[], got='!Pay')
    """

    def __init__(self, *, secret: bytes | None = None) -> None:
        super().__init__(secret=secret)
        self._lock = RLock()
        # INVARIANT: a session is one value, replaced in one assignment, so that an interrupt finds it whole.
        # So many of its lines count; one behind them is what an interrupt has left of an attempt nobody was answered.
        self._sessions: dict[str, tuple[Row, list[bytes], int]] = {}
        self._copied = False
        self.watch_forks()

    def after_fork_there(self) -> None:
        """What a child keeps nobody else would see, so it keeps nothing."""
        self._copied = True
        self._lock = RLock()  # whoever held the other one is not in this process

    def exchange(self, key: str, guess: Row | None, judge: Judge) -> None:
        """One compare-and-step, under a lock."""
        self._check_process()
        change = None if guess is None else judge(guess)
        check_turn(self._lock)
        with self._lock:
            row, lines, count = self._sessions.get(key, (None, [], 0))
            if guess is None or row != guess or change is None:
                change = judge(row)
            if change is not None:
                self._keep(key, lines, count, change)

    def _keep(self, key: str, lines: list[bytes], count: int, change: Change) -> None:
        if change.row is None:
            del self._sessions[key]
        elif change.drop:
            self._sessions[key] = change.row, [], 0
        elif change.first != count:
            raise StoreError(f"the ledger of session `{key}` does not have as many entries as its record says")
        else:
            lines[count:] = change.lines
            self._sessions[key] = change.row, lines, count + len(change.lines)

    def row(self, key: str) -> Row | None:
        """What is kept for a key."""
        self._check_process()
        kept = self._sessions.get(key)
        return None if kept is None else kept[0]

    def rows(self) -> Iterator[tuple[str, Row]]:
        """What is kept, for every key."""
        self._check_process()
        with self._lock:
            kept = sorted(self._sessions.items())
        return iter([(key, row) for key, (row, _, _) in kept])

    def lines(self, key: str, start: int, count: int) -> list[bytes]:
        """Lines of a session's ledger."""
        self._check_process()
        _, kept, counting = self._sessions.get(key, (None, [], 0))
        return kept[start : min(start + count, counting)]

    def close(self) -> None:
        """Nothing is to be done; the sessions stay."""

    def _check_process(self) -> None:
        if self._copied:
            raise StoreError("a store in memory belongs to the process that made it, and this is a fork of that one")
