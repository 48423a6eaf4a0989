"""Asking people by interrupts of the graph.

That a person is asked is written down when it happens, not when the hook is run again to hear the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt

from accord.errors import UsageError
from accord.integrations.guard.words import refused
from accord.langchain.asking import APPROVE, DENY, NOBODY, Question, read_answer
from accord.langchain.homes import ThreadHome
from accord.monitor.verdicts import Ok
from accord.monitor.wording import list_words, quote_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.integrations.guard.decisions import Change
    from accord.integrations.guard.state import State
    from accord.langchain.asking import Answer, Ask
    from accord.langchain.law import Law
    from accord.langchain.law_session import LawSession
    from accord.langchain.sessions import Sitting
    from accord.machine.clocks import Time
    from accord.monitor import Verdict

__all__ = ["ask_about_step", "asking", "make_step"]

ANYBODY = "human"
"""To whom a question goes if the program does not say."""


def asking(law: Law, sitting: Sitting, reviewer: str | None, announce: Callable[[], None] = lambda: None) -> Ask:
    """Ask by an interrupt, again and again until the answer is one; `announce` is told whenever somebody is asked."""
    to = reviewer or ANYBODY
    unnamed = reviewer or (None if law.needs_names else NOBODY)

    def ask(question: Question, error: str | None) -> Answer:
        while True:
            shown = question.shown(sitting.name, to, error)
            try:
                given = interrupt(shown)
            except GraphInterrupt:
                # INVARIANT: if this cannot be written down, its error takes the place of the question.
                announce()
                sitting.session.remark("person asked", {"shown": shown, "to": to})
                raise
            try:
                return read_answer(given, question, unnamed)
            except UsageError as wrong:
                error = str(wrong)

    return ask


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
    question = Question("accord.gate", text, gates, verbs, context=context)
    error = None
    while True:
        answer = ask(question, error)
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
        return law.happen(state, "?", answer.label, answer.payload, answer.by, at, meta)

    return session.change(step)
