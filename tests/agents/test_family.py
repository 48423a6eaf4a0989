"""Every middleware of ours beside every one of LangChain's own, in both orders.

No call that was refused runs, none that was approved is lost or runs twice, each is answered once, and the session says
at the end what has happened. One table says how each of the family is made and what makes it do its thing; a name that
`langchain.agents.middleware` exports is in it, or in the list of those that do nothing by themselves.
"""

from __future__ import annotations

import asyncio
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import langchain.agents.middleware as family
import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command
from pydantic import BaseModel, Field

from accord import OrderWarning
from tests.agents.protocols import BOOKING, KINDS
from tests.agents.scripted import Recorder, Scripted, call, config, reported, say
from tests.census import Census

OPEN = f"protocol Booking open = {BOOKING}"
"""The same for agents that have tools which are no business of it."""
SCRIPT = [say(call("book", "x")), say(call("search", "a")), say(call("book", "b")), "done"]
"""The first call is refused."""
BOOKED = [("search", "Rome"), ("book", "AZ1", 10)]
CHANGED = {"flight": "ZZ9", "amount": 99}
APPROVE, REJECT = {"type": "approve"}, {"type": "reject"}
EDIT = {"type": "edit", "edited_action": {"name": "book", "args": CHANGED}}
AGAIN = [*SCRIPT[:3], say(call("book", "c", **CHANGED)), "done"]
"""The model does what it is told when its call was changed too late."""


class Line(Scripted):
    """Says one line after the other, however much of the history there is."""

    heard: list[Any] = Field(default_factory=list)
    failing: list[Exception] = Field(default_factory=list)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if self.failing:
            raise self.failing.pop()
        self.heard.append(messages)
        said = [AIMessage("")] * (len(self.heard) - 1)
        return super()._generate(said, stop, run_manager, **kwargs)

    def _get_ls_params(self, stop=None, **kwargs):  # noqa: ARG002 - as LangChain calls it
        return {"ls_provider": "openai"}


class Chooser(Scripted):
    """Chooses two of the tools that it may."""

    def with_structured_output(self, schema, **kwargs):  # noqa: ARG002 - as LangChain calls it
        tools = schema["properties"]["tools"]["items"]
        names = [each["const"] for each in tools.get("anyOf", [tools])]
        return RunnableLambda(lambda _: {"tools": names[:2]})


class Answer(BaseModel):
    """The answer."""

    price: int


@dataclass
class World:
    """One agent, and what became of it."""

    recorder: Recorder
    model: Line
    tmp: Any
    way: str
    noted: list[Any] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    shells: list[Any] = field(default_factory=list)

    @property
    def told(self):
        return [message for message in self.values["messages"] if isinstance(message, ToolMessage)]

    def says(self, text):
        return any(text in str(message.content) for message in self.values["messages"])


@dataclass
class Member:
    """How one of the family is made, and what it does.

    `ran` and `status` are what comes of it if it stands behind ours, and `in_front` what, if that differs. `did` says
    whether it has done its thing at all. `names` are those that LangChain exports and that it stands for. `warns` says
    for which places ("behind", "in front") it is said, when the agent is made, that something never works.
    """

    names: Sequence[str]
    make: Callable[[World], Any]
    did: Callable[[World], bool]
    script: Sequence[Any] = tuple(SCRIPT)
    text: str = BOOKING
    answers: Sequence[dict[str, Any]] = ()
    ran: Sequence[Any] = tuple(BOOKED)
    status: str = "complete"
    in_front: tuple[Sequence[Any], str] | None = None
    more: dict[str, Any] = field(default_factory=dict)
    warns: Sequence[str] = ()


def flaky(world):
    """The search fails at first."""
    search = world.recorder.tools[0]
    original = search.func

    def fails(city="Rome"):
        if not world.noted:
            world.noted.append("failed")
            raise ConnectionError("later")
        return original(city)

    search.func = fails


def human(mode="batched", allowed=("approve", "edit", "reject")):
    return family.HumanInTheLoopMiddleware({"book": {"allowed_decisions": [*allowed]}}, interrupt_mode=mode)


def retrying(world):
    flaky(world)
    return family.ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)


def erring(world):
    flaky(world)
    return family.ToolErrorMiddleware(lambda error, _: f"could not: {error}")


def trying_again(world):
    world.model.failing.append(ConnectionError("the model is away"))
    return family.ModelRetryMiddleware(initial_delay=0, jitter=False)


