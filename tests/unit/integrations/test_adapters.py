"""The ready adapters, with the response classes of the SDKs themselves; nothing is sent anywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import get_args
from unittest.mock import MagicMock

import pytest
from anthropic.types import ContentBlock, Message
from openai.types.chat import ChatCompletion
from openai.types.responses import Response, ResponseOutputItem

from accord import LLMResponse, Monitor, MonitoredClient, ToolCall, ToolMiddleware, UsageError
from accord.integrations import adapt_chat_completion, adapt_message, adapt_response, anthropic, openai
from accord.integrations.reading import parse_arguments


def completion(*messages, finish_reason="stop"):
    return ChatCompletion.model_validate({
        "id": "x", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [
            {"index": i, "finish_reason": finish_reason, "message": {"role": "assistant", **message}}
            for i, message in enumerate(messages)
        ],
    })  # fmt: skip


def response(*output, status="completed"):
    return Response.model_validate({
        "id": "x", "object": "response", "created_at": 0, "model": "m", "status": status, "output": list(output),
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    })  # fmt: skip


def message(*content, stop_reason="end_turn"):
    return Message.model_validate({
        "id": "x", "type": "message", "role": "assistant", "model": "m", "stop_reason": stop_reason,
        "usage": {"input_tokens": 1, "output_tokens": 1}, "content": list(content),
    })  # fmt: skip


def function(name, arguments, identity="c1"):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


# -- OpenAI, chat completions ------------------------------------------------------------------------------------------


def test_a_chat_completion_with_text():
    raw = completion({"content": "Hello"})
    adapted = adapt_chat_completion(raw)
    assert adapted == LLMResponse(content="Hello") and adapted.raw is raw


def test_a_chat_completion_with_tool_calls():
    raw = completion({
        "content": None,
        "tool_calls": [
            function("search", '{"city": "Rome"}', "c1"),
            {"id": "c2", "type": "custom", "custom": {"name": "run", "input": "print(1)"}},
            function("now", "", "c3"),
        ],
    })  # fmt: skip
    assert adapt_chat_completion(raw).tool_calls == [
        ToolCall("search", {"city": "Rome"}, "c1"),
        ToolCall("run", {"input": "print(1)"}, "c2"),
        ToolCall("now", {}, "c3"),
    ]


def test_a_chat_completion_of_the_old_kind_and_a_refusal():
    raw = completion({"content": None, "function_call": {"name": "search", "arguments": "{}"}})
    assert adapt_chat_completion(raw).tool_calls == [ToolCall("search", {}, "")]
    assert adapt_chat_completion(completion({"content": None, "refusal": "I won't."})).content == "I won't."


@pytest.mark.parametrize(
    "written", ['{"city": ', "[1", "NaN", '{"n": Infinity}', "[" * 100_000, '{"n": %s}' % ("9" * 5000)]
)
def test_arguments_that_are_no_json_are_kept_for_the_model_to_be_told(written):
    raw = completion({"content": None, "tool_calls": [function("search", written)]})
    adapted = adapt_chat_completion(raw)
    assert adapted.tool_calls == [ToolCall("search", written, "c1")]
    monitor = Monitor("?search.!search.end")
    (result,) = ToolMiddleware(monitor, {"search": pytest.fail}).process(adapted)
    assert result.error == "the arguments of `search` must be a JSON object" and monitor.trace == []


def test_the_last_of_two_equal_keys_is_judged_and_run():
    assert parse_arguments('{"amount": 1, "amount": 1000}') == {"amount": 1000}


@pytest.mark.parametrize(("raw", "says"), [
    (completion(), "one choice is expected, got 0"),
    (completion({"content": "a"}, {"content": "b"}), "one choice is expected, got 2"),
    (None, "expected a list in `choices` of `NoneType`"),
    ({}, "expected a list in `choices` of `dict`"),
    ({"choices": []}, "one choice is expected, got 0"),
    ({"choices": [{"delta": {"tool_calls": [function("pay", "{}")]}}]}, "a choice with a `message` is expected"),
    ({"choices": [{"message": {"content": None, "tool_calls": [{"type": "robot", "id": "c1"}]}}]}, "got `robot`"),
    ({"choices": [{"message": {"content": 7}}]}, "expected a text in `content` of `dict`, got `int`"),
    ({"error": {"message": "overloaded"}}, "expected a list in `choices` of `dict`"),
    (MagicMock(), "expected a list in `choices` of `MagicMock`, got `MagicMock`"),
    (SimpleNamespace(choices=[SimpleNamespace(message=MagicMock())]), "expected a text in `content`"),
    (SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=None, tool_calls=[
        SimpleNamespace(type="robot", id="c1")]))]), "a tool call is `function` or `custom`, got `robot`"),
    (message({"type": "text", "text": "a"}), "expected a list in `choices` of `Message`"),
])  # fmt: skip
def test_what_is_no_chat_completion(raw, says):
    with pytest.raises(UsageError, match=says):
        adapt_chat_completion(raw)


# -- OpenAI, responses -------------------------------------------------------------------------------------------------

SAID = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
CALL = {"type": "function_call", "id": "f", "call_id": "c1", "name": "search", "arguments": '{"city": "Rome"}'}


def test_a_response_with_text_and_calls():
    raw = response(
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}},
        SAID | {"content": [{"type": "output_text", "text": "Let me ", "annotations": []}]},
        SAID | {"content": [{"type": "output_text", "text": "see.", "annotations": []}]},
        CALL,
        {"type": "custom_tool_call", "call_id": "c2", "name": "run", "input": "print(1)"},
    )
    assert [type(item).__name__ for item in raw.output][4:] == ["ResponseFunctionToolCall", "ResponseCustomToolCall"]
    adapted = adapt_response(raw)
    assert adapted.content == "Let me see." and adapted.raw is raw
    assert adapted.tool_calls == [
        ToolCall("search", {"city": "Rome"}, "c1"),
        ToolCall("run", {"input": "print(1)"}, "c2"),
    ]


def test_a_response_that_refuses_or_was_cut_off():
    assert adapt_response(response(SAID | {"content": [{"type": "refusal", "refusal": "No."}]})).content == "No."
    assert adapt_response(response(status="incomplete")) == LLMResponse()


@pytest.mark.parametrize("status", ["failed", "cancelled", "queued", "in_progress"])
def test_a_response_that_is_not_done(status):
    with pytest.raises(UsageError, match=f"got one that is `{status}`"):
        adapt_response(response(CALL, status=status))


def types_of(union):
    for member in get_args(union):
        if hasattr(member, "model_fields"):
            yield from get_args(member.model_fields["type"].annotation)
        else:
            yield from types_of(member)


READ = {"message", "function_call", "custom_tool_call"}


@pytest.mark.parametrize("kind", sorted({*types_of(ResponseOutputItem), "of_the_future"} - READ))
def test_whatever_asks_the_program_for_something_else_is_an_error(kind):
    """Every kind of item this version of the SDK knows is read, run by OpenAI, or refused."""
    raw = SimpleNamespace(status="completed", output=[SimpleNamespace(type=kind)])
    if kind in openai._NOT_FOR_US:
        assert adapt_response(raw) == LLMResponse()
    else:
        with pytest.raises(UsageError, match=f"the response holds a `{kind}`; write an adapter of your own"):
            adapt_response(raw)
    asks = ("computer_call", "shell_call", "local_shell_call", "apply_patch_call", "mcp_approval_request")
    assert not openai._NOT_FOR_US & {*asks}
    assert {*types_of(ResponseOutputItem)} >= openai._NOT_FOR_US


# -- Anthropic ---------------------------------------------------------------------------------------------------------

USE = {"type": "tool_use", "id": "t1", "name": "search", "input": {"city": "Rome"}}


def test_a_message_with_text_and_calls():
    raw = message(
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Let me see."},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        USE,
        USE | {"id": "t2", "input": {}},
        stop_reason="tool_use",
    )
    adapted = adapt_message(raw)
    assert adapted.content == "Let me see." and adapted.raw is raw
    assert adapted.tool_calls == [ToolCall("search", {"city": "Rome"}, "t1"), ToolCall("search", {}, "t2")]
    assert adapt_message(message()) == LLMResponse()


@pytest.mark.parametrize("kind", sorted({*types_of(ContentBlock), "of_the_future"} - {"text", "tool_use"}))
def test_an_unknown_block_is_an_error(kind):
    raw = SimpleNamespace(stop_reason="end_turn", content=[SimpleNamespace(type=kind)])
    if kind in anthropic._NOT_FOR_US or kind.endswith("_tool_result"):
        assert adapt_message(raw) == LLMResponse()
    else:
        assert kind == "of_the_future"
        with pytest.raises(UsageError, match="the message holds a `of_the_future`"):
            adapt_message(raw)


@pytest.mark.parametrize(("adapter", "raw", "says"), [
    (adapt_message, None, "expected a list in `content` of `NoneType`"),
    (adapt_message, completion({"content": "a"}), "expected a list in `content` of `ChatCompletion`"),
    (adapt_message, SimpleNamespace(content=["text"]), "expected a text in `type` of `str`"),
    (adapt_message, SimpleNamespace(content=[SimpleNamespace(type="tool_use", id=3, name="x")]), "a text in `id`"),
    (adapt_response, completion({"content": "a"}), "expected a list in `output` of `ChatCompletion`"),
    (adapt_response, SimpleNamespace(output=[SimpleNamespace(type="message", content=[
        SimpleNamespace(type="picture")])]), "a part of a message is `output_text` or `refusal`, got `picture`"),
])  # fmt: skip
def test_what_is_not_of_the_kind_an_adapter_reads(adapter, raw, says):
    with pytest.raises(UsageError, match=says):
        adapter(raw)


# -- together ----------------------------------------------------------------------------------------------------------

ASKS = [function("search", '{"city": "Rome"}', "a"), function("search", '{"city": "Oslo"}', "b")]


@pytest.mark.parametrize(("adapter", "turns"), [
    (adapt_chat_completion, [completion({"content": None, "tool_calls": ASKS}), completion({"content": "Done."})]),
    (adapt_response, [
        response(CALL, CALL | {"call_id": "c2", "arguments": '{"city": "Oslo"}'}),
        response(SAID | {"content": [{"type": "output_text", "text": "Done.", "annotations": []}]}),
    ]),
    (adapt_message, [
        message(USE, USE | {"id": "t2", "input": {"city": "Oslo"}}, stop_reason="tool_use"),
        message({"type": "text", "text": "Done."}),
    ]),
], ids=["chat completions", "responses", "messages"])  # fmt: skip
def test_a_whole_loop(adapter, turns):
    monitor = Monitor("rec Loop.!Request.?{ToolCall.!ToolResult.Loop, FinalAnswer.end}")
    left = list(turns)
    client = MonitoredClient(
        llm_call=lambda **_: left.pop(0),
        response_adapter=adapter,
        monitor=monitor,
        send_label="Request",
        receive_label=lambda r: "ToolCall" if r.has_tool_calls else "FinalAnswer",
    )
    tools = ToolMiddleware(monitor, {"search": lambda city: [city]}, receive_label="ToolCall", send_label="ToolResult")
    told = []
    while (said := client.call(messages=told)).has_tool_calls:
        told += [result.content for result in tools.process(said)]
    assert (said.content, told) == ("Done.", ['["Rome"]', '["Oslo"]'])
    assert monitor.is_terminal


PLAIN = [
    (adapt_chat_completion, completion({"content": "Hello"})),
    (adapt_chat_completion, completion({"content": None, "refusal": "I won't."})),
    (adapt_chat_completion, completion({"content": None, "function_call": {"name": "search", "arguments": "{}"}})),
    (adapt_chat_completion, completion({"content": "So", "tool_calls": [
        function("search", '{"city": "Rome"}'), function("search", '{"city": ', "c3"),
        {"id": "c2", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}]})),
    (adapt_response, response(
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "So", "annotations": []}, {"type": "refusal", "refusal": "No."}]},
        {"type": "function_call", "call_id": "c1", "name": "search", "arguments": '{"city": "Rome"}'},
        {"type": "custom_tool_call", "call_id": "c2", "name": "run", "input": "print(1)"})),
    (adapt_message, message(
        {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "So"},
        {"type": "tool_use", "id": "c1", "name": "search", "input": {"city": "Rome"}}, stop_reason="tool_use")),
    (adapt_message, message(
        {"type": "tool_use", "id": "c1", "name": "search", "input": {"city": "Ro"}}, stop_reason="max_tokens")),
]  # fmt: skip


@pytest.mark.parametrize(("adapter", "raw"), PLAIN)
def test_plain_json_is_read_as_the_object_is(adapter, raw):
    bodies = [raw.model_dump(), raw.model_dump(mode="json", exclude_none=True), json.loads(raw.model_dump_json())]
    for body in bodies:
        adapted = adapter(body)
        assert adapted == adapter(raw)
        assert adapted.raw is body


@pytest.mark.parametrize(("adapter", "raw", "says"), [
    (adapt_response, {"output": [{"type": "computer_call", "call_id": "c1"}]}, "the response holds a `computer_call`"),
    (adapt_response, {"status": "failed", "output": []}, "got one that is `failed`"),
    (adapt_response, {"output": [{"type": "function_call", "name": "a", "arguments": "{}"}]}, "a text in `call_id`"),
    (adapt_message, {"content": [{"type": "robot"}]}, "the message holds a `robot`"),
    (adapt_message, {"content": "Hello"}, "expected a list in `content` of `dict`"),
])  # fmt: skip
def test_plain_json_is_believed_no_more_than_objects(adapter, raw, says):
    with pytest.raises(UsageError, match=says):
        adapter(raw)


def test_no_sdk_is_imported():
    code = (
        "import sys, accord.integrations; print(*[n for n in ('openai', 'anthropic', 'asyncio') if n in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"
