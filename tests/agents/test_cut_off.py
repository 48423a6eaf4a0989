"""Answers of a model that were cut off run nothing in an agent of LangChain either, and the agent goes on."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk

from accord.integrations.batch import CUT_OFF
from accord.langchain import AccordMiddleware
from tests.agents.scripted import Recorder, agent_of, asked, call, config, reported, say, told

REASONS = [
    {"finish_reason": "length"},
    {"finish_reason": "content_filter"},
    {"finish_reason": "MAX_TOKENS"},
    {"stop_reason": "max_tokens"},
    {"stopReason": "max_tokens"},
    {"done_reason": "length"},
    {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
]
WAYS = {
    "sync": lambda agent: agent.invoke(asked(), config()),
    "async": lambda agent: asyncio.run(agent.ainvoke(asked(), config())),
}


def cut_off(*calls, **more):
    return say(*calls).model_copy(update=more)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("why", REASONS, ids=str)
def test_nothing_of_it_runs_and_it_may_be_sent_again(why, way):
    recorder = Recorder()
    half = cut_off(call("search", "a"), call("book", "b"), response_metadata=why)
    again = say(call("search", "a2"))
    agent, _ = agent_of(
        [half, half, half, again, "done"], AccordMiddleware("rec L.!{search.L, book.L}", patience=2), recorder
    )
    after = WAYS[way](agent)
    assert recorder.names == ["search"]
    assert told(after) == [f"error: {CUT_OFF}"] * 6 + ["flights to Rome"]
    assert reported(after)["status"] != "stopped"


def test_arguments_that_langchain_has_completed_do_not_run():
    chunk = AIMessageChunk(
        content="",
        tool_call_chunks=[{"name": "book", "args": '{"flight": "AZ1", "amount": 1', "id": "b", "index": 0}],
        response_metadata={"finish_reason": "length"},
    )
    assert chunk.tool_calls[0]["args"] == {"flight": "AZ1", "amount": 1}, "which was to be 1000"
    recorder = Recorder()
    half = AIMessage(content="", tool_calls=chunk.tool_calls, response_metadata=chunk.response_metadata)
    agent, _ = agent_of([half, "done"], AccordMiddleware("rec L.!book.L"), recorder)
    assert told(WAYS["sync"](agent)) == [f"error: {CUT_OFF}"]
    assert recorder.ran == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("why", [{"finish_reason": "length"}, {"finish_reason": "tool_calls"}])
def test_an_answer_of_broken_calls_alone_does_not_end_the_turn(why, way):
    broken = {"name": "book", "args": '{"flight": ', "id": "b", "error": None, "type": "invalid_tool_call"}
    recorder = Recorder()
    half = cut_off(invalid_tool_calls=[broken], response_metadata=why)
    agent, _ = agent_of([half, say(call("book", "b2")), "done"], AccordMiddleware("rec L.!book.L"), recorder)
    first, second = told(WAYS[way](agent))
    assert first.endswith("so it was not run; send it again") or "so this call was not run" in first
    assert ("cut off" in first) is (why["finish_reason"] == "length")
    assert second == "booked AZ1"
