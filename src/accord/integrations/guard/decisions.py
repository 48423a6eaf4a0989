"""What a guard answers about one call, and what is to be written down about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeVar

from accord.ledger.represent import own_copy

if TYPE_CHECKING:
    from accord.integrations.exchange import ToolCall
    from accord.integrations.guard.state import Review, State
    from accord.ledger.attempts import Given
    from accord.monitor import Verdict

__all__ = ["Change", "Decision", "Noted", "Remark", "Status"]

Status = Literal["admitted", "held", "refused", "review"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a call may run now.

    `admitted`: it may, with exactly the arguments in `call`; whoever runs it tells the guard what became of it by its
    `ticket`. `held`: not before another call has returned, so it is asked for again then. `review`: a person must
    decide first. `refused`: no. `message` says why, in words for the model, and how to do it right. A call that is
    admitted without a ticket is an illegal one that is only observed. `waiting` has all reviews that a call waits for,
    `review` the first. `reply` is what the model is told instead of the message, if `on_violation` says so.
    """

    call: ToolCall
    status: Status
    message: str = ""
    ticket: str | None = None
    verdict: Verdict | None = None
    review: Review | None = None
    waiting: tuple[Review, ...] = ()
    reply: object = None

    @property
    def admitted(self) -> bool:
        """Whether the call may run."""
        return self.status == "admitted"

    def copy(self) -> Decision:
        """The same with arguments of its own, for those who only watch."""
        call = replace(self.call, arguments=own_copy(self.call.arguments))
        review = None if self.review is None else self.review.copy()
        return replace(self, call=call, review=review, waiting=tuple([each.copy() for each in self.waiting]))


class Noted(NamedTuple):
    """An attempt and its answer, for the ledger."""

    given: Given
    answer: Verdict


class Remark(NamedTuple):
    """Something else that happened to a session, for the ledger."""

    what: str
    detail: dict[str, object]


class Change(NamedTuple, Generic[T]):
    """What becomes of a session, what is written down about it, and the answer. Nothing is kept if nothing is noted."""

    state: State
    notes: tuple[Noted | Remark, ...]
    answer: T
