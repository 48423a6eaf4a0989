"""Protocols put together in Python around a LangChain agent, as users of that interface write them."""

from __future__ import annotations

import re
from typing import get_type_hints

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from accord.langchain import (
    CheckpointedProtocolMiddleware,
    ProtocolEnforcerMiddleware,
    ProtocolFSM,
    ProtocolMonitor,
    ProtocolResume,
    ProtocolState,
    ProtocolViolationError,
    Transition,
    ViolationEvent,
    ref,
)
from tests.agents.scripted import Scripted, call, say

TRACE = ["send:search", "recv:search", "recv:UserApproval", "send:book", "recv:book"]


@tool
def search(query: str) -> str:
    """Search for available flights."""
    return f"Results for: {query}"


@tool
def book(result: str) -> str:
    """Book a selected flight."""
    return f"Booked: {result}"


search_ref = ref(search)
book_ref = ref(book)


def booking():
    return (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search_ref, phase="send", target="searching"))
        .add_transition(Transition(source="searching", tool=search_ref, phase="recv", target="results"))
        .add_transition(Transition(
            source="results", phase="recv", target="approved",
            event_label="UserApproval", interrupt=True,   # framework-enforced gate
        ))
        .add_transition(Transition(source="approved", tool=book_ref, phase="send", target="booking"))
        .add_transition(Transition(source="booking", tool=book_ref, phase="recv", target="done"))
        .mark_terminal("done")
    )  # fmt: skip


def on_violation(v: ViolationEvent) -> None:
    label = v.tool_ref.label if v.tool_ref else v.event_label
    raise ProtocolViolationError(f"Illegal {v.phase}:{label} from {v.current_state!r}", violation=v)


SEARCH, BOOK = say(call("search", "c1", query="Rome")), say(call("book", "c2", result="AZ1"))


def test_the_page_of_the_package(capsys):
    fsm = booking()
    middleware = CheckpointedProtocolMiddleware(
        fsm=fsm, on_violation=on_violation, tool_refs=[search_ref, book_ref],
    ).middleware  # fmt: skip

    # interrupt-gated transitions require a checkpointer.
    agent = create_agent(
        model=Scripted(script=[SEARCH, BOOK, "done"]), tools=[search, book], middleware=[middleware],
        checkpointer=InMemorySaver(),
    )  # fmt: skip

    config = {"configurable": {"thread_id": "demo-1"}}
    result = agent.invoke({"messages": [("user", "Book me a flight to Rome.")]}, config=config)

    # When the FSM enters `results`, the middleware suspends on `interrupt()`.
    # The result carries an `__interrupt__` payload with the protocol context.
    assert result["__interrupt__"][0].value["fsm_state"] == "results"
    if result.get("__interrupt__"):
        result = agent.invoke(
            Command(resume={"event_label": "UserApproval"}),
            config=config,
        )

    print(result["fsm_state"])  # noqa: T201 - as it stands there
    print(result["fsm_trace"])  # noqa: T201
    assert capsys.readouterr().out == f"done\n{TRACE}\n"


def test_the_illegal_call_of_that_page():
    middleware = CheckpointedProtocolMiddleware(
        fsm=booking(), on_violation=on_violation, tool_refs=[search_ref, book_ref]
    ).middleware
    agent = create_agent(Scripted(script=[BOOK]), [search, book], middleware=[middleware], checkpointer=InMemorySaver())
    with pytest.raises(ProtocolViolationError, match=re.escape("Illegal send:book from 'idle'")) as raised:
        agent.invoke({"messages": [("user", "book")]}, {"configurable": {"thread_id": "t"}})
    violation = raised.value.violation
    assert (violation.tool_ref, violation.event_label, violation.phase) == (book_ref, None, "send")
    assert (violation.current_state, violation.expected, violation.trace) == ("idle", ["send:search"], [])


def test_the_first_message_of_the_thread():
    """Events that the orchestrator fires, on a monitor of its own."""
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search_ref, phase="send", target="searching"))
        .add_transition(Transition(source="searching", tool=search_ref, phase="recv", target="results"))
        .add_transition(Transition(source="results", phase="send", target="presented",
                                   event_label="PresentOptions"))
        .add_transition(Transition(source="presented", phase="recv", target="approved",
                                   event_label="UserApproval"))
        .add_transition(Transition(source="approved", tool=book_ref, phase="send", target="booking"))
        .add_transition(Transition(source="booking", tool=book_ref, phase="recv", target="done"))
        .mark_terminal("done")
    )  # fmt: skip
    monitor = ProtocolMonitor(fsm)
    middleware = ProtocolEnforcerMiddleware(monitor=monitor, tool_refs=[search_ref, book_ref]).middleware
    script = [SEARCH, "AZ1, 120 EUR?", BOOK, "done"]
    agent = create_agent(model=Scripted(script=script), tools=[search, book], middleware=[middleware])
    first = agent.invoke({"messages": [("user", "to Rome")]})
    assert first["fsm_state"] == "results"
    assert monitor.transition_event("PresentOptions", "send", {"text": first["messages"][-1].content})
    assert monitor.transition_event("UserApproval", "recv", {"text": "yes"})
    second = agent.invoke({"messages": [*first["messages"], ("user", "yes")]})
    assert second["fsm_state"] == monitor.state == "done"
    assert monitor.trace == [
        "send:search", "recv:search", "send:PresentOptions", "recv:UserApproval", "send:book", "recv:book",
    ]  # fmt: skip


