"""`LangfuseMonitor`: a session whose every attempt is a guardrail observation in Langfuse.

It stands around a session and has its methods. An attempt is passed on as it came and answered as the session answers
it; beside that an observation says what was tried, what the answer was and where the session stood before and after.

INVARIANT: telemetry never changes an answer. Nothing is asked of Langfuse that the answer depends on, whatever it
raises is noted and forgotten, and the session is handed the very objects that it would have been handed without it.
Nor does it soften one: what the session raises is raised, and is recorded as not passed.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

from accord.errors import UsageError
from accord.integrations.excerpt import cut, excerpt
from accord.integrations.observation import (
    FAILED,
    LONGEST_NAME,
    Look,
    Losses,
    Observation,
    States,
    client_of,
    report,
    states_between,
)
from accord.integrations.session import is_session
from accord.language import print_document
from accord.machine.contract import Contract
from accord.monitor import Monitor
from accord.monitor.events import make_event
from accord.monitor.verdicts import OK
from accord.stores import StoredSession

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langfuse import Langfuse

    from accord.canonical import Json
    from accord.language.tree import Direction
    from accord.ledger.attempts import Moment, Payload
    from accord.machine.clocks import Time
    from accord.machine.events import Event
    from accord.monitor import Verdict
    from accord.monitor.step import Mode, Situation

__all__ = ["LangfuseMonitor"]


class LangfuseMonitor:
    """One session, each attempt of which is recorded in Langfuse.

    `protocol` is a text, a `Path` or a compiled contract, of which a `Monitor` is made with what `name`, `mode` and
    `at` say; or a session that is there already, such as a `RecordedMonitor` or a `StoredSession`. From then on the
    session belongs to it: a step taken past it is not recorded. `langfuse` is the SDK's client; without one it is
    `langfuse.get_client()`.

    An observation is a child of the one that is current where the attempt is made. If Langfuse fails the session goes
    on; `lost` counts the attempts that could not be recorded in full.

    Example:
        >>> from langfuse import Langfuse
        >>> from accord.integrations.langfuse import LangfuseMonitor
        >>> monitor = LangfuseMonitor("!Ask.?Answer.end", Langfuse(tracing_enabled=False), mode="refuse")
        >>> monitor.send("Ask"), monitor.send("Ask"), monitor.lost
        (Ok(), Violation(expected=['?Answer'], got='!Ask'), 0)
    """

    __slots__ = ("_about", "_langfuse", "_lock", "_losses", "_protocol", "_session", "_taken")

    def __init__(
        self,
        protocol: str | Path | Contract | Any,  # noqa: ANN401 - or anything that has the methods of a session
        langfuse: Langfuse | None = None,
        *,
        name: str | None = None,
        mode: Mode | None = None,
        at: Time | None = None,
    ) -> None:
        if isinstance(protocol, str | Path | Contract):
            self._session: Any = Monitor(protocol, protocol=name, mode="halt" if mode is None else mode, at=at)
        elif not is_session(protocol):
            raise UsageError(f"`protocol` is a contract or a session, got `{type(protocol).__name__}`")
        elif (name, mode, at) != (None, None, None):
            raise UsageError("`name`, `mode` and `at` are for a new session, and this one is there already")
        else:
            self._session = protocol
        self._langfuse = client_of(langfuse, "LangfuseMonitor")
        # INVARIANT: the lock is held while the session is looked at and moved, never while Langfuse is talked to.
        self._lock = RLock()
        self._taken = 0
        self._losses = Losses()
        self._protocol, self._about = _described(self._session)

    # -- attempts ------------------------------------------------------------------------------------------------------

    def send(
        self,
        label: str,
        payload: Payload = None,
        to: str | None = None,
        at: Moment | None = None,
        *,
        meta: Mapping[str, object] | None = None,
    ) -> Verdict:
        """The agent sends a message or calls a tool; `to` names the partner, `meta` is for sessions with a ledger."""
        options = _options(to=to, at=at, meta=meta)
        return self._event("!", label, payload, options, lambda: self._session.send(label, payload, **options))

    def receive(
        self,
        label: str,
        payload: Payload = None,
        sender: str | None = None,
        by: str | None = None,
        at: Moment | None = None,
        *,
        meta: Mapping[str, object] | None = None,
    ) -> Verdict:
        """Something reaches the agent; `by` names the person whose step it is, `sender` the partner."""
        options = _options(sender=sender, by=by, at=at, meta=meta)
        return self._event("?", label, payload, options, lambda: self._session.receive(label, payload, **options))

    def take(self, event: Event, *, meta: Mapping[str, object] | None = None) -> Verdict:
        """An event as a projection makes it: it may concern the rules alone, which `send` and `receive` never do."""
        whom = {"to" if event.direction == "!" else "sender": event.partner}
        shown, options = _options(**whom, by=event.by, at=event.at, meta=meta), _options(meta=meta)
        take = lambda: self._session.take(event, **options)  # noqa: E731 - as above
        return self._event(event.direction, event.label, event.payload, shown, take)

    def tick(self, at: Moment, *, meta: Mapping[str, object] | None = None) -> Verdict:
        """Time passes and nothing happens: deadlines that lie before `at` expire."""
        options = _options(meta=meta)
        return self._attempt(
            "tick", lambda: {"action": "tick", **_shown(at=at, **options)}, lambda: self._session.tick(at, **options)
        )

    def close(self, at: Moment | None = None, *, meta: Mapping[str, object] | None = None) -> Verdict:
        """Nothing more will come: `Ok` if nothing is owed, else a violation that says what is."""
        options = _options(at=at, meta=meta)
        return self._attempt(
            "close", lambda: {"action": "close", **_shown(**options)}, lambda: self._session.close(**options)
        )

    def note(self, what: str, detail: Mapping[str, object]) -> Verdict:
        """What a session with a ledger writes down beside attempts; it is no observation."""
        note = getattr(self._session, "note", None)
        return OK if note is None else cast("Verdict", note(what, detail))

    # -- questions: asking is no attempt -------------------------------------------------------------------------------

    def peek_send(
        self, label: str, payload: Payload = None, to: str | None = None, at: Moment | None = None
    ) -> Verdict:
        """What `send` would answer; changes nothing and is not recorded."""
        return cast("Verdict", self._session.peek_send(label, payload, **_options(to=to, at=at)))

    def peek_receive(
        self,
        label: str,
        payload: Payload = None,
        sender: str | None = None,
        by: str | None = None,
        at: Moment | None = None,
    ) -> Verdict:
        """What `receive` would answer; changes nothing and is not recorded."""
        return cast("Verdict", self._session.peek_receive(label, payload, **_options(sender=sender, by=by, at=at)))

    def peek_take(self, event: Event) -> Verdict:
        """What `take` would answer; changes nothing and is not recorded."""
        return cast("Verdict", self._session.peek_take(event))

    def peek_tick(self, at: Moment) -> Verdict:
        """What `tick` would answer; changes nothing and is not recorded."""
        return cast("Verdict", self._session.peek_tick(at))

    def peek_close(self, at: Moment | None = None) -> Verdict:
        """What `close` would answer; changes nothing and is not recorded."""
        return cast("Verdict", self._session.peek_close(**_options(at=at)))

    def allowed(self) -> list[str]:
        """The words that are legal now, sorted."""
        return cast("list[str]", self._session.allowed())

    def next_due(self) -> Time | None:
        """When the next deadline is due; `None` if nothing is."""
        return cast("Time | None", self._session.next_due())

    def reset(self, at: Time | None = None) -> None:
        """Start a new session; that is not recorded."""
        with self._lock:
            self._session.reset(**_options(at=at))

    def to_dict(self) -> dict[str, list[str]]:
        """The session as its trace; see `Monitor.to_dict`."""
        return cast("dict[str, list[str]]", self._session.to_dict())

    def snapshot(self, *, key: bytes | None = None) -> dict[str, Json]:
        """The session as it stands; `LangfuseMonitor(Monitor.restore(…), langfuse)` goes on with it."""
        return cast("dict[str, Json]", self._session.snapshot(key=key))

    @property
    def situation(self) -> Situation:
        """Where the session stands and what it holds, as one immutable value."""
        return cast("Situation", self._session.situation)

    @property
    def current_state(self) -> int | str:
        """The state the session is in, as `accord show` numbers it."""
        return cast("int | str", self._session.current_state)

    @property
    def is_terminal(self) -> bool:
        """Whether the session may end here."""
        return cast("bool", self._session.is_terminal)

    @property
    def is_halted(self) -> bool:
        """Whether a violation has halted the session."""
        return cast("bool", self._session.is_halted)

    @property
    def status(self) -> str:
        """`running`, `complete`, `violated`, `incomplete` or `unrecognised`; a stored session can be `expired`."""
        return cast("str", self._session.status)

    @property
    def mode(self) -> Mode:
        """`halt` or `refuse`."""
        return cast("Mode", self._session.mode)

    @property
    def contract(self) -> Contract:
        """The compiled contract."""
        return cast("Contract", self._session.contract)

    @property
    def protocol(self) -> str | None:
        """The name of the protocol, `None` for a bare one."""
        return cast("str | None", self._session.protocol)

    @property
    def trace(self) -> list[str]:
        """Every attempt so far, in order; a stored session has none."""
        return cast("list[str]", self._session.trace)

    @property
    def session(self) -> Any:  # noqa: ANN401 - what it was made with
        """The session that it records."""
        return self._session

    @property
    def lost(self) -> int:
        """How many attempts could not be recorded in full because the SDK raised an error."""
        return self._losses.count

    def __repr__(self) -> str:
        return f"<LangfuseMonitor of {self._session!r}>"

    # -- one attempt ---------------------------------------------------------------------------------------------------

    def _event(
        self, direction: Direction, label: str, payload: Payload, options: dict[str, Any], take: Callable[[], Verdict]
    ) -> Verdict:
        word = _word(direction, label, options.get("to" if direction == "!" else "sender"))

        def given() -> dict[str, Json]:
            return {
                "action": cut(word),
                "direction": "send" if direction == "!" else "receive",
                "label": excerpt(label),
                "payload": excerpt(payload),
                **_shown(**options),
            }

        return self._attempt(word, given, take)

    def _attempt(self, name: str, given: Callable[[], dict[str, Json]], take: Callable[[], Verdict]) -> Verdict:
        observation = Observation(
            self._langfuse, cut(name, LONGEST_NAME), lambda: {**given(), "protocol": self._protocol}
        )
        answer: object = None
        states = FAILED
        before: Look | None = None
        try:
            with self._lock:
                before = self._look()
                answer = verdict = take()
                self._taken += 1
                states = states_between(before, self._look(), answer)
        except BaseException as error:
            answer = error
            if isinstance(error, UsageError) and before is not None:
                states = States(before.situation, before.situation)  # nothing was changed: that is what it means
            raise
        finally:
            observation.finish(lambda: report(answer, states, self._about))
            self._losses.note(observation.fault)
        return verdict

    def _look(self) -> Look | None:
        """Where the session stands. Others may have the same stored session, so that one counts for itself."""
        try:
            if isinstance(self._session, StoredSession):
                return Look(*self._session.look())
            return Look(self._taken, self._session.situation)
        except Exception:  # noqa: BLE001 - it cannot be told, and the attempt is made all the same
            return None


def _described(session: Any) -> tuple[str | None, dict[str, Json]]:  # noqa: ANN401 - as above
    """The protocol as each observation names it, and what else is the same for all of them."""
    contract = getattr(session, "contract", None)
    about: dict[str, Json] = {"mode": excerpt(session.mode)}
    if not isinstance(contract, Contract):
        return None, about
    about["contract"] = contract.digest
    name = getattr(session, "protocol", None)
    return cut(name or contract.document.source.text.strip() or print_document(contract.document)), about


def _options(**given: object) -> dict[str, Any]:
    """What was given. A session need not know of the rest."""
    return {name: value for name, value in given.items() if value is not None}


def _shown(**options: object) -> dict[str, Json]:
    return {name: value.isoformat() if type(value) is datetime else excerpt(value) for name, value in options.items()}


def _word(direction: Direction, label: object, partner: object) -> str:
    """The attempt as it stands in a trace, without who made it, which is for the input alone."""
    if type(label) is str and (partner is None or type(partner) is str):
        with suppress(UsageError):
            return make_event(direction, label, None, partner).word
    return f"{direction}{excerpt(label)}"
