"""Every example of the documents that accord started from, with nothing changed but the name of the package.

The documents, in the order of this file:

- "Runtime contracts for LLM agents", the web site of llmcontract;
- llmsessioncontract 0.4, the page of that package: a monitor, a client, tools, LangChain, Langfuse;
- "Built llmsessioncontract on AgentMiddleware", a thread of LangChain's forum in which its design was reviewed;
- "Session Types", a chapter of the guide to Sage, a language for agents;
- "Trace contracts", the overview page of insideLLMs.

An example stands here as it stands there. What it leaves to its reader (`my_adapter`, `model=...`) is given to it, and
each promise in one of its comments (`# Ok()`) is held against what really comes out. Sage's programs are in Python.
`docs/explanation/origins.md` lists what else the documents promise, and which test shows it.
"""

from __future__ import annotations

import ast
import asyncio
import io
import json
import os
import re
import subprocess
import sys
import textwrap
import tokenize
import tomllib
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import get_type_hints

import pytest
import yaml
from click.testing import CliRunner
from langchain.agents import AgentState, create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel
from tests.agents.scripted import Scripted, call, say
from tests.langfuse_receiver import WITHIN, receiving

import accord
from accord import (
    UNRECOGNIZED,
    LLMResponse,
    Monitor,
    Ok,
    ProtocolViolationError,
    Session,
    ToolCall,
    ToolMiddleware,
    TraceRecorder,
    Violation,
    load_trace_config,
    validate_with_config,
)
from accord.agents.check import lint, read
from accord.cli.app import app
from accord.diagnostics import Source
from accord.langchain import (
    CheckpointedProtocolMiddleware,
    ProtocolFSM,
    ProtocolMonitor,
    ProtocolResume,
    ProtocolState,
    Transition,
    ref,
)

# -- how an example is run ---------------------------------------------------------------------------------------------

PROMISE = re.compile(r"# (Ok|Violation|Blocked)(\(.*?\))?(?= |$)")


class Promises(ast.NodeTransformer):
    """Hands the value of every expression that has a promise beside it to `promised`."""

    def __init__(self, text: str) -> None:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        comments = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
        self.found = {line: said for line, comment in comments.items() if (said := PROMISE.match(comment))}

    def visit_Expr(self, node):
        if node.end_lineno not in self.found:
            return node
        verdict, details = self.found[node.end_lineno].groups()
        given = [node.value, ast.Constant(verdict), ast.Constant(details)]
        asked = ast.Call(ast.Name("promised", ast.Load()), given, [])
        return ast.copy_location(ast.Expr(asked), node)


def example(text, **given):
    """Run an example with what it leaves to its reader; the names that it has made, and how many promises it kept."""
    text = textwrap.dedent(text)
    made = SimpleNamespace(**given, kept=0)

    def promised(value, verdict, details):
        assert (type(value).__name__ if details is None else repr(value)) == verdict + (details or "")
        made.kept += 1

    names = made.__dict__
    names["promised"] = promised
    promises = Promises(text)
    tree = ast.fix_missing_locations(promises.visit(ast.parse(text)))
    exec(compile(tree, "<example>", "exec", dont_inherit=True), names)  # noqa: S102 - an example is there to be run
    assert made.kept >= len(promises.found)
    return made


def said(content=None, *tools):
    """A response of an SDK, as the adapter of the examples reads it."""
    calls = [
        SimpleNamespace(function=SimpleNamespace(name=name), arguments=arguments, id=f"c{number}")
        for number, (name, arguments) in enumerate(tools)
    ]
    return SimpleNamespace(content=content, tool_calls=calls)


def model_of(*turns):
    """A model that says what it is told to, and what it was asked: `(function, asked)`."""
    left, asked = list(turns), []

    def create(**arguments):
        asked.append(arguments)
        return left.pop(0)

    return create, asked


def openai_of(*turns):
    create, asked = model_of(*turns)
    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)), asked=asked)


# -- "Runtime contracts for LLM agents": the web site of llmcontract ---------------------------------------------------

FLIGHT = "!SearchFlights.?FlightResults.!PresentOptions.?UserApproval.!BookFlight.?BookingConfirmation.end"


def test_the_protocol_at_the_top_of_the_page():
    m = Monitor(FLIGHT)
    assert m.send("SearchFlights") == Ok()
    assert m.receive("FlightResults") == Ok()
    assert m.send("PresentOptions") == Ok()
    assert m.receive("UserApproval") == Ok()
    assert m.send("BookFlight") == Ok()
    assert m.receive("BookingConfirmation") == Ok()
    assert m.is_terminal


def test_booking_before_the_user_approved_is_caught():
    m = Monitor(FLIGHT)
    m.send("SearchFlights")
    m.receive("FlightResults")
    m.send("PresentOptions")
    assert m.send("BookFlight") == Violation(expected=["?UserApproval"], got="!BookFlight")


@pytest.mark.parametrize(
    ("syntax", "legal"),
    [
        ("!label", ["!label"]),
        ("?label", ["?label"]),
        ("!{a, b}", ["!a", "!b"]),
        ("?{a, b}", ["?a", "?b"]),
        ("!A.!B", ["!A"]),
        ("rec X.!a.X", ["!a"]),
        ("end", []),
    ],
)
def test_every_row_of_the_syntax_table(syntax, legal):
    assert Monitor(syntax).allowed() == legal


def test_the_basic_monitor():
    made = example("""
        from accord import Monitor, Ok, Violation

        m = Monitor("!Search.?Results.!Book.?Confirm.end")

        m.send("Search")      # Ok()
        m.receive("Results")  # Ok()
        m.send("Book")        # Ok()
        m.receive("Confirm")  # Ok()
        assert m.is_terminal

        m.send("Book")        # Violation — protocol already ended
    """)
    assert made.kept == 5


WEB_CLIENT = """
    from accord import Monitor, MonitoredClient, LLMResponse

    monitor = Monitor("rec X.!Request.?{ToolCall.!Result.X, Answer.end}")

    client = MonitoredClient(
        llm_call=openai.chat.completions.create,
        response_adapter=my_adapter,
        monitor=monitor,
        send_label="Request",
        receive_label=lambda r: "ToolCall" if r.has_tool_calls else "Answer",
    )

    response = client.call(model="gpt-4", messages=[...])
    # Automatically fires !Request then ?ToolCall or ?Answer
"""


def my_adapter(raw):
    calls = [ToolCall(name=tc.function.name, arguments=tc.arguments, id=tc.id) for tc in raw.tool_calls]
    return LLMResponse(content=raw.content, tool_calls=calls)


@pytest.mark.parametrize(
    ("turn", "fired"),
    [(said("42"), ["!Request", "?Answer"]), (said(None, ("search", {})), ["!Request", "?ToolCall"])],
)
def test_the_client_of_the_web_page(turn, fired):
    openai = openai_of(turn)
    made = example(WEB_CLIENT, openai=openai, my_adapter=my_adapter)
    assert made.response.content == turn.content
    assert openai.asked == [{"model": "gpt-4", "messages": [...]}]
    assert made.monitor.trace == fired
    assert made.monitor.is_terminal == (fired[-1] == "?Answer")


