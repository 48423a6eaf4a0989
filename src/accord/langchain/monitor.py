"""`ProtocolMonitor`: one session of a state machine, for programs that drive it themselves.

It needs no LangChain. It can be shared with an agent, by `ProtocolEnforcerMiddleware`, which then sees what the program
says and the other way round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.errors import UsageError
from accord.integrations.exchange import ToolCall
from accord.integrations.guard import words
from accord.langchain.fsm import ProtocolFSM, ToolRef, direction_of
from accord.langchain.homes import ThreadHome, begin_opened
from accord.langchain.law_session import LawSession
from accord.langchain.protocol_law import ProtocolLaw
from accord.langchain.violations import ProtocolViolationError
from accord.monitor.verdicts import Ok

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from accord.integrations.guard.decisions import Decision
    from accord.integrations.guard.observing import Observer
    from accord.integrations.guard.session import OnViolation
    from accord.integrations.guard.state import State
    from accord.langchain.fsm import Phase
    from accord.langchain.violations import OnProtocolViolation, ViolationEvent

__all__ = ["ProtocolMonitor", "on_decision"]


class ProtocolMonitor:
    """Watches one session of a state machine.

    What is not allowed changes nothing. `on_violation` is told of it: a function that gets the `ViolationEvent`, or
    `raise`. Safe under threads: of two threads that make the same step, one does.

    Example:
        >>> from accord.langchain import ProtocolFSM, ProtocolMonitor, Transition
        >>> fsm = ProtocolFSM(initial="asked")
        >>> _ = fsm.add_transition(Transition(source="asked", event_label="Approval", phase="recv", target="ok"))
        >>> monitor = ProtocolMonitor(fsm)
        >>> monitor.transition_event("Refusal", "recv"), monitor.transition_event("Approval", "recv"), monitor.state
        (False, True, 'ok')
    """

    def __init__(self, fsm: ProtocolFSM, on_violation: OnProtocolViolation = "block") -> None:
        if not isinstance(fsm, ProtocolFSM):
            raise UsageError(f"a `ProtocolFSM` was expected, got {fsm!r}")
        tools = {t.tool.label: t.tool for t in fsm.transitions if t.tool is not None}
        self.fsm = fsm
        self.law = ProtocolLaw(fsm, list(tools.values()), observes=on_violation == "observe")
        self.home = ThreadHome(begin_opened(self.law, 1, None), self.law, "monitor")
        self._on_decision = on_decision(on_violation)
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
        return LawSession(self.law, self.home, "monitor", None, self._on_decision, observers)

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
        self.home.replace(begin_opened(self.law, self.home.opened.number + 1, None))

    def __repr__(self) -> str:
        return f"<ProtocolMonitor in {self.state!r}>"


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
    def tell(decision: Decision) -> None:
        event = getattr(decision, "event", None)
        if event is not None:
            function(event)

    return tell


def _raise(decision: Decision) -> None:
    event: ViolationEvent | None = getattr(decision, "event", None)
    raise ProtocolViolationError(decision.message, violation=event, verdict=decision.verdict)
