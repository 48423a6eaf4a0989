"""One session for a thread, over all turns: what is over stays over, or begins again when the user speaks."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.messages import SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from accord import Guard, MemoryStore, ToolCall, UsageError
from accord.langchain import (
    AccordMiddleware,
    CheckpointedProtocolMiddleware,
    ProtocolEnforcerMiddleware,
    ProtocolFSM,
    ProtocolMonitor,
    Transition,
    ref,
)
from tests.agents.scripted import Recorder, agent_of, asked, call, config, reported, say, told

WAYS = {
    "sync": lambda agent, *given: agent.invoke(*given),
    "async": lambda agent, *given: asyncio.run(agent.ainvoke(*given)),
}
BOOKING = "!search.?search.!book.?book.end"


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture(params=["checkpoint", "store"])
def kept(request):
    return {"store": MemoryStore()} if request.param == "store" else {}


@pytest.fixture(params=WAYS)
def turn(request):
    return WAYS[request.param]


def booking(number):
    return [say(call("search", f"s{number}")), say(call("book", f"b{number}")), "done"]


def test_what_rules_have_counted_stays_when_the_protocol_begins_again(recorder, kept, turn):
    contract = f'protocol P = {BOOKING} rule "twice" {{ at most 2 book }}'
    script = [*booking(1), *booking(2), *booking(3)]
    agent, _ = agent_of(script, AccordMiddleware(contract, when_over="restart", **kept), recorder)
    for _ in range(3):
        result = turn(agent, asked(), config())
    assert recorder.names == ["search", "book"] * 2 + ["search"]
    assert "twice" in told(result)[-1]
    assert result["accord"]["session"] == "t"
    if kept:
        assert [each.key for each in kept["store"].sessions()] == ["t"]
        assert kept["store"].verify("t").ok


def test_a_protocol_that_is_not_done_does_not_begin_again(recorder, kept, turn):
    script = [say(call("search", "s")), "which one?", say(call("search", "x")), say(call("book", "b")), "done"]
    agent, _ = agent_of(script, AccordMiddleware(BOOKING, when_over="restart", **kept), recorder)
    turn(agent, asked(), config())
    result = turn(agent, asked("that one"), config())
    assert recorder.names == ["search", "book"]
    assert "error" in told(result)[1]


def test_a_complete_protocol_that_can_go_on_does_not_begin_again(recorder, kept, turn):
    """Else the user who says "book it" would have the search forgotten."""
    contract = "!search.?search.{!book.?book.end, end}"
    script = [say(call("search", "s")), "shall I?", say(call("book", "b")), "done"]
    agent, _ = agent_of(script, AccordMiddleware(contract, when_over="restart", **kept), recorder)
    assert turn(agent, asked(), config())["accord"]["status"] == "complete"
    turn(agent, asked("book it"), config())
    assert recorder.names == ["search", "book"]


def test_a_turn_without_the_user_begins_nothing(recorder, kept, turn):
    script = [*booking(1), say(call("search", "s2")), "sorry"]
    agent, _ = agent_of(script, AccordMiddleware(BOOKING, when_over="restart", **kept), recorder)
    turn(agent, asked(), config())
    result = turn(agent, {"messages": [SystemMessage("be brief")]}, config())
    assert recorder.names == ["search", "book"]
    assert "the protocol is over" in told(result)[-1]


def test_reviews_and_ids_of_calls_stay(recorder, kept, turn):
    contract = "?Approval by human.!book.?book.end"
    script = [say(call("book", "a")), "done", say(call("book", "a")), say(call("book", "b")), "done"]
    agent, _ = agent_of(script, AccordMiddleware(contract, when_over="restart", **kept), recorder)
    turn(agent, asked(), config())
    turn(agent, Command(resume={"event_label": "Approval", "by": "ana"}), config())
    result = turn(agent, asked("again"), config())
    assert "has run already" in told(result)[1]
    assert result["__interrupt__"][0].value["action"]["call_id"] == "b"  # the first approval is used up
    turn(agent, Command(resume={"event_label": "Approval", "by": "ana"}), config())
    assert recorder.names == ["book", "book"]


def test_a_call_that_is_out_stays_out(recorder):
    """Nobody knows whether it has happened, so nobody knows whether the protocol is over."""

    class CutError(BaseException):
        pass

    def cut():
        raise CutError

    middleware = AccordMiddleware("!search.end", when_over="restart")
    agent, _ = agent_of([say(call("search", "s")), "hm"], middleware, recorder)
    recorder.tools[0].func = lambda **_: cut()
    with pytest.raises(CutError):
        agent.invoke(asked(), config(), durability="sync")
    result = agent.invoke(asked("again"), config())
    assert (result["accord"]["out"], result["accord"]["status"]) == (["s"], "running")


def machine(recorder):
    search, _, _ = recorder.tools
    return (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=ref(search), phase="send", target="searching"))
        .add_transition(Transition(source="searching", tool=ref(search), phase="recv", target="found"))
        .mark_terminal("found")
    )


@pytest.mark.parametrize("when_over", ["refuse", "restart"])
@pytest.mark.parametrize("kind", ["checkpointed", "enforcer"])
def test_state_machines(recorder, turn, kind, when_over):
    fsm, tools = machine(recorder), [ref(each) for each in recorder.tools]
    if kind == "checkpointed":
        middleware = CheckpointedProtocolMiddleware(fsm, tool_refs=tools, when_over=when_over).middleware
    else:
        middleware = ProtocolEnforcerMiddleware(ProtocolMonitor(fsm), tools, when_over=when_over).middleware
    script = [say(call("search", "a")), "done", say(call("search", "b")), "done"]
    agent, _ = agent_of(script, middleware, recorder)
    turn(agent, asked(), config())
    result = turn(agent, asked("again"), config())
    assert recorder.names == ["search"] * (2 if when_over == "restart" else 1)
    assert result["fsm_state"] == "found"
    assert result["fsm_trace"] == ["send:search", "recv:search"] * (2 if when_over == "restart" else 1)
    assert reported(result)["session"] in {"t", "monitor"}


def test_what_is_no_choice(recorder):
    with pytest.raises(UsageError, match="`when_over` is `refuse` or `restart`"):
        AccordMiddleware(BOOKING, when_over="again")
    with pytest.raises(UsageError, match="`when_over` is `refuse` or `restart`"):
        CheckpointedProtocolMiddleware(machine(recorder), tool_refs=[ref(recorder.tools[0])], when_over="again")


def test_a_guard_in_the_same_store_begins_the_turn(recorder):
    store = MemoryStore()
    script = [*booking(1), say(call("search", "s2")), "found"]
    agent, _ = agent_of(script, AccordMiddleware(BOOKING, store=store), recorder)
    agent.invoke(asked(), config())
    guard = Guard(BOOKING, store=store, key="t", when_over="restart")
    guard.user_says("once more")
    assert agent.invoke(asked(), config())["accord"]["session"] == "t"
    assert recorder.names == ["search", "book", "search"]
    assert guard.reserve([ToolCall("book", {}, "z")])[0].admitted


def test_what_is_kept_of_a_thread_does_not_grow(recorder):
    script = [line for number in range(60) for line in booking(number)]
    saver = InMemorySaver()
    agent, _ = agent_of(script, AccordMiddleware(BOOKING, when_over="restart"), recorder, checkpointer=saver)
    sizes = []
    for _ in range(60):
        agent.invoke(asked(), config())
        sizes.append(len(agent.get_state(config()).values["accord_session"]))
    assert recorder.names == ["search", "book"] * 60
    assert sizes[-1] <= max(sizes[35:40]) + 50