WEB_TOOLS = """
    from accord import ToolMiddleware, ProtocolViolationError

    tools = ToolMiddleware(
        monitor=monitor,   # same monitor as the client
        tools={"search": search_fn, "book": book_fn},
    )

    try:
        results = tools.process(response)
    except ProtocolViolationError as e:
        # Tool call violated the protocol — blocked automatically
        print(f"Violation: {e}")
"""


def test_the_tool_middleware_of_the_web_page_blocks_what_violates(capsys):
    """The client's monitor does not name the tools: nothing that a contract does not name runs."""
    client = example(WEB_CLIENT, openai=openai_of(said(None, ("search", {}))), my_adapter=my_adapter)
    ran = []
    example(WEB_TOOLS, monitor=client.monitor, response=client.response, search_fn=ran.append, book_fn=ran.append)
    assert capsys.readouterr().out.startswith("Violation: `search` is not allowed: the protocol does not name it")
    assert ran == []


def test_the_tool_middleware_of_the_web_page_runs_what_is_legal(capsys):
    response = LLMResponse(tool_calls=[ToolCall("search", {"city": "Rome"}, "c0")])
    monitor = Monitor("?search.!search.?book.!book.end")
    made = example(WEB_TOOLS, monitor=monitor, response=response, search_fn=lambda city: city.lower(), book_fn=print)
    assert [result.result for result in made.results] == ["rome"]
    response = LLMResponse(tool_calls=[ToolCall("search", {"city": "Oslo"}, "c1")])
    example(WEB_TOOLS, monitor=monitor, response=response, search_fn=print, book_fn=print)
    said_then = capsys.readouterr().out
    assert said_then.startswith("Violation: `search` is not allowed") and "Oslo" not in said_then


def test_the_way_from_a_string_to_a_monitor():
    """Text, parser, tree, compiler, machine, monitor: each step can be taken alone."""
    tree = accord.parse(FLIGHT)
    contract = accord.compile(FLIGHT)
    assert accord.compile(str(tree)) == contract
    machine = contract.machine()
    assert len(machine.states) == 7
    monitor = Monitor(contract)
    assert monitor.allowed() == ["!SearchFlights"]


# -- llmsessioncontract: the page of the package -----------------------------------------------------------------------


def test_what_can_be_installed_beside_it():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert {"langchain", "langfuse", "dev"} <= project["optional-dependencies"].keys()


CARD = "!CreateCard.?{CardCreated.rec X.!Transaction.?{TransactionOK.X, SessionEnd}, CardError}.end"


def test_card_payment_the_card_is_refused():
    m = Monitor(CARD)
    assert m.send("CreateCard") == Ok()
    assert m.receive("CardError") == Ok()
    assert m.is_terminal


def test_card_payment_with_transactions():
    m = Monitor(CARD)
    assert m.send("CreateCard") == Ok()
    assert m.receive("CardCreated") == Ok()
    for _ in range(3):
        assert m.send("Transaction") == Ok()
        assert m.receive("TransactionOK") == Ok()
        assert not m.is_terminal
    assert m.send("Transaction") == Ok()
    assert m.receive("SessionEnd") == Ok()
    assert m.is_terminal


def test_usage():
    made = example("""
        from accord import Monitor, Ok, Violation, Blocked

        protocol = "!SearchFlights.?FlightResults.!BookFlight.?BookingConfirmation.end"
        m = Monitor(protocol)

        m.send("SearchFlights")    # Ok()
        m.receive("FlightResults") # Ok()
        m.send("BookFlight")       # Ok()
        m.receive("BookingConfirmation") # Ok()
        assert m.is_terminal
    """)
    assert made.kept == 4


def test_catching_violations():
    made = example(
        """
        m = Monitor("!Ping.?Pong.end")
        m.send("Ping")       # Ok()
        m.send("Pong")       # Violation(expected=['?Pong'], got='!Pong')
        m.send("Anything")   # Blocked('monitor halted after a previous violation')
        """,
        Monitor=Monitor,
    )
    assert made.kept == 3


def test_working_with_choices():
    made = example(
        """
        protocol = "!CreateCard.?{CardCreated.!Done.end, CardError.end}"
        m = Monitor(protocol)
        m.send("CreateCard")       # Ok()
        m.receive("CardError")     # Ok() — the receiver chose this branch
        assert m.is_terminal
        """,
        Monitor=Monitor,
    )
    assert made.kept == 2


def test_recursion():
    made = example(
        """
        protocol = "rec X.!Ping.?Pong.X"
        m = Monitor(protocol)
        for _ in range(100):
            m.send("Ping")     # Ok()
            m.receive("Pong")  # Ok()
        """,
        Monitor=Monitor,
    )
    assert made.kept == 200


def test_unrecognized_is_no_violation():
    made = example("""
        from accord import Monitor, Ok, Unrecognized, UNRECOGNIZED

        m = Monitor("?{Yes.end, No.end}")
        result = m.receive(UNRECOGNIZED)         # projection couldn't decide
        assert isinstance(result, Unrecognized)  # not a Violation
        # state preserved; ask the agent to ask the user to clarify, then:
        m.receive("Yes")                         # Ok()
    """)
    assert made.kept == 1
    assert not isinstance(made.result, Violation)
    assert made.m.is_terminal


def test_a_branch_that_asks_again():
    made = example(
        """
        protocol = "rec Loop.!Ask.?{Yes.end, No.end, Unrecognized.Loop}"
        m = Monitor(protocol)
        m.send("Ask")
        m.receive(UNRECOGNIZED)  # Ok — protocol routes back to Loop
        m.send("Ask")
        m.receive("Yes")         # Ok — terminal
        """,
        Monitor=Monitor,
        UNRECOGNIZED=UNRECOGNIZED,
    )
    assert made.kept == 2
    assert made.m.is_terminal


def test_persistence(capsys):
    made = example(
        """
        m = Monitor(protocol)
        m.send("Ask"); m.receive("Yes")
        print(m.trace)  # → ["!Ask", "?Yes"]

        snapshot = m.to_dict()  # → {"trace": ["!Ask", "?Yes"]}
        # ... persist `snapshot` to Redis / postgres / disk / wherever ...
        restored = Monitor.from_dict(protocol, snapshot)
        assert restored.current_state == m.current_state
        """,
        Monitor=Monitor,
        protocol="rec Loop.!Ask.?{Yes.end, No.end, Unrecognized.Loop}",
    )
    assert capsys.readouterr().out == "['!Ask', '?Yes']\n"
    assert made.snapshot == {"trace": ["!Ask", "?Yes"]}
    assert made.restored.is_terminal


def test_the_trace_is_an_audit_log_of_every_attempt():
    """Accepted, violating, blocked or unrecognized."""
    m = Monitor("!Ping.?Pong.end")
    m.receive(UNRECOGNIZED)
    m.send("Ping")
    m.send("Pong")
    m.send("Anything")
    assert m.trace == ["?Unrecognized", "!Ping", "!Pong", "!Anything"]
    restored = Monitor.from_dict("!Ping.?Pong.end", m.to_dict())
    assert restored.is_halted
    assert restored.trace == m.trace


