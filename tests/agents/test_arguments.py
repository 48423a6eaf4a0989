"""What is judged, shown to people and written down is what the tool really runs with."""

from __future__ import annotations

import asyncio
import json
from datetime import date
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_model_call
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState
from langgraph.types import Command
from pydantic import BaseModel, ConfigDict, Field, SecretStr, create_model, field_validator

from accord import Ledger, MemorySink
from accord.langchain import AccordMiddleware, CheckpointedProtocolMiddleware, ProtocolFSM, Transition, ref
from accord.langchain.arguments import complete, differs
from tests.agents.scripted import Scripted, asked, call, config, say, told

CALM = 'rule "calm" { at most 0 pay(urgent == true) }'


class Till:
    """The same tool in every way in which LangChain lets one be made."""

    def __init__(self):
        self.ran = []
        till = self

        @tool
        def pay(to: str, urgent: bool = False, amount: int = 10) -> str:
            """Pay."""
            till.ran.append((to, urgent, amount))
            return "paid"

        @tool("pay")
        def injected(
            to: str,
            state: Annotated[dict, InjectedState],
            identity: Annotated[str, InjectedToolCallId],
            urgent: bool = False,
            amount: int = 10,
        ) -> str:
            """Pay."""
            assert state["messages"]
            assert identity
            till.ran.append((to, urgent, amount))
            return "paid"

        class Payment(BaseModel):
            to: str
            urgent: bool = False
            amount: int = 10

            @field_validator("to")
            @classmethod
            def trim(cls, value):
                return value.strip()

        def paying(to, urgent, amount):
            till.ran.append((to, urgent, amount))
            return "paid"

        structured = StructuredTool.from_function(paying, name="pay", description="Pay.", args_schema=Payment)
        self.tools = {"function": pay, "injected": injected, "structured": structured}


@pytest.fixture
def till():
    return Till()


def agent_of(script, tools, *middleware):
    return create_agent(Scripted(script=script), tools, middleware=list(middleware), checkpointer=InMemorySaver())


@pytest.mark.parametrize("kind", ["function", "injected", "structured"])
@pytest.mark.parametrize("urgent", ["yes", "on", 1, "1", True])
def test_what_the_tool_would_take_for_true_is_judged_as_true(till, kind, urgent):
    agent = agent_of(
        [say(call("pay", "a", to="bob", urgent=urgent)), "done"], [till.tools[kind]], AccordMiddleware(CALM)
    )
    result = agent.invoke(asked(), config())
    assert till.ran == []
    assert "refused by the rule `calm`" in told(result)[0]


@pytest.mark.parametrize("kind", ["function", "injected", "structured"])
def test_defaults_are_judged(till, kind):
    contract = "protocol P = !pay(amount as n).?pay.!pay(amount > n).?pay.end"
    script = [
        say(call("pay", "a", to="bob")),
        say(call("pay", "b", to="bob")),
        say(call("pay", "c", to="bob", amount="11")),
        "done",
    ]
    agent = agent_of(script, [till.tools[kind]], AccordMiddleware(contract))
    result = agent.invoke(asked(), config())
    assert till.ran == [("bob", False, 10), ("bob", False, 11)]
    assert "`amount` is 10" in told(result)[1]
    assert result["accord"]["status"] == "complete"


def test_what_a_validator_makes_of_an_argument_is_judged(till):
    middleware = AccordMiddleware('rule "not to mallory" { at most 0 pay(to == "mallory") }')
    agent = agent_of([say(call("pay", "a", to=" mallory ")), "done"], [till.tools["structured"]], middleware)
    assert told(agent.invoke(asked(), config()))[0].startswith("error")
    assert till.ran == []


def test_a_person_is_shown_all_of_it_and_it_is_written_down(till):
    ledger = Ledger(MemorySink())
    middleware = AccordMiddleware("?Approval by human.!pay.?pay.end", ledger=ledger)
    agent = agent_of(
        [say(call("pay", "a", to="bob", urgent="no", junk=1)), "done"], [till.tools["function"]], middleware
    )
    result = agent.invoke(asked(), config())
    whole = {"to": "bob", "urgent": False, "amount": 10}
    assert result["__interrupt__"][0].value["action"]["arguments"] == whole
    for partly in ({"to": "eve"}, {**whole, "urgent": "yes"}, {**whole, "junk": 1}):
        result = agent.invoke(Command(resume={"event_label": "modify", "by": "ana", "payload": partly}), config())
        assert "argument" in result["__interrupt__"][0].value["error"]
    agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert till.ran == [("bob", False, 10)]
    entries = [json.loads(line)["entry"] for line in ledger._sink.data.splitlines()]
    assert [entry["payload"] for entry in entries if entry.get("event") == "!pay"] == [whole]


