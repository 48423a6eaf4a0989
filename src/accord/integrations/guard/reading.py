"""Sessions under guard, read from a store without their contracts.

What people have been asked, which calls are out and why a session is stopped stand in its record as they are. Only
where the session is in its contract cannot be read without that. So anybody who can open the store may look; deciding
is the business of a `Guard`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from accord.calls.entries import Out
from accord.errors import CorruptSessionError, UsageError
from accord.integrations.guard import codec
from accord.integrations.guard.state import Desk
from accord.integrations.guard.timing import on_time
from accord.monitor.wording import quote_text
from accord.stores.record import NOTHING, check_name, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.integrations.guard.state import Review
    from accord.machine.clocks import Time
    from accord.stores.record import KeptStatus, Row
    from accord.stores.store import Store

__all__ = ["GuardedSession", "ReviewStanding", "guard_object", "guarded_in", "guarded_session", "review_object"]

ReviewStanding = Literal["open", "allowed", "denied", "used", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedSession:
    """What a guard keeps of its session, without the session itself.

    `out` are the calls that have not returned, `stopped` says why nothing runs any more, `now` is the latest time that
    the guard was told, which is `ahead` of its clock if that was set back. `fault` says what is wrong with a corrupted
    one; nothing else is known of it then.
    """

    key: str
    status: KeptStatus | None = None
    expires: Time | None = None
    out: tuple[Out, ...] = ()
    reviews: tuple[Review, ...] = ()
    stopped: str | None = None
    now: Time | None = None
    ahead: Time = 0
    fault: str | None = None

    def moment(self, at: Time) -> Time:
        """The time as the guard sees it, when a clock says that."""
        now = on_time(Desk(now=self.now, ahead=self.ahead), at).now
        return at if now is None else now

    def is_over(self, at: Time) -> bool:
        """Whether the session has expired; nothing can be decided in it then."""
        return self.expires is not None and self.moment(at) >= self.expires + self.ahead

    def standing(self, review: Review, at: Time) -> ReviewStanding:
        """What can still become of a review: an answer that was not used in time has expired as well."""
        if review.state in {"denied", "used"}:
            return review.state
        if review.is_over(self.moment(at)) or self.is_over(at):
            return "expired"
        return review.state

    def open_reviews(self, at: Time) -> list[Review]:
        """The questions to people that can be decided."""
        return [review for review in self.reviews if self.standing(review, at) == "open"]


def guarded_in(store: Store) -> Iterator[GuardedSession]:
    """All sessions of a store that are under a guard; corrupted ones are told, whoever keeps them.

    Example:
        >>> from accord import Guard, MemoryStore, ToolCall
        >>> store = MemoryStore()
        >>> guard = Guard("?Approval by human.!pay.end", store=store, key="order-17", tools={"pay": lambda: None})
        >>> _ = guard.run([ToolCall("pay")])
        >>> [(session.key, review.name) for session in guarded_in(store) for review in session.open_reviews(at=0)]
        [('order-17', 'pay')]
    """
    for key, row in store.rows():
        session = _read(store, key, row)
        if session is not None:
            yield session


def guarded_session(store: Store, key: str) -> GuardedSession | None:
    """One session; `None` if there is none, or if it is not under a guard, or not any more because it was swept."""
    row = store.row(check_name(key))
    return None if row is None else _read(store, key, row)


def _read(store: Store, key: str, row: Row) -> GuardedSession | None:
    try:
        record = read(key, row, store.secret)
        if record.guard == NOTHING:
            return None
        log, desk = codec.read_beside(bytes(record.guard))
    except CorruptSessionError as error:
        return GuardedSession(key=key, fault=str(error))
    except UsageError as error:
        return GuardedSession(key=key, fault=f"session {quote_text(key)} is corrupted: {error}")
    halted = desk.stopped is not None and record.status in {
        "running",
        "complete",
    }  # as earlier versions have written it
    return GuardedSession(
        key=key,
        status="stopped" if halted else record.status,
        expires=record.expires,
        out=tuple([logged for logged in log if isinstance(logged, Out)]),
        reviews=desk.reviews,
        stopped=desk.stopped,
        now=desk.now,
        ahead=desk.ahead,
    )


# -- as plain values for programs --------------------------------------------------------------------------------------


def review_object(session: GuardedSession, review: Review, at: Time) -> dict[str, object]:
    """All of a review."""
    return {
        "session": session.key,
        "review": review.id,
        "state": session.standing(review, at),
        "action": review.name,
        "label": review.label,
        "payload": dict(review.payload),
        "gate": review.gate,
        "opened": review.opened,
        "expires": review.expires,
        "by": review.by,
        "reason": review.reason,
        "decided": review.decided,
        "modified": None if review.modified is None else dict(review.modified),
    }


def guard_object(session: GuardedSession, at: Time) -> dict[str, object]:
    """What the guard of a session keeps."""
    return {
        "stopped": session.stopped,
        "out": [
            {"call": out.ticket, "tool": out.name, "payload": dict(out.arguments), "started": out.started}
            for out in session.out
        ],
        "reviews": [review_object(session, review, at) for review in session.open_reviews(at)],
    }
