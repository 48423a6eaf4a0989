"""`ThreadSession`: the session of a thread, for programs that stand beside the agent.

Events that no tool makes reach the session through it, between two turns. So does what only a person knows: what became
of a call whose process has died, and that a stopped session may go on. Each step is one update of the graph's state; if
the agent is running on that thread meanwhile, LangGraph does not say which of the two wins, so it should not be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from accord.errors import UsageError
from accord.integrations.exchange import ToolCall
from accord.integrations.guard.decisions import Change, Remark
from accord.integrations.guard.looking import look_at
from accord.integrations.guard.state import Out
from accord.langchain.sealing import Where
from accord.monitor.step import status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal

    from langchain_core.runnables import RunnableConfig

    from accord.integrations.guard.state import State
    from accord.langchain.law import Law
    from accord.langchain.law_session import LawSession
    from accord.langchain.sessions import Keeping, Sitting
    from accord.machine.clocks import Time
    from accord.monitor import Verdict
    from accord.monitor.step import Status

__all__ = ["ThreadSession"]

T = TypeVar("T")


class ThreadSession:
    """The session of one thread of an agent: `middleware.session(agent, config)`.

    `agent` is the graph that has the middleware, with its checkpointer, and `config` names the thread. `StoreError` if
    the session cannot be had or kept.
    """

    def __init__(self, node: str, law: Law, keeping: Keeping, agent: Any, config: RunnableConfig) -> None:  # noqa: ANN401 - a graph
        thread = config.get("configurable", {}).get("thread_id")
        if thread is None or not str(thread):
            raise UsageError("a config with a thread_id names the thread")
        self._node = node
        self._law = law
        self._keeping = keeping
        self._agent = agent
        self._config = config
        self._where = Where(str(thread), "")

    # -- what happens --------------------------------------------------------------------------------------------------

    def send(self, label: str, payload: Mapping[str, object] | None = None) -> Verdict:
        """The agent has said something that is no tool call."""
        return self._happen("!", label, payload, None)

    def receive(self, label: str, payload: Mapping[str, object] | None = None, by: str | None = None) -> Verdict:
        """Something has reached the agent that is no result; `by` names the person whose step it is."""
        return self._happen("?", label, payload, by)

    def settle(self, call: str, result: Mapping[str, object] | None = None) -> Verdict:
        """A call that is out has happened, and has returned that."""
        fields = {"error": None, **(result or {})}
        return self._step(lambda session: session.settle_fields(call, fields))

    def fail(self, call: str, why: str) -> Verdict:
        """A call that is out has not happened: it is taken back."""
        return self._step(lambda session: session.take_back(call, why))

    def keep(self, call: str, why: str) -> Verdict:
        """Nobody knows whether a call that is out has happened: it counts, so that it cannot happen twice."""
        return self._step(lambda session: session.keep(call, why))

    def resume(self, *, by: str, reason: str) -> None:
        """A person lets a stopped session go on."""
        if not isinstance(by, str) or not by.strip() or not isinstance(reason, str):
            raise UsageError("a person who lets a session go on has a name and a reason")

        def again(state: State, at: Time | None) -> Change[None]:
            if state.desk.stopped is None:
                raise UsageError("the session is not stopped")
            note = Remark("resumed", {"by": by, "reason": reason, "at": at})
            return Change(state._replace(desk=state.desk._replace(stopped=None, refusals=())), (note,), None)

        self._step(lambda session: session.change(again))

    # -- how it stands -------------------------------------------------------------------------------------------------

    @property
    def status(self) -> Status:
        """`running`, `complete`, `violated`, `incomplete` or `unrecognised`, as if all calls that are out failed."""
        return status(self._session.state().settled)

    @property
    def allowed(self) -> list[str]:
        """The words that are legal if all calls that are out fail, sorted."""
        return list(self._session.state().settled.allowed)

    @property
    def stopped(self) -> str | None:
        """Why nothing runs any more; `None` if the session is not stopped."""
        return self._session.state().desk.stopped

    @property
    def name(self) -> str:
        """What the session is called in ledgers and stores."""
        return self._sit()[0].name

    def out(self) -> list[Out]:
        """The calls that may run, or have run, and have not returned."""
        return [logged.copy() for logged in self._session.state().log if isinstance(logged, Out)]

    def _happen(
        self, direction: Literal["!", "?"], label: str, payload: Mapping[str, object] | None, by: str | None
    ) -> Verdict:
        (given,) = look_at([ToolCall(label, {} if payload is None else payload)], None, strict=True)
        if given.fault is not None:
            raise UsageError(given.fault)
        return self._step(
            lambda session: session.change(
                lambda state, at: self._law.happen(state, direction, label, given.arguments, by, at)
            )
        )

    def _step(self, step: Callable[[LawSession], T]) -> T:
        """Take a step, and keep it."""
        sitting, begun = self._sit()
        sitting.fold(sitting.session)
        answer = step(sitting.session)
        update = sitting.update()
        if update:
            # A thread that has not begun knows no node that could have written to it; this one leads nowhere.
            node = None if begun else self._node
            self._agent.update_state(self._config, {**update, **self._law.public(sitting.opened)}, as_node=node)
        return answer

    def _sit(self) -> tuple[Sitting, bool]:
        """The session, and whether its thread has begun."""
        values = self._agent.get_state(self._config).values
        return self._keeping.sit(values, self._where, beginning=not values), bool(values)

    @property
    def _session(self) -> LawSession:
        return self._sit()[0].session

    def __repr__(self) -> str:
        return f"<ThreadSession of {self._where}>"