CLIENT = """
    from accord import Monitor, MonitoredClient, LLMResponse, ToolCall

    monitor = Monitor(
        "rec Loop.!Request.?{ToolCall.!ToolResult.Loop, FinalAnswer.end}"
    )

    # Adapt your SDK's response to LLMResponse
    def adapt(raw):
        if raw.tool_calls:
            return LLMResponse(tool_calls=[
                ToolCall(name=tc.function.name, arguments=tc.arguments, id=tc.id)
                for tc in raw.tool_calls
            ])
        return LLMResponse(content=raw.content)

    client = MonitoredClient(
        llm_call=openai.chat.completions.create,
        response_adapter=adapt,
        monitor=monitor,
        send_label="Request",
        receive_label=lambda r: "ToolCall" if r.has_tool_calls else "FinalAnswer",
    )

    response = client.call(model="gpt-4", messages=[...])
    # Automatically fires !Request then ?ToolCall or ?FinalAnswer
"""


def test_the_client_wrapper():
    openai = openai_of(said(None, ("search", {"city": "Rome"})), said("Done."))
    made = example(CLIENT, openai=openai)
    assert made.response.tool_calls == [ToolCall(name="search", arguments={"city": "Rome"}, id="c0")]
    assert made.monitor.trace == ["!Request", "?ToolCall"]
    made.monitor.send("ToolResult")
    assert made.client.call(model="gpt-4", messages=["more"]).content == "Done."
    assert openai.asked == [{"model": "gpt-4", "messages": [...]}, {"model": "gpt-4", "messages": ["more"]}]
    assert made.monitor.trace[-2:] == ["!Request", "?FinalAnswer"] and made.monitor.is_terminal


TOOLS = """
    from accord import ToolMiddleware

    middleware = ToolMiddleware(
        monitor=monitor,  # same monitor as the client
        tools={
            "search": search_fn,
            "book": book_fn,
        },
    )

    # Process all tool calls from a response
    results = middleware.process(response)
    # Each tool call checks ?receive and !send against the protocol
"""


def test_the_tool_middleware_checks_each_call_and_each_result():
    """With the client's monitor, in a contract that knows the tools."""
    openai = openai_of(said(None, ("search", {"city": "Rome"}), ("book", {"flight": 7})), said("ok"))
    protocol = "rec Loop.!Request.?{ToolCall.(?search.!search | ?book.!book).Loop, FinalAnswer.end}"
    client = example(
        CLIENT.replace("rec Loop.!Request.?{ToolCall.!ToolResult.Loop, FinalAnswer.end}", protocol), openai=openai
    )
    functions = {"search_fn": lambda city: [f"to {city}"], "book_fn": lambda flight: {"booked": flight}}
    made = example(TOOLS, monitor=client.monitor, response=client.response, **functions)
    assert [(r.tool_call_id, r.tool_name, r.result) for r in made.results] == [
        ("c0", "search", ["to Rome"]),
        ("c1", "book", {"booked": 7}),
    ]
    assert client.monitor.trace == ["!Request", "?ToolCall", "?search", "?book", "!search", "!book"]
    assert client.client.call(messages=[]).content == "ok" and client.monitor.is_terminal


def test_the_tool_middleware_blocks_what_the_protocol_does_not_allow():
    ran = []
    response = LLMResponse(tool_calls=[ToolCall("book", {"object": 1})])
    with pytest.raises(
        ProtocolViolationError, match="`book` is not allowed yet: first call `search`, then `book`"
    ) as caught:
        example(
            TOOLS,
            monitor=Monitor("?search.!search.?book.!book.end"),
            response=response,
            search_fn=ran.append,
            book_fn=ran.append,
        )
    assert ran == []
    assert caught.value.verdict.expected == ["?search"]


LOOP = """
    from accord import (
        Monitor, MonitoredClient, ToolMiddleware,
        LLMResponse, ToolCall, ProtocolViolationError,
    )

    protocol = "rec Loop.!Request.?{ToolCall.!ToolResult.Loop, FinalAnswer.end}"
    monitor = Monitor(protocol)

    client = MonitoredClient(
        llm_call=my_llm_fn,
        response_adapter=my_adapter,
        monitor=monitor,
        send_label="Request",
        receive_label=lambda r: "ToolCall" if r.has_tool_calls else "FinalAnswer",
    )

    while True:
        try:
            response = client.call(messages=messages)
        except ProtocolViolationError as e:
            print(f"Protocol violated: {e}")
            break

        if not response.has_tool_calls:
            break  # FinalAnswer — protocol complete

        # Execute tools, send results back
        for tc in response.tool_calls:
            result = tools[tc.name](**tc.arguments)
            monitor.send("ToolResult")  # record the send
            messages.append(tool_result_msg(tc.id, result))
"""


def looped(*turns, text=LOOP):
    my_llm_fn, _ = model_of(*turns)
    given = {"my_llm_fn": my_llm_fn, "my_adapter": my_adapter, "tools": {"search": lambda city: city.lower()}}
    return example(text, messages=[], tool_result_msg=lambda *answer: answer, **given)


def test_the_combined_agent_loop():
    made = looped(said(None, ("search", {"city": "Rome"})), said(None, ("search", {"city": "Oslo"})), said("Found."))
    assert made.response.content == "Found."
    assert made.messages == [("c0", "rome"), ("c0", "oslo")]
    assert made.monitor.trace == ["!Request", "?ToolCall", "!ToolResult"] * 2 + ["!Request", "?FinalAnswer"]
    assert made.monitor.is_terminal


def test_the_combined_agent_loop_reports_a_violation(capsys):
    looped(said("too early"), text=LOOP.replace("FinalAnswer.end}", "Answer.end}"))
    assert capsys.readouterr().out.startswith("Protocol violated: `FinalAnswer` is not allowed")


@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_the_combined_agent_loop_with_several_calls_in_a_turn(mode):
    """By the tool middleware: a fixed label is sent once for a batch, and the client's is not received again."""
    two = ("search", {"city": "Rome"}), ("search", {"city": "Oslo"})
    client = example(
        CLIENT.replace('FinalAnswer.end}"', f'FinalAnswer.end}}", mode="{mode}"'),
        openai=openai_of(said(None, *two), said(None, *two, *two), said("done")),
    )
    tools = ToolMiddleware(client.monitor, {"search": lambda city: city.lower()}, "ToolCall", "ToolResult")
    seen, response = [], client.response
    while response.has_tool_calls:
        seen += [result.content for result in tools.process(response)]
        response = client.client.call(messages=seen)
    assert seen == ["rome", "oslo"] * 3
    assert client.monitor.trace == ["!Request", "?ToolCall", "!ToolResult"] * 2 + ["!Request", "?FinalAnswer"]
    assert client.monitor.is_terminal


