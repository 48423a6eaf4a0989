"""The labels of a contract, held against the tools of an agent when its model is first called."""

from __future__ import annotations

import asyncio

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from pydantic import BaseModel

from accord import LabelWarning, UsageError
from accord.langchain import AccordMiddleware
from tests.agents.scripted import Recorder, Scripted, agent_of, asked, call, config, say

WAYS = {
    "sync": lambda agent, *given: agent.invoke(*given),
    "async": lambda agent, *given: asyncio.run(agent.ainvoke(*given)),
}


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture(params=WAYS)
def turn(request):
    return WAYS[request.param]


def test_a_label_that_is_nearly_a_tool_stops_the_run(recorder, turn):
    agent, model = agent_of(["hi"], AccordMiddleware('rule "r" { before book require serach }'), recorder)
    for _ in range(2):
        with pytest.raises(UsageError, match="did you mean `search`"):
            turn(agent, asked(), config())
    assert model.shown == []


def test_a_label_without_a_source_is_warned_of_once(recorder, turn):
    middleware = AccordMiddleware("?Order.!book.?book.end")
    agent, _ = agent_of(["hi", "hi"], middleware, recorder)
    with pytest.warns(LabelWarning, match="`Order`"):
        turn(agent, asked(), config())
    turn(agent, asked(), config())
    assert [each.label for each in middleware.coverage().labels] == ["Order"]
    assert middleware.coverage().refused == ("fail", "search")


def test_events_and_strictness(recorder, turn):
    agent, _ = agent_of(["hi"], AccordMiddleware("?Order.!book.end", events=["Order"], strict=True), recorder)
    turn(agent, asked(), config())
    agent, _ = agent_of(["hi"], AccordMiddleware("?Order.!book.end", strict=True), recorder)
    with pytest.raises(UsageError, match="speaks of `Order`"):
        turn(agent, asked(), config())


def test_tools_that_others_hide_for_a_while(recorder, turn):
    class Hiding(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            seen = sum(message.type == "ai" for message in request.messages)
            return handler(request.override(tools=request.tools[: len(request.tools) - seen]))

        async def awrap_model_call(self, request, handler):
            return await self.wrap_model_call(request, handler)

    model = Scripted(script=[say(call("search", "a")), say(call("book", "b")), "done"])
    middleware = AccordMiddleware("!search.?search.!book.?book.!fail.end", hide=False)
    agent = create_agent(model, recorder.tools, middleware=[Hiding(), middleware])
    turn(agent, asked(), config())
    assert middleware.coverage().labels == ()


def test_tools_that_others_hide_from_the_first_call_on(recorder, turn):
    """They are known from the agent that was made, whatever models are shown of them; functions are tools too."""

    class Hiding(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            return handler(request.override(tools=[each for each in request.tools if each.name == "search"]))

        async def awrap_model_call(self, request, handler):
            return await self.wrap_model_call(request, handler)

    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    middleware = AccordMiddleware("!search.?search.!book.?book.!pay.end", strict=True)
    agent = create_agent(Scripted(script=["done"]), [*recorder.tools, pay], middleware=[Hiding(), middleware])
    turn(agent, asked(), config())
    assert middleware.coverage().labels == ()


def test_the_schema_of_an_answer_is_a_tool(recorder, turn):
    class Offer(BaseModel):
        flight: str

    middleware = AccordMiddleware("!Offer.end")
    script = [say(call("Offer", "a", flight="AZ1"))]
    from langchain.agents.structured_output import ToolStrategy

    agent, _ = agent_of(script, middleware, recorder, response_format=ToolStrategy(Offer))
    turn(agent, asked(), config())
    assert middleware.coverage().labels == ()


def test_tools_that_are_given(recorder):
    middleware = AccordMiddleware('rule "r" { at most 1 book }')
    assert middleware.coverage().tools == ()
    assert middleware.coverage(recorder.tools).passing == middleware.coverage(["search", "fail"]).passing
    assert middleware.coverage(recorder.tools).passing == ("fail", "search")


def test_what_keeps_its_name_is_given_by_its_tool():
    contract = "protocol P = !Look.?search.!book.end events { Look when call search as named otherwise }"
    coverage = AccordMiddleware(contract).coverage(["search", "book", "other"])
    assert (coverage.labels, coverage.refused, coverage.passing) == ((), ("other",), ())
    assert [each.label for each in AccordMiddleware(contract).coverage(["search"]).labels] == ["book"]