def falling_back(world):
    world.model.failing.append(ConnectionError("the model is away"))
    return family.ModelFallbackMiddleware(world.model)


def hooks(world):
    """One of each kind; that behind the model sends everything to the tools, whatever was decided."""

    @family.before_agent
    def begins(state, runtime):
        world.noted.append("before_agent")

    @family.before_model
    def before(state, runtime):
        world.noted.append("before_model")

    @family.after_model
    @family.hook_config(can_jump_to=["tools"])
    def jumps(state, runtime):
        last = next(each for each in reversed(state["messages"]) if isinstance(each, AIMessage))
        return {"jump_to": "tools"} if last.tool_calls else None

    @family.after_agent
    def ends(state, runtime):
        world.noted.append("after_agent")

    @family.dynamic_prompt
    def prompt(request):
        world.noted.append("dynamic_prompt")
        return "be brief"

    return [begins, before, jumps, ends, prompt, *around(world)]


def around(world, change=None):
    """Around the model and around tools, as the run is synchronous or not."""

    def noted(request):
        world.noted.append(type(request).__name__)
        if change is None or not hasattr(request, "tool_call"):
            return request
        return request.override(tool_call={**request.tool_call, "args": dict(change)})

    async def a_wrap(request, handler):
        return await handler(noted(request))

    def wrap(request, handler):
        return handler(noted(request))

    used = a_wrap if world.way == "async" else wrap
    return [family.wrap_model_call(used, name="of_models"), family.wrap_tool_call(used, name="of_tools")]


def agent_as_a_tool(world):
    """Another agent, whose calls have the same ids as ours."""

    @tool
    def look(where: str = "there") -> str:
        """Look."""
        world.noted.append(where)
        return where

    inner = create_agent(Line(script=[say(call("look", "i")), "found"]), [look])

    @tool
    def ask_another(question: str = "where?") -> str:
        """Ask another agent."""
        return inner.invoke({"messages": [("user", question)]})["messages"][-1].text

    world.recorder.tools.append(ask_another)
    return []


def deferring(world):
    """The provider searches for a tool, among those that it was told of."""
    world.recorder.tools[0].extras = {"defer_loading": True}
    return family.ProviderToolSearchMiddleware()


def shell(world):
    """A shell, whose pipes LangChain leaves open."""

    class Policy(family.HostExecutionPolicy):
        def spawn(self, **given):
            world.shells.append(super().spawn(**given))
            return world.shells[-1]

    return family.ShellToolMiddleware(world.tmp, execution_policy=Policy())


def searching_files(world):
    (world.tmp / "found.txt").write_text("here")
    return family.FilesystemFileSearchMiddleware(root_path=str(world.tmp), use_ripgrep=False)


def clearing(_):
    edit = family.ClearToolUsesEdit(trigger=1, keep=0, clear_tool_inputs=True)
    return family.ContextEditingMiddleware(edits=[edit])


