"""`FaultyStore`: a store that breaks when it is told to.

It stands in front of a real store, and each call meets the next fault of a plan. So a test says what goes wrong and
when, and the same plan goes wrong in the same way again.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from accord.errors import StoreError
from accord.stores.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.stores.record import Row
    from accord.stores.store import Change, Judge

__all__ = ["Fault", "FaultyStore"]


class Fault(Enum):
    """What may go wrong."""

    NONE = "all goes well"
    UNREACHABLE = "nothing is done"
    LOST_ANSWER = "it is done, but the answer is lost"
    FULL = "there is no room, so nothing is kept"
    STALE = "the first look shows what was there long ago"
    RACE = "somebody else takes the same step in between"
    CORRUPT = "a bit of what is read is another one"
    INTERRUPT = "the program is interrupted before anything is kept"
    LATE_INTERRUPT = "the program is interrupted after all is kept"
    BUG = "the store raises what no store should"


class FaultyStore(Store):
    """`inner` with faults: call by call those of `plan`, and none when that is at its end.

    `met` counts what went wrong. Reading and `exchange` both use the plan up.

    Example:
        >>> from accord import MemoryStore, StoredSession
        >>> from accord.testing import Fault, FaultyStore
        >>> store = FaultyStore(MemoryStore(), [Fault.UNREACHABLE])
        >>> session = StoredSession(store, "!Pay.end", "s1")
        >>> session.send("Pay"), session.send("Pay")
        (Blocked('the session cannot be kept (the store cannot be reached)'), Ok())
    """

    def __init__(self, inner: Store, plan: Iterable[Fault] = ()) -> None:
        super().__init__(secret=inner.secret)
        self.inner = inner
        self.met: dict[Fault, int] = dict.fromkeys(Fault, 0)
        self._plan = iter(plan)
        self._old: dict[str, Row] = {}

    def exchange(self, key: str, guess: Row | None, judge: Judge) -> None:
        """As the store does it, unless something goes wrong."""
        fault = self._next()
        self._before(fault)
        if fault is Fault.CORRUPT:
            there = self.inner.row(key)
            judge(None if there is None else _flipped(there))
        if fault is Fault.STALE and key in self._old:
            judge(self._old[key])
        asked = self._raced(key, judge) if fault is Fault.RACE else self._interrupted(judge, fault)
        self.inner.exchange(key, guess, asked)
        if fault is Fault.LATE_INTERRUPT:
            raise KeyboardInterrupt
        if fault is Fault.LOST_ANSWER:
            raise StoreError("the answer of the store was lost")
        row = self.inner.row(key)
        if row is not None:
            self._old.setdefault(key, row)

    def row(self, key: str) -> Row | None:
        """As the store has it, unless something goes wrong."""
        fault = self._next()
        self._before(fault)
        row = self.inner.row(key)
        if fault in {Fault.LOST_ANSWER, Fault.FULL}:
            raise StoreError("the answer of the store was lost")
        return _flipped(row) if fault is Fault.CORRUPT and row is not None else row

    def rows(self) -> Iterator[tuple[str, Row]]:
        """As the store has them."""
        return self.inner.rows()

    def lines(self, key: str, start: int, count: int) -> list[bytes]:
        """As the store has them."""
        return self.inner.lines(key, start, count)

    def close(self) -> None:
        """Close the store."""
        self.inner.close()

    def _next(self) -> Fault:
        fault = next(self._plan, Fault.NONE)
        self.met[fault] += 1
        return fault

    def _before(self, fault: Fault) -> None:
        if fault is Fault.UNREACHABLE:
            raise StoreError("the store cannot be reached")
        if fault is Fault.BUG:
            raise ZeroDivisionError("a bug in the store")

    def _interrupted(self, judge: Judge, fault: Fault) -> Judge:
        def asked(row: Row | None) -> Change | None:
            change = judge(row)
            if fault is Fault.INTERRUPT:
                raise KeyboardInterrupt
            if fault is Fault.FULL:
                raise StoreError("no space left on device")
            return change

        return asked

    def _raced(self, key: str, judge: Judge) -> Judge:
        """Takes the step itself before the first answer is used: whoever asks has lost the race."""
        row = self.inner.row(key)
        self.inner.exchange(key, row, judge)
        return judge


def _flipped(row: Row) -> Row:
    middle = len(row.sealed) // 2
    return row._replace(sealed=row.sealed[:middle] + bytes([row.sealed[middle] ^ 1]) + row.sealed[middle + 1 :])
