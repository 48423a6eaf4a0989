"""The hooks of a middleware that enforces a law, each with its asynchronous twin.

Each hook gets hold of the session of its thread, takes its step, and leaves an update for the state of the graph; none
of them remembers anything. What a hook asks of people comes before what it does to the world (ledgers, functions of the
user, decisions), because LangGraph runs it again from its top when an answer has come.

INVARIANT: a tool runs only if `after_model` has reserved it, in one step for the whole batch. Whatever goes wrong on
the way is an error of the run, or a refusal.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ExtendedModelResponse, hook_config
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from accord.calls.entries import Out
from accord.errors import ViolationError
from accord.integrations.batch import withheld
from accord.integrations.exchange import ToolCall
from accord.integrations.guard import words
from accord.integrations.guard.looking import look_at
from accord.integrations.guard.reacting import LET_RUN
from accord.integrations.guard.status import status_of
from accord.langchain.arbitrating import arbitrate, heed_denials, recall, tell_late
from accord.langchain.arguments import Toolbox
from accord.langchain.asking import DENY, NOBODY
from accord.langchain.edits import as_edited, edited, say_edited
from accord.langchain.entering import refuse_around
from accord.langchain.hearing import Hearing
from accord.langchain.manner import check_durable
from accord.langchain.messages import broken_calls, check_ids, pending_calls, replaced, strip, told, was_cut_off
from accord.langchain.neighbours import check_keys, check_order, in_the_making
from accord.langchain.people import deny_step, make_step, stands
from accord.langchain.proposing import NOTHING_YET, has_note, note_of, was_moved
from accord.langchain.questions import NOBODY_ASKED, Questions, run_of
from accord.langchain.running import Runner, was_kept_out
from accord.langchain.schema import make_schema
from accord.langchain.sealing import Where
from accord.langchain.shown import only_callable, without_refused
from accord.langchain.threads import AsyncThreadSession, Thread, ThreadSession
from accord.langchain.whole import run_whole
from accord.monitor.verdicts import Ok
from accord.monitor.wording import name_plainly, quote_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from langchain.agents.middleware.types import ModelRequest, ModelResponse
    from langchain_core.messages import AnyMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.runtime import Runtime

    from accord.integrations.guard.decisions import Change, Decision
    from accord.integrations.guard.state import State
    from accord.langchain.asking import Answer
    from accord.langchain.law import Law
    from accord.langchain.manner import Manner
    from accord.langchain.running import Run
    from accord.langchain.sessions import Keeping, Settings, Sitting
    from accord.machine.clocks import Time

__all__ = ["GuardingMiddleware"]

T = TypeVar("T")


class GuardingMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """A law, where its sessions are, and the hooks. One serves any number of threads at once."""

    def __init__(self, name: str, law: Law, keeping: Keeping, settings: Settings, manner: Manner) -> None:
        super().__init__()
        self.state_schema = make_schema(settings.keys, law.more_keys())
        self._name = name
        self._law = law
        self._keeping = keeping
        self._settings = settings
        self._manner = manner
        self._runner = Runner(law, keeping, settings)
        self._toolbox = Toolbox(law.weighs)
        self._hearing = Hearing(law.policy)
        self._questions = Questions(law, keeping, settings, manner, self._hearing, self._toolbox)

    @property
    def name(self) -> str:
        """What its nodes in the graph are called by."""
        return self._name

    @property
    def tools(self) -> Sequence[BaseTool]:  # type: ignore[override] # nobody writes to it
        """None of its own. LangChain asks for them while it makes an agent; then it is seen beside the others."""
        listed, tools = in_the_making()
        ours = [each for each in listed if isinstance(each, GuardingMiddleware)]
        if ours and ours[0] is self:  # once for each agent
            check_keys([each.name for each in ours], [each.keys for each in ours])
            check_order(listed, ours)
        others = [each for each in listed if each not in ours]
        self._meet([*tools, *(tool for each in others for tool in getattr(each, "tools", ()))])
        return ()

    def _meet(self, tools: Sequence[Any]) -> None:
        """An agent with these tools is made. Others may hide some of them from the model for a while."""
        self._toolbox.learn(tools)

    def enforces(self, tool: str) -> bool:
        """Whether a call of this tool runs only if it decides so."""
        return self._law.judges(tool) and not self._law.policy.observes

    @property
    def keys(self) -> frozenset[str]:
        """Where it keeps what it keeps in the state of the graph."""
        return self._runner.ours

    def session(self, agent: Any, config: RunnableConfig) -> ThreadSession:  # noqa: ANN401 - a graph
        """The session of one of the agent's threads, for a program that stands beside it."""
        return ThreadSession(self._thread(agent, config))

    def asession(self, agent: Any, config: RunnableConfig) -> AsyncThreadSession:  # noqa: ANN401 - a graph
        """The same for programs with an event loop, and for checkpointers that need one."""
        return AsyncThreadSession(self._thread(agent, config))

    def _thread(self, agent: Any, config: RunnableConfig) -> Thread:  # noqa: ANN401 - a graph
        return Thread(f"{self._name}.after_agent", self._law, self._keeping, self._settings.keys, agent, config)

    # -- the hooks -----------------------------------------------------------------------------------------------------

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """A turn begins. It goes on with the session of the thread, and hears what the user has said."""
        sitting = self._keeping.sit(state, Where.of(runtime.execution_info), beginning=True)
        messages = self._fold(sitting, state, None)
        self._runner.doubt(sitting)
        if self._hearing.turns:
            sitting.session.change(lambda session, at: self._hearing.user(session, state["messages"], at))
        update = self._update(sitting, messages)
        if self._law.asks_about_calls and not has_note(state, self._settings):
            update = {**(update or {}), self._settings.keys.proposed: NOTHING_YET}
        return self._noticed(state, update)

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Take in what became of calls; ask for a person's step if there is no other way on.

        INVARIANT: what has happened is kept before anybody is asked. So the turn rests in front of the question:
        `after_agent` sends it back here, in another step of the graph.
        """
        sitting = self._keeping.sit(state, Where.of(runtime.execution_info))
        paused = self._is_paused(state)
        if paused and not sitting.has_moved_since(run_of(runtime)):
            shown = self._shows(sitting)
            if any(state.get(name) != value for name, value in shown.items()):
                return {**shown, "jump_to": "end"}  # somebody has written over it while people are asked
        strays = self._hearing.users and self._hearing.has_strays(sitting.opened.state, state["messages"])
        if sitting.is_still and not self._law.asks_about_steps and not strays:
            return None
        asked, answer = self._questions.about_step(sitting, state, runtime) if paused else (None, None)
        messages = self._take_in(sitting, state, runtime, strays=strays)
        session = sitting.session
        if not paused and self._law.asks_about_steps and self._law.gate(session.state()):
            kept = {**(self._update(sitting, messages) or {}), **self._shows(sitting)}
            return {**kept, self._settings.keys.paused: True, "jump_to": "end"}
        if answer is None:
            waits = sitting.can_wait and not messages and not strays
            return self._noticed(state, None if waits else self._update(sitting, messages))
        if answer.label == DENY and DENY not in self._law.gate(session.state()):
            return self._noticed(state, self._denied(sitting, answer, messages))
        # A session in a store may have moved on while the person was asked. Then the agent does too, and asks again.
        same = stands(asked, session.state())
        if not same or type(make_step(self._law, session, answer)) is not Ok:
            session.remark("answer came too late", {"label": answer.label, "by": answer.by})
        return self._noticed(state, self._update(sitting, messages))

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Decide about all calls of the batch, in order; what is illegal is answered here and never sent off."""
        made = pending_calls(state["messages"])
        pending = [edited(call, state, self._toolbox) for call in made]
        calls = [call for call in pending if self._law.judges(call["name"])]
        hears = self._hearing.hears_answer(state["messages"])
        broken = broken_calls(state["messages"])
        if broken:
            return {"messages": broken, "jump_to": "model"}
        if not calls and not self._law.listens and not hears:
            return None
        check_ids(calls)
        sitting = self._keeping.sit(state, Where.of(runtime.execution_info))
        cut_off = was_cut_off(state["messages"])
        asked = [ToolCall(call["name"], call["args"], call["id"] or "", cut_off=cut_off) for call in calls]
        claims = look_at(asked, None, strict=True)
        if len(claims) == 1 and not self._law.listens and not hears and sitting.take_shortcut(claims[0]):
            return self._update(sitting, [])
        said = state["messages"] if hears else ()
        asks = self._law.asks_about_calls
        heard = self._questions.about_calls(sitting, claims, said, state, runtime) if asks else NOBODY_ASKED
        answered, until = heard.answered, heard.until
        messages = self._fold(sitting, state, runtime)
        if heard.recorded:
            self._questions.take_recorded(sitting, said, heard.at)
        elif hears:
            sitting.session.change(lambda session, at: self._hearing.agent(session, said, at))
        if self._law.listens:
            for direction, label, payload in self._law.spoken(state, sitting.session.state()):
                self._say(sitting, direction, label, payload)

        def reserve(state: State, at: Time | None) -> Change[list[Decision]]:
            heeded = heed_denials(self._law, state, claims, answered)
            if until is None or at is None or at < until:
                return arbitrate(self._law, state, heeded, at, recall(answered))[0]
            # What is asked anew is another question: the late answer, sent twice, does not answer it.
            state = state._replace(desk=state.desk._replace(numbered=max(state.desk.numbered, heard.numbered)))
            denials = [each for each in answered if each.answer.label == DENY]
            return tell_late(arbitrate(self._law, state, heeded, at, recall(denials))[0], answered, until, at)

        decisions = sitting.session.decide_by(claims, reserve)
        changed = {there["id"] for call, there in zip(made, pending, strict=True) if there is not call}
        refused = [
            told(say_edited(decision) if decision.call.id in changed else decision)
            for decision in decisions
            if not decision.admitted
        ]
        return self._update(sitting, [*messages, *refused])

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """A turn is over: say how the session stands, and whether the agent has ended it early.

        One that only rests so that people can be asked goes on.
        """
        if self._is_paused(state):
            return {"jump_to": "model"}
        sitting = self._keeping.sit(state, Where.of(runtime.execution_info))
        messages = self._fold(sitting, state, runtime)
        session = sitting.session
        if self._hearing.turns:
            session.change(lambda here, _: self._hearing.nobody(here, state["messages"]))
        known = session.state()
        settled, here = known.settled, known.worlds()
        early = bool(known.running()) or here is None or not all(world.complete for world in here)
        report: dict[str, Any] = {
            "session": sitting.name,
            "status": status_of(known),
            "ended_early": early,
            "allowed": list(settled.allowed),
            "out": [logged.ticket for logged in known.log if isinstance(logged, Out)],
        }
        if early:
            session.remark("ended early", {"allowed": report["allowed"], "out": report["out"]})
            if self._manner.early_end == "raise":
                owed = ", ".join(quote_text(word) for word in report["allowed"]) or "nothing that the agent can do"
                raise ViolationError(f"the agent has ended its turn early; next would be {owed}", results=[report])
            if callable(self._manner.early_end):
                self._manner.early_end(dict(report))
        # What is shown is written anew, whatever somebody else has put there meanwhile.
        return {**(self._update(sitting, messages) or {}), **self._shows(sitting), self._settings.keys.report: report}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Show the model the tools that it may call now, or may call once a person has agreed."""
        return self._completed(request, handler(self._shown(request)))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:  # noqa: ANN401 - what a tool gives back
        """Run what was reserved, and nothing else."""
        asked = as_edited(request, self._toolbox)
        if not self._law.judges(asked.tool_call["name"]):
            return strip(handler(request), self._runner.ours)
        run = self._begin(asked)
        back = over = False
        try:
            if isinstance(run, ToolMessage):
                over = True
                refuse_around()
                return run
            try:
                with self._around(run), run.entry or nullcontext():
                    result = handler(run_whole(run.request))
                    back = True
            except GraphBubbleUp:
                self._runner.suspend(run)
                raise
            except Exception as error:
                if self._manner.tool_errors == "raise" and not was_kept_out(run):
                    self._runner.take_back(run, error)
                    raise
                result, over = self._runner.failed(run, error), True
            except BaseException as error:
                if not back:
                    self._runner.interrupted(run, error)
                raise
            if not over:
                result, over = self._runner.returned(run, result), True
            return result
        finally:
            if not over:
                self._runner.let_go(run, back=back)

    # -- their twins ---------------------------------------------------------------------------------------------------

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """As `before_agent`."""
        return await self._beside(self.before_agent, state, runtime)

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """As `before_model`."""
        return await self._beside(self.before_model, state, runtime)

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """As `after_model`."""
        return await self._beside(self.after_model, state, runtime)

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """As `after_agent`."""
        return await self._beside(self.after_agent, state, runtime)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """As `wrap_model_call`."""
        return self._completed(request, await handler(await self._beside(self._shown, request)))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:  # noqa: ANN401 - what a tool gives back
        """As `wrap_tool_call`."""
        asked = as_edited(request, self._toolbox)
        if not self._law.judges(asked.tool_call["name"]):
            return strip(await handler(request), self._runner.ours)
        run = await self._beside(self._begin, asked)
        back = over = False
        try:
            if isinstance(run, ToolMessage):
                over = True
                refuse_around()
                return run
            try:
                with self._around(run), run.entry or nullcontext():
                    result = await handler(run_whole(run.request))
                    back = True
            except GraphBubbleUp:
                await self._beside(self._runner.suspend, run)
                raise
            except Exception as error:
                if self._manner.tool_errors == "raise" and not was_kept_out(run):
                    await self._beside(self._runner.take_back, run, error)
                    raise
                result, over = await self._beside(self._runner.failed, run, error), True
            except BaseException as error:
                if not back:
                    self._runner.interrupted(run, error)  # at once: nothing can be waited for any more
                raise
            if not over:
                result, over = await self._beside(self._runner.returned, run, result), True
            return result
        finally:
            if not over:
                self._runner.let_go(run, back=back)  # as above

    async def _beside(self, step: Callable[..., T], *given: Any) -> T:  # noqa: ANN401 - whatever the step takes
        """A step that may wait for a disk or a server, beside the event loop."""
        if not self._keeping.direct and self._settings.ledger is None:
            return step(*given)
        return await asyncio.to_thread(step, *given)

    # -- what they have in common --------------------------------------------------------------------------------------

    def _begin(self, request: ToolCallRequest) -> Run | ToolMessage:
        runtime = request.runtime
        if self._manner.durable:
            check_durable(runtime.config)
        return self._runner.begin(request, Where.of(runtime.execution_info))

    def _around(self, run: Run) -> AbstractContextManager[None]:
        observers = run.sitting.session.observers
        return nullcontext() if observers is None else observers.running(run.decision)

    def _take_in(
        self, sitting: Sitting, state: AgentState[Any], runtime: Runtime[Any], *, strays: bool
    ) -> list[AnyMessage]:
        """What has happened since the last hook: what became of calls, time, messages that nobody has sent."""
        messages = self._fold(sitting, state, runtime)
        if self._law.policy.is_timed or (self._law.asks_about_calls and not self._keeping.direct):
            sitting.session.pass_time()
        if strays:
            sitting.session.change(lambda session, _: self._hearing.nobody(session, state["messages"]))
        return messages

    def _is_paused(self, state: AgentState[Any]) -> bool:
        """Whether the turn rests so that people can be asked."""
        return bool(state.get(self._settings.keys.paused))

    def _noticed(self, state: AgentState[Any], update: dict[str, Any] | None) -> dict[str, Any] | None:
        """The update of a hook that goes on, with what somebody has done to the session beside the agent in mind."""
        more: dict[str, Any] = {}
        if self._is_paused(state):
            more[self._settings.keys.paused] = False
        if was_moved(state, self._settings):
            more[self._settings.keys.proposed] = NOTHING_YET
        return {**(update or {}), **more} if more else update

    def _fold(self, sitting: Sitting, state: AgentState[Any], runtime: Runtime[Any] | None) -> list[AnyMessage]:
        """Take in what became of calls; the messages that take the place of results the model must not see.

        When a turn begins, messages come from outside: what they say about calls is not believed.
        """
        session, messages = sitting.session, state["messages"]
        instead: list[AnyMessage] = []
        for returned, verdict in sitting.fold(session):
            if type(verdict) is Ok or session.policy.observes:
                continue
            said = withheld(verdict)
            there = [m for m in messages if isinstance(m, ToolMessage) and m.tool_call_id == returned.ticket]
            call = ToolCall(there[0].name or "" if there else "", {}, returned.ticket)
            with self._law.seeing(sitting.opened.trace):
                refused = self._law.refusal(call, said, verdict, session.state(), "recv")
            refused = session.react_to_result(refused, returned.result)
            if refused.reply is not LET_RUN:
                instead += [replaced(message, told(refused)) for message in there]
        if runtime is not None:
            info = runtime.execution_info
            self._runner.answered_by_others(sitting, Where.of(info), info, messages)
        return instead

    def _say(self, sitting: Sitting, direction: Literal["!", "?"], label: str, payload: Mapping[str, object]) -> None:
        """The model has said something that is an event."""
        session = sitting.session
        before = session.state()
        verdict = session.change(lambda state, at: self._law.happen(state, direction, label, payload, None, at))
        if type(verdict) is not Ok:
            call, phase = ToolCall(label, dict(payload)), _phase(direction)
            with self._law.seeing(sitting.opened.trace):
                refused = self._law.refusal(call, words.refused(verdict), verdict, before, phase)
            session.react([refused])

    def _update(self, sitting: Sitting, messages: Sequence[AnyMessage]) -> dict[str, Any] | None:
        update = sitting.update()
        if messages:
            update["messages"] = list(messages)
        if update:
            update.update(self._shows(sitting))
        return update or None

    def _shows(self, sitting: Sitting) -> dict[str, Any]:
        """What the state of the graph shows of the session to everybody."""
        return self._law.public(sitting.opened) if self._law.shows else {}

    def _denied(self, sitting: Sitting, answer: Answer, messages: Sequence[AnyMessage]) -> dict[str, Any]:
        """A person has said no to the only way on: the turn ends here, and the session stays where it is."""
        deny_step(sitting.session, answer)
        because = f": {quote_text(answer.reason, 300)}" if answer.reason else ""
        whose = "" if answer.by == NOBODY else f" by {name_plainly(answer.by)}"
        said = AIMessage(content=f"This was denied{whose}{because}. Nothing more was done.")
        return {**(self._update(sitting, [*messages, said]) or {}), "jump_to": "end"}

    def _shown(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """What the model is shown: results that it may see, and tools that it may call."""
        self._look_over(request)
        info = request.runtime.execution_info if request.runtime is not None else None
        sitting = self._keeping.sit(request.state, Where.of(info))
        if sitting.returns and not self._law.policy.observes:
            request = without_refused(request, sitting)
        return only_callable(request, sitting, self._law) if self._manner.hide else request

    def _look_over(self, request: ModelRequest[Any]) -> None:
        """The tools of the agent are known; whoever holds something against them does so here."""

    def _completed(
        self, request: ModelRequest[Any], response: ModelResponse[Any]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """The answer of the model, whose calls say all that their tools will be called with; with a note of them."""
        if self._law.weighed is None or self._law.weighed:
            self._toolbox.learn(request.tools)
            response = self._toolbox.complete_all(response)
        if not self._law.asks_about_calls:
            return response
        info = request.runtime.execution_info if request.runtime is not None else None
        contract = self._law.policy.contract.digest
        note = note_of(response.result, request.state, Where.of(info), self._settings, contract)
        if note is None:
            return response
        return ExtendedModelResponse(response, Command(update={self._settings.keys.proposed: note}))


def _phase(direction: str) -> Literal["send", "recv"]:
    return "send" if direction == "!" else "recv"