FAMILY = {
    "HumanInTheLoop, approve": Member(
        ["HumanInTheLoopMiddleware"], lambda _: human(), lambda w: w.noted == ["asked"] * 2,
        answers=[APPROVE, APPROVE], warns=["in front"],
    ),
    "HumanInTheLoop, reject": Member(
        ["InterruptOnConfig"], lambda _: human(allowed=["approve", "reject"]), lambda w: w.says("User rejected"),
        answers=[APPROVE, REJECT], ran=BOOKED[:1], status="running",
    ),
    "HumanInTheLoop, edit": Member(
        [], lambda _: human(), lambda w: w.says("Executed instead"), AGAIN, answers=[APPROVE, EDIT, APPROVE],
        ran=[BOOKED[0], ("book", "ZZ9", 99)], warns=["in front"],
    ),
    "HumanInTheLoop, edit of a refused call": Member(
        [], lambda _: human(), lambda w: w.noted == ["asked"] * 2, answers=[EDIT, APPROVE], warns=["in front"],
    ),
    "HumanInTheLoop, per call, approve": Member(
        [], lambda _: human("per_call"), lambda w: w.noted == ["asked"], answers=[APPROVE],
        warns=["behind", "in front"],
    ),
    "HumanInTheLoop, per call, edit": Member(
        [], lambda _: human("per_call"), lambda w: w.noted == ["asked"] * 2, AGAIN, answers=[EDIT, APPROVE],
        ran=[BOOKED[0], ("book", "ZZ9", 99)], warns=["behind", "in front"],
    ),
    "ToolRetry": Member(
        ["ToolRetryMiddleware"], retrying, lambda w: w.noted == ["failed"],
        [*SCRIPT[:2], say(call("search", "a2")), *SCRIPT[2:]],
    ),
    "ToolError": Member(
        ["ToolErrorMiddleware"], erring, lambda w: w.noted == ["failed"] and w.says("later"),
        [*SCRIPT[:2], say(call("search", "a2")), *SCRIPT[2:]],
    ),
    "ModelRetry": Member(["ModelRetryMiddleware"], trying_again, lambda w: not w.model.failing),
    "ModelFallback": Member(["ModelFallbackMiddleware"], falling_back, lambda w: not w.model.failing),
    "Summarization": Member(
        ["SummarizationMiddleware", "TriggerClause"],
        lambda _: family.SummarizationMiddleware(
            Line(script=["what was before"] * 9), trigger=("messages", 5), keep=("messages", 2)
        ),
        lambda w: w.says("what was before"),
    ),
    "ContextEditing": Member(
        ["ContextEditingMiddleware", "ClearToolUsesEdit"], clearing, lambda w: "[cleared]" in str(w.model.heard),
    ),
    "TodoList": Member(
        ["TodoListMiddleware"], lambda _: family.TodoListMiddleware(),
        lambda w: w.values["todos"] == [{"content": "book", "status": "pending"}],
        [SCRIPT[0], say(call("write_todos", "t", todos=[{"content": "book", "status": "pending"}])), *SCRIPT[1:]],
        text=OPEN,
    ),
    "LLMToolSelector": Member(
        ["LLMToolSelectorMiddleware"], lambda _: family.LLMToolSelectorMiddleware(model=Chooser(script=[])),
        lambda w: all(len(names) <= 2 for names in w.model.shown), text=OPEN,
    ),
    "LLMToolEmulator": Member(
        ["LLMToolEmulator"],
        lambda _: family.LLMToolEmulator(tools=["search"], model=Line(script=["AZ1 to Rome"] * 9)),
        lambda w: w.says("AZ1 to Rome"), ran=BOOKED[1:], in_front=([], "running"),
    ),
    "ModelCallLimit": Member(
        ["ModelCallLimitMiddleware"], lambda _: family.ModelCallLimitMiddleware(run_limit=2),
        lambda w: w.says("limits exceeded"), ran=BOOKED[:1], status="running",
    ),
    "ToolCallLimit, continue": Member(
        ["ToolCallLimitMiddleware"], lambda _: family.ToolCallLimitMiddleware(tool_name="book", run_limit=1),
        lambda w: w.says("limit exceeded"), ran=BOOKED[:1], status="running",
    ),
    "ToolCallLimit, end": Member(
        [], lambda _: family.ToolCallLimitMiddleware(tool_name="book", run_limit=1, exit_behavior="end"),
        lambda w: w.says("limit"), ran=BOOKED[:1], status="running",
    ),
    "PII": Member(
        ["PIIMiddleware"],
        lambda _: family.PIIMiddleware("city", detector="Rome", apply_to_tool_results=True, apply_to_output=True),
        lambda w: w.says("flights to [REDACTED_CITY]"),
    ),
    "ShellTool": Member(
        ["ShellToolMiddleware", "HostExecutionPolicy"],
        shell, lambda w: w.says("in the shell"),
        [SCRIPT[0], say(call("shell", "s", command="echo in the shell")), *SCRIPT[1:]], text=OPEN,
    ),
    "FilesystemFileSearch": Member(
        ["FilesystemFileSearchMiddleware"], searching_files, lambda w: w.says("/found.txt"),
        [SCRIPT[0], say(call("glob_search", "s", pattern="*.txt")), *SCRIPT[1:]], text=OPEN,
    ),
    "ProviderToolSearch": Member(
        ["ProviderToolSearchMiddleware"], deferring, lambda w: "tool_search" in str(w.model.shown),
    ),
    "hooks of one's own": Member(
        [
            "before_agent", "before_model", "after_model", "after_agent", "wrap_model_call", "wrap_tool_call",
            "dynamic_prompt", "hook_config",
        ],
        hooks,
        lambda w: {"before_agent", "before_model", "after_agent", "dynamic_prompt", "ModelRequest"} <= {*w.noted},
        ran=[], status="running", in_front=(BOOKED, "complete"),
    ),
    "a hook that changes calls": Member(
        [], lambda w: around(w, CHANGED)[1], lambda w: "ToolCallRequest" in w.noted,
        ran=BOOKED[:1], status="running", in_front=([], "running"),
    ),
    "response_format": Member(
        [], lambda _: [], lambda w: w.values["structured_response"] == Answer(price=3),
        [*SCRIPT[:3], say(call("Answer", "r", price=3))], more={"response_format": ToolStrategy(Answer)},
    ),
    "an agent as a tool": Member(
        [], agent_as_a_tool, lambda w: w.noted == ["there"],
        [SCRIPT[0], say(call("ask_another", "i")), *SCRIPT[1:]], text=OPEN,
    ),
}  # fmt: skip

