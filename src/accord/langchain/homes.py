"""A session in the state of its thread: opened when a hook begins, sealed when it ends.

Between the two it lives in a home like any other session under guard. What is to be written down goes to a ledger, if
there is one, before anything is answered; if that fails, nothing has changed. A home is also made for rehearsals, in
which nothing is written down.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from accord.errors import StoreError, UsageError
from accord.integrations.guard import codec
from accord.integrations.guard.decisions import Noted, Remark
from accord.integrations.guard.homes import Home
from accord.integrations.guard.state import Desk, State
from accord.langchain.sealing import Kept, Where, corrupt
from accord.ledger.attempts import describe, why
from accord.monitor import snapshot as snapshots
from accord.monitor.step import begin
from accord.turns import check_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accord.integrations.guard.decisions import Change
    from accord.langchain.law import Law, Trace
    from accord.ledger.ledger import Ledger
    from accord.machine.clocks import Time

__all__ = ["Opened", "ThreadHome", "pack", "unpack"]

T = TypeVar("T")

_ENCODER = msgspec.json.Encoder()


class Opened(NamedTuple):
    """A session as it stands in a thread: the number of the session in that thread, its state, its trace."""

    number: int
    state: State
    trace: Trace = ()


def begin_opened(law: Law, number: int, at: Time | None) -> Opened:
    """A session that has just begun."""
    return Opened(number, State(begin(law.policy.contract, law.policy.protocol, at), desk=Desk(now=at)))


def pack(opened: Opened, where: Where, law: Law) -> Kept:
    """A session, ready to be sealed."""
    contract, protocol = law.policy.contract, law.policy.protocol
    described = snapshots.describe(opened.state.settled, contract, protocol, "refuse", 0)
    return Kept(
        thread=where.thread,
        agent=where.agent,
        contract=contract.digest,
        protocol=protocol,
        number=opened.number,
        session=msgspec.Raw(_ENCODER.encode(described)),
        guard=codec.write(opened.state),
        trace=opened.trace,
    )


def unpack(kept: Kept, where: Where, law: Law) -> Opened:
    """The session that was packed; `CorruptSessionError` if it contradicts itself."""
    try:
        situation, protocol, mode, events = snapshots.read_described(bytes(kept.session), law.policy.contract)
        state = codec.read(bytes(kept.guard), situation)
    except UsageError as error:
        raise corrupt(where, str(error)) from None
    if (protocol, mode, events) != (law.policy.protocol, "refuse", 0) or kept.protocol != protocol:
        raise corrupt(where, "it contradicts itself, or belongs to another protocol")
    return Opened(kept.number, state, kept.trace)


class ThreadHome(Home):
    """Where a session lives while a hook runs, or for as long as its owner does. A rehearsal has no effects."""

    def __init__(
        self, opened: Opened, law: Law, name: str, ledger: Ledger | None = None, *, rehearsal: bool = False
    ) -> None:
        self.opened = opened
        self._rehearsal = rehearsal
        self.waits = ledger is not None
        self._law = law
        self._name = name
        self._ledger = ledger
        self._lock = RLock()

    def state(self) -> State:
        """What is there now."""
        return self.opened.state

    def change(self, judge: Callable[[State], Change[T]], at: Time | None) -> T:  # noqa: ARG002 - it does not expire
        """One step. What becomes of it is written down first."""
        check_turn(self._lock)
        with self._lock:
            with self._law.seeing(self.opened.trace):
                change = judge(self.opened.state)
            if change.state is self.opened.state and not change.notes:
                return change.answer
            if not self._rehearsal:
                self.record(change.notes)
                self._law.act(self.opened.state, self.opened.trace, change.notes)
            trace = self._law.trace(self.opened.trace, change.notes)
            self.opened = Opened(self.opened.number, change.state, trace)
            return change.answer

    def begin_again(self) -> None:
        """Put a session that has just begun in its place."""
        check_turn(self._lock)
        with self._lock:
            number = self.opened.number + 1
            self.record([Remark("begun again", {"number": number})])
            self.opened = begin_opened(self._law, number, None)

    def take(self, judge: Callable[[State], Change[None]]) -> Sequence[Noted | Remark]:
        """One step that was written down before; what was written down."""
        check_turn(self._lock)
        with self._lock:
            change = judge(self.opened.state)
            self.opened = self.opened._replace(state=change.state)
            return change.notes

    def record(self, notes: Sequence[Noted | Remark]) -> None:
        """Write down what becomes of a step; `StoreError` if that cannot be."""
        if self._ledger is None:
            return
        contract, protocol = self._law.policy.contract, self._law.policy.protocol
        try:
            for note in notes:
                if isinstance(note, Noted):
                    self._ledger.append(describe(note.given, note.answer, self._name, contract, protocol))
                else:
                    self._ledger.note(self._name, contract.digest, protocol, note.what, note.detail)
        except Exception as error:
            raise StoreError(f"it cannot be recorded: {why(error)}") from error
