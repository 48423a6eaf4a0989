"""`Monitor`: one session of one protocol, safe under threads, for less than the price of a lock.

Theory of operation. A session's whole state is one reference, `_at`, what it holds, and the trace. The fast path
looks the label up where the session is, appends to the trace and moves, in one stretch of byte code without a call.
CPython hands over to another thread, delivers a signal or raises `KeyboardInterrupt` only at calls and backward jumps,
and collects garbage, which runs finalizers, only there or where something is allocated: never inside such a stretch, so
it happens whole or not at all. The slow path (a refusal, a step taken for the first time) computes without touching
anything and then commits in the same manner: if the session is still where it was, append and move; else compute again.

Two rules follow, and a test that reads the byte code holds them:

- INVARIANT: a stretch that reads and writes `_at` consists of what is known to run no other code. That is a short list
  of opcodes. Unpacking a link is not among them: before CPython has specialised that, it allocates an iterator.
- INVARIANT: such a stretch stands on one line. Debuggers and coverage tools run code between lines.

A protocol with clauses or gates has more to look at than a label. Its monitors are `CarefulMonitor`s, which do the same
in a stretch of their own; a monitor of a class derived from this one does it on the slow path.

Where the interpreter gives no such guarantee, `atomicity` puts a lock around the same methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import TYPE_CHECKING, Self

from accord.choreography.compiling import compile_contract
from accord.errors import UsageError
from accord.machine.contract import Contract
from accord.machine.extent import Extent
from accord.monitor.atomicity import atomic
from accord.monitor.events import make_event, make_time, read_event
from accord.monitor.step import (
    Mode,
    Situation,
    begin,
    close,
    is_over,
    status,
    step,
    tick,
)
from accord.monitor.verdicts import OK, Blocked, Violation

if TYPE_CHECKING:
    from pathlib import Path

    from accord.canonical import Json
    from accord.language.tree import Direction
    from accord.machine.clocks import Time
    from accord.machine.events import Event
    from accord.machine.taking import Holding
    from accord.monitor.step import Place, Status
    from accord.monitor.verdicts import Verdict

__all__ = ["Monitor"]


@atomic("send", "receive", "tick", "close", "reset", "_attempt", "_situation")
class Monitor:
    """Watches one session against a protocol.

    `contract` is a text (`str`), a file (`Path`) or a compiled contract, which any number of monitors can share.
    Where it declares several protocols, `protocol` names one. In mode `halt` everything after a violation is blocked;
    in mode `refuse` a violation is recorded and changes nothing.

    Where a contract uses time, every call is told it by `at`, in seconds on any clock that does not go back. The
    session begins at the `at` the monitor is made with, or at the first one it is told.

    Example:
        >>> m = Monitor("!Ping.?Pong.end")
        >>> m.send("Ping"), m.send("Pong"), m.send("Anything")
        (Ok(), Violation(expected=['?Pong'], got='!Pong'), Blocked('monitor halted after a previous violation'))
    """

    __slots__ = ("_at", "_before", "_contract", "_held", "_lock", "_mode", "_name", "_trace")

    def __init__(
        self,
        contract: str | Path | Contract,
        *,
        protocol: str | None = None,
        mode: Mode = "halt",
        at: Time | None = None,
    ) -> None:
        if mode not in ("halt", "refuse"):
            raise UsageError(f"mode is `halt` or `refuse`, got {mode!r}")
        if not isinstance(contract, Contract):
            contract = compile_contract(contract)
        stages = contract.stages(protocol)
        self._contract = contract
        self._name = stages.name
        self._mode: Mode = mode
        self._at: Place = stages.start
        self._held: Holding | Extent = stages.registers
        self._trace: list[str] = []
        # Events before this monitor was restored; `None` if it has seen its session from the start.
        self._before: int | None = None
        if stages.is_wide or at is not None:
            self._at, self._held = begin(contract, self._name, make_time(at))
        if stages.looks_at_data and type(self) is Monitor:
            from accord.monitor.careful import CarefulMonitor  # noqa: PLC0415 - it is made of this class

            self.__class__ = CarefulMonitor

    # -- events --------------------------------------------------------------------------------------------------------

    def send(
        self,
        label: str,
        payload: Mapping[str, object] | None = None,
        to: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """The agent sends a message or calls a tool; `to` names the partner where the contract needs it."""
        if type(label) is str and to is None and at is None and (payload is None or type(payload) is dict):
            try:
                link = self._at.sends[label]; self._trace += link[0]; self._at = link[1]  # fmt: skip  # noqa: E702
            except KeyError:
                pass
            else:
                return OK
        return self._attempt("!", label, payload, to, None, at)

    def receive(
        self,
        label: str,
        payload: Mapping[str, object] | None = None,
        sender: str | None = None,
        by: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """Something reaches the agent; `by` names the person whose step it is, `sender` the partner."""
        if type(label) is str and sender is None and by is None and at is None and (payload is None or type(payload) is dict):  # fmt: skip  # noqa: E501 - a name for it would cost as much as the step
            try:
                link = self._at.receives[label]; self._trace += link[0]; self._at = link[1]  # fmt: skip  # noqa: E702
            except KeyError:
                pass
            else:
                return OK
        return self._attempt("?", label, payload, sender, by, at)

    def take(self, event: Event) -> Verdict:
        """An event as a projection makes it: it may concern the rules alone, which `send` and `receive` never do."""
        direction, label, partner, payload, by, at, to_rules = event
        return self._attempt(direction, label, payload, partner, by, at, to_rules=to_rules)

    def peek_take(self, event: Event) -> Verdict:
        """What `take` would answer; changes nothing."""
        direction, label, partner, payload, by, at, to_rules = event
        made = make_event(direction, label, payload, partner, by, at)._replace(to_rules=to_rules)
        return self._judge(self._situation(), made, len(self._trace))[1]

    def peek_send(
        self,
        label: str,
        payload: Mapping[str, object] | None = None,
        to: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """What `send` would answer; changes nothing."""
        plain = type(label) is str and to is None and at is None and (payload is None or type(payload) is dict)
        if plain and label in self._at.sends:
            return OK
        return self._ask("!", label, payload, to, None, at)

    def peek_receive(
        self,
        label: str,
        payload: Mapping[str, object] | None = None,
        sender: str | None = None,
        by: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """What `receive` would answer; changes nothing."""
        bare = sender is None and by is None and at is None
        if type(label) is str and bare and (payload is None or type(payload) is dict) and label in self._at.receives:
            return OK
        return self._ask("?", label, payload, sender, by, at)

    def tick(self, at: Time) -> Verdict:
        """Time passes and nothing happens: deadlines that lie before `at` expire.

        It is a violation if a rule required something until then. It does not stand in the trace.
        """
        time = make_time(at)
        while True:
            situation = place, held = self._situation()
            after, verdict = self._let_pass(situation, time)
            there, holding = after
            if self._at is place and self._held is held: self._at = there; self._held = holding; return verdict  # fmt: skip  # noqa: E501, E701, E702

    def next_due(self) -> Time | None:
        """When the next deadline is due; the program calls `tick` after that, if nothing happens before.

        `None` if nothing is due.
        """
        situation = self._situation()
        if not isinstance(situation.holding, Extent):
            return None
        from accord.monitor import wide  # noqa: PLC0415 - loaded for contracts that need it

        return wide.next_due(situation)

    def peek_tick(self, at: Time) -> Verdict:
        """What `tick` would answer; changes nothing."""
        return self._let_pass(self._situation(), make_time(at))[1]

    def peek_close(self, at: Time | None = None) -> Verdict:
        """What `close` would answer; changes nothing."""
        return self._end(self._situation(), make_time(at))[1]

    def close(self, at: Time | None = None) -> Verdict:
        """Nothing more will come: `Ok` if nothing is owed, else a violation that says what is.

        Closing is final. Closing again gives the same answer.
        """
        time = make_time(at)
        while True:
            situation = place, held = self._situation()
            after, verdict = self._end(situation, time)
            there, holding = after
            if self._at is place and self._held is held: self._at = there; self._held = holding; return verdict  # fmt: skip  # noqa: E501, E701, E702

    def reset(self, at: Time | None = None) -> None:
        """Start a new session: first state, empty trace; at that time, if the contract uses it."""
        place, held = begin(self._contract, self._name, make_time(at))
        trace: list[str] = []
        self._at = place; self._held = held; self._trace = trace; self._before = None  # fmt: skip  # noqa: E702

    # -- questions -----------------------------------------------------------------------------------------------------

    def allowed(self) -> list[str]:
        """The words that are legal now, sorted; empty when halted, closed or at the end."""
        situation = self._situation()
        return [] if is_over(situation.place) else list(situation.allowed)

    @property
    def situation(self) -> Situation:
        """Where the session stands and what it holds, as one immutable value: equal if nothing has moved it."""
        return self._situation()

    @property
    def current_state(self) -> int | str:
        """The state the session is in, as `accord show` numbers it; a text where there is more to say."""
        return self._situation().state

    @property
    def is_terminal(self) -> bool:
        """Whether the session may end here: the protocol allows it and no rule owes anything."""
        return self._situation().complete

    @property
    def is_halted(self) -> bool:
        """Whether a violation has halted the monitor."""
        return self.status == "violated"

    @property
    def status(self) -> Status:
        """`running`, `complete`, `violated`, `incomplete` or `unrecognised`."""
        return status(self._situation())

    @property
    def mode(self) -> Mode:
        """`halt` or `refuse`."""
        return self._mode

    @property
    def contract(self) -> Contract:
        """The compiled contract."""
        return self._contract

    @property
    def protocol(self) -> str | None:
        """The name of the protocol, `None` for a bare one."""
        return self._name

    @property
    def trace(self) -> list[str]:
        """Every attempt so far, in order, accepted or not; a list of your own."""
        return list(self._trace)

    def __repr__(self) -> str:
        return f"<Monitor {self._name or '(bare)'} at {self.current_state}: {self.status}>"

    # -- keeping a session ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, list[str]]:
        """The session as `{"trace": […]}`, to be replayed by `from_dict`.

        Raises `UsageError` where replay could not restore it; `snapshot` always can.
        """
        at, trace = self._at, self.trace
        needs = self._contract.needs_more_than_labels
        if needs:
            raise UsageError(f"the contract has {needs}, which a trace does not hold; use snapshot()")
        if self._before is not None:
            raise UsageError("this monitor was restored and has not seen the whole trace; use snapshot()")
        if self._mode == "refuse":
            raise UsageError("the trace of a refusing monitor holds refused attempts; use snapshot()")
        if is_over(at) and not self.is_halted:
            raise UsageError("a trace cannot say that the session was closed; use snapshot()")
        return {"trace": trace}

    @classmethod
    def from_dict(
        cls,
        contract: str | Path | Contract,
        state: Mapping[str, object],
        *,
        protocol: str | None = None,
    ) -> Self:
        """A monitor that has seen the trace of `to_dict`."""
        trace = state.get("trace") if isinstance(state, Mapping) else None
        if not isinstance(trace, list) or set(state) != {"trace"}:
            raise UsageError('expected exactly {"trace": […]}, as to_dict() writes it')
        monitor = cls(contract, protocol=protocol)
        for index, word in enumerate(trace):
            try:
                event = read_event(word)
            except ValueError as error:
                raise UsageError(f"entry {index} of the trace: {error}") from None
            monitor._attempt(event.direction, event.label, None, event.partner, event.by, None)
        return monitor

    def snapshot(self, *, key: bytes | None = None) -> dict[str, Json]:
        """The session as it stands, in JSON values, whatever the length of its trace.

        It carries the contract's digest, a version, the mode and a checksum. With a `key` the checksum is an HMAC, so
        that nobody without the key can forge a snapshot.
        """
        from accord.monitor import snapshot as snapshots  # noqa: PLC0415 - loaded with its decoder when first needed

        situation, seen = self._situation(), len(self._trace)
        events = (self._before or 0) + seen
        return snapshots.write(situation, self._contract, self._name, self._mode, events, key)

    @classmethod
    def restore(
        cls,
        contract: str | Path | Contract,
        snapshot: Mapping[str, object] | str | bytes,
        key: bytes | None = None,
    ) -> Self:
        """A monitor that goes on where the snapshot was taken.

        Raises `UsageError` if the snapshot is damaged, forged, or of another contract.
        """
        from accord.monitor import snapshot as snapshots  # noqa: PLC0415 - loaded with its decoder when first needed

        if not isinstance(contract, Contract):
            contract = compile_contract(contract)
        situation, name, mode, events = snapshots.read(snapshot, contract, key)
        monitor = cls(contract, protocol=name, mode=mode)
        monitor._at, monitor._held = situation
        monitor._before = events
        return monitor

    def __reduce__(self) -> tuple[object, ...]:
        raise UsageError("a monitor cannot be copied or pickled; use snapshot() and Monitor.restore()")

    # -- the slow path -------------------------------------------------------------------------------------------------

    def _situation(self) -> Situation:
        """The session as it stands, both parts of one moment."""
        at, held = self._at, self._held  # INVARIANT: one line without a call, as for writing
        return Situation(at, held)

    def _attempt(
        self,
        direction: Direction,
        label: str,
        payload: Mapping[str, object] | None,
        partner: str | None,
        by: str | None,
        at: Time | None,
        *,
        to_rules: bool = False,
    ) -> Verdict:
        event = make_event(direction, label, payload, partner, by, at)
        event = event._replace(to_rules=True) if to_rules else event
        word = event.word
        while True:
            situation = place, held = self._situation()
            trace = self._trace
            position = len(trace)
            after, verdict = self._judge(situation, event, position)
            there, holding = after
            # A trace has few different words, so equal ones share their text; a refused one is found by its own.
            entry = (intern(word),) if verdict is OK else (word,)
            if self._at is place and self._held is held: self._trace += entry; self._at = there; self._held = holding; break  # fmt: skip  # noqa: E501, E701, E702
        if isinstance(verdict, Violation) and (position >= len(trace) or trace[position] is not word):
            return verdict.at_position((self._before or 0) + _index_by_identity(trace, word))
        return verdict

    def _ask(
        self,
        direction: Direction,
        label: str,
        payload: Mapping[str, object] | None,
        partner: str | None,
        by: str | None,
        at: Time | None,
    ) -> Verdict:
        event = make_event(direction, label, payload, partner, by, at)
        return self._judge(self._situation(), event, len(self._trace))[1]

    def _end(self, situation: Situation, at: Time | None) -> tuple[Situation, Verdict]:
        try:
            return close(situation, (self._before or 0) + len(self._trace), at)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever broke inside, the answer is no
            return situation, Blocked(f"accord failed inside ({error!r})")

    def _let_pass(self, situation: Situation, at: Time | None) -> tuple[Situation, Verdict]:
        try:
            return tick(situation, self._mode, (self._before or 0) + len(self._trace), at)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever broke inside, the answer is no
            return situation, Blocked(f"accord failed inside ({error!r})")

    def _judge(self, situation: Situation, event: Event, place: int) -> tuple[Situation, Verdict]:
        try:
            return step(situation, event, self._mode, (self._before or 0) + place)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever broke inside, the answer is no
            return situation, Blocked(f"accord failed inside ({error!r})")


def _index_by_identity(trace: list[str], word: str) -> int:
    """Where an entry stands after all, if other threads appended before it."""
    for index in range(len(trace) - 1, -1, -1):
        if trace[index] is word:
            return index
    return len(trace)
