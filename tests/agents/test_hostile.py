"""Models, tools and callers that do what nobody expects, under every middleware."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from threading import Barrier, Event
from typing import Annotated

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from accord import MemoryStore, ViolationError
from accord.langchain import (
    AccordMiddleware,
    CheckpointedProtocolMiddleware,
    ProtocolEnforcerMiddleware,
    ProtocolMonitor,
    ref,
)
from tests.agents.protocols import BOOKING, KINDS, booking_of, gated_of, machine
from tests.agents.scripted import Recorder, Scripted, agent_of, asked, call, config, reported, say, told

SCRIPT = [say(call("search", "a")), say(call("book", "b")), "done"]


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def raw(*calls, content=""):
    return AIMessage(content=content, tool_calls=[{**each, "type": "tool_call"} for each in calls])


# -- what models do ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nope", "Search", "search\x1b[31m", "s" * 600, "book (or 2)"])
def test_a_tool_that_there_is_not(kind, recorder, name):
    agent, _ = agent_of([say(call(name, "n")), *SCRIPT], booking_of(kind, recorder), recorder)
    result = agent.invoke(asked(), config())
    assert recorder.names == ["search", "book"]
    assert told(result)[0].lower().startswith("error")
    if kind == "contract":
        assert "\x1b" not in told(result)[0]


@pytest.mark.parametrize("identity", [None, ""])
def test_a_call_without_an_id(kind, recorder, identity):
    """Nobody could tell which answer is its own."""
    agent, _ = agent_of([raw({"name": "search", "args": {}, "id": identity})], booking_of(kind, recorder), recorder)
    with pytest.raises(ViolationError, match="without an id; nothing runs"):
        agent.invoke(asked(), config())
    assert recorder.ran == []


def test_two_calls_with_one_id(kind, recorder):
    agent, _ = agent_of([say(call("search", "a"), call("search", "a")), *SCRIPT], booking_of(kind, recorder), recorder)
    result = agent.invoke(asked(), config())
    assert "several calls have the id" in told(result)[0]
    assert recorder.names.count("search") <= 1


def test_an_id_that_was_used_before(kind, recorder):
    script = [say(call("search", "a")), say(call("book", "a")), say(call("book", "b")), "done"]
    agent, _ = agent_of(script, booking_of(kind, recorder), recorder)
    result = agent.invoke(asked(), config())
    assert recorder.names == ["search", "book"]
    assert "belongs to another call" in told(result)[1]


def test_content_in_parts(kind, recorder):
    parts = [{"type": "text", "text": "hm"}, {"type": "tool_use", "id": "a", "name": "search", "input": {}}]
    first = raw({"name": "search", "args": {}, "id": "a"}, content=parts)
    agent, _ = agent_of([first, *SCRIPT[1:]], booking_of(kind, recorder), recorder)
    agent.invoke(asked(), config())
    assert recorder.names == ["search", "book"]


def test_calls_that_could_not_be_read(kind, recorder):
    """LangChain keeps them apart from the calls and would end the turn; the model is told."""
    broken = AIMessage(
        content="",
        invalid_tool_calls=[{"name": "book", "args": "{", "id": "x", "error": "no JSON", "type": "invalid_tool_call"}],
    )
    agent, _ = agent_of([broken, "done"], booking_of(kind, recorder), recorder)
    result = agent.invoke(asked(), config())
    assert told(result) == ["error: the arguments of this call are not JSON, so it was not run; send it again"]
    assert reported(result)["ended_early"] is True
    assert recorder.ran == []


def test_a_huge_call_and_a_huge_result(kind, recorder):
    agent, _ = agent_of(
        [say(call("search", "a", city="x" * 1_000_000)), *SCRIPT[1:]], booking_of(kind, recorder), recorder
    )
    result = agent.invoke(asked(), config())
    assert recorder.names == ["search", "book"]
    session = "accord_session" if kind == "contract" else "fsm_session"
    assert len(str(agent.get_state(config()).values.get(session))) < 10_000
    assert reported(result)["status"] == "complete"


def nested(depth):
    return {"a": nested(depth - 1)} if depth else 1


def test_a_call_that_is_nested_deeply(kind, recorder):
    first = raw({"name": "search", "args": {"city": nested(150)}, "id": "a"})
    agent, _ = agent_of([first, *SCRIPT], booking_of(kind, recorder), recorder)
    result = agent.invoke(asked(), config())
    assert "error" in told(result)[0].lower()  # the tool does not take it, or its arguments are none
    assert recorder.names in (["search", "book"], [])


# -- structured responses ----------------------------------------------------------------------------------------------


class Options(BaseModel):
    """What the model shows."""

    options: list[str]


@pytest.mark.parametrize("strategy", [ToolStrategy(Options), Options])
def test_a_structured_response_is_no_call(kind, recorder, strategy):
    script = [SCRIPT[0], say(call("Options", "p", options=["AZ1"]))]
    agent, _ = agent_of(script, booking_of(kind, recorder), recorder, response_format=strategy)
    result = agent.invoke(asked(), config())
    assert result["structured_response"] == Options(options=["AZ1"])
    assert (recorder.names, reported(result)["allowed"]) == (["search"], ["!book"])


def test_a_structured_response_of_the_provider(kind, recorder):
    agent, _ = agent_of(
        [SCRIPT[0], '{"options": ["AZ1"]}'],
        booking_of(kind, recorder),
        recorder,
        response_format=ProviderStrategy(Options),
    )
    result = agent.invoke(asked(), config())
    assert result["structured_response"] == Options(options=["AZ1"])
    assert reported(result)["ended_early"] is True


def test_a_structured_response_beside_a_call(kind, recorder):
    both = say(call("Options", "p", options=["AZ1"]), call("book", "b"))
    agent, _ = agent_of([both, both], booking_of(kind, recorder), recorder, response_format=ToolStrategy(Options))
    agent.invoke(asked(), config())
    assert recorder.ran == []  # the call beside it is judged like any other


def test_a_structured_response_that_is_wrong_is_tried_again(kind, recorder):
    script = [SCRIPT[0], say(call("Options", "p", options=3)), say(call("Options", "q", options=[]))]
    agent, _ = agent_of(script, booking_of(kind, recorder), recorder, response_format=ToolStrategy(Options))
    assert agent.invoke(asked(), config())["structured_response"] == Options(options=[])


# -- what tools do -----------------------------------------------------------------------------------------------------


def test_a_tool_that_answers_the_caller_directly(kind, recorder):
    recorder.tools[0].return_direct = True
    agent, _ = agent_of([*SCRIPT[:1], *SCRIPT[1:]], booking_of(kind, recorder), recorder)
    result = agent.invoke(asked(), config())
    assert (recorder.names, reported(result)["allowed"]) == (["search"], ["!book"])
    agent.invoke(asked("book"), config())
    assert recorder.names == ["search", "book"]


def test_a_tool_that_asks_a_person_itself(kind, recorder):
    search = recorder.tools[0]
    search.func = lambda city="Rome": recorder.ran.append(("search", city)) or interrupt("sure?")
    agent, _ = agent_of(SCRIPT, booking_of(kind, recorder), recorder)
    assert agent.invoke(asked(), config())["__interrupt__"][0].value == "sure?"
    result = agent.invoke(Command(resume="yes"), config())
    assert told(result) == ["yes", "booked AZ1"]
    assert reported(result)["status"] == "complete"


@pytest.mark.parametrize("hide", [True, False])
def test_a_tool_that_goes_straight_to_the_model_does_not_smuggle_its_result(recorder, hide):
    """Past the hook that takes results in; what the contract refuses is withheld all the same."""

    @tool
    def smuggle(identity: Annotated[str, InjectedToolCallId]) -> Command:
        """Fetch something."""
        message = ToolMessage('{"total": 4711}', tool_call_id=identity)
        return Command(goto="model", update={"messages": [message]})

    seen = []

    def listen(messages):
        seen.append(str(messages))
        return "done"

    recorder.tools.append(smuggle)
    middleware = AccordMiddleware("rec L.{!smuggle.?smuggle(total <= 100).L, !search.L}", hide=hide)
    agent, _ = agent_of([say(call("smuggle", "a")), *[listen] * 5], middleware, recorder)
    with suppress(InvalidUpdateError):  # LangGraph lets two ways lead to the model, and both say where the session is
        agent.invoke(asked(), config())
    assert seen
    assert "4711" not in "".join(seen)


def test_a_result_that_is_refused_does_not_reach_the_caller_directly(kind, recorder):
    """`return_direct` leads past the model; the result is taken in at the end of the turn."""
    if kind == "contract":
        middleware = AccordMiddleware('!search.?search(text == "no").end')
    else:
        fsm = machine(recorder)
        guarded = replace(fsm.transitions[1], guard=lambda context: context.metadata["result"]["text"] == "no")
        fsm.transitions = (fsm.transitions[0], guarded, *fsm.transitions[2:])
        refs = [ref(each) for each in recorder.tools]
        if kind == "checkpointed":
            middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=refs).middleware
        else:
            middleware = ProtocolEnforcerMiddleware(monitor=ProtocolMonitor(fsm), tool_refs=refs).middleware
    recorder.tools[0].return_direct = True
    agent, _ = agent_of(SCRIPT, middleware, recorder)
    result = agent.invoke(asked(), config())
    assert recorder.names == ["search"]
    assert told(result)[0].startswith("error: the tool has run, but its result is withheld")
    assert "flights" not in str(result)


def test_a_tool_that_is_cancelled(kind, recorder):
    """Nobody knows whether it has happened, so what rests on it does not run.

    A monitor is told at once that it has failed: the call is taken back, and may be made again.
    """
    begun = asyncio.Event()

    async def search(city: str = "Rome") -> str:
        """Search."""
        recorder.ran.append(("search", city))
        begun.set()
        if len(recorder.ran) == 1:
            await asyncio.Event().wait()
        return "flights"

    recorder.tools[0] = tool(search)
    middleware = booking_of(kind, recorder)
    script = [SCRIPT[0], say(call("search", "again")), say(call("book", "b")), "done"]
    agent, _ = agent_of(script, middleware, recorder)

    async def go():
        run = asyncio.ensure_future(agent.ainvoke(asked(), config()))
        await begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return await agent.ainvoke(asked("go on"), config())

    result = asyncio.run(go())
    if kind == "enforcer":
        assert recorder.names == ["search", "search", "book"]
    else:
        assert recorder.names == ["search"]
        assert reported(result)["out"] == ["a"]


def test_agents_as_tools_of_agents(kind, recorder):
    """Both are under guard; the inner one waits for a person, and so does the call of the outer one."""
    inner = create_agent(Scripted(script=SCRIPT), recorder.tools, middleware=[gated_of(kind, recorder)])
    outside = Recorder()

    def travel(city: str = "Rome") -> str:
        """Let the travel agent do it."""
        outside.ran.append(("search", city))
        return inner.invoke(asked())["messages"][-1].content

    outside.tools[0] = tool("search")(travel)
    outer, _ = agent_of(SCRIPT, booking_of(kind, outside), outside)
    assert "__interrupt__" in outer.invoke(asked(), config())
    assert (recorder.names, outside.names) == (["search"], ["search"])
    result = outer.invoke(Command(resume={"event_label": "Approval", "by": "ana"}), config())
    assert recorder.names[-1] == "book"
    assert recorder.names.count("book") == 1
    assert told(result) == ["done", "booked AZ1"]


# -- graphs of one's own -----------------------------------------------------------------------------------------------


def graph_of(agent):
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_agent_as_a_node(kind, recorder, way):
    graph = graph_of(create_agent(Scripted(script=SCRIPT), recorder.tools, middleware=[gated_of(kind, recorder)]))

    def run(given):
        return graph.invoke(given, config()) if way == "sync" else asyncio.run(graph.ainvoke(given, config()))

    assert "__interrupt__" in run(asked())
    assert "othing was decided" in run(Command(resume=False))["__interrupt__"][0].value["error"]
    run(Command(resume={"event_label": "Approval", "by": "ana"}))
    assert recorder.names == ["search", "book"]


def test_several_agents_wait_at_once(kind):
    left, right = Recorder(), Recorder()
    graph = StateGraph(MessagesState)
    for name, recorder in (("left", left), ("right", right)):
        agent = create_agent(Scripted(script=SCRIPT), recorder.tools, middleware=[gated_of(kind, recorder)])
        graph.add_node(name, agent)
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    both = graph.compile(checkpointer=InMemorySaver())
    questions = both.invoke(asked(), config())["__interrupt__"]
    assert len(questions) == 2
    for wrong in (
        {question.id: False for question in questions},
        {question.id: {"event_label": "yes"} for question in questions},
    ):
        questions = both.invoke(Command(resume=wrong), config())["__interrupt__"]
        assert len(questions) == 2
    first, second = questions
    deny, approve = ({"event_label": label, "by": "ana"} for label in ("deny", "approve"))
    both.invoke(Command(resume={first.id: deny, second.id: approve}), config())
    assert sorted([left.names, right.names]) == [["search"], ["search", "book"]]


def test_a_tool_node_of_ones_own_runs_nothing(kind, recorder):
    """Where no hook has decided about the batch, nothing was reserved."""
    middleware = booking_of(kind, recorder)
    for wrap in ({"wrap_tool_call": middleware.wrap_tool_call}, {"awrap_tool_call": middleware.awrap_tool_call}):
        graph = StateGraph(MessagesState)
        graph.add_node("tools", ToolNode(recorder.tools, handle_tool_errors=True, **wrap))
        graph.add_edge(START, "tools")
        given = {"messages": [say(call("search", "a"))]}
        compiled = graph.compile()
        result = compiled.invoke(given) if "wrap_tool_call" in wrap else asyncio.run(compiled.ainvoke(given))
        assert "error" in told(result)[0].lower()
    assert recorder.ran == []


@pytest.mark.parametrize("node", ["model", "after_model"])
def test_a_call_that_somebody_writes_into_the_state(kind, recorder, node):
    """As if the model had made it, or as if it had been decided about: it is judged, or was never reserved."""
    middleware = booking_of(kind, recorder)
    agent, _ = agent_of(["hello", "hm", "hm"], middleware, recorder)
    agent.invoke(asked(), config())
    as_node = "model" if node == "model" else f"{middleware.name}.after_model"
    agent.update_state(config(), {"messages": [say(call("book", "z"))]}, as_node=as_node)
    result = agent.invoke(None, config())
    assert recorder.ran == []
    assert told(result)[-1].startswith("error")


def test_a_caller_that_jumps_to_the_tools(kind, recorder):
    agent, _ = agent_of(["hm"] * 8, booking_of(kind, recorder), recorder)
    agent.invoke({"messages": [("user", "go"), say(call("book", "z"))], "jump_to": "tools"}, config())
    agent.invoke(Command(goto="tools", update={"messages": [say(call("book", "y"))]}), config())
    assert recorder.ran == []


# -- two runs at once --------------------------------------------------------------------------------------------------


def at_once(recorder, middleware):
    """Two runs of one thread: the second begins and ends while the first one searches. What the second is told."""
    begun, go_on = Event(), Event()
    original = recorder.tools[0].func

    def search(city="Rome"):
        if not begun.is_set():
            begun.set()
            assert go_on.wait(30)
        return original(city)

    recorder.tools[0].func = search
    agent, _ = agent_of(SCRIPT, middleware, recorder)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(agent.invoke, asked(), config())
        assert begun.wait(30)
        try:
            second = agent.invoke(asked(), config())
        finally:
            go_on.set()
        first.result()
    return told(second)


def test_two_runs_of_one_thread_share_a_session_in_a_store(recorder):
    assert all(each.startswith("error") for each in at_once(recorder, AccordMiddleware(BOOKING, store=MemoryStore())))
    assert recorder.names == ["search", "book"]


def test_two_runs_of_one_thread_share_the_session_of_a_monitor(recorder):
    assert all(each.startswith("error") for each in at_once(recorder, booking_of("enforcer", recorder)))
    assert recorder.names == ["search", "book"]


@pytest.mark.parametrize("kind", ["contract", "checkpointed"])
def test_a_run_that_begins_while_a_tool_of_its_thread_runs(kind, recorder):
    """The call of the other run is out, as far as the checkpoint knows: what rests on it waits."""
    assert all(each.startswith("error") for each in at_once(recorder, booking_of(kind, recorder)))
    assert recorder.names == ["search", "book"]


def from_one_checkpoint(recorder, middleware):
    """Two runs of one thread that have both begun before either has done anything."""
    met = Barrier(2, timeout=30)

    def wait(_):
        met.wait()
        return SCRIPT[0]

    agent, _ = agent_of([wait, *SCRIPT[1:], "done"], middleware, recorder)
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda _: agent.invoke(asked(), config()), range(2)))


@pytest.mark.parametrize("kind", ["contract", "checkpointed"])
def test_two_runs_that_begin_with_one_checkpoint_are_two_futures_of_it(kind, recorder):
    """LangGraph lets both go on from there, and the session in the checkpoint goes with both."""
    results = from_one_checkpoint(recorder, booking_of(kind, recorder))
    assert [reported(result)["status"] for result in results] == ["complete"] * 2
    assert sorted(recorder.names) == ["book", "book", "search", "search"]


def test_two_runs_that_begin_with_one_checkpoint_share_the_session_in_the_store(recorder):
    from_one_checkpoint(recorder, AccordMiddleware(BOOKING, store=MemoryStore()))
    assert recorder.names == ["search", "book"]
