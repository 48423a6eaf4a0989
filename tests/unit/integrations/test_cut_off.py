"""Answers in which a model was cut off run nothing, whatever of them can be read, and the model is told so."""

from __future__ import annotations

import asyncio

import pytest

from accord import Guard, LLMResponse, Monitor, MonitoredClient, ToolCall, ToolMiddleware
from accord.integrations import adapt_chat_completion, adapt_message, adapt_response

SAID = "your answer was cut off before it was complete, so this call was not run; send it again"


def chat(reason, *written):
    calls = [
        {"id": f"c{number}", "type": "function", "function": {"name": "pay", "arguments": text}}
        for number, text in enumerate(written)
    ]
    calls += [{"id": "x", "type": "custom", "custom": {"name": "pay", "input": "1"}}]
    return {"choices": [{"finish_reason": reason, "message": {"content": None, "tool_calls": calls}}]}


def old_chat(reason):
    return {"choices": [{"finish_reason": reason, "message": {"function_call": {"name": "pay", "arguments": "{}"}}}]}


def response(status, *, item="completed"):
    call = {"type": "function_call", "call_id": "c1", "name": "pay", "arguments": '{"amount": 1}', "status": item}
    custom = {"type": "custom_tool_call", "call_id": "c2", "name": "pay", "input": "1", "status": item}
    return {"status": status, "incomplete_details": {"reason": "max_output_tokens"}, "output": [call, custom]}


def message(reason, *behind):
    call = {"type": "tool_use", "id": "t1", "name": "pay", "input": {"amount": 1}}
    return {"stop_reason": reason, "content": [call, {**call, "id": "t2", "input": {}}, *behind]}


CUT_OFF = [
    *((adapt_chat_completion, chat(reason, *written))
      for reason in ("length", "content_filter")
      for written in (['{"amount": 1}'], [""], [" "], ['{"amount": '], ['{"amount": 1}', '{"amount": '])),
    *((adapt_chat_completion, old_chat(reason)) for reason in ("length", "content_filter")),
    (adapt_response, response("incomplete")),
    (adapt_response, response("completed", item="incomplete")),
    *((adapt_message, message(reason, *behind))
      for reason in ("max_tokens", "model_context_window_exceeded", "refusal")
      for behind in ([], [{"type": "text", "text": "and"}], [{"type": "thinking", "thinking": "hm"}])),
]  # fmt: skip
WHOLE = [
    (adapt_chat_completion, chat("tool_calls", '{"amount": 1}', "")),
    (adapt_chat_completion, old_chat("function_call")),
    (adapt_response, response("completed")),
    (adapt_message, message("tool_use")),
]
TOOL = {"pay": lambda **_: "paid"}


@pytest.fixture(params=[raw for _, raw in CUT_OFF], ids=[f"{a.__name__}-{n}" for n, (a, _) in enumerate(CUT_OFF)])
def answer(request):
    adapter = next(adapter for adapter, raw in CUT_OFF if raw is request.param)
    return adapter(request.param)


def test_a_guard_runs_none_of_it_and_counts_nothing(answer):
    guard = Guard("rec L.!pay.L", tools={"pay": pytest.fail}, patience=2)
    for _ in range(5):
        results = guard.run(answer.tool_calls)
        assert {result.error for result in results} == {SAID}
    assert [decision.status for decision in guard.reserve(answer.tool_calls)] == ["refused"] * len(results)
    assert asyncio.run(guard.arun(answer.tool_calls))[0].error == SAID
    assert guard.stopped is None and guard.out() == []
    guard.register("pay", TOOL["pay"])
    assert guard.run([ToolCall("pay", {}, answer.tool_calls[0].id)])[0].ok, "it is sent again, under the same id"


def test_a_guard_that_only_observes_runs_none_of_it(answer):
    guard = Guard("rec L.!pay.L", tools={"pay": pytest.fail}, on_violation="observe")
    assert {result.error for result in guard.run(answer.tool_calls)} == {SAID}


@pytest.mark.parametrize("view", ["program", "agent"])
def test_the_middleware_runs_none_of_it(answer, view):
    monitor = Monitor("rec L.?pay.!pay.L" if view == "program" else "rec L.!pay.?pay.L", mode="refuse")
    tools = ToolMiddleware(monitor, {"pay": pytest.fail}, view=view)
    assert {result.error for result in tools.process(answer)} == {SAID}
    assert {result.error for result in asyncio.run(tools.aprocess(answer))} == {SAID}
    assert monitor.trace == []


def test_a_client_passes_it_on(answer):
    client = MonitoredClient(
        llm_call=lambda: answer,
        response_adapter=lambda raw: LLMResponse(raw.content, raw.tool_calls),
        monitor=Monitor("!Ask.?Answer.end"),
        send_label="Ask",
        receive_label="Answer",
    )
    assert all(call.cut_off for call in client.call().tool_calls)


@pytest.mark.parametrize(("adapter", "raw"), WHOLE)
def test_a_whole_answer_runs(adapter, raw):
    guard = Guard("rec L.!pay.L", tools=TOOL)
    assert all(result.ok for result in guard.run(adapter(raw).tool_calls))
