"""Agents inside graphs, and agents inside agents."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from accord import MemoryStore
from accord.langchain import AccordMiddleware
from tests.agents.scripted import Recorder, Scripted, asked, call, config, say, told

GATED = "!search.?search.?Approval by human.!book.?book.end"
SCRIPT = [say(call("search", "a")), say(call("book", "b")), "done"]


@pytest.fixture
def recorder():
    return Recorder()


def graph_with(agent):
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", END)
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("store", [None, MemoryStore()])
def test_an_agent_as_a_node(recorder, store):
    agent = create_agent(Scripted(script=SCRIPT), recorder.tools, middleware=[AccordMiddleware(GATED, store=store)])
    graph = graph_with(agent)
    result = graph.invoke(asked(), config())
    assert result["__interrupt__"][0].value["session"] == "t/agent"
    assert recorder.names == ["search"]
    result = graph.invoke(Command(resume=False), config())
    assert "Nothing was decided" in result["__interrupt__"][0].value["error"]
    result = graph.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert recorder.names == ["search", "book"]
    if store is not None:
        assert store.session("t/agent").status == "complete"


def test_an_agent_as_a_node_asynchronously(recorder):
    agent = create_agent(Scripted(script=SCRIPT), recorder.tools, middleware=[AccordMiddleware(GATED)])
    graph = graph_with(agent)

    async def go():
        await graph.ainvoke(asked(), config())
        return await graph.ainvoke(Command(resume={"event_label": "approve", "by": "ana"}), config())

    asyncio.run(go())
    assert recorder.names == ["search", "book"]


def test_an_agent_as_a_tool_of_another(recorder):
    """Both are under contract; a person is asked deep inside, and the outer call waits for it."""
    inner = create_agent(Scripted(script=SCRIPT), recorder.tools, middleware=[AccordMiddleware(GATED)])

    @tool
    def travel() -> str:
        """Let the travel agent do it."""
        return inner.invoke(asked())["messages"][-1].content

    outer = create_agent(
        Scripted(script=[say(call("travel", "t1")), say(call("travel", "t2")), "all done"]),
        [travel],
        middleware=[AccordMiddleware("!travel.?travel.end")],
        checkpointer=InMemorySaver(),
    )
    result = outer.invoke(asked(), config())
    assert result["__interrupt__"][0].value["action"]["tool"] == "book"
    assert recorder.names == ["search"]
    result = outer.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert recorder.names[-1] == "book"
    assert recorder.names.count("book") == 1
    assert told(result)[0] == "done"
    assert told(result)[1].startswith("error")


def test_one_agent_runs_twice_at_once_inside_of_another(recorder):
    """A call that one of them has made, and another middleware has refused, is not taken for the call of the other."""
    searched = Event()

    class Refusing(AgentMiddleware):
        def wrap_tool_call(self, request, handler):
            if request.state["messages"][0].content == "late" and request.tool_call["id"] == "same":
                return ToolMessage("not now", tool_call_id="same", name="search", status="error")
            result = handler(request)
            searched.set()
            return result

    def first(messages):
        if messages[0].content == "late":
            assert searched.wait(30)
        return say(call("search", "same"))

    def second(messages):
        return say(call("search", "again")) if messages[0].content == "late" else "done"

    contract = 'rule "once" { at most 1 search }'
    inner = create_agent(
        Scripted(script=[first, second, "done"]),
        recorder.tools,
        middleware=[Refusing(), AccordMiddleware(contract)],
    )

    @tool
    def ask(how: str) -> str:
        """Ask the agent inside."""
        return inner.invoke(asked(how))["messages"][-2].content

    outer = create_agent(
        Scripted(script=[say(call("ask", "a", how="early"), call("ask", "b", how="late")), "done"]),
        [ask],
        checkpointer=InMemorySaver(),
    )
    result = outer.invoke(asked(), config())
    assert recorder.names == ["search", "search"]
    assert told(result)[-1] == "flights to Rome"


def test_an_agent_that_keeps_its_own_thread(recorder):
    script = [say(call("search", "a")), "which?", say(call("book", "b")), "done"]
    contract = "!search.?search.!book.?book.end"
    agent = create_agent(
        Scripted(script=script), recorder.tools, middleware=[AccordMiddleware(contract)], checkpointer=True
    )
    graph = graph_with(agent)
    graph.invoke(asked(), config())
    graph.invoke(asked("that one"), config())
    assert recorder.names == ["search", "book"]


def test_a_bare_tool_node_runs_nothing_that_was_not_reserved(recorder):
    middleware = AccordMiddleware("!book.end")
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(recorder.tools, wrap_tool_call=middleware.wrap_tool_call, handle_tool_errors=True))
    graph.add_edge(START, "tools")
    result = graph.compile().invoke({"messages": [say(call("book", "a"))]})
    assert recorder.ran == []
    assert "holds no session" in told(result)[0]


def test_handing_over_to_another_agent(recorder):
    """A tool that leaves its agent for another node of the parent graph."""

    @tool
    def hand_over() -> Command:
        """Hand over."""
        recorder.ran.append(("hand_over",))
        return Command(goto="other", graph=Command.PARENT, update={"messages": [("user", "take over")]})

    agent = create_agent(
        Scripted(script=[say(call("hand_over", "h")), "never"]),
        [hand_over],
        middleware=[AccordMiddleware("!hand_over.end")],
    )
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("other", lambda _: {"messages": [("ai", "taken over")]})
    graph.add_edge(START, "agent")
    result = graph.compile(checkpointer=InMemorySaver()).invoke(asked(), config())
    assert recorder.names == ["hand_over"]
    assert result["messages"][-1].content == "taken over"
