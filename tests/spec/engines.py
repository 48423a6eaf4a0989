"""Every way to run a session, behind one interface, so that each specification case runs on all of them.

To add a way (an audit worker, the studio), write one more `Engine` and list it in `ENGINES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple
from unicodedata import normalize

import msgspec

from accord import Blocked, Monitor, Ok, Unrecognized, UsageError, Violation
from accord.language import parse, print_document
from accord.language.labels import print_word
from accord.machine.codec import decode_machine, encode_machine
from accord.machine.contract import compile_contract
from accord.machine.standing import Standings, TooManyConfigurationsError
from accord.semantics import Session
from accord.semantics import Verdict as ReferenceVerdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.spec.cases import Event

    from accord import Limits, Verdict
    from accord.language.tree import Declaration, Document
    from accord.machine.contract import Contract

KEY = b"a key for tests"


class Answer(NamedTuple):
    """What any engine says to an event: the kind of verdict, and the words it expected."""

    kind: str
    expected: tuple[str, ...] = ()


OK = Answer("ok")
BLOCKED = Answer("blocked")
MISUSE = Answer("misuse")


@dataclass(frozen=True)
class Subject:
    """One contract text, read once for all engines."""

    text: str
    limits: Limits

    @cached_property
    def document(self) -> Document:
        return parse(self.text, limits=self.limits)

    @cached_property
    def contract(self) -> Contract:
        return compile_contract(self.text, limits=self.limits)

    def declaration(self, protocol: str | None) -> Declaration:
        found = [d for d in self.document.declarations if protocol is None or d.name == protocol]
        assert len(found) == 1, f"{len(found)} protocols are called {protocol}"
        return found[0]


@cache
def subject_of(text: str, limits: Limits, *, printed: bool) -> Subject:
    """The contract as written, or as it reads after printing."""
    written = Subject(text, limits)
    return Subject(print_document(written.document), limits) if printed else written


class Engine(ABC):
    """One session of one protocol."""

    name: ClassVar[str]

    @abstractmethod
    def __init__(self, subject: Subject, protocol: str | None, mode: str) -> None: ...

    @abstractmethod
    def event(self, event: Event) -> Answer:
        """Something happens."""

    @abstractmethod
    def close(self) -> Answer:
        """Nothing more will come."""

    @abstractmethod
    def status(self) -> str: ...

    @abstractmethod
    def allowed(self) -> tuple[str, ...]: ...

    def finish(self) -> None:  # noqa: B027 - most engines have none
        """Called after the last line: the place for checks of the engine's own."""


class ReferenceEngine(Engine):
    """The interpreter that says what is right."""

    name = "reference"

    def __init__(self, subject: Subject, protocol: str | None, mode: str) -> None:
        self.session = Session(subject.declaration(protocol).body, mode)

    @staticmethod
    def _answer(verdict: ReferenceVerdict) -> Answer:
        return Answer(verdict.kind, verdict.expected)

    def event(self, event: Event) -> Answer:
        send = self.session.send if event.direction == "!" else self.session.receive
        try:
            return self._answer(send(event.label, None, event.partner))
        except ValueError as error:
            assert "could be with" in str(error)  # noqa: PT017 - no pytest in an engine
            return MISUSE

    def close(self) -> Answer:
        return self._answer(self.session.close())

    def status(self) -> str:
        return self.session.status

    def allowed(self) -> tuple[str, ...]:
        return tuple(self.session.allowed())


class MachineEngine(Engine):
    """The compiled tables after a journey through JSON, stepped without any monitor."""

    name = "machine"

    def __init__(self, subject: Subject, protocol: str | None, mode: str) -> None:
        machine = subject.contract.machine(protocol)
        arrived = decode_machine(msgspec.json.encode(encode_machine(machine)))
        assert arrived == machine
        assert arrived.name == machine.name
        self.at = Standings(arrived, subject.limits).start
        self.mode = mode
        self.final = ""
        self.closing: Answer | None = None
        self.puzzled = False

    def event(self, event: Event) -> Answer:
        if self.final:
            return BLOCKED
        try:
            # Whoever uses a machine brings names in normal form; the monitor does the same.
            partner = event.partner and normalize("NFC", event.partner)
            after = self.at.follow(event.direction, normalize("NFC", event.label), partner)
        except UsageError:
            return MISUSE
        except TooManyConfigurationsError:
            after = None
        if after is not None:
            self.at, self.puzzled = after, False
            return OK
        if event.label == "Unrecognized":
            self.puzzled = True
            return Answer("unrecognized", self.at.allowed)
        if self.mode == "halt":
            self.final = "violated"
        return Answer("violation", self.at.allowed)

    def close(self) -> Answer:
        if self.final == "violated":
            return BLOCKED
        if self.closing is None:
            if self.puzzled:
                self.closing, self.final = Answer("unrecognized", self.at.allowed), "unrecognised"
            elif self.at.complete:
                self.closing, self.final = OK, "complete"
            else:
                self.closing, self.final = Answer("violation", self.at.allowed), "incomplete"
        return self.closing

    def status(self) -> str:
        return self.final or ("complete" if self.at.complete else "running")

    def allowed(self) -> tuple[str, ...]:
        return () if self.final else self.at.allowed


