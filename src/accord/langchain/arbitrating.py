"""Deciding about a whole batch of calls, with the answers of people, as a pure function.

The calls are looked at in order. Where some need a person, everything that is open is asked at once, about each call
with its arguments; with the answers the batch is looked at again from the beginning, so that it is decided in order
whatever the answers are. INVARIANT: the same state, calls and answers lead to the same questions in the same order.
LangGraph runs a node again from its top when an answer has come and matches answers to interrupts by their number.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from accord.errors import UsageError
from accord.integrations.guard import ending, reviewing, words
from accord.integrations.guard.decisions import Change, Remark
from accord.langchain.asking import APPROVE, DENY, MODIFY, Question
from accord.langchain.law import people_steps
from accord.monitor.verdicts import Ok, Violation
from accord.monitor.wording import name_plainly, quote_text
from accord.projection.payloads import of_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.integrations.batch import Claim
    from accord.integrations.guard.decisions import Decision, Noted
    from accord.integrations.guard.state import Review, State
    from accord.langchain.asking import Answer, Ask
    from accord.langchain.law import Law
    from accord.machine.clocks import Time

__all__ = ["Answered", "arbitrate", "heed_denials", "open_questions", "recall", "tell_late"]

_VERBS = {APPROVE: "allow", DENY: "deny", MODIFY: "modify"}


class Answered(NamedTuple):
    """An answer, and the key of the question it was the answer to."""

    key: tuple[str | None, str]
    answer: Answer


class _Batch:
    """A batch on its way: the state with all answers so far, and what is to be written down about them."""

    def __init__(self, law: Law, state: State, at: Time | None, ask: Ask) -> None:
        self.law = law
        self.state = state
        self.at = at
        self.ask = ask
        self.notes: list[Noted | Remark] = []
        self.answered: list[Answered] = []
        self.left: set[tuple[str | None, str]] = set()

    def question(self, decision: Decision, review: Review) -> Question:
        call = decision.call
        about = {"tool": call.name, "arguments": dict(review.payload), "call_id": call.id}
        if review.gate is None:
            text = f"{quote_text(call.name)} was refused over and over. May the agent go on?"
            return Question("accord.review", review.id, text, (), (APPROVE, DENY), about, _key(review))
        here = self.state.worlds()
        others = [] if here is None else [step for step in people_steps(self.law.policy, here) if step != review.gate]
        text = f"May the agent call {quote_text(call.name)} with these arguments?"
        gates = (review.gate, *others)
        return Question("accord.review", review.id, text, gates, tuple(_VERBS), about, _key(review))

    def take_answers(self, waiting: Sequence[tuple[Decision, Review]]) -> None:
        """Ask about all that waits, until some answers can be taken or there are none.

        INVARIANT: answers that are sent at once are taken together. If one of them cannot be, nothing was decided.
        """
        questions = [self.question(decision, review) for decision, review in waiting]
        error = None
        while True:
            answers = self.ask(questions, error)
            if not answers:
                self.left |= {_key(review) for _, review in waiting}
                return
            state, noted = self.state, len(self.notes)
            taken = [(review, answers[review.id]) for _, review in waiting if review.id in answers]
            try:
                for review, answer in taken:
                    self._apply(answer, review)
            except UsageError as wrong:
                self.state = state
                del self.notes[noted:]
                error = str(wrong)
                continue
            self.answered += [Answered(_key(review), answer) for review, answer in taken]
            return

    def open(self, opened: Change[list[Decision]]) -> None:
        """Put the questions that a decision about the batch has opened on the desk."""
        self.state, notes = _opened(self.state, opened, self.at)
        self.notes += notes

    def _apply(self, answer: Answer, review: Review) -> None:
        """Take an answer into the state; `UsageError` if it cannot be taken."""
        if answer.label != review.gate and answer.label not in _VERBS:
            self._step(answer)
            return
        unfit = None if answer.payload is None else self.law.unfit(review.name, answer.payload)
        if unfit is not None:
            raise UsageError(
                f"{quote_text(review.name)} cannot be called with this payload: {unfit}; nothing was decided"
            )
        decided = ending.decide(
            self.law.policy,
            self.state,
            review.id,
            "allow" if answer.label == review.gate else _VERBS[answer.label],
            by=answer.by,
            reason=answer.reason,
            payload=answer.payload,
            at=self.at,
        )
        self.notes += decided.notes
        self.state = decided.state

    def _step(self, answer: Answer) -> None:
        """A person makes another step than the one that was asked for."""
        meta: dict[str, object] | None = {"reason": answer.reason} if answer.reason else None
        made = self.law.happen(self.state, "?", answer.label, answer.payload, answer.by, self.at, meta)
        if type(made.answer) is not Ok:
            raise UsageError(
                f"the contract refuses {quote_text(f'?{answer.label}')} like this: {words.refused(made.answer)}"
            )
        self.state = made.state._replace(desk=made.state.desk.answered())
        self.notes += made.notes


def arbitrate(
    law: Law, state: State, claims: Sequence[Claim], at: Time | None, ask: Ask
) -> tuple[Change[list[Decision]], list[Answered]]:
    """Decide about a batch; also what was answered, for `recall`."""
    batch = _Batch(law, state, at, ask)
    while True:
        change = law.reserve(batch.state, claims, at)
        waiting = _questions(change, batch.left)
        if not waiting:
            decisions = [_advised(law, change, place, claims, at) for place in range(len(claims))]
            return Change(change.state, (*batch.notes, *change.notes), decisions), batch.answered
        gated = [each for each in waiting if each[1].gate is not None]
        if not gated:
            return _unstick(batch, change, waiting), batch.answered
        batch.open(change)
        batch.take_answers(gated)


def _advised(
    law: Law, change: Change[list[Decision]], place: int, claims: Sequence[Claim], at: Time | None
) -> Decision:
    """The decision about a call; one that only has to wait for others of its batch is told so.

    Nothing can wait inside a node: the results of a batch reach the model all at once.
    """
    decision = change.answer[place]
    if decision.status != "refused" or type(decision.verdict) is not Violation or not decision.call.id:
        return decision
    ahead = [each for each in change.answer[:place] if each.ticket is not None]
    if not ahead:
        return decision
    state = change.state._replace(desk=change.state.desk._replace(stopped=None))
    for each in ahead:
        state = law.settle(state, each.ticket or "", of_result({}, None, None), at).state
    (then,) = law.reserve(state, [claims[place]], at).answer
    if not (then.admitted and then.ticket is not None) and then.status != "review":
        return decision
    others = ", ".join(quote_text(each.call.name) for each in ahead)
    said = f"{quote_text(decision.call.name)} has to wait for {others}. Ask for it again when that has returned."
    return replace(decision, message=decision.message if change.state.desk.stopped else said)


def _questions(change: Change[list[Decision]], left: set[tuple[str | None, str]]) -> list[tuple[Decision, Review]]:
    """What people are to be asked about a batch: every open review that a call waits for, once."""
    found: dict[int, tuple[Decision, Review]] = {}
    for decision in change.answer:
        if decision.status != "review" or decision.review is None:
            continue
        for review in decision.waiting or (decision.review,):
            if review.state == "open" and _key(review) not in left:
                found.setdefault(review.number, (decision, review))
    return list(found.values())


def _unstick(
    batch: _Batch, change: Change[list[Decision]], waiting: Sequence[tuple[Decision, Review]]
) -> Change[list[Decision]]:
    """A person is asked whether an agent that cannot get on may go on; what was refused stays so."""
    batch.state = change.state
    batch.notes += change.notes
    batch.take_answers(waiting)
    return Change(batch.state, tuple(batch.notes), change.answer)


def recall(answered: Sequence[Answered]) -> Ask:
    """Answers that were given before, to whoever asks the same questions again: one at a time, in their order.

    Where the session is elsewhere by now, one that cannot be taken any more does not keep the others back.
    """
    rest = list(answered)

    def ask(questions: Sequence[Question], error: str | None) -> dict[str, Answer]:  # noqa: ARG001 - it was heard
        for known in rest:
            for question in questions:
                if question.key == known.key:
                    rest.remove(known)
                    return {question.review: known.answer}
        return {}

    return ask


def tell_late(
    change: Change[list[Decision]], answered: Sequence[Answered], expired: Time, at: Time
) -> Change[list[Decision]]:
    """The decisions, in which calls whose approval came when the question had expired are told so, as is the ledger."""
    late = {key: answer for key, answer in answered if answer.label != DENY}
    decisions, notes = [], []
    for decision in change.answer:
        review = decision.review
        answer = late.get(_key(review)) if review is not None and decision.status == "review" else None
        if review is not None and answer is not None:
            notes.append(reviewing.late_approval(review, answer.by, expired, at))
            decision = replace(decision, message=words.came_late(review, answer.by, expired))  # noqa: PLW2901 - the new one
        decisions.append(decision)
    return Change(change.state, (*notes, *change.notes), decisions)


def open_questions(law: Law, state: State, claims: Sequence[Claim], at: Time | None) -> Change[None]:
    """Put the questions about a batch on the desk, for whoever else may answer them, and nothing more."""
    there, notes = _opened(state, law.reserve(state, claims, at), at)
    return Change(there, notes, None)


def _opened(state: State, opened: Change[list[Decision]], at: Time | None) -> tuple[State, tuple[Noted | Remark, ...]]:
    """The state with the questions about calls that a decision has opened, and what is to be written down of them."""
    known = {each.number for each in state.desk.reviews}
    fresh = [each for each in opened.state.desk.reviews if each.number not in known and each.gate is not None]
    if not fresh:
        return state, ()
    names = {each.id for each in fresh}
    notes = [note for note in opened.notes if isinstance(note, Remark) and note.detail.get("review") in names]
    return reviewing.put_on_desk(state, fresh, at), tuple(notes)


def heed_denials(law: Law, state: State, claims: Sequence[Claim], answered: Sequence[Answered]) -> Sequence[Claim]:
    """The calls, without hope for those that were denied here although somebody else has allowed them meanwhile."""
    denied = {key[1]: answer for key, answer in answered if answer.label == DENY}
    allowed = {review.digest for review in state.desk.reviews if review.state == "allowed"}
    if not denied or denied.keys().isdisjoint(allowed):
        return claims
    heeded = []
    for claim in claims:
        if claim.fault is None and claim.arguments is not None:
            action = reviewing.digest_of(law.policy.label(claim.call.name), claim.arguments)
            if action in denied and action in allowed:
                claim = replace(claim, fault=f"it was denied by {name_plainly(denied[action].by)}")  # noqa: PLW2901 - the new one
        heeded.append(claim)
    return heeded


def _key(review: Review) -> tuple[str | None, str]:
    return review.gate, review.digest