def test_the_orchestrator_cannot_forget_the_gate():
    """The redesign of the thread: the same agent without an approval does not book."""
    middleware = CheckpointedProtocolMiddleware(
        fsm=booking(), on_violation=on_violation, tool_refs=[search_ref, book_ref]
    ).middleware
    agent = create_agent(
        Scripted(script=[SEARCH, BOOK, "done"]), [search, book], middleware=[middleware], checkpointer=InMemorySaver()
    )
    config = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [("user", "go")]}, config)
    for forgetful in ({"messages": [("user", "just book it")]}, None):
        result = agent.invoke(forgetful, config)
        assert "__interrupt__" in result
        assert not any(message.type == "tool" and message.name == "book" for message in result["messages"])


class PresentOptions(BaseModel):
    """What the model shows."""

    options: list[str]


@pytest.mark.parametrize("response_format", [PresentOptions, ToolStrategy(PresentOptions)])
def test_structured_responses(response_format):
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search_ref, phase="send", target="searching"))
        .add_transition(Transition(source="searching", tool=search_ref, phase="recv", target="results"))
        .add_transition(Transition(
            source="results", phase="send", target="presented",
            event_label="PresentOptions", match_structured_response=PresentOptions,
        ))
        .mark_terminal("presented")
    )  # fmt: skip
    middleware = CheckpointedProtocolMiddleware(fsm=fsm, on_violation=on_violation, tool_refs=[search_ref]).middleware
    agent = create_agent(
        Scripted(script=[SEARCH, say(call("PresentOptions", "p", options=["AZ1"]))]),
        tools=[search],
        middleware=[middleware],
        response_format=response_format,
        checkpointer=InMemorySaver(),
    )
    result = agent.invoke({"messages": [("user", "go")]}, {"configurable": {"thread_id": "t"}})
    assert result["structured_response"] == PresentOptions(options=["AZ1"])
    assert result["fsm_state"] == "presented"
    assert result["fsm_trace"] == ["send:search", "recv:search", "send:PresentOptions"]


def test_a_structured_response_is_an_event_once():
    """LangChain keeps the last one in the state; what the model said in another turn it has not said in this one."""
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search_ref, phase="send", target="searching"))
        .add_transition(Transition(source="searching", tool=search_ref, phase="recv", target="results"))
        .add_transition(Transition(
            source="results", phase="send", target="idle",
            event_label="PresentOptions", match_structured_response=PresentOptions,
        ))
        .mark_terminal("idle")
    )  # fmt: skip
    middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[search_ref]).middleware
    present = say(call("PresentOptions", "p", options=["AZ1"]))
    agent = create_agent(
        Scripted(script=[SEARCH, present, say(call("search", "c2", query="Oslo")), "nothing there", present]),
        tools=[search],
        middleware=[middleware],
        response_format=ToolStrategy(PresentOptions),
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [("user", "go")]}, config)
    result = agent.invoke({"messages": [("user", "to Oslo, then")]}, config)
    assert result["fsm_state"] == "results"
    assert result["fsm_trace"].count("send:PresentOptions") == 1
    result = agent.invoke({"messages": [("user", "well?")]}, config)
    assert (result["fsm_state"], result["fsm_trace"].count("send:PresentOptions")) == ("idle", 2)


def test_the_state_and_the_answers_as_types():
    assert {
        "fsm_state",
        "fsm_trace",
        "messages",
    } <= ProtocolState.__annotations__.keys() | AgentState.__annotations__.keys()
    assert get_type_hints(ProtocolState)["fsm_state"] is str
    assert get_type_hints(ProtocolState)["fsm_trace"] == list[str]
    assert ProtocolResume.__required_keys__ == {"event_label"}
    assert ProtocolResume.__optional_keys__ == {"by", "reason", "payload", "review"}


def test_branching_human_choice():
    """Several outcomes from one state, by typed labels; an unknown one is no dead end."""
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search_ref, phase="send", target="searching"))
        .add_transition(Transition(source="searching", tool=search_ref, phase="recv", target="results"))
        .add_transition(Transition(source="results", phase="recv", target="ok", event_label="approve", interrupt=True))
        .add_transition(Transition(source="results", phase="recv", target="idle", event_label="modify", interrupt=True))
        .add_transition(Transition(source="results", phase="recv", target="no", event_label="deny", interrupt=True))
        .add_transition(Transition(source="ok", tool=book_ref, phase="send", target="booking"))
        .add_transition(Transition(source="booking", tool=book_ref, phase="recv", target="done"))
        .mark_terminal("done", "no")
    )
    for answer, state, last in (
        ("approve", "done", "recv:book"), ("modify", "idle", "recv:modify"), ("deny", "no", "recv:deny"),
    ):  # fmt: skip
        middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[search_ref, book_ref]).middleware
        script = [SEARCH, BOOK if answer == "approve" else "as you say", "done"]
        agent = create_agent(
            Scripted(script=script), [search, book], middleware=[middleware], checkpointer=InMemorySaver()
        )
        config = {"configurable": {"thread_id": "t"}}
        result = agent.invoke({"messages": [("user", "go")]}, config)
        assert result["__interrupt__"][0].value["choices"] == ["approve", "modify", "deny"]
        result = agent.invoke(Command(resume={"event_label": "aprove"}), config)
        assert "did you mean `approve`?" in result["__interrupt__"][0].value["error"]
        result = agent.invoke(Command(resume={"event_label": answer, "payload": {"note": "x"}}), config)
        assert (result["fsm_state"], result["fsm_trace"][-1]) == (state, last)