LANGCHAIN = """
    from langchain_core.tools import tool
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command
    from accord.langchain import (
        ProtocolFSM, Transition,
        CheckpointedProtocolMiddleware, ViolationEvent,
        ProtocolViolationError, ref,
    )

    @tool
    def search(query: str) -> str:
        \"\"\"Search for available flights.\"\"\"
        return f"Results for: {query}"

    @tool
    def book(result: str) -> str:
        \"\"\"Book a selected flight.\"\"\"
        return f"Booked: {result}"

    search_ref = ref(search)
    book_ref = ref(book)

    fsm = (
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
    )

    def on_violation(v: ViolationEvent) -> None:
        label = v.tool_ref.label if v.tool_ref else v.event_label
        raise ProtocolViolationError(f"Illegal {v.phase}:{label} from {v.current_state!r}", violation=v)

    middleware = CheckpointedProtocolMiddleware(
        fsm=fsm, on_violation=on_violation, tool_refs=[search_ref, book_ref],
    ).middleware

    # interrupt-gated transitions require a checkpointer.
    agent = create_agent(
        model=my_model, tools=[search, book], middleware=[middleware],
        checkpointer=InMemorySaver(),
    )
"""
LANGCHAIN_RUN = """
    config = {"configurable": {"thread_id": "demo-1"}}
    result = agent.invoke({"messages": [("user", "Book me a flight to Rome.")]}, config=config)

    # When the FSM enters `results`, the middleware suspends on `interrupt()`.
    # The result carries an `__interrupt__` payload with the protocol context.
    suspended = result
    if result.get("__interrupt__"):
        result = agent.invoke(
            Command(resume={"event_label": "UserApproval"}),
            config=config,
        )

    print(result["fsm_state"])     # → "done"
    print(result["fsm_trace"])     # → ["send:search", "recv:search",
                                   #    "recv:UserApproval",
                                   #    "send:book", "recv:book"]
"""
SEARCH, BOOK = say(call("search", "c1", query="Rome")), say(call("book", "c2", result="AZ1"))
THREAD = {"configurable": {"thread_id": "t"}}


def langchain(*script, text=LANGCHAIN):
    return example(text, my_model=Scripted(script=list(script)))


def test_langchain(capsys):
    made = langchain(SEARCH, BOOK, "done", text=LANGCHAIN + LANGCHAIN_RUN)
    assert made.suspended["__interrupt__"][0].value["fsm_state"] == made.suspended["fsm_state"] == "results"
    trace = ["send:search", "recv:search", "recv:UserApproval", "send:book", "recv:book"]
    assert capsys.readouterr().out == f"done\n{trace}\n"
    assert [message.content for message in made.result["messages"] if message.type == "tool"] == [
        "Results for: Rome",
        "Booked: AZ1",
    ]


def test_langchain_what_violates_is_handed_to_the_callback():
    made = langchain(BOOK)
    with pytest.raises(ProtocolViolationError, match=re.escape("Illegal send:book from 'idle'")) as raised:
        made.agent.invoke({"messages": [("user", "book")]}, THREAD)
    violation = raised.value.violation
    assert (violation.tool_ref, violation.event_label, violation.phase) == (made.book_ref, None, "send")
    assert (violation.current_state, violation.expected, violation.trace) == ("idle", ["send:search"], [])


def test_langchain_the_orchestrator_cannot_skip_the_gate():
    made = langchain(SEARCH, BOOK, "done")
    made.agent.invoke({"messages": [("user", "go")]}, THREAD)
    for forgetful in ({"messages": [("user", "just book it")]}, None):
        result = made.agent.invoke(forgetful, THREAD)
        assert "__interrupt__" in result
        assert not any(message.type == "tool" and message.name == "book" for message in result["messages"])


def test_langchain_an_interrupt_requires_a_checkpointer():
    """Without one the agent stops at the gate, and nobody can let it go on."""
    made = langchain(SEARCH, BOOK, text=LANGCHAIN.replace("checkpointer=InMemorySaver(),", ""))
    assert "__interrupt__" in made.agent.invoke({"messages": [("user", "go")]})
    with pytest.raises(RuntimeError, match="without checkpointer"):
        made.agent.invoke(Command(resume={"event_label": "UserApproval"}))


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


def searching():
    return (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search_ref, phase="send", target="searching"))
        .add_transition(Transition(source="searching", tool=search_ref, phase="recv", target="results"))
    )


class PresentOptions(BaseModel):
    options: list[str]


@pytest.mark.parametrize("response_format", [PresentOptions, ToolStrategy(PresentOptions)])
def test_langchain_a_structured_response_fires_its_transition(response_format):
    fsm = searching().add_transition(Transition(
        source="results", phase="send", target="presented",
        event_label="PresentOptions", match_structured_response=PresentOptions,
    )).mark_terminal("presented")  # fmt: skip
    middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[search_ref]).middleware
    script = [SEARCH, say(call("PresentOptions", "p", options=["AZ1"]))]
    agent = create_agent(
        Scripted(script=script), [search], middleware=[middleware],
        response_format=response_format, checkpointer=InMemorySaver(),
    )  # fmt: skip
    result = agent.invoke({"messages": [("user", "go")]}, THREAD)
    assert result["structured_response"] == PresentOptions(options=["AZ1"])
    assert result["fsm_state"] == "presented"
    assert result["fsm_trace"] == ["send:search", "recv:search", "send:PresentOptions"]


def test_langchain_events_that_the_orchestrator_fires():
    """On a monitor of its own, without LangChain."""
    fsm = searching().add_transition(
        Transition(source="results", phase="recv", target="answered", event_label="UserReply")
    )
    monitor = ProtocolMonitor(fsm)
    assert not monitor.transition_event("UserReply", "recv", {"text": "too early"})
    for tool_phase in ("send", "recv"):
        assert monitor.transition_event("search", tool_phase)
    assert monitor.transition_event("UserReply", "recv", {"text": "yes"})
    assert monitor.state == "answered"


def test_langchain_guards_and_actions():
    log = []
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(
            source="idle", tool=search_ref, phase="send", target="searching",
            guard=lambda context: context.metadata["args"]["query"] != "the moon",
        ))
        .add_transition(Transition(
            source="searching", tool=search_ref, phase="recv", target="idle",
            action=lambda context: log.append(context.event),
        ))
        .mark_terminal("idle")
    )  # fmt: skip
    middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[search_ref]).middleware
    agent = create_agent(
        Scripted(script=[say(call("search", "c1", query="the moon")), say(call("search", "c2", query="Rome")), "done"]),
        [search], middleware=[middleware], checkpointer=InMemorySaver(),
    )  # fmt: skip
    result = agent.invoke({"messages": [("user", "go")]}, THREAD)
    refused, ran = (message for message in result["messages"] if message.type == "tool")
    assert refused.status == "error" and ran.content == "Results for: Rome"
    assert log == ["recv:search"]


LANGFUSE = """
from langfuse import get_client
from accord.integrations.langfuse import LangfuseMonitor

langfuse = get_client()

with langfuse.start_as_current_observation(name="agent-run") as trace:
    monitor = LangfuseMonitor(
        protocol="!Request.?{ToolCall.!ToolResult.end, FinalAnswer.end}",
        langfuse=langfuse,
    )

    monitor.send("Request")       # guardrail: ok ✓
    monitor.receive("ToolCall")   # guardrail: ok ✓
    monitor.send("ToolResult")    # guardrail: ok ✓
    monitor.send("ExtraCall")     # guardrail: VIOLATION ✗

langfuse.flush()
"""


