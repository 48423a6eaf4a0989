"""Asking people by interrupts of the graph.

That a person is asked is written down when it happens, not when the hook is run again to hear the answer.
"""

from __future__ import annotations

from hashlib import sha256
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt

from accord.canonical import encode
from accord.errors import UsageError
from accord.integrations.guard.decisions import Change, Remark
from accord.integrations.guard.words import refused
from accord.langchain.asking import APPROVE, DENY, NOBODY, Question, read_answers, show
from accord.langchain.homes import ThreadHome
from accord.machine.extent import Extent
from accord.monitor.verdicts import Ok
from accord.monitor.wording import list_words, quote_text
from accord.projection.plain import plainly

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from accord.integrations.guard.state import State
    from accord.langchain.asking import Answer, Ask
    from accord.langchain.evidence import Evidence
    from accord.langchain.forms import Forms
    from accord.langchain.law import Law
    from accord.langchain.law_session import LawSession
    from accord.langchain.sessions import Sitting
    from accord.machine.clocks import Time
    from accord.monitor import Verdict
    from accord.trace.redaction import Redaction

__all__ = ["Asking", "ask_about_step", "asking", "deny_step", "make_step", "stands"]

_HAS_SCHEMA = "response_schema" in signature(interrupt).parameters

ANYBODY = "human"
"""To whom a question goes if the program does not say."""


class Asking(NamedTuple):
    """Where people are asked: whose hook it is, and what is known of what they have been shown.

    `task` is the id that LangGraph has for this run of a node: it stays the same until the question is answered, and is
    another one as soon as somebody writes to the thread. `numbers` says that the reviews of this session are the only
    ones of the thread, so that their numbers tell them apart. `changed` says that what is asked about is not what the
    model, or the hook before, has left: then it may be new to whoever answers.
    """

    sitting: Sitting
    reviewer: str | None
    task: str
    numbers: bool
    changed: bool
    by_id: bool
    redaction: Redaction
    forms: Forms


def asking(law: Law, where: Asking, gather: Callable[[], Evidence], announce: Callable[[], None] = lambda: None) -> Ask:
    """Ask by an interrupt, again and again until the answer is one; `announce` is told whenever somebody is asked.

    `gather` finds what people are shown beside the questions; most batches need nobody.
    """
    to = where.reviewer or ANYBODY
    unnamed = where.reviewer or (None if law.needs_names else NOBODY)
    asked: set[str] = set()

    def ask(questions: Sequence[Question], error: str | None) -> dict[str, Answer]:
        names = {_name(question, where): question.review for question in questions}
        named = [question._replace(review=name) for name, question in zip(names, questions, strict=True)]
        asked.update(names)
        evidence = gather()
        while True:
            shown = _shown(named, where, evidence, to, error)
            unsaid = _why_by_id(where, len(asked))
            try:
                given = interrupt(
                    shown, **_form(where.forms, named, says_who=unnamed is None, by_id=unsaid is not None)
                )
            except GraphInterrupt:
                # INVARIANT: if this cannot be written down, its error takes the place of the question.
                announce()
                where.sitting.note_asked(where.task)
                session = where.sitting.session
                session.remark("person asked", {"shown": shown, "to": to, **_when(session.now())})
                raise
            try:
                answers = read_answers(given, named, unnamed, unsaid, where.forms.read)
                return {names[name]: answer for name, answer in answers.items()}
            except UsageError as wrong:
                error = str(wrong)

    return ask


def _form(forms: Forms, questions: Sequence[Question], *, says_who: bool, by_id: bool) -> dict[str, Any]:
    """How an interrupt says what an answer looks like, where the version of LangGraph has a place for it."""
    return {"response_schema": forms.schema(questions, says_who=says_who, by_id=by_id)} if _HAS_SCHEMA else {}


def _shown(
    questions: Sequence[Question], where: Asking, evidence: Evidence, to: str, error: str | None
) -> dict[str, Any]:
    """The value of an interrupt, without what must not be seen."""
    if where.redaction:
        evidence, actions = evidence.under(where.redaction, [question.about for question in questions])
        questions = [question._replace(about=about) for question, about in zip(questions, actions, strict=True)]
    return show(questions, where.sitting.name, to, error, evidence.shown())


def _name(question: Question, where: Asking) -> str:
    """The id that a question is asked under. INVARIANT: another question of the thread never has it.

    A review has an id of its own. It is not enough where other sessions of the thread have reviews too, nor where
    somebody else has written to the thread since, because then numbers that were shown may be given once more; and the
    gate of a session has no number.
    """
    if question.type == "accord.review" and where.numbers and not where.changed:
        return question.review
    about = encode([where.task, plainly(question.shown())])
    return f"{question.review}-{sha256(about).hexdigest()[:8]}"


def _why_by_id(where: Asking, asked: int) -> str | None:
    """Why an answer has to name its question; `None` if there is but one that it can be meant for."""
    if where.by_id:
        return "every answer has to"
    if where.changed:
        return "what is asked has changed since"
    return None if asked == 1 else "more than one was asked"


def ask_about_step(law: Law, rehearsed: LawSession, ask: Ask) -> Answer | None:
    """Ask for a step of a person if the session cannot go on without; `None` if it can.

    An answer that the contract refuses, such as one without the data that the step needs, is asked for again.
    """
    gates = law.gate(rehearsed.state())
    if not gates:
        return None
    verbs = (APPROVE, DENY) if len(gates) == 1 else (DENY,)
    text = f"The agent waits for a person: {list_words([f'?{gate}' for gate in gates])}."
    context = law.public(rehearsed.home.opened) if isinstance(rehearsed.home, ThreadHome) else {}
    question = Question("accord.gate", "gate", text, gates, verbs, context=context)
    error = None
    while True:
        answer = ask([question], error).get(question.review)
        if answer is None or (answer.label == DENY and DENY not in gates):
            return answer
        if answer.label not in gates:
            answer = answer._replace(label=gates[0])
        verdict = make_step(law, rehearsed, answer)
        if type(verdict) is Ok:
            return answer
        error = (
            f"the contract refuses {quote_text(f'?{answer.label}')} like this: {refused(verdict)} Nothing was decided"
        )


def make_step(law: Law, session: LawSession, answer: Answer) -> Verdict:
    """Make the step that a person has decided on."""
    meta: dict[str, object] | None = {"reason": answer.reason} if answer.reason else None

    def step(state: State, at: Time | None) -> Change[Verdict]:
        made = law.happen(state, "?", answer.label, answer.payload, answer.by, at, meta)
        if type(made.answer) is not Ok:
            return made
        return made._replace(state=made.state._replace(desk=made.state.desk.answered()))

    return session.change(step)


def deny_step(session: LawSession, answer: Answer) -> None:
    """Nobody makes a step, because a person has said no to it."""

    def deny(state: State, at: Time | None) -> Change[None]:
        told = {"by": answer.by, "reason": answer.reason, **_when(at)}
        return Change(state._replace(desk=state.desk.answered()), (Remark("denied", told),), None)

    session.change(deny)


def _when(at: Time | None) -> dict[str, object]:
    return {} if at is None else {"at": at}


def stands(asked: State | None, now: State) -> bool:
    """Whether a session stands where it stood when a person was asked; time may have passed."""
    if asked is None:
        return False
    (place, held), (here, holds) = asked.settled, now.settled
    same = asked.settled.stage is now.settled.stage and type(place) is type(here)
    return same and (isinstance(held, Extent) or held == holds)
