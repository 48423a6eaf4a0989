"""How long an agent may go on being refused, and who lets it go on after that.

What is counted are turns: a model that asks for five illegal things in one message has been told once. Two counts are
kept. In how many turns in a row something was refused and nothing went on: whoever changes the names of what it asks
for gets no further by that. And in how many turns each label was refused since it last went on, so that an agent which
reads and tries to pay, reads and tries to pay, is noticed as well.

Only what the model was told not to do is counted. Who was told to ask again later, because other calls have not
returned or a person has not answered, and does, has done as it was told.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from accord.errors import UsageError
from accord.integrations.guard import words
from accord.integrations.guard.decisions import Change, Decision, Remark
from accord.integrations.guard.reviewing import decide, open_stuck
from accord.monitor.wording import quote_text
from accord.projection.plain import NotPlainError, plainly

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from accord.canonical import Json
    from accord.integrations.guard.policy import Policy
    from accord.integrations.guard.state import Desk, Review, State
    from accord.machine.clocks import Time

__all__ = ["Over", "Refused", "end_turn", "is_waiting", "resume", "stuck"]

_COUNTED = 32
"""Labels whose refusals are counted."""


class Refused(NamedTuple):
    """The last refusal of a label in a turn, and the call as it can be shown and kept."""

    name: str
    arguments: Mapping[str, object] | None
    decision: Decision


class Over(NamedTuple):
    """Patience is over: what the model is told instead of a refusal."""

    before: Decision
    after: Decision


def end_turn(
    policy: Policy,
    state: State,
    refused: Mapping[str, Refused],
    went_on: Collection[str],
    at: Time | None,
    *,
    goes_on: bool,
) -> Change[Over | None]:
    """The calls of a message were decided: what was refused is counted. If patience is over, the answer says so.

    `refused` and `went_on` have the labels of calls. With `goes_on` it is the rest of a message of which other calls
    were decided before: it is no turn of its own.
    """
    desk = state.desk
    if policy.observes or is_waiting(state, at) or not (refused or went_on):
        return Change(state, (), None)
    tried = [label for label in refused if label not in went_on]
    desk = _counted(desk, tried, went_on, goes_on=goes_on)
    state = state._replace(desk=desk)
    times = dict(desk.refusals)
    over = next((label for label in reversed(tried) if times.get(label, 0) >= policy.patience), None)
    if over is not None:
        last = refused[over]
        why = f"{quote_text(last.name)} was refused {times[over]} times"
        said = words.over_and_over(last.name, times[over], last.decision.message)
    elif tried and desk.idle >= policy.patience:
        last = refused[tried[-1]]
        why = f"nothing that was called has been allowed {desk.idle} times in a row, {quote_text(last.name)} last"
        said = words.nothing_went_on(desk.idle, last.decision.message)
    else:
        return Change(state, (), None)
    return _escalate(policy, state, last, why, said, at)


def _counted(desk: Desk, tried: Collection[str], went_on: Collection[str], *, goes_on: bool) -> Desk:
    times = {label: count for label, count in desk.refusals if label not in went_on}
    for label in tried:
        times[label] = times.pop(label, 0) + 1
    idle = 0 if went_on else desk.idle + (not goes_on)
    return desk._replace(refusals=tuple(times.items())[-_COUNTED:], idle=idle)


def _escalate(policy: Policy, state: State, last: Refused, why: str, said: str, at: Time | None) -> Change[Over | None]:
    """What the model is told in the place of one more refusal; from now on nothing runs."""
    if policy.escalate == "review":
        opened = open_stuck(policy, state, last.name, _json(last.arguments), at)
        if opened.answer is not None:
            message = f"{said} {words.waiting_for_person(opened.answer)}"
            decision = replace(last.decision, status="review", message=message, review=opened.answer)
            return Change(opened.state, opened.notes, Over(last.decision, decision))
    decision = replace(last.decision, message=f"{said} {words.stopped(why)}")
    stopped = state._replace(desk=state.desk._replace(stopped=why))
    return Change(stopped, (Remark("stopped", {"why": why}),), Over(last.decision, decision))


def _json(arguments: Mapping[str, object] | None) -> Mapping[str, Json]:
    """The arguments of a call as a person is shown them; none if they are not JSON."""
    try:
        return {} if arguments is None else plainly(arguments)
    except NotPlainError:
        return {}


def stuck(state: State, at: Time | None) -> Review | None:
    """The question to a person whether the agent may go on, if it is open."""
    for review in state.desk.reviews:
        if review.gate is None and review.call is None and review.state == "open" and not review.is_over(at):
            return review
    return None


def is_waiting(state: State, at: Time | None) -> bool:
    """Whether nothing runs until a person has said so."""
    return state.desk.stopped is not None or stuck(state, at) is not None


def resume(policy: Policy, state: State, at: Time | None, *, by: str, reason: str) -> Change[None]:
    """A person lets a session go on that was stopped, or that waits to be told whether it may.

    `UsageError` if it is neither.
    """
    notes: tuple[Remark, ...] = ()
    waiting = stuck(state, at)
    if state.desk.stopped is None and waiting is None:
        raise UsageError("the session is not stopped")
    if waiting is not None:
        decided = decide(policy, state, waiting.id, "allow", by=by, reason=reason, payload=None, at=at)
        state, notes = decided.state, decided.notes  # type: ignore[assignment] # what a decision notes are remarks
    desk = state.desk._replace(stopped=None, refusals=(), idle=0)
    return Change(state._replace(desk=desk), (*notes, Remark("resumed", {"by": by, "reason": reason, "at": at})), None)