def test_langfuse():
    """In a program of its own, against a server that decodes what really arrives."""
    with receiving() as receiver:
        keys = {"LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk", "LANGFUSE_BASE_URL": receiver.url}
        subprocess.run(
            [sys.executable, "-W", "error", "-c", LANGFUSE], env={**os.environ, **keys}, check=True, timeout=2 * WITHIN
        )
        run, steps = receiver.named("agent-run"), receiver.guardrails()
        scores = [receiver.score_of(step) for step in steps]
    protocol = "!Request.?{ToolCall.!ToolResult.end, FinalAnswer.end}"
    assert {(step.trace, step.parent) for step in steps} == {(run.trace, run.id)}
    assert [step.input for step in steps] == [
        {"action": action, "direction": direction, "label": action[1:], "payload": None, "protocol": protocol}
        for action, direction in (
            ("!Request", "send"), ("?ToolCall", "receive"), ("!ToolResult", "send"), ("!ExtraCall", "send"),
        )
    ]  # fmt: skip
    assert [step.output["passed"] for step in steps] == [True, True, True, False]
    assert steps[3].output == {
        "passed": False,
        "verdict": "violation",
        "explanation": "`ExtraCall` is not allowed: the protocol is over, and nothing more may happen.",
        "expected": [],
        "got": "!ExtraCall",
        "clause": "protocol",
        "role": None,
        "position": 3,
    }
    assert {(score["name"], score["dataType"], score["traceId"]) for score in scores} == {
        ("protocol_compliance", "BOOLEAN", run.trace)
    }
    assert [score["value"] for score in scores] == [1.0, 1.0, 1.0, 0.0]


# -- "Built llmsessioncontract on AgentMiddleware": the thread of LangChain's forum ------------------------------------

REVIEWED = """
    from accord.langchain import (
          ProtocolFSM, Transition, ProtocolMonitor,
          ProtocolEnforcerMiddleware, ref,
      )
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
      )
    monitor = ProtocolMonitor(fsm)
    middleware = ProtocolEnforcerMiddleware(monitor=monitor, tool_refs=my_refs).middleware
    agent = create_agent(model=my_model, tools=my_tools, middleware=[middleware])
"""


def reviewed(*script):
    given = {"search_ref": search_ref, "book_ref": book_ref, "my_refs": [search_ref, book_ref]}
    model = Scripted(script=list(script))
    return example(REVIEWED, my_model=model, my_tools=[search, book], create_agent=create_agent, **given)


def test_thread_the_machine_that_was_reviewed():
    """Tools fire by themselves, the other events by the orchestrator."""
    made = reviewed(SEARCH, "AZ1, 120 EUR?", BOOK, "done")
    first = made.agent.invoke({"messages": [("user", "to Rome")]})
    assert first["fsm_state"] == "results"
    assert made.monitor.transition_event("PresentOptions", "send", {"text": first["messages"][-1].content})
    assert made.monitor.transition_event("UserApproval", "recv", {"text": "yes"})
    second = made.agent.invoke({"messages": [*first["messages"], ("user", "yes")]})
    assert second["fsm_state"] == made.monitor.state == "done"
    assert made.monitor.trace == [
        "send:search", "recv:search", "send:PresentOptions", "recv:UserApproval", "send:book", "recv:book",
    ]  # fmt: skip


def test_thread_an_agent_that_skips_what_the_orchestrator_fires_books_nothing():
    made = reviewed(SEARCH, BOOK, "done")
    result = made.agent.invoke({"messages": [("user", "to Rome, just book")]})
    assert [message.status for message in result["messages"] if message.type == "tool"] == ["success", "error"]
    assert made.monitor.trace == ["send:search", "recv:search"]


def test_thread_a_violation_is_a_tool_message_with_which_the_agent_corrects_itself():
    middleware = CheckpointedProtocolMiddleware(
        fsm=searching().mark_terminal("results"), tool_refs=[search_ref, book_ref]
    ).middleware
    agent = create_agent(
        Scripted(script=[BOOK, SEARCH, "done"]), [search, book], middleware=[middleware], checkpointer=InMemorySaver()
    )
    result = agent.invoke({"messages": [("user", "go")]}, THREAD)
    refused, found = (message for message in result["messages"] if message.type == "tool")
    assert refused.status == "error" and "search" in refused.content
    assert found.content == "Results for: Rome"


def test_thread_the_state_is_checkpointed():
    """Another process, with the same checkpoints, goes on where this one was."""
    saver = InMemorySaver()
    text = LANGCHAIN.replace("InMemorySaver(),\n", "saver,\n")
    one = example(text, my_model=Scripted(script=[SEARCH]), saver=saver)
    assert "__interrupt__" in one.agent.invoke({"messages": [("user", "go")]}, THREAD)
    other = example(text, my_model=Scripted(script=[SEARCH, BOOK, "done"]), saver=saver)
    result = other.agent.invoke(Command(resume={"event_label": "UserApproval"}), THREAD)
    assert result["fsm_state"] == "done"


def test_thread_one_middleware_keeps_threads_apart():
    """Two threads, each of which is begun before the other has ended."""
    made = langchain(SEARCH, BOOK, "done")
    threads = [{"configurable": {"thread_id": name}} for name in ("a", "b")]
    for config in threads:
        made.agent.invoke({"messages": [("user", "go")]}, config)
    for config in threads:
        result = made.agent.invoke(Command(resume={"event_label": "UserApproval"}), config)
        assert result["fsm_trace"] == ["send:search", "recv:search", "recv:UserApproval", "send:book", "recv:book"]
        assert [message.name for message in result["messages"] if message.type == "tool"] == ["search", "book"]


def test_thread_the_state_and_the_answers_as_types():
    assert {"fsm_state", "fsm_trace", "messages"} <= (
        ProtocolState.__annotations__.keys() | AgentState.__annotations__.keys()
    )
    assert get_type_hints(ProtocolState)["fsm_state"] is str
    assert get_type_hints(ProtocolState)["fsm_trace"] == list[str]
    assert ProtocolResume.__required_keys__ == {"event_label"}
    assert "payload" in ProtocolResume.__optional_keys__


def test_thread_the_gate_lags_one_turn():
    """What led to the gate has run before the person is asked; what comes after it has not even been proposed."""
    made = langchain(SEARCH, BOOK, "done")
    result = made.agent.invoke({"messages": [("user", "go")]}, THREAD)
    assert result["messages"][-1].content == "Results for: Rome"
    assert "__interrupt__" in result


