"""`ThreadSession` and its asynchronous twin: the session of a thread, for programs that stand beside the agent.

Events that no tool makes reach the session through it, between two turns. So does what only a person knows: what became
of a call whose process has died, and that a stopped session may go on. Each step is one update of the graph's state; if
the agent is running on that thread meanwhile, LangGraph does not say which of the two wins, so it should not be.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from accord.calls.entries import Out
from accord.errors import UsageError
from accord.integrations.exchange import ToolCall
from accord.integrations.guard import words
from accord.integrations.guard.looking import look_at
from accord.integrations.guard.patience import resume
from accord.integrations.guard.status import status_of
from accord.langchain.proposing import MOVED
from accord.langchain.sealing import Where
from accord.projection.payloads import of_result
from accord.projection.plain import NotPlainError, plainly

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal

    from langchain_core.runnables import RunnableConfig

    from accord.integrations.guard.state import State
    from accord.integrations.guard.status import GuardStatus
    from accord.langchain.law import Law
    from accord.langchain.law_session import LawSession
    from accord.langchain.schema import Keys
    from accord.langchain.sessions import Keeping, Sitting
    from accord.monitor import Verdict

__all__ = ["AsyncThreadSession", "Thread", "ThreadSession"]

_ANSWER = 'answer the interrupt of the graph (`Command(resume={"event_label": …, "by": …})`)'

T = TypeVar("T")
Step: TypeAlias = "Callable[[LawSession], T]"


class Thread:
    """Which thread of which agent is meant, and the way to its session."""

    def __init__(self, node: str, law: Law, keeping: Keeping, keys: Keys, agent: Any, config: RunnableConfig) -> None:  # noqa: ANN401 - a graph
        thread = config.get("configurable", {}).get("thread_id")
        if thread is None or not str(thread):
            raise UsageError("a config with a thread_id names the thread")
        self._node = node
        self.law = law
        self._keeping = keeping
        self._keys = keys
        self.agent = agent
        self.config = config
        self._where = Where(str(thread), "")

    def sit(self, values: Mapping[str, Any]) -> Sitting:
        """The session that the state of the graph holds; a new one if the thread has not begun."""
        return self._keeping.sit(values, self._where, beginning=not values)

    def look(self, values: Mapping[str, Any]) -> State:
        """How the session stands, with what has come back and is not taken in yet."""
        sitting = self.sit(values)
        if not sitting.returns:
            return sitting.session.state()
        rehearsed = sitting.rehearse()
        sitting.fold(rehearsed)
        return rehearsed.state()

    def take(self, values: Mapping[str, Any], step: Step[T]) -> tuple[T, dict[str, Any] | None, str | None]:
        """Take a step: the answer, the update that keeps it, and the node that is said to have made it."""
        sitting = self.sit(values)
        sitting.fold(sitting.session)
        answer = step(sitting.session)
        update = sitting.update()
        # A thread that has not begun knows no node that could have written to it; this one leads nowhere.
        node = None if values else self._node
        if not update:
            return answer, None, node
        if self.law.asks_about_calls or self.law.asks_about_steps:  # people may be asked something else now
            update[self._keys.proposed] = MOVED
        if values.get(self._keys.paused):  # else the step beside it would be the end of the turn that rests
            update["jump_to"] = "model"
        return answer, {**update, **self.law.public(sitting.opened)}, node

    def __str__(self) -> str:
        return str(self._where)


class ThreadSession:
    """The session of one thread of an agent: `middleware.session(agent, config)`.

    `agent` is the graph that has the middleware, with its checkpointer, and `config` names the thread. `StoreError` if
    the session cannot be had or kept.
    """

    def __init__(self, thread: Thread) -> None:
        self._thread = thread

    def send(self, label: str, payload: Mapping[str, object] | None = None) -> Verdict:
        """The agent has said something that is no tool call."""
        return self._step(_happening(self._thread.law, "!", label, payload, None))

    def receive(self, label: str, payload: Mapping[str, object] | None = None, by: str | None = None) -> Verdict:
        """Something has reached the agent that is no result; `by` names the person whose step it is.

        A step that only people can make is made by answering the interrupt; a program that asks people itself may
        report it if the middleware was told so, `events=["Approval"]`; else it is a `UsageError`.
        """
        return self._step(_happening(self._thread.law, "?", label, payload, by))

    def settle(self, call: str, result: Mapping[str, object] | None = None) -> Verdict:
        """A call that is out has happened, and has returned that."""
        return self._step(_settling(call, result))

    def fail(self, call: str, why: str) -> Verdict:
        """A call that is out has not happened: it is taken back."""
        return self._step(lambda session: session.take_back(call, why))

    def keep(self, call: str, why: str) -> Verdict:
        """Nobody knows whether a call that is out has happened: it counts, so that it cannot happen twice."""
        return self._step(lambda session: session.keep(call, why))

    def resume(self, *, by: str, reason: str) -> None:
        """A person lets a session go on that was stopped, or that waits to be told whether it may."""
        self._step(_resuming(by, reason))

    # -- how it stands -------------------------------------------------------------------------------------------------

    @property
    def status(self) -> GuardStatus:
        """`running`, `complete`, `stopped`, `violated`, `incomplete` or `unrecognised`, as if what is out failed."""
        return status_of(self._look())

    @property
    def allowed(self) -> list[str]:
        """The words that are legal if all calls that are out fail, sorted."""
        return list(self._look().settled.allowed)

    @property
    def stopped(self) -> str | None:
        """Why nothing runs any more; `None` if the session is not stopped."""
        return self._look().desk.stopped

    @property
    def name(self) -> str:
        """What the session is called in ledgers and stores."""
        return self._thread.sit(self._values()).name

    def out(self) -> list[Out]:
        """The calls that may run, or have run, and have not returned."""
        return _out(self._look())

    def _step(self, step: Step[T]) -> T:
        """Take a step, and keep it."""
        thread = self._thread
        answer, update, node = thread.take(self._values(), step)
        if update is not None:
            thread.agent.update_state(thread.config, update, as_node=node)
        return answer

    def _look(self) -> State:
        return self._thread.look(self._values())

    def _values(self) -> Mapping[str, Any]:
        values: Mapping[str, Any] = self._thread.agent.get_state(self._thread.config).values
        return values

    def __repr__(self) -> str:
        return f"<ThreadSession of {self._thread}>"


class AsyncThreadSession:
    """The same for checkpointers that are asynchronous: `middleware.asession(agent, config)`. Everything is awaited."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread

    async def send(self, label: str, payload: Mapping[str, object] | None = None) -> Verdict:
        """The agent has said something that is no tool call."""
        return await self._step(_happening(self._thread.law, "!", label, payload, None))

    async def receive(self, label: str, payload: Mapping[str, object] | None = None, by: str | None = None) -> Verdict:
        """Something has reached the agent that is no result; `by` names the person whose step it is.

        A step that only people can make is made by answering the interrupt; a program that asks people itself may
        report it if the middleware was told so, `events=["Approval"]`; else it is a `UsageError`.
        """
        return await self._step(_happening(self._thread.law, "?", label, payload, by))

    async def settle(self, call: str, result: Mapping[str, object] | None = None) -> Verdict:
        """A call that is out has happened, and has returned that."""
        return await self._step(_settling(call, result))

    async def fail(self, call: str, why: str) -> Verdict:
        """A call that is out has not happened: it is taken back."""
        return await self._step(lambda session: session.take_back(call, why))

    async def keep(self, call: str, why: str) -> Verdict:
        """Nobody knows whether a call that is out has happened: it counts, so that it cannot happen twice."""
        return await self._step(lambda session: session.keep(call, why))

    async def resume(self, *, by: str, reason: str) -> None:
        """A person lets a session go on that was stopped, or that waits to be told whether it may."""
        await self._step(_resuming(by, reason))

    # -- how it stands -------------------------------------------------------------------------------------------------

    async def status(self) -> GuardStatus:
        """`running`, `complete`, `stopped`, `violated`, `incomplete` or `unrecognised`, as if what is out failed."""
        return status_of(await self._look())

    async def allowed(self) -> list[str]:
        """The words that are legal if all calls that are out fail, sorted."""
        return list((await self._look()).settled.allowed)

    async def stopped(self) -> str | None:
        """Why nothing runs any more; `None` if the session is not stopped."""
        return (await self._look()).desk.stopped

    async def name(self) -> str:
        """What the session is called in ledgers and stores."""
        return (await asyncio.to_thread(self._thread.sit, await self._values())).name

    async def out(self) -> list[Out]:
        """The calls that may run, or have run, and have not returned."""
        return _out(await self._look())

    async def _step(self, step: Step[T]) -> T:
        """Take a step beside the event loop, and keep it."""
        thread = self._thread
        answer, update, node = await asyncio.to_thread(thread.take, await self._values(), step)
        if update is not None:
            await thread.agent.aupdate_state(thread.config, update, as_node=node)
        return answer

    async def _look(self) -> State:
        return await asyncio.to_thread(self._thread.look, await self._values())

    async def _values(self) -> Mapping[str, Any]:
        values: Mapping[str, Any] = (await self._thread.agent.aget_state(self._thread.config)).values
        return values

    def __repr__(self) -> str:
        return f"<AsyncThreadSession of {self._thread}>"


