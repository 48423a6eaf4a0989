"""What the wrappers need of a monitor, and what they share about one session.

A session is any object with the methods of a `Monitor` that stand in `Session`; a `RecordedMonitor` is one, and so is
a class of your own around either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

from accord.errors import UsageError
from accord.machine.contract import Contract
from accord.projection.projection import projection_of
from accord.stores.session import StoredSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.machine.clocks import Time
    from accord.machine.events import Event
    from accord.monitor import Verdict
    from accord.monitor.step import Mode, Situation
    from accord.projection.projection import Projection

__all__ = [
    "AgentSession",
    "Receipt",
    "Session",
    "View",
    "check_session",
    "is_session",
    "is_shared",
    "projection_for",
    "tell",
]

View: TypeAlias = Literal["program", "agent"]
"""Whose sends and receives the labels are: those of the program around the model, or of the agent itself."""


class Session(Protocol):
    """A watched session."""

    def send(self, label: str, payload: Mapping[str, object] | None = None) -> Verdict:
        """The agent sends."""

    def receive(self, label: str, payload: Mapping[str, object] | None = None) -> Verdict:
        """Something reaches the agent."""

    @property
    def mode(self) -> Mode:
        """`halt` or `refuse`."""

    @property
    def situation(self) -> Situation:
        """Where the session stands."""


class AgentSession(Session, Protocol):
    """A session that can be told what a projection makes, as all of accord's can."""

    def take(self, event: Event) -> Verdict:
        """An event as a projection makes it."""

    def tick(self, at: Time) -> Verdict:
        """Time passes."""

    def close(self, *, at: Time | None = None) -> Verdict:
        """Nothing more will come."""


def check_session(monitor: object) -> None:
    """Raise `UsageError` for what cannot be a session, such as the text of a contract."""
    if not is_session(monitor):
        raise UsageError(f"`monitor` is a `Monitor`, or a session like one, got `{type(monitor).__name__}`")


def projection_for(session: object, view: View, **labels: object) -> Projection | None:
    """What makes events of happenings in the agent's view; `None` in the program's.

    Raises `UsageError` for another view, for labels that are given where the contract says what they are, and for a
    session that cannot be told what a projection makes.
    """
    if view not in ("program", "agent"):
        raise UsageError(f"`view` is `program` or `agent`, got {view!r}")
    if view == "program":
        return None
    for name, label in labels.items():
        if label is not None:
            raise UsageError(f"`{name}` is for `view=\"program\"`; in the agent's view the contract's events say it")
    contract = getattr(session, "contract", None)
    if not isinstance(contract, Contract) or not _has(session, "take"):
        raise UsageError(
            "the agent's view needs a session that has a contract and a method `take`, as a `Monitor` has, "
            f"got `{type(session).__name__}`"
        )
    return projection_of(contract, getattr(session, "protocol", None))


def tell(session: Session, event: Event) -> Verdict:
    """What a session answers to an event of a projection."""
    if event.to_rules:
        return cast("Verdict", session.take(event))  # type: ignore[attr-defined] # looked at when it was given
    more: dict[str, Any] = {} if event.at is None else {"at": event.at}  # a session of one's own may take no more
    if event.direction == "!":
        return session.send(event.label, event.payload, **more)
    if event.by is not None:
        more["by"] = event.by
    return session.receive(event.label, event.payload, **more)


def is_shared(session: object) -> bool:
    """Whether others may step a session, in other processes."""
    return isinstance(session, StoredSession) or isinstance(getattr(session, "session", None), StoredSession)


def is_session(monitor: object) -> bool:
    """Whether it has the methods of a session."""
    return all(_has(monitor, name) for name in ("send", "receive", "mode", "situation"))


def _has(session: object, name: str) -> bool:
    """Whether it is there, even if it cannot be read now, as where a store is down."""
    try:
        getattr(session, name)
    except AttributeError:
        return False
    except Exception:  # noqa: BLE001, S110 - see above
        pass
    return True


class Receipt:
    """That a response was received in a session under a label. It is good for one use.

    The client and the tool middleware look at the same tool calls: the client as part of a response, the middleware one
    by one. Where both would receive them under the same label, they have been received once.
    """

    __slots__ = ("_label", "_session", "_unused")

    def __init__(self, session: Session, label: str) -> None:
        self._session = session
        self._label = label
        self._unused = [True]

    def take(self, session: Session, label: str) -> bool:
        """Use it, if it is of that session and label and unused."""
        if self._session is not session or self._label != label:
            return False
        try:
            return self._unused.pop()  # one thread alone gets it
        except IndexError:
            return False