@pytest.mark.parametrize(
    ("answer", "state", "last"),
    [("approve", "done", "recv:book"), ("modify", "idle", "recv:modify"), ("deny", "no", "recv:deny")],
)
def test_thread_a_choice_of_people_by_typed_labels_and_an_unknown_one_is_no_dead_end(answer, state, last):
    fsm = (
        searching()
        .add_transition(Transition(source="results", phase="recv", target="ok", event_label="approve", interrupt=True))
        .add_transition(Transition(source="results", phase="recv", target="idle", event_label="modify", interrupt=True))
        .add_transition(Transition(source="results", phase="recv", target="no", event_label="deny", interrupt=True))
        .add_transition(Transition(source="ok", tool=book_ref, phase="send", target="booking"))
        .add_transition(Transition(source="booking", tool=book_ref, phase="recv", target="done"))
        .mark_terminal("done", "no")
    )
    middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[search_ref, book_ref]).middleware
    script = [SEARCH, BOOK if answer == "approve" else "as you say", "done"]
    agent = create_agent(Scripted(script=script), [search, book], middleware=[middleware], checkpointer=InMemorySaver())
    result = agent.invoke({"messages": [("user", "go")]}, THREAD)
    assert result["__interrupt__"][0].value["choices"] == ["approve", "modify", "deny"]
    result = agent.invoke(Command(resume={"event_label": "aprove"}), THREAD)
    assert "did you mean `approve`?" in result["__interrupt__"][0].value["error"]
    result = agent.invoke(Command(resume={"event_label": answer, "payload": {"note": "x"}}), THREAD)
    assert (result["fsm_state"], result["fsm_trace"][-1]) == (state, last)


# -- "Session Types": the chapter of the guide to Sage -----------------------------------------------------------------

SCHEMA_SYNC = """
protocol SchemaSync {
DatabaseSteward -> APISteward: SchemaChanged
APISteward -> DatabaseSteward: Acknowledged
}
"""
RECORDS = """
record SchemaChanged {
table: String,
change_type: String,
}
record Acknowledged {}
"""
DEBATE = """
protocol DebateRound {
Coordinator -> Debater: Topic
Debater -> Coordinator: Argument
Coordinator -> Debater: Feedback
Debater -> Coordinator: Revision
}
"""
REQUEST = """
// Message types
record Request {
data: String,
}
record Response {
result: String,
}
// Protocol declaration
protocol RequestResponse {
Client -> Server: Request
Server -> Client: Response
}
"""
NOTIFY = """
protocol SchemaSync {
DatabaseSteward -> APISteward: SchemaChanged
}
"""
WORKFLOW = """
protocol ComplexWorkflow {
A -> B: Step1
B -> A: Step2
A -> C: Step3
C -> A: Step4
A -> B: Step5
B -> C: Step6
// ...getting hard to follow
}
"""
COMMENTED = """
// SchemaChanged: Sent when the database schema has been modified.
// The receiver should regenerate any cached schema information.
record SchemaChanged {
table: String,
change_type: String, // "add_column" | "drop_column" | "add_table"
}
"""
CHANGED = {"table": "users", "change_type": "add_column"}


@pytest.mark.parametrize("text", [SCHEMA_SYNC, RECORDS + SCHEMA_SYNC, DEBATE, REQUEST, NOTIFY, WORKFLOW])
def test_protocols_between_roles(text):
    session = Session(text)
    (protocol,) = accord.parse(text).globals
    payloads = {"SchemaChanged": CHANGED, "Request": {"data": "hello"}, "Response": {"result": "ok"}}
    for step in protocol.body:
        payload = payloads.get(step.label) if f"record {step.label} " in text else None
        assert session.observe(step.sender, step.receiver, step.label, payload) == Ok()
    assert session.close() == Ok()
    for role in session.roles:
        assert accord.project(accord.compile(text), role).machine().labels


def test_the_roles_and_the_steps_of_a_protocol():
    (protocol,) = accord.parse(SCHEMA_SYNC).globals
    assert Session(SCHEMA_SYNC).roles == ("DatabaseSteward", "APISteward")
    assert len(protocol.body) == 2


def test_messages_are_records_or_enums():
    text = "enum Change { AddColumn, DropColumn } record Changed { what: Change } protocol P { A -> B: Changed }"
    session = Session(text, mode="refuse")
    assert isinstance(session.observe("A", "B", "Changed", {"what": "Rename"}), Violation)
    assert session.observe("A", "B", "Changed", {"what": "AddColumn"}) == Ok()


def test_what_a_message_means_is_documented_beside_it():
    (record,) = accord.parse(COMMENTED).types
    assert [field.name for field in record.fields] == ["table", "change_type"]
    assert '"add_column"' in str(accord.parse(COMMENTED))


def test_a_missing_reply_is_noticed_at_run_time_too():
    session = Session(RECORDS + SCHEMA_SYNC)
    assert session.observe("DatabaseSteward", "APISteward", "SchemaChanged", CHANGED) == Ok()
    verdict = session.close()
    assert verdict.role == "APISteward"
    assert verdict.expected == ["APISteward -> DatabaseSteward: Acknowledged"]


def test_a_wrong_reply_and_a_wrong_order_are_noticed_at_run_time_too():
    """Which the chapter names as a limit of its own checker: the order of messages, and whether conversations end."""
    session = Session(RECORDS + SCHEMA_SYNC, mode="refuse")
    early = session.observe("APISteward", "DatabaseSteward", "Acknowledged", {})
    assert early.role == "APISteward"
    session.observe("DatabaseSteward", "APISteward", "SchemaChanged", CHANGED)
    assert session.observe("APISteward", "DatabaseSteward", "WrongType").role == "APISteward"


FRONT = f'''
import asyncio
from dataclasses import dataclass
import accord
from accord.agents import Agent, AgentRef, Supervisor, follows, persistent

CONTRACT = accord.compile("""{RECORDS}{SCHEMA_SYNC}""")

@dataclass
class SchemaChanged:
    table: str
    change_type: str

@dataclass
class Acknowledged: ...

'''
STEWARD = """
@follows(CONTRACT, as_="APISteward")
class APISteward(Agent):
    async def on_start(self):
        pass  # Wait for schema changes

    async def on_message(self, change: SchemaChanged):
        print(f"Schema changed: {change.table}")
        await self.reply(Acknowledged())  # Protocol requires a reply
"""
SENDER = """
@follows(CONTRACT, as_="DatabaseSteward")
class DatabaseSteward(Agent):
    async def on_start(self):
        await self.send("APISteward", SchemaChanged("users", "add_column"))
        await self.receive(Acknowledged)
"""
SUPERVISED = """
async def main():
    supervisor = Supervisor(strategy="one_for_one")
    supervisor.add(APISteward)
    supervisor.add(DatabaseSteward)
    async with supervisor:
        await supervisor.settled()
"""
REQUESTS = f'''
from dataclasses import dataclass
from accord.agents import Agent, AgentRef, Supervisor, follows

CONTRACT = """{REQUEST}"""

@dataclass
class Request:
    data: str

@dataclass
class Response:
    result: str

@follows(CONTRACT, as_="Server")
class RequestWorker(Agent):
    async def on_message(self, request: Request):
        result = request.data.upper()
        await self.reply(Response(result=result))

@follows(CONTRACT, as_="Client")
class Requester(Agent):
    def __init__(self, target: AgentRef):
        self.target = target

    async def on_start(self):
        await self.send(self.target, Request(data="hello"))
        # Wait for response
        response = await self.receive(Response)
        print(f"Got: {{response.result}}")

async def main():
    supervisor = Supervisor()
    supervisor.add(Requester, supervisor.add(RequestWorker))
    async with supervisor:
        await supervisor.settled()
'''
TWO = '''
from dataclasses import dataclass
import accord
from accord.agents import Agent, follows

CONTRACT = accord.compile("""
protocol SchemaSync { DatabaseSteward -> APISteward: SchemaChanged; APISteward -> DatabaseSteward: Acknowledged }
protocol ApiSync { APISteward -> FrontendSteward: ApiChanged; FrontendSteward -> APISteward: Regenerated }
""")

@dataclass
class SchemaChanged: ...

@dataclass
class Acknowledged: ...

@dataclass
class ApiChanged: ...

@dataclass
class Regenerated: ...

@follows(CONTRACT["SchemaSync"], as_="APISteward")
@follows(CONTRACT["ApiSync"], as_="APISteward")
class APISteward(Agent):
    async def on_change(self, change: SchemaChanged):
        await self.send("FrontendSteward", ApiChanged())
        await self.receive(Regenerated)
        await self.send("DatabaseSteward", Acknowledged())
'''
REMEMBERING = STEWARD.replace(
    "    async def on_start(self):\n        pass  # Wait for schema changes\n",
    "    handled = persistent(0)\n\n    async def on_start(self):\n        print(self.handled, 'handled')\n",
).replace("        await self.reply", "        self.handled += 1\n        await self.reply")


