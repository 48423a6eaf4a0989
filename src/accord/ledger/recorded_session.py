"""`RecordedSession`: a session of several roles whose every attempt is in a ledger before it is answered.

As `RecordedMonitor` does for one party.
An entry names the exchange as the trace does (`A -> B: Msg`, or `A: B!Msg` where a role reports for itself).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.language.labels import print_label
from accord.ledger.attempts import Given, own, seconds
from accord.ledger.ledger import Ledger
from accord.ledger.recording import Recording
from accord.monitor.verdicts import CLOSING, TICKING
from accord.session import Session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.canonical import Json
    from accord.ledger.attempts import Moment, Payload
    from accord.monitor import Verdict
    from accord.session import Endpoint

__all__ = ["RecordedEndpoint", "RecordedSession"]


class RecordedSession:
    """One session of several roles, recorded in `ledger` under the name `session`.

    From now on the session belongs to it: a step taken past it is not recorded.

    Example:
        >>> from accord import Ledger, MemorySink, RecordedSession, Session
        >>> recorded = RecordedSession(Session("protocol P { A -> B: Ask }"), Ledger(MemorySink()), session="s1")
        >>> recorded.observe("A", "B", "Ask"), recorded.close()
        (Ok(), Ok())
    """

    __slots__ = ("_recording", "_session")

    def __init__(self, watched: Session, ledger: Ledger, *, session: str | None = None) -> None:
        if not isinstance(watched, Session) or not isinstance(ledger, Ledger):
            raise UsageError("a `Session` is recorded in a `Ledger`: RecordedSession(Session(…), Ledger(…))")
        self._session = watched
        self._recording = Recording(ledger, session, watched.contract, watched.protocol)

    def observe(
        self,
        sender: str,
        receiver: str,
        label: str | None = None,
        payload: Payload = None,
        by: str | None = None,
        *,
        at: Moment | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> Verdict:
        """Somebody has seen a message."""
        copied, session = own(payload), self._session
        given = Given(f"{sender} -> {receiver}: {_shown(label)}", None, copied, None, by, at, meta)
        return self._recording.attempt(
            given,
            lambda: session.peek(sender, receiver, label, copied, by, seconds(at)),
            lambda: session.observe(sender, receiver, label, copied, by, seconds(at)),
        )

    def __getitem__(self, role: str) -> RecordedEndpoint:
        """The endpoint of a role; what it reports is recorded too."""
        return RecordedEndpoint(self._session[role], self._recording)

    def tick(self, at: Moment, *, meta: Mapping[str, object] | None = None) -> Verdict:
        """Time passes and nothing happens: what rules required until then is overdue."""
        session = self._session
        given = Given(TICKING, at=at, meta=meta)
        return self._recording.attempt(given, lambda: session.peek_tick(seconds(at)), lambda: session.tick(seconds(at)))

    def close(self, *, at: Moment | None = None, meta: Mapping[str, object] | None = None) -> Verdict:
        """Nothing more will come: `Ok` if nothing is owed, else a violation that says what, and by whom."""
        session = self._session
        given = Given(CLOSING, at=at, meta=meta)
        return self._recording.attempt(
            given, lambda: session.peek_close(seconds(at)), lambda: session.close(seconds(at))
        )

    def snapshot(self, *, key: bytes | None = None) -> dict[str, Json]:
        """The session as it stands; `RecordedSession(Session.restore(…), ledger, session=…)` goes on with it."""
        return self._session.snapshot(key=key)

    @property
    def session(self) -> str:
        """The name of the session in the ledger."""
        return self._recording.session

    @property
    def watched(self) -> Session:
        """What is recorded; asking it is no attempt."""
        return self._session

    @property
    def ledger(self) -> Ledger:
        """Where it is recorded."""
        return self._recording.ledger

    def __repr__(self) -> str:
        return f"<RecordedSession {self.session} of {self._session!r}>"


class RecordedEndpoint:
    """One role of a recorded session."""

    __slots__ = ("_end", "_recording")

    def __init__(self, end: Endpoint, recording: Recording) -> None:
        self._end = end
        self._recording = recording

    def send(
        self,
        label: str | None = None,
        payload: Payload = None,
        *,
        to: str,
        by: str | None = None,
        at: Moment | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> Verdict:
        """The role sends a message."""
        copied, end = own(payload), self._end
        given = Given(f"{end.role}: {to}!{_shown(label)}", None, copied, None, by, at, meta)
        return self._recording.attempt(
            given,
            lambda: end.peek_send(label, copied, to=to, by=by, at=seconds(at)),
            lambda: end.send(label, copied, to=to, by=by, at=seconds(at)),
        )

    def receive(
        self,
        label: str | None = None,
        payload: Payload = None,
        *,
        sender: str,
        by: str | None = None,
        at: Moment | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> Verdict:
        """The role receives a message."""
        copied, end = own(payload), self._end
        given = Given(f"{end.role}: {sender}?{_shown(label)}", None, copied, None, by, at, meta)
        return self._recording.attempt(
            given,
            lambda: end.peek_receive(label, copied, sender=sender, by=by, at=seconds(at)),
            lambda: end.receive(label, copied, sender=sender, by=by, at=seconds(at)),
        )


def _shown(label: object) -> str:
    """A label for an entry; one that was left out is the only one that was legal."""
    return "(the only one)" if label is None else print_label(label) if isinstance(label, str) else repr(label)
