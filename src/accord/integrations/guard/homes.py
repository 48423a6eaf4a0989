"""Where a guard's state lives: in the process, or in a store with its ledger.

A home does one thing, `change`: it shows a pure function the state that is there and keeps what that function makes of
it, so that nobody comes between. The function may be asked more than once.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from accord.errors import CorruptSessionError, StoreError, UsageError
from accord.integrations.guard import codec
from accord.integrations.guard.decisions import Noted
from accord.integrations.guard.fast_path import FastPath
from accord.integrations.guard.state import Desk, State
from accord.integrations.guard.status import status_of
from accord.integrations.guard.timing import on_time
from accord.ledger.attempts import describe
from accord.ledger.entries import BEFORE_FIRST, begin_fields, fields_of, note_fields
from accord.ledger.linking import link
from accord.monitor import snapshot as snapshots
from accord.monitor.step import begin
from accord.monitor.wording import quote_text
from accord.stores.forks import Forking
from accord.stores.record import EXPIRED, NOTHING, Record, read, write
from accord.stores.store import Change as StoreChange
from accord.turns import check_turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.calls.nodes import Nodes
    from accord.canonical import Json
    from accord.integrations.guard.decisions import Change, Remark
    from accord.integrations.guard.handles import Handle
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.monitor.step import Situation
    from accord.stores import Row, Store

__all__ = ["Home", "MemoryHome", "StoreHome"]

T = TypeVar("T")

_ENCODER = msgspec.json.Encoder()


class Home(ABC):
    """Where a state lives. `waits` says that a change may have to wait for something outside of the process.

    `fast` is where a session goes on without a change, if it can anywhere.
    """

    waits: bool
    fast: FastPath | None = None

    @abstractmethod
    def state(self) -> State:
        """What is there now."""

    @abstractmethod
    def change(self, judge: Callable[[State], Change[T]], at: Time | None) -> T:
        """Show what is there and keep what becomes of it; the answer. `StoreError` if it cannot be kept."""

    def ticket_of(self, call: Handle) -> str | None:
        """The ticket of a call that has gone out; `None` if it has not."""
        return call.ticket


class MemoryHome(Home, Forking):
    """In the process, for as long as the guard lives; nothing is written down.

    While nothing is left to decide the session stands on the fast path, and `_here` is out of date as to where it is. A
    forked process has a copy, in which everything could happen once more; so nothing happens there.
    """

    waits = False

    def __init__(self, state: State, nodes: Nodes | None) -> None:
        self._lock = RLock()
        self._here = state
        self.fast: FastPath = FastPath(nodes)
        self._copied = False
        self.fast.open(self._here)
        self.watch_forks()

    def after_fork_there(self) -> None:
        """Close the fast path for good; what is on it is in the other process."""
        self._copied = True
        self._lock = RLock()  # whoever held the other one is not in this process
        self.fast.shut()

    def _check_process(self) -> None:
        if self._copied:
            raise StoreError("the session lives in the process from which this one was forked; keep it in a store")

    def state(self) -> State:
        """What is there now."""
        self._check_process()
        check_turn(self._lock)
        with self._lock:
            self._take_over()
            self.fast.open(self._here)
            return self._here

    def change(self, judge: Callable[[State], Change[T]], at: Time | None) -> T:  # noqa: ARG002 - it does not expire
        """One step, under a lock."""
        self._check_process()
        check_turn(self._lock)
        with self._lock:
            self._take_over()
            try:
                change = judge(self._here)
                if change.notes:
                    self._here = change.state
            finally:
                self.fast.open(self._here)
            return change.answer

    def ticket_of(self, call: Handle) -> str | None:
        """The ticket of a call that has gone out; `None` if it has not."""
        if call.ticket is None and not self._copied:
            check_turn(self._lock)
            with self._lock:
                self._take_over()
                self.fast.open(self._here)
        return call.ticket

    def _take_over(self) -> None:
        """Take the session from the fast path, with the calls that are out there.

        INVARIANT: it is in `fast.left` until it is in `_here`, so that an interrupt loses nothing.
        """
        fast = self.fast
        fast.close()
        here = fast.taken_over(self._here)
        self._here = here; fast.left = None  # fmt: skip  # noqa: E702


def _is_running(state: State) -> bool:
    return any(out.started for out in state.running())


class _Known(NamedTuple):
    """A state and the row it was read from; it has no row if the session has not begun."""

    row: Row | None
    record: Record | None
    state: State


class StoreHome(Home):
    """In a store, with a ledger: many workers share it, and it outlives them."""

    waits = True

    def __init__(
        self,
        store: Store,
        key: str,
        contract: Contract,
        protocol: str | None,
        at: Time | None,
        lasts: Time | None,
    ) -> None:
        self._store = store
        self._key = key
        self._contract = contract
        self._protocol = protocol
        self._began = at
        self._lasts = lasts
        # INVARIANT: one value, replaced in one assignment. If it is out of date, the store says so.
        self._known: _Known | None = None

    def state(self) -> State:
        """What is there now."""
        self._known = known = self._recognise(self._store.row(self._key))
        return known.state

    def change(self, judge: Callable[[State], Change[T]], at: Time | None) -> T:
        """One exchange of the store."""
        answer: Any = None
        after: _Known | None = None
        wrong: Exception | None = None

        def ask(row: Row | None) -> StoreChange | None:
            nonlocal answer, after, wrong
            wrong = None
            try:
                known = self._recognise(row)
                expires = self._expiry(known, at)
                change = judge(known.state)
                answer = change.answer
                kept, after = self._kept(known, change, expires) if change.notes else (None, known)
            except Exception as error:  # noqa: BLE001 - raised below if it was about what is really there
                wrong, kept = error, None
            return kept

        known = self._known
        self._store.exchange(self._key, None if known is None else known.row, ask)
        if wrong is not None:
            raise wrong
        if after is None:
            raise CorruptSessionError("the store has not looked at the session")
        self._known = after
        return answer  # type: ignore[no-any-return] # what `judge` said last

    def _recognise(self, row: Row | None) -> _Known:
        known = self._known
        if known is not None and known.row == row:
            return known
        if row is None:
            here = State(begin(self._contract, self._protocol, self._began), desk=Desk(now=self._began))
            return _Known(None, None, here)
        record = read(self._key, row, self._store.secret)
        self._check_same(record)
        try:
            situation, protocol, mode, events = snapshots.read_described(bytes(record.session), self._contract)
            state = codec.read(bytes(record.guard), situation)
        except UsageError as error:
            raise CorruptSessionError(f"session {quote_text(self._key)} is corrupted: {error}") from None
        if (protocol, mode, events) != (self._protocol, "refuse", 0):
            raise CorruptSessionError(f"session {quote_text(self._key)} is corrupted: its record contradicts itself")
        return _Known(row, record, state)

    def _check_same(self, record: Record) -> None:
        if record.contract != self._contract.digest:
            raise UsageError(
                f"session {quote_text(self._key)} belongs to another contract: it was begun under "
                f"{record.contract[:19]}…, this one is {self._contract.digest[:19]}…"
            )
        if record.protocol != self._protocol:
            raise UsageError(
                f"session {quote_text(self._key)} was begun with the protocol {quote_text(record.protocol or '')}"
            )
        if record.status == EXPIRED:
            raise StoreError(f"session {quote_text(self._key)} has expired")
        if record.guard == NOTHING:
            raise UsageError(f"session {quote_text(self._key)} is kept by a `StoredSession`, not by a guard")

    def _expiry(self, known: _Known, clock: Time | None) -> float | None:
        """When the session expires after this step, in its own time; `StoreError` if it has.

        It does not while a call is running: what has happened must be written down, however long it took.
        """
        expires = None if known.record is None else known.record.expires
        desk = known.state.desk
        at = None if clock is None else on_time(desk, clock).now
        if expires is not None:
            expires += float(desk.ahead)
            if (at is None or at >= expires) and not _is_running(known.state):
                raise StoreError(f"session {quote_text(self._key)} has expired")
        if self._lasts is None or at is None:
            return expires
        later = float(at) + float(self._lasts)
        return later if expires is None else max(expires, later)

    def _told_expiry(self, state: State, expires: float | None) -> float | None:
        """When the session expires by its clock; never while a call is running, so that nobody sweeps it away."""
        if expires is None or (self._lasts is not None and _is_running(state)):
            return None
        return expires - float(state.desk.ahead)

    def _kept(self, known: _Known, change: Change[Any], expires: float | None) -> tuple[StoreChange, _Known]:
        secret, before = self._store.secret, known.record
        first, last = (0, BEFORE_FIRST) if before is None else (before.version + 1, before.head)
        fields = [self._fields(note) for note in change.notes]
        if before is None:
            fields.insert(0, begin_fields(secrets.token_hex(16), keyed=secret is not None))
        lines = []
        for number, each in enumerate(fields, first):
            line, last = link(each, number, last, secret)
            lines.append(line)
        events = sum(isinstance(note, Noted) and note.given.direction in {"!", "?"} for note in change.notes)
        record = Record(
            key=self._key,
            version=first + len(lines) - 1,
            head=last,
            contract=self._contract.digest,
            protocol=self._protocol,
            mode="refuse",
            status=status_of(change.state),
            events=events + (0 if before is None else before.events),
            expires=self._told_expiry(change.state, expires),
            session=self._described(change.state.settled),
            guard=codec.write(change.state),
        )
        row = write(record, secret)
        return StoreChange(row, first, tuple(lines)), _Known(row, record, change.state)

    def _fields(self, note: Noted | Remark) -> dict[str, Json]:
        if isinstance(note, Noted):
            return fields_of(describe(note.given, note.answer, self._key, self._contract, self._protocol))
        return note_fields(self._key, self._contract.digest, self._protocol, note.what, note.detail)

    def _described(self, situation: Situation) -> msgspec.Raw:
        described = snapshots.describe(situation, self._contract, self._protocol, "refuse", 0)
        return msgspec.Raw(_ENCODER.encode(described))
