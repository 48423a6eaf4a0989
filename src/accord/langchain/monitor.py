"""`ProtocolMonitor`: one session of a state machine, for programs that drive it themselves.

It needs no LangChain. It can be shared with an agent, by `ProtocolEnforcerMiddleware`, which then sees what the program
says and the other way round.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from accord.errors import CorruptSessionError, UsageError
from accord.integrations.exchange import ToolCall
from accord.integrations.guard import words
from accord.integrations.guard.observing import check_observers
from accord.langchain.fsm import ProtocolFSM, ToolRef, direction_of
from accord.langchain.homes import ThreadHome, begin_opened, pack, unpack
from accord.langchain.law_session import LawSession
from accord.langchain.protocol_law import ProtocolLaw
from accord.langchain.sealing import Kept, Where
from accord.langchain.violations import ProtocolViolationError
from accord.ledger.ledger import check_ledger
from accord.monitor import snapshot as snapshots
from accord.monitor.verdicts import Ok
from accord.stores.record import check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from accord.canonical import Json
    from accord.integrations.guard.decisions import Decision
    from accord.integrations.guard.observing import Observer
    from accord.integrations.guard.session import OnViolation
    from accord.integrations.guard.state import State
    from accord.langchain.fsm import Phase
    from accord.langchain.violations import OnProtocolViolation, ViolationEvent
    from accord.ledger.ledger import Ledger
    from accord.machine.clocks import Time

__all__ = ["ProtocolMonitor", "on_decision"]


class ProtocolMonitor:
    """Watches one session of a state machine.

    What is not allowed changes nothing. `on_violation` is told of it: a function that gets the `ViolationEvent`, or
    `raise`. A `ledger` gets what is tried and decided before it has any effect, under the `name` of the session;
    `observers` are told as those of a `Guard` are. Safe under threads: of two that make the same step, one does.

    Example:
        >>> from accord.langchain import ProtocolFSM, ProtocolMonitor, Transition
        >>> fsm = ProtocolFSM(initial="asked")
        >>> _ = fsm.add_transition(Transition(source="asked", event_label="Approval", phase="recv", target="ok"))
        >>> monitor = ProtocolMonitor(fsm)
        >>> monitor.transition_event("Refusal", "recv"), monitor.transition_event("Approval", "recv"), monitor.state
        (False, True, 'ok')
    """

    def __init__(
        self,
        fsm: ProtocolFSM,
        on_violation: OnProtocolViolation = "block",
        *,
        ledger: Ledger | None = None,
        observers: Sequence[Observer] = (),
        name: str = "monitor",
    ) -> None:
        if not isinstance(fsm, ProtocolFSM):
            raise UsageError(f"a `ProtocolFSM` was expected, got {fsm!r}")
        tools = {t.tool.label: t.tool for t in fsm.transitions if t.tool is not None}
        self.fsm = fsm
        self.name = check_name(name, "the name of a session")
        self.ledger = check_ledger(ledger)
        self.law = ProtocolLaw(fsm, list(tools.values()), observes=on_violation == "observe")
        self.home = ThreadHome(begin_opened(self.law, 1, None), self.law, name, ledger)
        self._on_decision = on_decision(on_violation)
        self._observers = tuple(check_observers(observers))
        self.session = self.session_told_to(())

    def transition(self, tool_ref: ToolRef, phase: Phase, metadata: Mapping[str, Any] | None = None) -> bool:
        """A tool is called, or has returned; whether that is allowed."""
        if not isinstance(tool_ref, ToolRef):
            raise UsageError(f"a tool is given by its reference, as ref(f), got {tool_ref!r}")
        return self._step(tool_ref.label, phase, metadata)

    def transition_event(self, event_label: str, phase: Phase, metadata: Mapping[str, Any] | None = None) -> bool:
        """Anything else happens; whether that is allowed. A person's step names the person as `by` in its metadata."""
        return self._step(event_label, phase, metadata)

    def _step(self, label: str, phase: Phase, metadata: Mapping[str, Any] | None) -> bool:
        if phase not in ("send", "recv"):
            raise UsageError(f"a phase is `send` or `recv`, got {phase!r}")
        given = dict(metadata or {})
        by = given.get("by")
        named = by if isinstance(by, str) and by.strip() else None
        seen: list[State] = []

        def happen(state: State, at: Any) -> Any:  # noqa: ANN401 - a step of the law
            seen.append(state)
            return self.law.happen(state, direction_of(phase), label, given, named or _PROGRAM, at)

        verdict = self.session.change(happen)
        if type(verdict) is Ok:
            return True
        with self.law.seeing(self.home.opened.trace):
            refused = self.law.refusal(ToolCall(label, given), words.refused(verdict), verdict, seen[-1], phase)
        self.session.react([refused])
        return False

    def session_told_to(self, observers: Sequence[Observer]) -> LawSession:
        """The session, for an agent whose calls observers are told of."""
        told = (*self._observers, *observers)
        return LawSession(self.law, self.home, self.name, self.clock, self._on_decision, told)

    @property
    def clock(self) -> Callable[[], Time] | None:
        """What tells the time of what is written down."""
        return None if self.ledger is None else time.time

    @property
    def state(self) -> str:
        """The state in which the session is."""
        return self.law.state_name(self.home.state())

    @property
    def current_state(self) -> str:
        """The same."""
        return self.state

    @property
    def trace(self) -> list[str]:
        """What has happened, such as `send:search`."""
        return [word for word, _ in self.home.opened.trace]

    @property
    def is_complete(self) -> bool:
        """Whether the session may end here."""
        return self.fsm.is_terminal(self.state)

    def reset(self) -> None:
        """Begin again."""
        self.home.begin_again()

    def snapshot(self, *, key: bytes | None = None) -> dict[str, Json]:
        """The session as it stands, in JSON values, with a checksum; with a `key` that is an HMAC."""
        kept = pack(self.home.opened, Where("", self.name), self.law)
        body: dict[str, Json] = {
            "format": _FORMAT,
            "version": _VERSION,
            "contract": self.law.policy.contract.digest,
            "kept": msgspec.json.decode(msgspec.json.encode(kept)),
        }
        return snapshots.sealed(body, key)

    @classmethod
    def restore(
        cls,
        fsm: ProtocolFSM,
        snapshot: Mapping[str, object] | str | bytes,
        key: bytes | None = None,
        on_violation: OnProtocolViolation = "block",
        *,
        ledger: Ledger | None = None,
        observers: Sequence[Observer] = (),
    ) -> Self:
        """A monitor that goes on where the snapshot was taken, under the same name.

        Raises `UsageError` if the snapshot is damaged, forged, or of another state machine.
        """
        data = snapshots.unsealed(snapshot, key)
        if not isinstance(fsm, ProtocolFSM):
            raise UsageError(f"a `ProtocolFSM` was expected, got {fsm!r}")
        kept = snapshots.decode(data, _RECORDS, _FORMAT, _VERSION, fsm.compiled.contract).kept
        monitor = cls(fsm, on_violation, ledger=ledger, observers=observers, name=kept.agent)
        try:
            monitor.home.opened = unpack(kept, Where("", kept.agent), monitor.law)
        except CorruptSessionError as error:
            raise UsageError(f"this is no snapshot of this version: {error}") from None
        return monitor

    def __repr__(self) -> str:
        return f"<ProtocolMonitor in {self.state!r}>"


class _Record(snapshots.Header):
    """What a snapshot holds."""

    kept: Kept


# Made once, while the module is imported: making it is not safe when several threads do it at the same time.
_RECORDS = msgspec.json.Decoder(_Record)
_FORMAT, _VERSION = "accord.protocol-monitor", 1

_PROGRAM = "the program"
"""Who makes a person's step if the program that says so does not tell."""


def on_decision(on_violation: OnProtocolViolation) -> OnViolation:
    """What a guard is to do on a violation, from what whoever made a state machine wants to be told."""
    if on_violation in ("block", "observe"):
        return on_violation
    if on_violation == "raise":
        return _raise
    if not callable(on_violation):
        raise UsageError(f"`on_violation` is `block`, `raise`, `observe` or a function, got {on_violation!r}")
    return _telling(on_violation)


def _telling(function: Callable[[ViolationEvent], object]) -> Callable[[Decision], object]:
    def tell(decision: Decision) -> object:
        event = getattr(decision, "event", None)
        return None if event is None else function(event)

    return tell


def _raise(decision: Decision) -> None:
    event: ViolationEvent | None = getattr(decision, "event", None)
    raise ProtocolViolationError(decision.message, violation=event, verdict=decision.verdict)