@pytest.mark.parametrize(
    ("annotation", "asked_for", "instead"),
    [
        (float, 200.5, 150),
        (float | None, 200.5, 150),
        (float | None, 200.5, None),
        (float | str, 200.5, 150),
        (int | float, 200.5, 150),
        (list[float], [200.5], [150, 1]),
        (dict[str, float], {"net": 200.5}, {"net": 150}),
        (list[dict[str, float | None]], [{"net": 200.5}], [{"net": 150}, {"net": None}]),
        (int, 200, 150.0),
    ],
)
def test_a_whole_number_in_place_of_a_fraction_is_a_number(annotation: Any, asked_for, instead):
    ran = []

    def paying(amount):
        ran.append(amount)
        return "paid"

    schema = create_model("Payment", amount=(annotation, ...))
    pay = StructuredTool.from_function(paying, name="pay", description="Pay.", args_schema=schema)
    script = [say(call("pay", "a", amount=asked_for)), "done"]
    agent = agent_of(script, [pay], AccordMiddleware("?Approval by human.!pay.?pay.end"))
    agent.invoke(asked(), config())
    answer = {"event_label": "modify", "by": "ana", "payload": {"amount": instead}}
    result = agent.invoke(Command(resume=answer), config())
    assert "__interrupt__" not in result
    assert ran == [instead]
    assert result["accord"]["status"] == "complete"


@pytest.mark.parametrize(("annotation", "instead"), [(float, True), (bool, 1), (int, True), (float, "150")])
def test_what_is_no_number_in_json_is_not_taken_for_one(annotation: Any, instead):
    schema = create_model("Payment", amount=(annotation, ...))

    def paying(amount):
        raise AssertionError(amount)

    pay = StructuredTool.from_function(paying, name="pay", description="Pay.", args_schema=schema)
    script = [say(call("pay", "a", amount=0)), "done"]
    agent = agent_of(script, [pay], AccordMiddleware("?Approval by human.!pay.?pay.end"))
    agent.invoke(asked(), config())
    answer = {"event_label": "modify", "by": "ana", "payload": {"amount": instead}}
    result = agent.invoke(Command(resume=answer), config())
    assert "the argument `amount` is not given as the tool takes it" in result["__interrupt__"][0].value["error"]


def test_another_process_reads_the_same(till):
    """The gate is answered by a middleware that has never seen a model: it knows what the first one has shown."""
    saver = InMemorySaver()
    script = [say(call("pay", "a", to="bob")), "done"]

    def agent():
        middleware = AccordMiddleware("?Approval by human.!pay(amount <= 10).?pay.end")
        return create_agent(
            Scripted(script=script), [till.tools["function"]], middleware=[middleware], checkpointer=saver
        )

    first = agent().invoke(asked(), config())["__interrupt__"][0].value
    again = agent().invoke(Command(resume="no"), config())["__interrupt__"][0].value
    assert again["review"] == first["review"]
    agent().invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert till.ran == [("bob", False, 10)]


@pytest.mark.parametrize("way", ["sync", "async"])
def test_what_others_change_behind_our_back_does_not_run_otherwise(till, way):
    """A middleware around ours puts back what the model had said, so what is judged is not what would run."""

    def meddled(response):
        (message,) = response.result
        if message.tool_calls:
            message.tool_calls[0]["args"] = {"to": "bob", "urgent": "yes"}
        return response

    if way == "sync":

        @wrap_model_call
        def meddle(request, handler):
            return meddled(handler(request))
    else:

        @wrap_model_call
        async def meddle(request, handler):
            return meddled(await handler(request))

    agent = agent_of(
        [say(call("pay", "a", to="bob")), "done"], [till.tools["function"]], meddle, AccordMiddleware(CALM)
    )
    result = agent.invoke(asked(), config()) if way == "sync" else asyncio.run(agent.ainvoke(asked(), config()))
    assert till.ran == []
    assert told(result)[0].startswith("error")
    assert result["accord"]["out"] == []