def findings(text):
    return lint(read([Source(text, "program.py")]), {}).findings


def ran(text, capsys):
    """What a program prints when it is run."""
    names = {"__name__": "program"}
    exec(compile(text, "program.py", "exec", dont_inherit=True), names)  # noqa: S102 - as above
    asyncio.run(names["main"]())
    return capsys.readouterr().out


def test_agents_that_follow_a_protocol(capsys):
    text = FRONT + STEWARD + SENDER + SUPERVISED
    assert findings(text) == ()
    assert ran(text, capsys) == "Schema changed: users\n"


def test_request_and_response(capsys):
    assert findings(REQUESTS) == ()
    assert ran(REQUESTS, capsys) == "Got: HELLO\n"


def test_an_agent_follows_several_protocols_and_owes_what_each_demands():
    assert findings(TWO) == ()
    neglected = TWO.replace('        await self.send("DatabaseSteward", Acknowledged())\n', "")
    assert [finding.code for finding in findings(neglected)] == ["E076"]


def test_supervision_begins_afresh_and_keeps_persistent_fields(capsys):
    """A restarted agent begins its protocol again; a message that it had not answered is handled once more.

    So what it counts before it answers can be counted twice, which is said before anything runs.
    """
    first = "        if self.handled == 1:\n            raise RuntimeError\n"
    crashing = REMEMBERING.replace("        await self.reply", f"{first}        await self.reply")
    assert [finding.code for finding in findings(FRONT + REMEMBERING + SENDER + SUPERVISED)] == ["W092"]
    assert (
        ran(FRONT + crashing + SENDER + SUPERVISED, capsys)
        == "0 handled\nSchema changed: users\n1 handled\nSchema changed: users\n"
    )


def test_role_names_that_are_those_of_the_agents():
    """Agents without a body can be declared. That one of them could not take its message is found before it runs."""
    text = f'''
from accord.agents import Agent, follows

CONTRACT = """{NOTIFY}"""

@follows(CONTRACT, as_="DatabaseSteward")
class DatabaseSteward(Agent): ...

@follows(CONTRACT, as_="APISteward")
class APISteward(Agent): ...
'''
    exec(compile(text, "program.py", "exec", dont_inherit=True), {"__name__": "program"})  # noqa: S102 - as above
    assert [finding.code for finding in findings(text)] == ["E082"]


