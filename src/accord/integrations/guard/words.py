"""What a guard says, to models and to people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from accord.calls.entries import Out
from accord.machine.clocks import print_time
from accord.monitor.verdicts import Violation
from accord.monitor.wording import list_quoted, name_plainly, quote_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.integrations.guard.state import Review, State
    from accord.machine.clocks import Time
    from accord.monitor import Verdict

__all__ = [
    "NOT_ALONE",
    "already_out",
    "already_run",
    "asked",
    "came_late",
    "cut_short",
    "decided",
    "denied",
    "even_then",
    "expired",
    "lapsed",
    "moment_text",
    "naming",
    "not_reported",
    "nothing_went_on",
    "other_call",
    "over_and_over",
    "refused",
    "rests_on_lost",
    "rests_on_others",
    "situation",
    "stopped",
    "stopped_by",
    "too_many_reviews",
    "unfit",
    "wait_for_room",
    "waiting_for_person",
]

_LONGEST = 300
"""Of what a person gave as a reason."""
# What no clock of the world shows for a session of today is a clock of somebody's own, and stays a number.
_EARLIEST_DATE, _LATEST_DATE = 100_000_000, 100_000_000_000

NOT_ALONE = "It was not run, because another call of its batch was refused."


def situation(state: State, allowed: str, tools: list[str] | None, at: Time | None) -> str:
    """Where a session stands; `allowed` says what the contract lets happen."""
    if state.desk.stopped is not None:
        return stopped(state.desk.stopped)
    said = []
    if tools is not None:
        said.append(f"Tools you may call now: {', '.join(quote_text(tool) for tool in tools) or 'none'}.")
    said += [allowed] if allowed else []
    out = [quote_text(logged.name) for logged in state.log if isinstance(logged, Out)]
    if out:
        said.append(f"Not returned yet: {', '.join(out)}.")
    for review in state.desk.reviews:
        if review.state == "open" and not review.is_over(at):
            said.append(f"A person has been asked about {quote_text(review.name)} (review {review.id}).")
        elif review.state == "allowed" and review.gate is not None and not review.is_over(at):
            said.append(
                f"{quote_text(review.name)} was allowed by {name_plainly(review.by)}; call it again, unchanged."
            )
    return " ".join(said)


def naming(verdict: Verdict, tools: Mapping[str, tuple[str, ...]]) -> Verdict:
    """The verdict, with labels called by the tools that were given them."""
    return verdict.naming(tools) if isinstance(verdict, Violation) else verdict


def refused(verdict: Verdict) -> str:
    """The contract says no."""
    return verdict.explain() if hasattr(verdict, "explain") else "It is not allowed now."


def even_then(verdict: Verdict) -> str:
    """No approval helps."""
    return f"{refused(verdict)} No approval would change that."


def cut_short(name: str) -> str:
    """Whether people could allow it is not known."""
    return (
        f"Whether the approval of people would make {quote_text(name)} legal has not been decided: there are more ways "
        "to look at than `Limits.search` allows, so nobody has been asked."
    )


def rests_on_others(name: str, others: list[str]) -> str:
    """It would be legal if others had returned."""
    which, has = list_quoted([quote_text(other) for other in others], "and"), "has" if len(others) == 1 else "have"
    return f"{quote_text(name)} depends on {which}, which {has} not returned yet. Call {quote_text(name)} again then."


def wait_for_room(name: str) -> str:
    """More calls are out than can be looked at."""
    return (
        f"{quote_text(name)} has not run, and is not refused: too many calls are out to tell what may follow. Call it "
        "again when one of them has returned."
    )


def rests_on_lost(name: str, lost: list[Out]) -> str:
    """Whether it is legal depends on calls of which nobody knows whether they have happened."""
    which = ", ".join(
        f"{quote_text(out.name)} (call {quote_text(out.ticket)}: {quote_text(out.lost or '')})" for out in lost
    )
    return (
        f"{quote_text(name)} is not allowed while nobody knows whether an earlier call has happened: {which}. "
        "Ask the person in charge to settle that, or do something else."
    )


def over_and_over(name: str, times: int, message: str) -> str:
    """The same call was refused again and again."""
    return (
        f"{quote_text(name)} has now been refused {times} times. Do not call it like this again: {message} "
        "If you cannot do that, say so and stop."
    )


def nothing_went_on(times: int, message: str) -> str:
    """Whatever was called, all of it was refused, again and again."""
    return (
        f"Nothing that you have called was allowed {times} times in a row. Do not go on like this: {message} "
        "If you cannot do that, say so and stop."
    )


def stopped(reason: str) -> str:
    """Nothing runs any more."""
    return f"No tool runs any more in this session: {reason}. Call none; say that a person has to look at it."


def stopped_by(review: Review) -> str:
    """Why a session was stopped by a person."""
    because = f" ({quote_text(review.reason, _LONGEST)})" if review.reason else ""
    return f"{name_plainly(review.by)} has decided that the agent must not go on{because}"


def asked(review: Review) -> str:
    """A person was asked about a call."""
    return (
        f"{quote_text(review.name)} needs the approval of a person, who has been asked (review {review.id}). It has "
        "not run. Go on with something else, and call it again, unchanged, when it is approved."
    )


def lapsed(review: Review, anew: Review) -> str:
    """A person was asked again, because the approval was not used in time."""
    over = f"{quote_text(review.name)} was allowed by {name_plainly(review.by)}"
    return f"{over}, and that expired{_expiry(review.expires)}. {asked(anew)}"


def came_late(review: Review, by: str, expired: Time) -> str:
    """A person has answered when the question was over."""
    late = (
        f"{quote_text(review.name)} was allowed by {name_plainly(by)} when the question had expired{_expiry(expired)}"
    )
    return (
        f"{late}, so that does not count, and it has not run. A person is asked anew (review {review.id}) when you ask "
        "for it again, unchanged."
    )


def expired(review: Review) -> str:
    """What whoever decides a review is told when its time is over."""
    return (
        f"review `{review.id}` has expired{_expiry(review.expires)}; nothing was decided. Have the agent ask for "
        f"{quote_text(review.name)} again: that opens a new review"
    )


def moment_text(time: Time) -> str:
    """A time as a date, if it is one of the time of day.

    Example:
        >>> moment_text(1_772_442_000), moment_text(60)
        ('2026-03-02T09:00:00Z', '60')
    """
    if _EARLIEST_DATE <= time < _LATEST_DATE:
        return datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return print_time(time)


def _expiry(time: Time | None) -> str:
    return "" if time is None else f" at {moment_text(time)}"


def waiting_for_person(review: Review) -> str:
    """A person was asked whether the agent may go on."""
    return (
        f"{quote_text(review.name)} was refused so often that a person has been asked (review {review.id}). No tool "
        "runs until that person has answered."
    )


def denied(review: Review) -> str:
    """A person has said no."""
    because = f": {quote_text(review.reason, _LONGEST)}" if review.reason else ""
    return (
        f"{quote_text(review.name)} was denied by {name_plainly(review.by)}{because}. Do not call it like this again."
    )


def unfit(name: str, why: str) -> str:
    """A person has put arguments in place of others that the tool would not be called with."""
    return f"{quote_text(name)} was allowed with other arguments, and it cannot be called with those: {why}."


def decided(review: Review) -> str:
    """What was decided."""
    if review.call is not None:
        return "asked what became of a call, and that is known"
    if review.state == "used":
        return f"was allowed by {name_plainly(review.by)} and has been used up"
    return f"was {review.state} by {name_plainly(review.by)}" + (
        f" at {review.decided}" if review.decided is not None else ""
    )


def not_reported(label: str, how: str) -> str:
    """A program has reported what is a person's to decide."""
    return (
        f"{quote_text(label)} is for a person to decide, and this program was not given the right to report it: {how}; "
        f'if the program asks the person itself, name the label: events=["{label}"]'
    )


def too_many_reviews(name: str, needed: int, most: int) -> str:
    """Nobody can be asked."""
    if needed > most:
        return (
            f"{quote_text(name)} needs {needed} approvals, and no more than {most} questions can be open at a time, so "
            "nobody has been asked. Do something else."
        )
    return (
        f"{quote_text(name)} needs the approval of a person, and too many questions are open already ({most} at the "
        "most). Call it again when some of them have been answered."
    )


def already_run(ticket: str) -> str:
    """The call of that id has run."""
    return f"The call with the id {quote_text(ticket)} has run already; it is not run twice."


def already_out(ticket: str) -> str:
    """The call of that id is running."""
    return f"The call with the id {quote_text(ticket)} is running already, and has not returned."


def other_call(ticket: str) -> str:
    """The id belongs to another call."""
    return f"The id {quote_text(ticket)} belongs to another call, so this one is not run."