# -- steps -------------------------------------------------------------------------------------------------------------


def _happening(
    law: Law, direction: Literal["!", "?"], label: str, payload: Mapping[str, object] | None, by: str | None
) -> Step[Verdict]:
    (given,) = look_at([ToolCall(label, {} if payload is None else payload)], None, strict=True)
    if given.fault is not None:
        raise UsageError(given.fault)

    def step(session: LawSession) -> Verdict:
        if not law.policy.may_report(label, by):
            session.remark("not the program's to report", {"label": label, "by": by})
            raise UsageError(words.not_reported(label, _ANSWER))
        return session.change(lambda state, at: law.happen(state, direction, label, given.arguments, by, at))

    return step


def _settling(call: str, result: Mapping[str, object] | None) -> Step[Verdict]:
    try:
        fields = of_result(plainly(result or {}), None, None)
    except NotPlainError as wrong:
        raise UsageError(f"what a call has returned is JSON: {wrong}") from None
    return lambda session: session.settle_fields(call, fields)


def _resuming(by: str, reason: str) -> Step[None]:
    if not isinstance(by, str) or not by.strip() or not isinstance(reason, str):
        raise UsageError("a person who lets a session go on has a name and a reason")

    return lambda session: session.change(lambda state, at: resume(session.policy, state, at, by=by, reason=reason))


def _out(state: State) -> list[Out]:
    return [logged.copy() for logged in state.log if isinstance(logged, Out)]