WRONG = {
    "E070 unknown protocol": (STEWARD.replace("CONTRACT,", '"NonexistentProtocol",'), ["E070"]),
    "E070 a name that nothing defines": (STEWARD.replace("CONTRACT,", "NonexistentProtocol,"), ["E070"]),
    "E071 unknown role": (STEWARD.replace('"APISteward"', '"UnknownRole"'), ["E071"]),
    "E073 reply outside a handler": (
        STEWARD.replace("        pass  # Wait for schema changes\n", "        await self.reply(Acknowledged())\n"),
        ["E073"],
    ),
    "E074 wrong type of a reply": (
        STEWARD.replace("Acknowledged()", "WrongType()").replace(
            "@follows", "@dataclass\nclass WrongType: ...\n\n@follows"
        ),
        ["E074"],
    ),
    "E076 missing reply": (
        STEWARD.replace("await self.reply(Acknowledged())  # Protocol requires a reply", 'print("Got change")'),
        ["E076"],
    ),
    "E076 reply in one arm only": (
        STEWARD.replace("await self.reply(", "if change.table: await self.reply("),
        ["E076"],
    ),
    "E078 no protocol in common": (
        STEWARD
        + """
@dataclass
class Hello: ...

@follows("protocol Greeting { A -> B: Hello }", as_="A")
class Greeter(Agent):
    async def on_start(self):
        await self.send(APISteward, Hello())
""",
        ["E078"],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_has_the_code_that_is_known(name):
    text, codes = WRONG[name]
    assert [finding.code for finding in findings(FRONT + text)] == codes


def test_the_wrong_type_of_a_message_is_found_where_it_is_sent():
    text = REQUESTS.replace('Request(data="hello")', 'Response("hello")')
    assert [finding.code for finding in findings(text)] == ["E074"]


def test_the_message_about_a_missing_reply_is_the_one_that_is_known():
    text, _ = WRONG["E076 missing reply"]
    (finding,) = findings(FRONT + text)
    assert finding.message.startswith(
        "protocol `SchemaSync` requires `APISteward` to send `Acknowledged` after receiving `SchemaChanged`"
    )


# -- "Trace contracts": the overview page of insideLLMs ----------------------------------------------------------------

CONFIGURATION = """
version: 1
enabled: true
store:
  mode: full
  include_payloads: true
contracts:
  enabled: true
  fail_fast: false
  stream_boundaries:
    enabled: true
  tool_payloads:
    enabled: true
    tools:
      calculator:
        args_schema:
          required: [x, y]
          properties:
            x: {type: integer}
            y: {type: integer}
fingerprint:
  enabled: true
  algorithm: sha256
  normaliser:
    kind: builtin
    name: structural_v1
    config:
      drop_keys: [request_id, response_id, created, timestamp, latency_ms]
      hash_paths: [result, raw]
      hash_strings_over: 512
on_violation:
  mode: record
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The folder with the configuration of the page."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace_config.yaml").write_text(CONFIGURATION)
    return tmp_path


def test_the_classes_of_a_configuration():
    made = example("""
        from accord import (
            TraceConfig, TraceStoreConfig, FingerprintConfig, TraceContractsConfig, OnViolationConfig,
        )
        config = TraceConfig()
    """)
    assert {field.name: type(getattr(made.config, field.name)) for field in fields(made.config)} == {
        "version": int,
        "enabled": bool,
        "store": made.TraceStoreConfig,
        "fingerprint": made.FingerprintConfig,
        "contracts": made.TraceContractsConfig,
        "on_violation": made.OnViolationConfig,
    }
    assert (made.config.version, made.config.enabled) == (1, True)


LOADING = """
    from accord.trace_config import load_trace_config
    with open("trace_config.yaml") as f:
        import yaml
        config_dict = yaml.safe_load(f)
    config = load_trace_config(config_dict)
"""


def test_loading_a_configuration(written):
    config = example(LOADING).config
    assert config == load_trace_config(CONFIGURATION) == load_trace_config(written / "trace_config.yaml")
    assert config.contracts.tool_payloads.tools["calculator"].args_schema["required"] == ["x", "y"]
    assert config.fingerprint.normaliser.config["hash_strings_over"] == 512


def test_compiling_to_contracts(written):
    contracts = example(LOADING + "    contracts = config.to_contracts()").contracts
    assert list(contracts) == ["tool_schemas", "tool_order_rules", "toggles", "fail_fast"]
    assert contracts["tool_schemas"]["calculator"]["args_schema"]["required"] == ["x", "y"]
    assert contracts["toggles"]["tool_payloads"] is True and contracts["fail_fast"] is False


PROBE = """
    from accord import AgentProbe, TraceConfig, load_trace_config, validate_with_config
    from accord import AgentProbe, load_trace_config
    config = load_trace_config(my_config) # or from YAML
    tools = my_tools # dict of tool functions
    probe = AgentProbe(tools=tools, trace_config=config)
    result = probe.run(model, data)
    if result.metadata.get("custom", {}).get("trace", {}).get("violations"):
        print("Violations found:", result.metadata["custom"]["trace"]["violations"])
"""


def probed(config, **data):
    return example(
        PROBE,
        my_config=config,
        my_tools={"calculator": lambda **given: sum(given.values())},
        model=lambda data, tools: tools["calculator"](**data),
        data=data,
    ).result


def test_running_a_probe(capsys):
    result = probed(yaml.safe_load(CONFIGURATION), x=1, y=2)
    assert result.output == 3
    assert capsys.readouterr().out == ""
    trace = result.metadata["custom"]["trace"]
    assert trace["fingerprint"].startswith("sha256:")
    assert trace["tool_sequence"] == ["calculator"]
    assert [event["kind"] for event in trace["events"]] == ["tool_call_start", "tool_result"]


def test_running_a_probe_that_finds_a_violation(capsys):
    probed(yaml.safe_load(CONFIGURATION), x="", y="")
    found = "Violations found: [{'code': 'TOOL_INVALID_ARG_TYPE', 'event_seq': 0"
    assert capsys.readouterr().out.startswith(found)


def test_the_minimal_configuration_has_contracts_off():
    assert probed(yaml.safe_load("enabled: false"), x="", y="").metadata == {"custom": {}}


def test_full_validation_with_the_schema_of_a_tool():
    config = load_trace_config("""
version: 1
enabled: true
contracts:
  enabled: true
  tool_payloads:
    enabled: true
    tools:
      search:
        args_schema:
          required: [query]
          properties:
            query: {type: string}
""")
    recorder = TraceRecorder()
    recorder.record_tool_call("search", {})
    recorder.record_tool_result("search", [])
    (violation,) = validate_with_config(recorder.events, config)
    assert type(violation).__name__ == "Violation"
    assert (violation.code, violation.event_seq, violation.context["missing_arg"]) == (
        "TOOL_MISSING_REQUIRED_ARG",
        0,
        "query",
    )


def test_failing_the_probe_on_a_violation():
    failing = {**yaml.safe_load(CONFIGURATION), **yaml.safe_load("on_violation:\n  mode: fail_probe")}
    assert probed(failing, x=1, y=2).ok
    assert not probed(failing, x=1.5, y=2).ok
    assert probed(yaml.safe_load(CONFIGURATION), x=1.5, y=2).ok


def test_the_normaliser_makes_fingerprints_stable():
    """Noisy keys are dropped and large blobs hashed, with the settings of the page."""
    made = example(
        """
        from accord import TracePayloadNormaliser, load_trace_config
        settings = load_trace_config(CONFIGURATION).fingerprint.normaliser.config
        normaliser = TracePayloadNormaliser(**settings)
        noisy = normaliser.normalise({"q": 1, "timestamp": 5, "latency_ms": 7, "text": "x" * 513})
        """,
        CONFIGURATION=CONFIGURATION,
    )
    assert made.noisy["q"] == 1 and not {"timestamp", "latency_ms"} & set(made.noisy)
    assert "xxx" not in str(made.noisy["text"])


@pytest.mark.parametrize(
    ("events", "rules", "code"),
    [
        ([("stream_chunk", {"chunk_index": 0})], {}, "STREAM_CHUNK_BEFORE_START"),
        ([("stream_start", {}), ("stream_chunk", {"chunk_index": 1})], {}, "STREAM_CHUNK_INDEX_MISMATCH"),
        ([("stream_start", {})], {}, "STREAM_NO_END"),
        ([("generate_start", {}), ("generate_start", {})], {}, "GENERATE_NESTED"),
        ([("generate_end", {})], {}, "GENERATE_NO_START"),
        ([("tool_call_start", {"tool_name": "t"})], {}, "TOOL_NO_RESULT"),
        ([("tool_result", {"tool_name": "t"})], {}, "TOOL_RESULT_BEFORE_CALL"),
        ([("tool_call_start", {"tool_name": "t"})], {"must_precede": {"a": ["t"]}}, "TOOL_ORDER_VIOLATION"),
        ([("tool_call_start", {"tool_name": "t"})], {"must_follow": {"t": ["a"]}}, "TOOL_ORDER_VIOLATION"),
        ([("tool_call_start", {"tool_name": "t"})] * 2, {"forbidden_sequences": [["t", "t"]]}, "TOOL_ORDER_VIOLATION"),
    ],
)
def test_every_validator(events, rules, code):
    recorded = [{"seq": seq, "kind": kind, "payload": payload} for seq, (kind, payload) in enumerate(events)]
    config = load_trace_config({"contracts": {"tool_order": rules}})
    found = validate_with_config(recorded, config)
    assert code in [violation.code for violation in found]
    off = {
        name: {"enabled": False} for name in ("stream_boundaries", "generate_boundaries", "tool_results", "tool_order")
    }
    assert validate_with_config(recorded, load_trace_config({"contracts": off})) == []


def test_the_flags_of_the_command_line(written):
    """`--fail-on-trace-violations` and `--fail-on-trace-drift`, on what a probe writes."""
    config = yaml.safe_load(CONFIGURATION)
    for name, x in (("base", 1), ("same", 1), ("other", 1.5)):
        (written / name).write_text(json.dumps(probed(config, x=x, y=2).to_record()))

    def gate(name, flag):
        return CliRunner().invoke(app, ["trace", "diff", "base", name, flag]).exit_code

    assert gate("same", "--fail-on-trace-drift") == gate("same", "--fail-on-trace-violations") == 0
    assert gate("other", "--fail-on-trace-drift") == 4
    assert gate("other", "--fail-on-trace-violations") == 3
