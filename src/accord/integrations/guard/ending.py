"""What becomes of a call that is out, as pure functions from state to state: it returns, it fails, it is taken back.

What a failure means stands in the contract. Where it means that nobody knows, both stay possible until somebody says
which it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.calls import worlds as possible
from accord.errors import InternalError, UsageError
from accord.integrations.guard import reviewing, words
from accord.integrations.guard.decisions import Change, Decision, Noted, Remark
from accord.integrations.guard.reserving import happen, pass_time
from accord.integrations.guard.reviewing import answered, open_lost, unuse
from accord.integrations.guard.state import RECOGNISED, REMEMBERED, Done
from accord.ledger.attempts import Given
from accord.monitor.verdicts import OK, Blocked
from accord.projection.payloads import of_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from accord.calls.entries import Out
    from accord.canonical import Json
    from accord.integrations.guard.policy import Policy
    from accord.integrations.guard.state import Desk, Review, State
    from accord.machine.clocks import Time
    from accord.monitor import Verdict

__all__ = [
    "decide",
    "forget",
    "is_same",
    "lose",
    "newly_out",
    "release",
    "remember_done",
    "settle",
    "withdraw",
]

_NOT_OUT = Blocked("no such call is out: it has returned already, or was never admitted")


def settle(
    policy: Policy,
    state: State,
    ticket: str,
    fields: Mapping[str, object],
    at: Time | None,
    *,
    failed: bool = False,
    may_be_tried_again: bool = False,
) -> Change[Verdict]:
    """A call has ended with these fields, so it counts; the verdict is the contract's on its end.

    If the end is refused the call counts all the same: it has happened. One that a tool says has failed may be tried
    again under its id.
    """
    out = state.out(ticket)
    if out is None:
        return Change(state, (), _NOT_OUT)
    if out.lost is not None:
        return _find(policy, state, out, fields, at, failed=failed)
    desk = state.desk if may_be_tried_again else remember_done(state.desk, out)
    counted = state._replace(desk=desk).at(state.calls.counted(out))
    # Before time passes: a call that was made in time is not late because its tool takes long.
    passed = pass_time(policy, counted, at)
    state, notes = passed.state, list(passed.notes)
    event = policy.tools.end(out, fields, failed=failed, at=at) if out.is_seen else None
    if event is None:
        notes.append(Remark("call returned", {"call": ticket, "result": fields}))
        return Change(state, tuple(notes), OK)
    if passed.answer is not OK:  # something was due before it ended
        said = counted.calls.in_words(event, passed.answer)
        late = Noted(Given("?", event.label, event.payload, None, None, at, {"call": ticket}), said)
        return Change(state, (*notes, late), said)
    try:
        happened = happen(state, event, {"call": ticket})
    except UsageError as error:  # a value that cannot be compared; the call counts all the same
        refusal = Blocked(str(error))
        given = Given("?", event.label, event.payload, None, None, at, {"call": ticket})
        happened = Change(state, (Noted(given, refusal),), refusal)
    return Change(happened.state, (*notes, *happened.notes), counted.calls.in_words(event, happened.answer))


def _find(
    policy: Policy, state: State, out: Out, fields: Mapping[str, object], at: Time | None, *, failed: bool
) -> Change[Verdict]:
    """A call of which nobody knew has happened. Its end is where the call is, as everything since was judged."""
    made = out.events[-1].at if out.events else None
    event = policy.tools.end(out, fields, failed=failed, at=made)
    try:
        calls, verdict = state.calls.found(out, event)
    except UsageError as error:  # a value that cannot be compared; the call counts all the same
        calls, verdict = state.calls.found(out, None)[0], Blocked(str(error))
    state = state._replace(desk=answered(remember_done(state.desk, out), out.ticket)).at(calls)
    passed = pass_time(policy, state, at)
    note: Noted | Remark = Remark("call returned", {"call": out.ticket, "result": fields})
    if event is not None:
        note = Noted(Given("?", event.label, event.payload, None, None, at, {"call": out.ticket}), verdict)
    return Change(passed.state, (note, *passed.notes), verdict)


def remember_done(desk: Desk, out: Out) -> Desk:
    """The desk that knows of a call that has run."""
    if not out.digest or any(done.ticket == out.ticket for done in desk.done):
        return desk
    return desk._replace(done=(*desk.done, Done(out.ticket, out.digest[:RECOGNISED]))[-REMEMBERED:])


def release(
    policy: Policy, state: State, ticket: str, why: str, at: Time | None, *, begun: bool = True, known: bool = True
) -> Change[Verdict]:
    """A call has failed; what that means stands in the contract.

    Of a call of which nobody knew, that says that it has not happened, if whoever says it knows (`known`): a tool that
    has raised does not, nor does whoever was interrupted. What was said in the same words is no news either.

    It is taken back as if it had never been made, with the approvals it had used, if that is what it means, if it was
    never begun, or if nobody knew and somebody says now that it has not happened. A call of which a failure means that
    it has happened is taken back only if nothing that was let happen since then rests on it.
    """
    out = state.out(ticket)
    if out is None:
        return Change(state, (), _NOT_OUT)
    if begun and out.lost is not None and (not known or out.lost == why):  # messages may come twice
        return Change(state, (), OK)
    if begun and out.failure == "unknown" and out.lost is None:
        return lose(policy, state, out, why, at)
    without = state._replace(desk=answered(unuse(state.desk, out.reviews), ticket))
    if out.failure == "done" and (begun or not _stands(state, out)):
        fields = of_error(why, None, None)
        return settle(policy, state, ticket, fields, at, failed=True, may_be_tried_again=True)
    passed = pass_time(policy, without.at(state.calls.replaced(out)), at)
    word = out.events[-1].word if out.events else out.name
    note = Remark("call failed", {"call": ticket, "event": word, "why": why})
    return Change(passed.state, (note, *passed.notes), OK)


def lose(policy: Policy, state: State, out: Out, why: str, at: Time | None) -> Change[Verdict]:
    """Nobody knows whether a call has happened: both may be so until somebody says which.

    The approvals it had stay used up.
    """
    lost = state.at(state.calls.replaced(out, out._replace(started=True, lost=why)))
    passed = pass_time(policy, lost, at)
    word = out.events[-1].word if out.events else out.name
    notes: list[Noted | Remark] = [Remark("call lost", {"call": out.ticket, "event": word, "why": why})]
    if policy.asks_people:
        asked = open_lost(policy, passed.state, out, at)
        return Change(asked.state, (*notes, *asked.notes, *passed.notes), OK)
    return Change(passed.state, (*notes, *passed.notes), OK)


def decide(
    policy: Policy,
    state: State,
    identity: str,
    answer: str,
    *,
    by: str,
    reason: str | None,
    payload: Mapping[str, Json] | None,
    at: Time | None,
) -> Change[Review]:
    """The decision of a person; about a lost call it says what became of that. `UsageError` if it cannot be taken."""
    decided = reviewing.decide(policy, state, identity, answer, by=by, reason=reason, payload=payload, at=at)
    ticket, state = decided.answer.call, decided.state
    decided = decided._replace(state=state._replace(desk=state.desk.answered()))
    if ticket is None:
        return decided
    said = f"{by} says so" if reason is None else f"{by}: {reason}"
    if answer == "undone":
        ended = release(policy, decided.state, ticket, said, at)
    else:
        ended = settle(policy, decided.state, ticket, of_error(said, None, None), at, failed=True)
    return Change(ended.state, (*decided.notes, *ended.notes), decided.answer)


def _stands(state: State, out: Out) -> bool:
    """Whether everything that was let happen is legal without a call."""
    try:
        possible.worlds(state.settled, [logged for logged in state.log if logged is not out])
    except InternalError:
        return False
    return True


def newly_out(before: State, after: State) -> list[Out]:
    """The calls that went out, or began to run, between two states."""
    known = {out.ticket: out for out in before.running()}
    return [out for out in after.running() if not is_same(known.get(out.ticket), out)]


def is_same(one: Out | None, other: Out | None) -> bool:
    """Whether that is one call: two that are alike differ in when they were made, if anybody keeps the time."""
    if one is other or one is None or other is None:
        return one is other
    return one._replace(touches=None) == other._replace(touches=None)


def forget(policy: Policy, state: State, reserved: Sequence[Out], at: Time | None) -> Change[None]:
    """Take back calls that were reserved for somebody who will not run them."""
    notes: list[Noted | Remark] = []
    for out in reversed(reserved):  # the last first: it may rest on those before it
        if is_same(state.out(out.ticket), out):
            taken_back = release(policy, state, out.ticket, words.NOT_ALONE, at, begun=False)
            state = taken_back.state
            notes += taken_back.notes
    return Change(state, tuple(notes), None)


def withdraw(policy: Policy, reserved: Change[list[Decision]], at: Time | None) -> Change[list[Decision]]:
    """A batch of which nothing is to run, because something in it was refused."""
    state, notes = reserved.state, list(reserved.notes)
    decisions = []
    for decision in reversed(reserved.answer):  # the last first: it may rest on those before it
        if decision.ticket is not None:
            taken_back = release(policy, state, decision.ticket, words.NOT_ALONE, at, begun=False)
            state = taken_back.state
            notes += taken_back.notes
            decision = Decision(decision.call, "refused", words.NOT_ALONE)  # noqa: PLW2901 - the new one is meant
        decisions.append(decision)
    return Change(state, tuple(notes), decisions[::-1])
