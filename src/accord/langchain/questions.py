"""What a hook does in order to ask people: it rehearses its step, finds out whom it needs, and asks.

LangGraph runs a hook again from its top when an answer has come. So everything here that is more than a rehearsal is
done once for all of these runs.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from langgraph.func import task

from accord.langchain.arbitrating import arbitrate, open_questions
from accord.langchain.edits import has_edits
from accord.langchain.evidence import gather
from accord.langchain.forms import Forms
from accord.langchain.homes import ThreadHome
from accord.langchain.people import Asking, ask_about_step, asking
from accord.langchain.proposing import has_changed, was_moved
from accord.langchain.schema import UNNAMED
from accord.langchain.sealing import Where

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain.agents.middleware.types import AgentState
    from langchain_core.messages import AnyMessage
    from langgraph.runtime import Runtime

    from accord.integrations.batch import Claim
    from accord.integrations.guard.decisions import Change
    from accord.integrations.guard.state import State
    from accord.langchain.arbitrating import Answered
    from accord.langchain.arguments import Toolbox
    from accord.langchain.asking import Answer, Question
    from accord.langchain.hearing import Hearing
    from accord.langchain.law import Law
    from accord.langchain.manner import Manner
    from accord.langchain.sessions import Keeping, Settings, Sitting
    from accord.machine.clocks import Time

__all__ = ["NOBODY_ASKED", "Heard", "Questions", "run_of"]

T = TypeVar("T")


class Heard(NamedTuple):
    """What people have answered about a batch, until when that is good, and the number of the last review so far.

    `recorded` says that what the model has said beside its calls was written down before they were asked, at this time.
    """

    answered: Sequence[Answered]
    until: Time | None
    numbered: int
    recorded: bool = False
    at: Time | None = None


NOBODY_ASKED = Heard((), None, 0)


class Questions:
    """Asks the people that a middleware needs."""

    def __init__(
        self, law: Law, keeping: Keeping, settings: Settings, manner: Manner, hearing: Hearing, toolbox: Toolbox
    ) -> None:
        self._law = law
        self._keeping = keeping
        self._settings = settings
        self._manner = manner
        self._hearing = hearing
        self._forms = Forms(manner.answers, law.people, toolbox.get)

    def about_step(
        self, sitting: Sitting, state: AgentState[Any], runtime: Runtime[Any]
    ) -> tuple[State, Answer | None]:
        """Rehearse where the session is, and ask for a person's step if it cannot go on without."""
        rehearsed = sitting.rehearse()
        sitting.fold(rehearsed)
        asked = rehearsed.state()
        where = self._asking(sitting, runtime, was_moved(state, self._settings))
        ask = asking(self._law, where, lambda: gather(state["messages"], asked.desk))
        return asked, ask_about_step(self._law, rehearsed, ask)

    def about_calls(
        self,
        sitting: Sitting,
        claims: Sequence[Claim],
        said: Sequence[AnyMessage],
        state: AgentState[Any],
        runtime: Runtime[Any],
    ) -> Heard:
        """Rehearse the decision about a batch, and ask the people whom it needs."""
        rehearsed = sitting.rehearse()
        sitting.fold(rehearsed)
        before = rehearsed.state()
        recorded: list[Time | None] = []
        if said:
            rehearsed.change(lambda session, at: self._hearing.agent(session, said, at))

        def announce() -> None:
            if self._keeping.direct:
                sitting.session.change(lambda state, at: open_questions(self._law, state, claims, at))

        changed = has_changed(state, Where.of(runtime.execution_info), self._settings, self._law.policy.contract.digest)
        changed = changed or has_edits(state)
        where = self._asking(sitting, runtime, changed)
        put = asking(self._law, where, lambda: gather(state["messages"], before.desk), announce)

        def ask(questions: Sequence[Question], error: str | None) -> Mapping[str, Answer]:
            if said and self._keeping.direct:
                sitting.session.change(lambda session, at: self._hearing.agent(session, said, at))
            elif said and not recorded and self._settings.ledger is not None:
                recorded.append(_once(lambda: self._record(sitting, before, said)))
            return put(questions, error)

        at, lasts = rehearsed.now(), self._law.policy.review_lasts
        change, answered = arbitrate(self._law, rehearsed.state(), claims, at, ask)
        until = None if at is None or lasts is None else at + lasts
        numbered = change.state.desk.numbered
        return Heard(answered, until, numbered, bool(recorded), recorded[0] if recorded else None)

    def take_recorded(self, sitting: Sitting, said: Sequence[AnyMessage], at: Time | None) -> None:
        """What the model has said, as it was written down before people were asked."""
        session, home = sitting.session, sitting.session.home

        def heard(state: State) -> Change[None]:
            state, then = session.on_time(state, at)
            return self._hearing.agent(state, said, then)

        if isinstance(home, ThreadHome):
            began = perf_counter()
            session.tell_of(home.take(heard), began)

    def _record(self, sitting: Sitting, before: State, said: Sequence[AnyMessage]) -> Time | None:
        """Write down what the model says, before people are asked about what it calls; the time of that."""
        session, home = sitting.session, sitting.session.home
        state, at = session.on_time(before, session.now())
        if isinstance(home, ThreadHome):
            home.record(self._hearing.agent(state, said, at).notes)
        return at

    def _asking(self, sitting: Sitting, runtime: Runtime[Any], changed: bool) -> Asking:
        info, manner = runtime.execution_info, self._manner
        run = run_of(runtime)
        outermost = self._settings.keys == UNNAMED and not Where.of(info).agent
        changed = changed or sitting.has_moved_since(run)
        return Asking(sitting, manner.reviewer, run, outermost, changed, manner.by_id, manner.redaction, self._forms)


def run_of(runtime: Runtime[Any]) -> str:
    """This run of a node, which stays the same until it has been answered."""
    return "" if runtime.execution_info is None else runtime.execution_info.task_id


def _once(step: Callable[[], T]) -> T:
    """What a step gives, which is not taken again when its node is run again to hear an answer."""

    def accord() -> T:
        return step()

    return task(accord)().result()
