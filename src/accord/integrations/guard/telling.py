"""What a guard keeps of its session, as plain values for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.integrations.guard.reading import GuardedSession
    from accord.integrations.guard.state import Review
    from accord.machine.clocks import Time

__all__ = ["guard_object", "review_object"]


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
