"""`RecordedMonitor`: a monitor whose every attempt is in a ledger before it is answered.

How an attempt is written and answered, and what happens if it cannot be written, is `accord.ledger.recording`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.ledger.attempts import Given, own, seconds
from accord.ledger.ledger import Ledger
from accord.ledger.recording import Recording
from accord.monitor import Monitor
from accord.monitor.verdicts import CLOSING, TICKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.canonical import Json
    from accord.ledger.attempts import Moment, Payload
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.machine.events import Event
    from accord.monitor import Verdict
    from accord.monitor.step import Mode, Situation, Status

__all__ = ["RecordedMonitor"]


class RecordedMonitor:
    """One session, watched by `monitor` and recorded in `ledger`.

    From now on the monitor belongs to it: a step taken past it is not recorded. `session` names the session in the
    ledger, which any number of sessions may share; without one a name is drawn at random.

    `at` is the time of an attempt, which the contract may need and the ledger keeps: in seconds, or a `datetime` with a
    time zone. `meta` is whatever else should be kept, such as what was shown and to whom.

    Example:
        >>> from accord import Ledger, MemorySink, Monitor, RecordedMonitor
        >>> session = RecordedMonitor(Monitor("!Pay.end", mode="refuse"), Ledger(MemorySink()), session="s1")
        >>> session.send("Refund", {"amount": 3}, meta={"shown": "refund?", "to": "ana"})
        Violation(expected=['!Pay'], got='!Refund')
    """

    __slots__ = ("_monitor", "_recording")

    def __init__(self, monitor: Monitor, ledger: Ledger, *, session: str | None = None) -> None:
        if not isinstance(monitor, Monitor) or not isinstance(ledger, Ledger):
            raise UsageError("a `Monitor` is recorded in a `Ledger`: RecordedMonitor(Monitor(…), Ledger(…))")
        self._monitor = monitor
        self._recording = Recording(ledger, session, monitor.contract, monitor.protocol)

    # -- attempts ------------------------------------------------------------------------------------------------------

    def send(
        self,
        label: str,
        payload: Payload = None,
        to: str | None = None,
        *,
        at: Moment | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> Verdict:
        """The agent sends a message or calls a tool; `to` names the partner where the contract needs it."""
        copied, monitor = own(payload), self._monitor
        given = Given("!", label, copied, to, None, at, meta)
        return self._recording.attempt(
            given,
            lambda: monitor.peek_send(label, copied, to, seconds(at)),
            lambda: monitor.send(label, copied, to, seconds(at)),
        )

    def receive(
        self,
        label: str,
        payload: Payload = None,
        sender: str | None = None,
        by: str | None = None,
        *,
        at: Moment | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> Verdict:
        """Something reaches the agent; `by` names the person whose step it is, `sender` the partner."""
        copied, monitor = own(payload), self._monitor
        given = Given("?", label, copied, sender, by, at, meta)
        return self._recording.attempt(
            given,
            lambda: monitor.peek_receive(label, copied, sender, by, seconds(at)),
            lambda: monitor.receive(label, copied, sender, by, seconds(at)),
        )

    def take(self, event: Event, *, meta: Mapping[str, object] | None = None) -> Verdict:
        """An event as a projection makes it: it may concern the rules alone, which `send` and `receive` never do."""
        event, monitor = event._replace(payload=own(event.payload) or {}), self._monitor
        direction, label, partner, payload, by, at, _ = event
        given = Given(direction, label, payload, partner, by, at, meta)
        return self._recording.attempt(given, lambda: monitor.peek_take(event), lambda: monitor.take(event))

    def tick(self, at: Moment, *, meta: Mapping[str, object] | None = None) -> Verdict:
        """Time passes and nothing happens: deadlines that lie before `at` expire."""
        monitor = self._monitor
        given = Given(TICKING, at=at, meta=meta)
        return self._recording.attempt(given, lambda: monitor.peek_tick(seconds(at)), lambda: monitor.tick(seconds(at)))

    def close(self, *, at: Moment | None = None, meta: Mapping[str, object] | None = None) -> Verdict:
        """Nothing more will come: `Ok` if nothing is owed, else a violation that says what is."""
        monitor = self._monitor
        given = Given(CLOSING, at=at, meta=meta)
        return self._recording.attempt(
            given, lambda: monitor.peek_close(seconds(at)), lambda: monitor.close(seconds(at))
        )

    def note(self, what: str, detail: Mapping[str, object]) -> Verdict:
        """Write down what else happened to the session; `Blocked` if that cannot be done. It moves nothing."""
        return self._recording.note(what, dict(detail))

    # -- questions: asking is no attempt -------------------------------------------------------------------------------

    def peek_send(
        self, label: str, payload: Payload = None, to: str | None = None, at: Moment | None = None
    ) -> Verdict:
        """What `send` would answer; changes nothing and is not recorded."""
        return self._monitor.peek_send(label, payload, to, seconds(at))

    def peek_receive(
        self,
        label: str,
        payload: Payload = None,
        sender: str | None = None,
        by: str | None = None,
        at: Moment | None = None,
    ) -> Verdict:
        """What `receive` would answer; changes nothing and is not recorded."""
        return self._monitor.peek_receive(label, payload, sender, by, seconds(at))

    def peek_take(self, event: Event) -> Verdict:
        """What `take` would answer; changes nothing and is not recorded."""
        return self._monitor.peek_take(event)

    def next_due(self) -> Time | None:
        """When the next deadline is due; `None` if nothing is."""
        return self._monitor.next_due()

    def allowed(self) -> list[str]:
        """The words that are legal now, sorted."""
        return self._monitor.allowed()

    def snapshot(self, *, key: bytes | None = None) -> dict[str, Json]:
        """The session as it stands; `RecordedMonitor(Monitor.restore(…), ledger, session=…)` goes on with it."""
        return self._monitor.snapshot(key=key)

    @property
    def session(self) -> str:
        """The name of the session in the ledger."""
        return self._recording.session

    @property
    def ledger(self) -> Ledger:
        """Where it is recorded."""
        return self._recording.ledger

    @property
    def contract(self) -> Contract:
        """The compiled contract."""
        return self._monitor.contract

    @property
    def protocol(self) -> str | None:
        """The name of the protocol, `None` for a bare one."""
        return self._monitor.protocol

    @property
    def mode(self) -> Mode:
        """`halt` or `refuse`."""
        return self._monitor.mode

    @property
    def status(self) -> Status:
        """`running`, `complete`, `violated`, `incomplete` or `unrecognised`."""
        return self._monitor.status

    @property
    def situation(self) -> Situation:
        """Where the session stands and what it holds, as one immutable value."""
        return self._monitor.situation

    @property
    def current_state(self) -> int | str:
        """The state the session is in, as `accord show` numbers it."""
        return self._monitor.current_state

    @property
    def is_terminal(self) -> bool:
        """Whether the session may end here."""
        return self._monitor.is_terminal

    @property
    def is_halted(self) -> bool:
        """Whether a violation has halted the monitor."""
        return self._monitor.is_halted

    @property
    def trace(self) -> list[str]:
        """Every attempt so far, in order; those that could not be recorded are not in it."""
        return self._monitor.trace

    def __repr__(self) -> str:
        return f"<RecordedMonitor {self.session} of {self._monitor!r}>"
