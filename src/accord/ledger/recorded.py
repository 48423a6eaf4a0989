"""`RecordedMonitor`: a monitor whose every attempt is in a ledger before it is answered.

Each attempt runs under a lock: ask the monitor what it would answer, write attempt and answer, take the step, answer.
So an answer that somebody acted on is always in the ledger. The other way round is not promised: a program that dies
between writing and answering leaves an entry whose answer nobody saw.

If the ledger cannot be written the answer is `Blocked` and the session has not moved.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from accord.errors import UsageError
from accord.ledger.entries import Attempt
from accord.ledger.ledger import Ledger
from accord.ledger.represent import own_copy
from accord.monitor import Blocked, Monitor, Unrecognized, Violation
from accord.monitor.events import make_event, make_time
from accord.monitor.verdicts import CLOSING, TICKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.canonical import Json
    from accord.ledger.entries import Answer
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.monitor import Verdict
    from accord.monitor.step import Mode, Status

__all__ = ["RecordedMonitor"]

Moment: TypeAlias = "Time | datetime"
Payload: TypeAlias = "Mapping[str, object] | None"


@dataclass(frozen=True, slots=True)
class _Given:
    """An attempt as the caller gave it; `direction` is that of an event, or what else was tried."""

    direction: str
    label: object = None
    payload: object = None
    partner: object = None
    by: object = None
    at: object = None
    meta: object = None


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

    __slots__ = ("_ledger", "_lock", "_monitor", "_session")

    def __init__(self, monitor: Monitor, ledger: Ledger, *, session: str | None = None) -> None:
        if not isinstance(monitor, Monitor) or not isinstance(ledger, Ledger):
            raise UsageError("a `Monitor` is recorded in a `Ledger`: RecordedMonitor(Monitor(…), Ledger(…))")
        if session is not None and (type(session) is not str or not session):
            raise UsageError(f"a session is named by a non-empty `str`, got {session!r}")
        self._monitor = monitor
        self._ledger = ledger
        self._session = secrets.token_hex(8) if session is None else session
        self._lock = Lock()

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
        own, monitor = _own(payload), self._monitor
        given = _Given("!", label, own, to, None, at, meta)
        return self._attempt(
            given,
            lambda: monitor.peek_send(label, own, to, _seconds(at)),
            lambda: monitor.send(label, own, to, _seconds(at)),
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
        own, monitor = _own(payload), self._monitor
        given = _Given("?", label, own, sender, by, at, meta)
        return self._attempt(
            given,
            lambda: monitor.peek_receive(label, own, sender, by, _seconds(at)),
            lambda: monitor.receive(label, own, sender, by, _seconds(at)),
        )

    def tick(self, at: Moment, *, meta: Mapping[str, object] | None = None) -> Verdict:
        """Time passes and nothing happens: deadlines that lie before `at` expire."""
        monitor = self._monitor
        given = _Given(TICKING, at=at, meta=meta)
        return self._attempt(given, lambda: monitor.peek_tick(_seconds(at)), lambda: monitor.tick(_seconds(at)))

    def close(self, *, at: Moment | None = None, meta: Mapping[str, object] | None = None) -> Verdict:
        """Nothing more will come: `Ok` if nothing is owed, else a violation that says what is."""
        monitor = self._monitor
        given = _Given(CLOSING, at=at, meta=meta)
        return self._attempt(given, lambda: monitor.peek_close(_seconds(at)), lambda: monitor.close(_seconds(at)))

    # -- questions: asking is no attempt -------------------------------------------------------------------------------

    def peek_send(
        self, label: str, payload: Payload = None, to: str | None = None, at: Moment | None = None
    ) -> Verdict:
        """What `send` would answer; changes nothing and is not recorded."""
        return self._monitor.peek_send(label, payload, to, _seconds(at))

    def peek_receive(
        self,
        label: str,
        payload: Payload = None,
        sender: str | None = None,
        by: str | None = None,
        at: Moment | None = None,
    ) -> Verdict:
        """What `receive` would answer; changes nothing and is not recorded."""
        return self._monitor.peek_receive(label, payload, sender, by, _seconds(at))

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
        return self._session

    @property
    def ledger(self) -> Ledger:
        """Where it is recorded."""
        return self._ledger

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
        return f"<RecordedMonitor {self._session} of {self._monitor!r}>"

    # -- one attempt ---------------------------------------------------------------------------------------------------

    def _attempt(self, given: _Given, peek: Callable[[], Verdict], take: Callable[[], Verdict]) -> Verdict:
        with self._lock:
            answer: Verdict | UsageError
            try:
                _check(given)
                answer = peek()
            except UsageError as error:
                answer = error
            except Exception as error:  # noqa: BLE001 - whatever broke inside, the answer is no
                broken = Blocked(f"accord failed inside ({error!r})")
                return self._record(given, broken) or broken
            refused = self._record(given, answer)
            if refused is not None:
                return refused
            if isinstance(answer, UsageError):
                raise answer
            taken = take()
            if taken != answer:  # somebody moved the session past us; what is answered is recorded all the same
                return self._record(given, taken) or taken
            return taken

    def _record(self, given: _Given, answer: Verdict | UsageError) -> Blocked | None:
        """Write it; if that fails, the answer that must be given instead."""
        try:
            self._ledger.append(self._describe(given, answer))
        except Exception as error:  # noqa: BLE001 - what is not recorded is not done, whatever the reason
            return Blocked(f"the ledger cannot be written ({_why(error)})")
        return None

    def _describe(self, given: _Given, answer: Verdict | UsageError) -> Attempt:
        """The attempt with its answer, as the ledger takes it."""
        monitor = self._monitor
        kind, clause, expected, explanation = _parts(answer)
        if kind == "misuse":
            return Attempt(
                session=self._session,
                contract=monitor.contract.digest,
                protocol=monitor.protocol,
                event=given.direction,
                verdict=kind,
                explanation=explanation,
                given=_arguments(given),
            )
        return Attempt(
            session=self._session,
            contract=monitor.contract.digest,
            protocol=monitor.protocol,
            event=_word(given),
            payload=given.payload,
            by=given.by,  # type: ignore[arg-type] # the monitor has taken it
            at=given.at.isoformat() if isinstance(given.at, datetime) else given.at,
            meta=given.meta,
            verdict=kind,
            clause=clause,
            expected=expected,
            explanation=explanation,
        )


def _own(payload: Payload) -> Payload:
    try:
        return own_copy(payload)  # type: ignore[return-value] # a mapping stays one
    except Exception:  # noqa: BLE001 - it cannot be copied; the monitor judges it as it is
        return payload


def _seconds(at: Any) -> Any:  # noqa: ANN401 - what is no time the monitor refuses
    """A time as the monitor takes it."""
    if not isinstance(at, datetime):
        return at
    if at.tzinfo is None:
        raise UsageError("`at` is a `datetime` without a time zone, so it is no certain time")
    return at.timestamp()


def _check(given: _Given) -> None:
    if given.meta is not None and not isinstance(given.meta, Mapping):
        raise UsageError(f"`meta` is a mapping (such as a `dict`), got `{type(given.meta).__name__}`")
    make_time(_seconds(given.at))


def _word(given: _Given) -> str:
    if given.direction not in {"!", "?"}:
        return given.direction
    return make_event(given.direction, given.label, None, given.partner, given.by).word  # type: ignore[arg-type] # `!` or `?`


def _arguments(given: _Given) -> dict[str, object]:
    arguments = {
        "label": given.label,
        "payload": given.payload,
        "to" if given.direction == "!" else "sender": given.partner,
        "by": given.by,
        "at": given.at,
        "meta": given.meta,
    }
    return {name: value for name, value in arguments.items() if value is not None}


def _parts(answer: Verdict | UsageError) -> tuple[Answer, str | None, list[str] | None, str | None]:
    """Kind, clause, expected words and explanation of an answer."""
    if isinstance(answer, UsageError):
        return "misuse", None, None, str(answer)
    if isinstance(answer, Violation):
        return "violation", answer.clause or None, answer.expected, answer.explain()
    if isinstance(answer, Blocked):
        return "blocked", None, None, answer.reason
    if isinstance(answer, Unrecognized):
        return "unrecognized", None, answer.expected, answer.explain()
    return "ok", None, None, None


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
