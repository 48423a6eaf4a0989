"""The examples the project started from, of the client, the tools and the loop, with nothing changed but the name.

Each promise in a comment of an example is an assertion here.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from accord import LLMResponse, Monitor, MonitoredClient, ProtocolViolationError, ToolCall, ToolMiddleware

LOOP = "rec Loop.!Request.?{ToolCall.!ToolResult.Loop, FinalAnswer.end}"


def said(content=None, *tools):
    """A response of an SDK, as the adapter of the example reads it."""
    calls = [
        SimpleNamespace(function=SimpleNamespace(name=name), arguments=arguments, id=f"c{number}")
        for number, (name, arguments) in enumerate(tools)
    ]
    return SimpleNamespace(content=content, tool_calls=calls)


def adapt(raw):
    if raw.tool_calls:
        return LLMResponse(
            tool_calls=[ToolCall(name=tc.function.name, arguments=tc.arguments, id=tc.id) for tc in raw.tool_calls]
        )
    return LLMResponse(content=raw.content)


class Scripted:
    """A model that says what it is told to."""

    def __init__(self, *turns):
        self.turns = list(turns)
        self.asked = []

    def create(self, **arguments):
        self.asked.append(arguments)
        return self.turns.pop(0)


def client_of(model, monitor, answer="FinalAnswer"):
    return MonitoredClient(
        llm_call=model.create,
        response_adapter=adapt,
        monitor=monitor,
        send_label="Request",
        receive_label=lambda r: "ToolCall" if r.has_tool_calls else answer,
    )


def test_the_client_fires_a_request_and_what_came_back():
    monitor = Monitor(LOOP)
    model = Scripted(said(None, ("search", {"city": "Rome"})), said("Done."))
    client = client_of(model, monitor)
    response = client.call(model="gpt-4", messages=["hello"])
    assert response.tool_calls == [ToolCall(name="search", arguments={"city": "Rome"}, id="c0")]
    assert monitor.trace == ["!Request", "?ToolCall"]
    assert model.asked == [{"model": "gpt-4", "messages": ["hello"]}]
    monitor.send("ToolResult")
    assert client.call(model="gpt-4", messages=["hello"]).content == "Done."
    assert monitor.trace[-2:] == ["!Request", "?FinalAnswer"] and monitor.is_terminal


def test_the_client_of_the_web_page():
    monitor = Monitor("rec X.!Request.?{ToolCall.!Result.X, Answer.end}")
    response = client_of(Scripted(said("42")), monitor, answer="Answer").call(model="gpt-4", messages=[])
    assert (response.content, response.has_tool_calls) == ("42", False)
    assert monitor.trace == ["!Request", "?Answer"] and monitor.is_terminal


def test_the_middleware_checks_each_call_and_each_result():
    """With the client's monitor, in a contract that knows the tools."""
    monitor = Monitor("rec Turn.!Request.?{ToolCall.(?search.!search | ?book.!book).Turn, FinalAnswer.end}")
    client = client_of(Scripted(said(None, ("search", {"city": "Rome"}), ("book", {"flight": 7})), said("ok")), monitor)
    middleware = ToolMiddleware(
        monitor=monitor,
        tools={"search": lambda city: [f"to {city}"], "book": lambda flight: {"booked": flight}},
    )
    results = middleware.process(client.call(messages=[]))
    assert [(r.tool_call_id, r.tool_name, r.result) for r in results] == [
        ("c0", "search", ["to Rome"]),
        ("c1", "book", {"booked": 7}),
    ]
    assert monitor.trace == ["!Request", "?ToolCall", "?search", "?book", "!search", "!book"]
    assert client.call(messages=[]).content == "ok" and monitor.is_terminal


def test_a_tool_call_that_violates_the_protocol_is_blocked_and_raises():
    ran = []
    tools = ToolMiddleware(
        monitor=Monitor("?search.!search.?book.!book.end"),
        tools={"search": ran.append, "book": ran.append},
    )
    with pytest.raises(
        ProtocolViolationError, match="`book` is not allowed yet: first call `search`, then `book`"
    ) as caught:
        tools.process(LLMResponse(tool_calls=[ToolCall("book", {"object": 1})]))
    assert ran == []
    assert caught.value.verdict.expected == ["?search"]


def test_the_middleware_on_the_monitor_of_the_client_example_runs_nothing_the_contract_does_not_know():
    monitor = Monitor(LOOP)
    response = client_of(Scripted(said(None, ("search", {}))), monitor).call()
    ran = []
    with pytest.raises(ProtocolViolationError, match="`search` is not allowed: the protocol does not name it"):
        ToolMiddleware(monitor=monitor, tools={"search": lambda: ran.append(1)}).process(response)
    assert ran == []


def agent_loop(client, monitor, tools, messages):
    """The loop of the example."""
    while True:
        try:
            response = client.call(messages=messages)
        except ProtocolViolationError as e:
            return f"Protocol violated: {e}"

        if not response.has_tool_calls:
            return response.content

        for tc in response.tool_calls:
            result = tools[tc.name](**tc.arguments)
            monitor.send("ToolResult")
            messages.append((tc.id, result))


def test_the_combined_loop():
    monitor = Monitor(LOOP)
    turns = said(None, ("search", {"city": "Rome"})), said(None, ("search", {"city": "Oslo"})), said("All found.")
    messages = []
    ended = agent_loop(client_of(Scripted(*turns), monitor), monitor, {"search": lambda city: city.lower()}, messages)
    assert ended == "All found."
    assert messages == [("c0", "rome"), ("c0", "oslo")]
    assert monitor.trace == ["!Request", "?ToolCall", "!ToolResult"] * 2 + ["!Request", "?FinalAnswer"]
    assert monitor.is_terminal


def test_the_combined_loop_reports_a_violation():
    monitor = Monitor("!Request.?ToolCall.end")
    ended = agent_loop(client_of(Scripted(said("too early")), monitor), monitor, {}, [])
    assert ended.startswith("Protocol violated: `FinalAnswer` is not allowed")


@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_the_combined_loop_with_several_calls_in_a_turn(mode):
    """A fixed label is sent once for a batch, and what the client has received is not received again."""
    monitor = Monitor(LOOP, mode=mode)
    two = ("search", {"city": "Rome"}), ("search", {"city": "Oslo"})
    client = client_of(Scripted(said(None, *two), said(None, *two, *two), said("done")), monitor)
    tools = ToolMiddleware(monitor, {"search": lambda city: city.lower()}, "ToolCall", "ToolResult")
    seen = []
    while (response := client.call(messages=seen)).has_tool_calls:
        seen += [result.content for result in tools.process(response)]
    assert seen == ["rome", "oslo"] * 3
    assert monitor.trace == ["!Request", "?ToolCall", "!ToolResult"] * 2 + ["!Request", "?FinalAnswer"]
    assert monitor.is_terminal