NOT_HERE = {
    "AgentMiddleware": "the base of all",
    "AgentState": "a type",
    "CodexSandboxExecutionPolicy": "where the shell runs; it needs the program of that name",
    "DockerExecutionPolicy": "where the shell runs; it needs Docker",
    "ExtendedModelResponse": "a type; ours return it",
    "InputAgentState": "a type",
    "ModelCallResult": "a type",
    "ModelRequest": "a type",
    "ModelResponse": "a type",
    "OutputAgentState": "a type",
    "PIIDetectionError": "an error, which ends the run",
    "PIIMatch": "a type",
    "RedactionRule": "what the shell hides in its output",
    "Runtime": "a type",
    "ToolCallRequest": "a type",
    "TracePolicy": "what LangSmith is shown",
    "configure_trace_policy": "what LangSmith is shown",
    "omit_payload": "what LangSmith is shown",
}

SERDE = JsonPlusSerializer(allowed_msgpack_modules=[(__name__, "Answer")])
PLACES = ("behind", "in front")
WAYS = ("sync", "async", "stream")


def test_every_name_of_the_family_is_in_the_table_or_on_the_list():
    here = [name for member in FAMILY.values() for name in member.names]
    assert Counter([*here, *NOT_HERE]) == Counter(family.__all__)


# -- a run -------------------------------------------------------------------------------------------------------------


def step(agent, given, way):
    """One step up to the end or to a question; what is in the state then."""
    if way == "sync":
        agent.invoke(given, config())
    elif way == "async":
        asyncio.run(agent.ainvoke(given, config()))
    else:
        list(agent.stream(given, config(), stream_mode=["values", "messages"]))
    return agent.get_state(config())


def run(member, kind, place, way, tmp_path):
    """Run the script of a member, and answer what is asked."""
    world = World(Recorder(), Line(script=list(member.script)), tmp_path, way)
    ours = KINDS[kind](world.recorder, member.text)
    made = member.make(world)
    others = made if isinstance(made, list) else [made]
    middleware = [*others, ours] if place == "in front" else [ours, *others]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", OrderWarning)
        agent = create_agent(
            world.model,
            world.recorder.tools,
            middleware=middleware,
            checkpointer=InMemorySaver(serde=SERDE),
            **member.more,
        )
    assert bool(said) == (place in member.warns)
    left = list(member.answers)
    state = step(agent, {"messages": [HumanMessage("go")]}, way)
    while state.interrupts:
        (question,) = state.interrupts
        world.noted.append("asked")
        answer = left.pop(0)
        batched = "action_requests" in question.value
        state = step(agent, Command(resume={"decisions": [answer]} if batched else {question.id: answer}), way)
    world.values = state.values
    for process in world.shells:
        process.wait(10)
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()
    return world


@pytest.mark.parametrize("kind", KINDS)
def test_ours_and_the_family(kind, tmp_path, health):
    census = Census(f"{kind} beside", tuple(FAMILY), PLACES)
    for name, member in FAMILY.items():
        for place in PLACES:
            ran, status = (member.in_front if place == "in front" else None) or (member.ran, member.status)
            for way in WAYS:
                where = f"{name}, {place} of {kind}, {way}"
                world = run(member, kind, place, way, tmp_path)
                assert member.did(world), where
                assert world.recorder.ran == list(ran), where
                answered = Counter(message.tool_call_id for message in world.told)
                assert set(answered.values()) <= {1}, where
                report = reported(world.values)
                assert (report["status"], report["out"]) == (status, []), where
                census.add([(name, place)])
    census.check(len(WAYS))
    health(census.table())
