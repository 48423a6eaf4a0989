"""Every way to run a session, behind one interface, so that each specification case runs on all of them.

To add a way (an audit worker, the studio), write one more `Engine` and list it in `ENGINES`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import msgspec
from tests.studio.asking import Asker

from accord import Blocked, Monitor, Ok, Unrecognized, UsageError, Violation
from accord.choreography.compiling import compile_contract
from accord.language import parse, print_document
from accord.machine.codec import decode_machine, encode_machine
from accord.machine.contract import Contract
from accord.machine.events import Event as MonitorEvent
from accord.machine.extent import Extent
from accord.machine.rulebook import RuleBook
from accord.monitor.events import make_event, make_time
from accord.monitor.step import begin, close, is_over, status, step, tick
from accord.monitor.wide import next_due
from accord.semantics import Misuse, Session
from accord.semantics import Verdict as ReferenceVerdict
from accord.studio.bounds import DEFAULT_BOUNDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.spec.cases import Event, TraceCase

    from accord import Limits, Verdict
    from accord.language.tree import Declaration, Document
    from accord.machine.tables import Machine

KEY = b"a key for tests"


class Answer(NamedTuple):
    """What any engine says to an event: the kind of verdict, the words it expected, and for a violation who refused."""

    kind: str
    expected: tuple[str, ...] = ()
    clause: str = ""


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

    @cached_property
    def travelled(self) -> Contract:
        """The contract whose machines have been written as JSON and read again."""
        machines = {name: _through_codec(machine) for name, machine in self.contract.machines.items()}
        return Contract(self.document, machines, RuleBook(self.document.rules, self.limits), self.limits)

    @cached_property
    def interchanged(self) -> Contract:
        """The contract that another tool reads in the JSON of this one."""
        value = json.loads(json.dumps(self.contract.to_json()))
        read = compile_contract(value, limits=self.limits)
        assert read.document.items == self.document.items
        assert read.digest == self.contract.digest
        return read

    def declaration(self, protocol: str | None) -> Declaration:
        found = [d for d in self.document.declarations if protocol is None or d.name == protocol]
        assert len(found) == 1, f"{len(found)} protocols are called {protocol}"
        return found[0]


def _through_codec(machine: Machine) -> Machine:
    arrived = decode_machine(msgspec.json.encode(encode_machine(machine)))
    assert arrived == machine
    assert arrived.name == machine.name
    return arrived


def _made(event: Event) -> MonitorEvent:
    """The event as the product takes it."""
    return make_event(event.direction, event.label, event.payload, event.partner, event.by)


@cache
def subject_of(text: str, limits: Limits, *, printed: bool) -> Subject:
    """The contract as written, or as it reads after printing."""
    written = Subject(text, limits)
    return Subject(print_document(written.document), limits) if printed else written


class Engine(ABC):
    """One session of one protocol."""

    name: ClassVar[str]

    @abstractmethod
    def __init__(self, subject: Subject, protocol: str | None, mode: str, at: float | None = None) -> None: ...

    @abstractmethod
    def event(self, event: Event, at: float | None = None) -> Answer:
        """Something happens."""

    @abstractmethod
    def tick(self, at: float) -> Answer:
        """Time passes."""

    @abstractmethod
    def close(self, at: float | None = None) -> Answer:
        """Nothing more will come."""

    @abstractmethod
    def next_due(self) -> float | None: ...

    @abstractmethod
    def status(self) -> str: ...

    @abstractmethod
    def allowed(self) -> tuple[str, ...]: ...

    def finish(self) -> None:  # noqa: B027 - most engines have none
        """Called after the last line: the place for checks of the engine's own."""