def test_guards_of_state_machines_see_all_of_it(till):
    pay, seen = till.tools["function"], []

    def calm(context):
        seen.append(context.metadata["args"])
        return not context.metadata["args"]["urgent"]

    fsm = ProtocolFSM(initial="a").add_transition(
        Transition(source="a", tool=ref(pay), phase="send", target="b", guard=calm)
    )
    middleware = CheckpointedProtocolMiddleware(fsm=fsm.mark_terminal("b"), tool_refs=[ref(pay)]).middleware
    script = [say(call("pay", "a", to="bob", urgent="yes")), say(call("pay", "b", to="bob")), "done"]
    agent_of(script, [pay], middleware).invoke(asked(), config())
    assert till.ran == [("bob", False, 10)]
    assert seen[0] == {"to": "bob", "urgent": True, "amount": 10}


def test_where_nobody_looks_at_arguments_the_message_stays_as_it_is(till):
    agent = agent_of(
        [say(call("pay", "a", to="bob")), "done"], [till.tools["function"]], AccordMiddleware("!pay.?pay.end")
    )
    result = agent.invoke(asked(), config())
    assert result["messages"][1].tool_calls[0]["args"] == {"to": "bob"}


# -- what a schema makes of arguments ----------------------------------------------------------------------------------


def tool_with(schema):
    return StructuredTool.from_function(lambda **_: "", name="t", description="t", args_schema=schema)


class Renamed(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    to: str = Field(alias="recipient")


class Dated(BaseModel):
    day: date
    more: list[int] = []


class Hidden(BaseModel):
    pin: SecretStr


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    n: int = 1


class Broken(BaseModel):
    n: int = 1

    @field_validator("n")
    @classmethod
    def fail(cls, value):
        raise RuntimeError(value)


@pytest.mark.parametrize(
    ("schema", "given", "expected"),
    [
        (Renamed, {"recipient": "bob"}, {"recipient": "bob"}),
        (Renamed, {"to": "bob"}, {"recipient": "bob"}),
        (Dated, {"day": "2026-11-15"}, {"day": "2026-11-15", "more": []}),
        (Dated, {"day": "2026-11-15", "more": ["1"]}, {"day": "2026-11-15", "more": [1]}),
        (Dated, {"day": "never"}, None),
        (Hidden, {"pin": "1234"}, None),
        (Loose, {"x": "y"}, {"n": 1, "x": "y"}),
        (Broken, {"n": 2}, None),
        ({"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}, {}, None),
    ],
)
def test_what_a_schema_makes_of_arguments(schema: Any, given, expected):
    assert complete(tool_with(schema), given) == expected


def test_parameters_of_any_number_are_left_out():
    @tool
    def many(n: int = 1, **kwargs: Any) -> str:
        """Take many."""
        return ""

    assert complete(many, {}) == {"n": 1}


def test_what_differs():
    assert differs({"a": 1}, {"a": 1}) is None
    assert differs({"a": [{"b": True}]}, {"a": [{"b": True}]}) is None
    assert differs({"a": True}, {"a": 1}) == "the argument `a` is not given as the tool takes it"
    assert differs({"a": 150.0, "b": [{"c": 1.0}]}, {"a": 150, "b": [{"c": 1}]}) is None
    assert differs({"a": [{"b": 1.0}]}, {"a": [{"b": 1.5}]}) is not None
    assert differs({"a": float(2**53)}, {"a": 2**53 + 1}) is not None
    for one, other in ((True, 1), (1, True), (True, 1.0), (0.0, False), ("1", 1), (1.0, "1"), (None, 0)):
        assert differs({"a": [one]}, {"a": [other]}) is not None
    assert differs({"a": [1]}, {"a": [1, 2]}) is not None
    assert differs({"a": {"b": 1}}, {"a": {"c": 1}}) is not None
    assert differs({"a": 1, "b": 2}, {"a": 1}) == "the argument `b` is missing"
    assert differs({"a": 1}, {"a": 1, "c": 2}) == "there is no argument `c`"