def _answer(verdict: Verdict) -> Answer:
    match verdict:
        case Ok():
            return OK
        case Blocked():
            return BLOCKED
        case Violation():
            return Answer("violation", tuple(verdict.expected))
        case Unrecognized():
            return Answer("unrecognized", tuple(verdict.expected))


class MonitorEngine(Engine):
    """`accord.Monitor` as users have it."""

    name = "monitor"

    def __init__(self, subject: Subject, protocol: str | None, mode: str) -> None:
        self.contract = subject.contract
        self.protocol = protocol
        self.monitor = Monitor(subject.contract, protocol=protocol, mode=mode)
        self.attempts = 0

    def before(self) -> None:
        """Something to do before anything happens."""

    def _do(self, act: Callable[[], Verdict], word: str) -> Answer:
        self.before()
        try:
            verdict = act()
        except UsageError:
            return MISUSE
        if isinstance(verdict, Violation):
            assert verdict.position == self.attempts
            assert verdict.got == word
            assert verdict.explain().endswith(".")
        return _answer(verdict)

    def event(self, event: Event) -> Answer:
        partner = event.partner and normalize("NFC", event.partner)
        word = print_word(event.direction, normalize("NFC", event.label), partner)
        answer = self._do(lambda: self.tell(event), word)
        self.attempts += answer is not MISUSE
        return answer

    def tell(self, event: Event) -> Verdict:
        if event.direction == "!":
            return self.monitor.send(event.label, to=event.partner)
        return self.monitor.receive(event.label, sender=event.partner)

    def close(self) -> Answer:
        return self._do(lambda: self.monitor.close(), "end")  # noqa: PLW0108 - `before` may change the monitor

    def status(self) -> str:
        assert self.monitor.is_halted == (self.monitor.status == "violated")
        return self.monitor.status

    def allowed(self) -> tuple[str, ...]:
        return tuple(self.monitor.allowed())


class PeekingEngine(MonitorEngine):
    """The monitor asked before each event: the answer foretold is the answer given, and asking changes nothing."""

    name = "peeking"

    def tell(self, event: Event) -> Verdict:
        monitor = self.monitor
        before = monitor.trace, monitor.status, monitor.current_state, monitor.allowed()
        if event.direction == "!":
            foretold = monitor.peek_send(event.label, to=event.partner)
        else:
            foretold = monitor.peek_receive(event.label, sender=event.partner)
        assert (monitor.trace, monitor.status, monitor.current_state, monitor.allowed()) == before
        verdict = super().tell(event)
        assert verdict == foretold
        return verdict


class RestoredEngine(MonitorEngine):
    """The monitor put to rest and restored around every event, with and without a key by turns."""

    name = "restored"

    def before(self) -> None:
        key = KEY if self.attempts % 2 else None
        at_rest = msgspec.json.encode(self.monitor.snapshot(key=key))
        restored = Monitor.restore(self.contract, at_rest, key=key)
        assert restored.current_state == self.monitor.current_state
        assert restored.mode == self.monitor.mode
        self.monitor = restored

    def finish(self) -> None:
        was = self.status(), self.allowed()
        self.before()
        assert (self.status(), self.allowed()) == was


class ReplayedEngine(MonitorEngine):
    """The monitor rebuilt from its trace before it is closed and at the end, where that is legal."""

    name = "replayed"

    def replay(self) -> None:
        closed = self.monitor.status in {"incomplete", "unrecognised"} or self.closed
        if closed or self.monitor.mode == "refuse":
            try:
                self.monitor.to_dict()
            except UsageError as error:
                assert "snapshot()" in str(error)  # noqa: PT017 - no pytest in an engine
                return
            raise AssertionError("to_dict() wrote what from_dict() cannot restore")
        state = msgspec.json.decode(msgspec.json.encode(self.monitor.to_dict()))
        assert set(state) == {"trace"}
        assert len(state["trace"]) == self.attempts
        replayed = Monitor.from_dict(self.contract, state, protocol=self.protocol)
        assert replayed.trace == self.monitor.trace
        assert replayed.current_state == self.monitor.current_state
        self.monitor = replayed

    closed = False

    def close(self) -> Answer:
        self.replay()
        answer = super().close()
        self.closed = self.closed or answer is not BLOCKED
        return answer

    def finish(self) -> None:
        was = self.status(), self.allowed()
        self.replay()
        assert (self.status(), self.allowed()) == was


ENGINES: tuple[type[Engine], ...] = (
    ReferenceEngine,
    MachineEngine,
    MonitorEngine,
    PeekingEngine,
    RestoredEngine,
    ReplayedEngine,
)