class ReferenceEngine(Engine):
    """The interpreter that says what is right."""

    name = "reference"

    def __init__(self, subject: Subject, protocol: str | None, mode: str, at: float | None = None) -> None:
        alone = not subject.document.declarations
        body = None if alone else subject.declaration(protocol).body
        each = None if alone else subject.declaration(protocol).each
        is_open = not alone and subject.declaration(protocol).is_open
        self.session = Session(body, mode, rules=subject.document.rules, each=each, at=at, is_open=is_open)

    @staticmethod
    def _answer(verdict: ReferenceVerdict) -> Answer:
        clause = verdict.clause
        if clause and clause != "protocol":
            clause = f"rule {json.dumps(clause, ensure_ascii=False)}"
        return Answer(verdict.kind, verdict.expected, clause)

    def event(self, event: Event, at: float | None = None) -> Answer:
        try:
            if event.direction == "!":
                return self._answer(self.session.send(event.label, event.payload, event.partner, at))
            return self._answer(self.session.receive(event.label, event.payload, event.partner, event.by, at))
        except Misuse:
            return MISUSE

    def tick(self, at: float) -> Answer:
        try:
            return self._answer(self.session.tick(at))
        except Misuse:
            return MISUSE

    def close(self, at: float | None = None) -> Answer:
        try:
            return self._answer(self.session.close(at))
        except Misuse:
            return MISUSE

    def next_due(self) -> float | None:
        return self.session.next_due()

    def status(self) -> str:
        return self.session.status

    def allowed(self) -> tuple[str, ...]:
        return tuple(self.session.allowed())


class MachineEngine(Engine):
    """The compiled tables after a journey through JSON, stepped by the pure functions, without any monitor."""

    name = "machine"

    def __init__(self, subject: Subject, protocol: str | None, mode: str, at: float | None = None) -> None:
        contract = subject.travelled
        self.at = begin(contract, contract.protocol_name(protocol), make_time(at))
        self.mode = mode

    def event(self, event: Event, at: float | None = None) -> Answer:
        try:
            self.at, verdict = step(self.at, _made(event)._replace(at=make_time(at)), self.mode)
        except UsageError:
            return MISUSE
        return _answer(verdict)

    def tick(self, at: float) -> Answer:
        try:
            self.at, verdict = tick(self.at, self.mode, None, make_time(at))
        except UsageError:
            return MISUSE
        return _answer(verdict)

    def close(self, at: float | None = None) -> Answer:
        try:
            self.at, verdict = close(self.at, None, make_time(at))
        except UsageError:
            return MISUSE
        return _answer(verdict)

    def next_due(self) -> float | None:
        return next_due(self.at) if isinstance(self.at.holding, Extent) else None

    def status(self) -> str:
        return status(self.at)

    def allowed(self) -> tuple[str, ...]:
        return () if is_over(self.at.place) else self.at.allowed


def _answer(verdict: Verdict) -> Answer:
    match verdict:
        case Ok():
            return OK
        case Blocked():
            return BLOCKED
        case Violation():
            clause = verdict.clause if verdict.clause.startswith("rule ") else "protocol"
            return Answer("violation", tuple(verdict.expected), clause)
        case Unrecognized():
            return Answer("unrecognized", tuple(verdict.expected))


def _timed(at: float | None) -> dict[str, float]:
    """The time as an argument, where one is given."""
    return {} if at is None else {"at": at}


class MonitorEngine(Engine):
    """`accord.Monitor` as users have it."""

    name = "monitor"

    def __init__(self, subject: Subject, protocol: str | None, mode: str, at: float | None = None) -> None:
        self.contract = self.contract_of(subject)
        self.protocol = protocol
        self.monitor = Monitor(self.contract, protocol=protocol, mode=mode, **_timed(at))
        self.attempts = 0

    def contract_of(self, subject: Subject) -> Contract:
        """The contract in the form that the engine is about."""
        return subject.contract

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

    def event(self, event: Event, at: float | None = None) -> Answer:
        answer = self._do(lambda: self.tell(event, at), _made(event).word)
        self.attempts += answer is not MISUSE
        return answer

    def tell(self, event: Event, at: float | None) -> Verdict:
        if event.direction == "!":
            return self.monitor.send(event.label, event.payload, event.partner, **_timed(at))
        return self.monitor.receive(event.label, event.payload, event.partner, event.by, **_timed(at))

    def tick(self, at: float) -> Answer:
        return self._do(lambda: self.monitor.tick(at), "tick")

    def close(self, at: float | None = None) -> Answer:
        return self._do(lambda: self.monitor.close(**_timed(at)), "end")

    def next_due(self) -> float | None:
        return self.monitor.next_due()

    def status(self) -> str:
        assert self.monitor.is_halted == (self.monitor.status == "violated")
        return self.monitor.status

    def allowed(self) -> tuple[str, ...]:
        return tuple(self.monitor.allowed())


