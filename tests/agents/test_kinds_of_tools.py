"""Tools of LangChain as people write them: what has not run is no result, whatever text LangChain makes of it."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool

from accord.langchain import AccordMiddleware
from tests.agents.scripted import Recorder, agent_of, asked, call, config, reported, say, told

CONTRACT = "protocol P = !pay.?pay(error == null).!ship.end tools { pay fails undone }"
RAN = []


@pytest.fixture(autouse=True)
def _fresh():
    RAN.clear()


def plain(amount: int = 1) -> str:
    RAN.append("pay")
    return f"paid {amount}"


async def coroutine(amount: int = 1) -> str:
    await asyncio.sleep(0)
    return plain(amount)


def generator(amount: int = 1):
    yield "begun"
    yield plain(amount)


async def asynchronous_generator(amount: int = 1):
    yield "begun"
    yield plain(amount)


def returns_coroutine(amount: int = 1):
    return coroutine(amount)


def returns_generator(amount: int = 1):
    return generator(amount)


def takes_config(config: RunnableConfig, amount: int = 1) -> str:
    RAN.append("pay")
    return f"paid {amount}" if config["configurable"]["thread_id"] else ""


def outcome(way, **functions):
    """What the model was told, and how the session stands."""
    pay = StructuredTool.from_function(name="pay", description="Pay.", **functions)
    recorder = Recorder()
    recorder.tools.append(pay)
    agent, _ = agent_of([say(call("pay", "a")), "done"], AccordMiddleware(CONTRACT, events=["ship"]), recorder)
    after = agent.invoke(asked(), config()) if way == "sync" else asyncio.run(agent.ainvoke(asked(), config()))
    return told(after)[0], reported(after)["allowed"]


RUN = [
    ("sync", {"func": plain}, "paid 1"),
    ("sync", {"func": generator}, '["begun", "paid 1"]'),
    ("sync", {"func": returns_generator}, '["begun", "paid 1"]'),
    ("sync", {"func": takes_config}, "paid 1"),
    ("async", {"func": plain}, "paid 1"),
    ("async", {"func": generator}, '["begun", "paid 1"]'),
    ("async", {"coroutine": coroutine}, "paid 1"),
    ("async", {"coroutine": returns_coroutine}, "paid 1"),
    ("async", {"coroutine": asynchronous_generator}, '["begun", "paid 1"]'),
]
NOT_RUN = [
    ("sync", {"func": coroutine}),
    ("sync", {"func": returns_coroutine}),
    ("sync", {"func": asynchronous_generator}),
    ("async", {"func": returns_coroutine}),
]


@pytest.mark.parametrize(("way", "functions", "said"), RUN)
def test_a_tool_has_run_to_its_end(way, functions, said):
    assert outcome(way, **functions) == (said, ["!ship"])
    assert RAN == ["pay"]


@pytest.mark.parametrize(("way", "functions"), NOT_RUN)
def test_what_has_not_run_has_failed(way, functions):
    said, allowed = outcome(way, **functions)
    assert "the tool is asynchronous and was not waited for" in said
    assert (allowed, RAN) == (["!pay"], [])