class PeekingEngine(MonitorEngine):
    """The monitor asked before each event: the answer foretold is the answer given, and asking changes nothing."""

    name = "peeking"

    def tell(self, event: Event, at: float | None) -> Verdict:
        monitor = self.monitor
        before = monitor.trace, monitor.status, monitor.current_state, monitor.allowed()
        if event.direction == "!":
            foretold = monitor.peek_send(event.label, event.payload, event.partner, **_timed(at))
        else:
            foretold = monitor.peek_receive(event.label, event.payload, event.partner, event.by, **_timed(at))
        assert (monitor.trace, monitor.status, monitor.current_state, monitor.allowed()) == before
        verdict = super().tell(event, at)
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
        if closed or self.monitor.mode == "refuse" or self.contract.needs_more_than_labels:
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

    def close(self, at: float | None = None) -> Answer:
        self.replay()
        answer = super().close(at)
        self.closed = self.closed or answer is not BLOCKED
        return answer

    def finish(self) -> None:
        was = self.status(), self.allowed()
        self.replay()
        assert (self.status(), self.allowed()) == was


class InterchangedEngine(MonitorEngine):
    """The monitor on the contract as another tool reads it from JSON."""

    name = "interchanged"

    def contract_of(self, subject: Subject) -> Contract:
        return subject.interchanged


class StudioEngine(Engine):
    """The studio's interface, asked as its page asks it: all events so far, and one more."""

    name = "studio"

    def __init__(self, subject: Subject, protocol: str | None, mode: str, at: float | None = None) -> None:
        self.asker = _asker(subject.limits)
        self.session = {"text": subject.text, "protocol": protocol, "mode": mode, "at": at}
        self.events: list[str] = []
        self.now = self.asker.ask("walk", **self.session)["now"]

    def _tell(self, line: dict[str, object], at: float | None) -> Answer:
        told = line if at is None else {**line, "at": at}
        answer = self.asker.ask("walk", **self.session, events=[*self.events, json.dumps(told)])
        (*_, turn) = answer["turns"]
        if turn["verdict"] == "misuse":
            assert answer["now"] == self.now
            return MISUSE
        self.now = answer["now"]
        self.events = answer["events"]
        if turn["verdict"] != "violation":
            return Answer(turn["verdict"], tuple(turn.get("expected", ())))
        assert turn["explanation"].endswith(".")
        clause = turn["clause"] if turn["clause"].startswith("rule ") else "protocol"
        return Answer("violation", tuple(turn["expected"]), clause)

    @classmethod
    def replay(cls, subject: Subject, case: TraceCase) -> list[tuple[str, tuple[str, ...]]]:
        """What it says to each line, all of them sent at once."""
        lines = [
            _line(line.event, line.at)
            if line.event is not None
            else {"close": True, **({} if line.at is None else {"at": line.at})}
            if line.what == "end"
            else {"tick": line.at}
            for line in case.lines
        ]
        bounds = replace(DEFAULT_BOUNDS, limits=subject.limits, shown_turns=len(lines))
        session = {"text": subject.text, "protocol": case.protocol, "mode": case.mode, "at": case.start}
        turns = Asker(bounds).ask("walk", **session, events=[json.dumps(line) for line in lines])["turns"]
        return [(turn["verdict"], tuple(turn.get("expected", ()))) for turn in turns]

    def event(self, event: Event, at: float | None = None) -> Answer:
        return self._tell(_line(event, None), at)

    def tick(self, at: float) -> Answer:
        return self._tell({"tick": at}, None)

    def close(self, at: float | None = None) -> Answer:
        return self._tell({"close": True}, at)

    def next_due(self) -> float | None:
        return self.now["next_due"]

    def status(self) -> str:
        return self.now["status"]

    def allowed(self) -> tuple[str, ...]:
        return tuple(self.now["allowed"])


def _line(event: Event, at: float | None) -> dict[str, object]:
    """An event as a line of `accord replay`."""
    sent = event.direction == "!"
    about = {"to" if sent else "sender": event.partner, "payload": event.payload, "by": event.by, "at": at}
    said = {name: value for name, value in about.items() if value is not None}
    return {"send" if sent else "receive": event.label, **said}


@cache
def _asker(limits: Limits) -> Asker:
    return Asker(replace(DEFAULT_BOUNDS, limits=limits))


ENGINES: tuple[type[Engine], ...] = (
    ReferenceEngine,
    MachineEngine,
    MonitorEngine,
    PeekingEngine,
    RestoredEngine,
    ReplayedEngine,
    InterchangedEngine,
    StudioEngine,
)
