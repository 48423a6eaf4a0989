"""The same run in every format is the same run; and what is particular to each."""

from __future__ import annotations

import io
import json

import pytest
from tests.recorded import (
    ANTHROPIC,
    BOOK,
    CHAT,
    EXPECTED,
    LANGFUSE,
    LANGSMITH,
    OTEL_SPANS,
    OTLP,
    RESPONSES,
    SAMPLES,
    SESSION,
    TAU,
    TAU2,
    TELLING_ERRORS,
    as_json,
    as_lines,
    read,
    summary,
    without_errors,
)

from accord.sources import READERS, Broken, Run, detect
from accord.sources.registry import read_runs


def kinds(run):
    return [(message.kind, message.name) for message in run.messages]


def test_every_format_of_json_has_a_sample():
    assert {reader.name for reader in READERS} == {*SAMPLES, "csv", "parquet"}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_format_is_recognised(name):
    assert detect(SAMPLES[name]).name == name
    assert detect(b"\xef\xbb\xbf" + SAMPLES[name]).name == name


@pytest.mark.parametrize("name", SAMPLES)
def test_the_run_is_the_same_in_every_format(name):
    (run,) = read(SAMPLES[name])
    assert isinstance(run, Run)
    assert summary(run.messages) == (EXPECTED if name in TELLING_ERRORS else without_errors(EXPECTED))
    indices = [message.index for message in run.messages]
    assert min(indices) >= 0
    if name not in {"otel-spans", "openinference", "otlp", "langfuse", "langsmith"}:
        assert indices == sorted(indices)
        assert [i for i, m in zip(indices, run.messages, strict=True) if m.text == "booked"] == [max(indices)]


@pytest.mark.parametrize(
    ("name", "key", "metadata"),
    [
        ("tau-bench", "7/1", {"task": 7, "trial": 1, "reward": 1.0}),
        ("tau2-bench", "7/1", {"task": "7", "trial": 1, "reward": 1.0, "model": "m-1", "domain": "air"}),
        (
            "agentdojo",
            "travel/user_task_7",
            {"model": "m-1", "suite": "travel", "task": "user_task_7", "utility": True, "security": False},
        ),
        ("openai-chat", "run-1", {"model": "m-1"}),
        ("openai-responses", "resp_1", {"model": "m-1"}),
        ("anthropic", "0", {"model": "m-1"}),
        ("session", "s-1", {"model": "m-1"}),
        ("accord-trace", "run", {}),
        ("trajectory", "t7/0", {"model": "m-1", "task": "t7", "trial": 0, "outcome": "ok"}),
        ("otel-spans", "99", {"model": "m-1"}),
        ("openinference", "t-1", {"model": "m-1"}),
        ("otlp", "5b8e", {"model": "m-1", "service": "travel"}),
        ("langfuse", "t-1", {"model": "m-1", "trace": "travel", "toxicity": 0}),
        ("langsmith", "t-1", {"model": "m-1", "trace": "agent", "ls_model_name": "m-1"}),
    ],
)
def test_what_is_known_about_a_run(name, key, metadata):
    (run,) = read(SAMPLES[name])
    assert (run.key, run.metadata) == (key, metadata)


# -- traps -------------------------------------------------------------------------------------------------------------


def test_a_task_that_is_tried_again_is_another_run():
    runs = read(as_json([{**TAU[0], "trial": 0}, {**TAU[0], "trial": 1}, {**TAU[0], "trial": 1}]))
    assert [run.key for run in runs] == ["7/0", "7/1", "7/1#2"]


@pytest.mark.parametrize("outputs", [True, False])
@pytest.mark.parametrize("metrics", [{}, {"avg_reward": 0.5, "pass_hat_ks": {"1": 0.5}}, {"of": ["x" * 99] * 999}])
@pytest.mark.parametrize("indent", [None, 2])
def test_results_that_stand_beside_their_metrics(tmp_path, indent, metrics, outputs):
    """As in the array alone, whichever of the two comes first."""
    bad = {**TAU[0], "traj": [{"role": 3}]}
    results = [TAU[0], bad, {"reward": 1}, {**TAU[0], "trial": 4}, {"results": [TAU[0]]}]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(results[:-1]))
    alone = list(read_runs(str(path), outputs=outputs))
    for whole in ({"metrics": metrics, "results": results}, {"results": results, "metrics": metrics}):
        path.write_text(json.dumps(whole, indent=indent))
        *found, nested = read_runs(str(path), outputs=outputs)
        assert [type(one) for one in found] == [Run, Broken, Broken, Run]
        assert [one.key for one in found if isinstance(one, Run)] == ["7/1", "7/4"]
        for one, other in zip(found, alone, strict=True):
            if isinstance(one, Broken):
                assert one.reason == other.reason
            else:
                assert (one.metadata, kinds(one)) == (other.metadata, kinds(other))
        assert isinstance(nested, Broken)


@pytest.mark.parametrize("results", [None, {}, 3, "text"])
def test_results_that_are_no_list(results):
    (found,) = read(as_json({"metrics": {"reward": 1, "traj": 1}, "results": results}), "tau-bench")
    assert (type(found), found.reason) == (Broken, "Object missing required field `traj`")
    assert read(as_json({"metrics": {}, "results": []}), "tau-bench") == []


def test_a_broken_run_does_not_stop_the_rest():
    good = TAU[0]
    bad = {**good, "traj": [{"role": 3}]}
    found = read(as_json([good, bad, {"reward": 1}, good]))
    assert [type(run) for run in found] == [Run, Broken, Broken, Run]
    assert found[1].reason == "record 1: Expected `str`, got `int` - at `$.traj[0].role`"
    assert found[2].reason == "record 2: Object missing required field `traj`"


def test_a_broken_simulation_does_not_stop_the_rest():
    simulation = TAU2["simulations"][0]
    bad = {**simulation, "messages": [{"role": "user", "tool_calls": 3}]}
    found = read(as_json({**TAU2, "simulations": [bad, simulation]}), "tau2-bench")
    assert [type(run) for run in found] == [Broken, Run]
    assert found[0].reason.startswith("simulation 0: Expected `array | null`")


def test_a_broken_line_is_told_with_its_number():
    lines = as_lines([{"messages": CHAT}]) + b"{broken}\n\n" + as_lines([{"messages": CHAT}])
    found = read(lines)
    assert [type(run) for run in found] == [Run, Broken, Run]
    assert found[1].line == 2
    assert found[1].reason.startswith("no JSON: ")
    assert [found[0].line, found[2].line] == [1, 4]


def test_a_document_that_is_cut_off_is_told_with_its_line():
    text = json.dumps(TAU, indent=1)
    (found,) = read(text[: len(text) // 2].encode(), "tau-bench")
    assert isinstance(found, Broken)
    assert found.reason.startswith("no JSON: ")


@pytest.mark.parametrize("cut", [1, 3, 40])
def test_runs_before_the_damage_are_read(cut):
    whole = json.dumps([{**TAU[0], "trial": trial} for trial in range(3)], indent=1).encode()
    found = read(whole[:-cut], "tau-bench")
    runs = [run for run in found if isinstance(run, Run)]
    assert [run.key for run in runs] == ["7/0", "7/1", "7/2"][: 3 if cut == 1 else 2]
    assert isinstance(found[-1], Broken)
    assert len(found) == len(runs) + 1


def test_an_empty_run_is_a_run():
    (run,) = read(as_json([{**TAU[0], "traj": []}]), "tau-bench")
    assert list(run.messages) == []


def test_the_last_call_may_stay_unanswered():
    (run,) = read(as_json([{**TAU[0], "traj": CHAT[:6]}]))
    assert kinds(run)[-2:] == [("call", "book"), ("call", "pay")]


def test_users_have_tools_too():
    messages = [
        {
            "role": "user",
            "content": None,
            "tool_calls": [{"id": "1", "name": "t", "arguments": {}, "requestor": "user"}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "name": "t", "arguments": {"x": 1}, "requestor": "assistant"}],
        },
        {"role": "tool", "id": "1", "content": "agent's", "requestor": "assistant"},
        {"role": "tool", "id": "1", "content": "user's", "requestor": "user"},
    ]
    (run,) = read(as_json({"simulations": [{"messages": messages}], "info": None}))
    assert kinds(run) == [("user call", "t"), ("call", "t"), ("result", "t"), ("result", "t")]
    assert [message.answers.kind for message in run.messages[2:]] == ["call", "user call"]


def test_old_function_calls():
    messages = [
        {"role": "assistant", "content": None, "function_call": {"name": "book", "arguments": '{"flight": "A1"}'}},
        {"role": "function", "name": "book", "content": "done"},
    ]
    (run,) = read(as_json({"messages": messages}))
    assert summary(run.messages) == [
        ("call", "book", BOOK),
        ("result", "book", {"text": "done", "error": None, "call": BOOK}),
    ]


def test_custom_tools_take_text():
    call = {"id": "1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    (run,) = read(as_json({"messages": [{"role": "assistant", "content": "", "tool_calls": [call]}]}))
    assert summary(run.messages) == [("call", "sql", {"text": "select 1"})]


@pytest.mark.parametrize("data", [as_json(CHAT), as_lines(CHAT)], ids=["array", "lines"])
def test_a_file_of_chat_messages_is_one_run(data):
    (run,) = read(data)
    assert summary(run.messages) == without_errors(EXPECTED)


@pytest.mark.parametrize(
    "data",
    [as_json(ANTHROPIC["messages"]), as_lines(ANTHROPIC["messages"])],
    ids=["array", "lines"],
)
def test_a_file_of_messages_with_blocks_is_one_run(data):
    (run,) = read(data, "anthropic")
    assert summary(run.messages) == EXPECTED


@pytest.mark.parametrize("data", [as_json(RESPONSES["input"]), as_lines(RESPONSES["input"])], ids=["array", "lines"])
def test_a_file_of_items_is_one_run(data):
    (run,) = read(data)
    assert summary(run.messages) == without_errors(EXPECTED)[:-1]


def test_a_logged_request_and_its_answer_are_one_run():
    answer = {"model": "m-2", "choices": [{"message": {"role": "assistant", "content": "booked"}}]}
    (run,) = read(as_json({"request": {"messages": CHAT[:-1]}, "response": answer}), "openai-chat")
    assert summary(run.messages) == without_errors(EXPECTED)
    assert run.metadata == {"model": "m-2"}


def test_what_is_neither_a_message_nor_a_run_is_broken():
    for name in ("openai-chat", "anthropic", "langfuse"):
        (found,) = read(b'{"x": 1}', name)
        assert isinstance(found, Broken)


def test_tools_that_the_service_runs_are_calls():
    items = [
        {"type": "web_search_call", "id": "ws1", "action": {"query": "x"}},
        {"type": "mcp_call", "id": "m1", "name": "roll", "arguments": '{"d": 6}', "output": "4"},
        {"type": "mcp_call", "id": "m2", "name": "roll", "arguments": "{}", "error": "no dice"},
    ]
    (run,) = read(as_json(items), "openai-responses")
    assert summary(run.messages) == [
        ("call", "web_search", {"query": "x"}),
        ("call", "roll", {"d": 6}),
        ("result", "roll", {"text": "4", "error": None, "call": {"d": 6}}),
        ("call", "roll", {}),
        ("error", "roll", {"text": "no dice", "error": "no dice", "call": {}}),
    ]


def numbers_of_calls(run):
    return {message.name: message.index for message in run.messages if message.kind == "call"}


def asked(*names):
    return [{"type": "function_call", "call_id": name, "name": name, "arguments": "{}"} for name in names]


def output(name):
    return {"type": "function_call_output", "call_id": name, "output": "fine"}


def test_calls_with_no_output_between_them_are_from_one_answer():
    thought = {"type": "reasoning", "summary": []}
    said = {"type": "message", "role": "assistant", "content": "I look it up."}
    items = [
        *asked("a"),
        thought,
        *asked("b"),
        output("a"),
        *asked("c"),
        output("b"),
        output("c"),
        said,
        *asked("d", "e"),
    ]
    (run,) = read(as_json(items), "openai-responses")
    assert numbers_of_calls(run) == {"a": 0, "b": 0, "c": 4, "d": 8, "e": 8}


def test_what_the_user_says_and_a_new_response_begin_another_answer():
    told = {"type": "message", "role": "user", "content": "and?"}
    response = {"id": "r", "object": "response", "input": [*asked("a"), told, *asked("b")], "output": asked("c", "d")}
    (run,) = read(as_json(response), "openai-responses")
    assert numbers_of_calls(run) == {"a": 0, "b": 2, "c": 3, "d": 3}


# -- sessions ----------------------------------------------------------------------------------------------------------


def test_calls_of_one_message_are_parallel_once_its_lines_are_put_together():
    (run,) = read(as_lines(SESSION))
    by_name = {(message.kind, message.name): message.index for message in run.messages}
    assert by_name["call", "book"] == by_name["call", "pay"] < by_name["result", "book"] < by_name["error", "pay"]


def test_a_line_that_is_written_again_is_not_counted_twice():
    again = [*SESSION[:6], SESSION[5], SESSION[4], *SESSION[6:]]
    (run,) = read(as_lines(again))
    assert summary(run.messages) == EXPECTED


def test_agents_under_the_agent_are_runs_of_their_own():
    inner = [{**line, "isSidechain": True, "agentId": "a1"} for line in SESSION[2:]]
    runs = read(as_lines([*SESSION, *inner]))
    assert [run.key for run in runs] == ["s-1", "s-1/a1"]
    assert all(summary(run.messages) == EXPECTED for run in runs)


def test_a_session_that_is_called_as_an_agent_under_another():
    inner = [{**line, "isSidechain": True, "agentId": "a1"} for line in SESSION[2:]]
    named = [{**line, "sessionId": "s-1/a1"} for line in SESSION]
    runs = read(as_lines([*inner, *named]))
    assert [run.key for run in runs] == ["s-1/a1", "s-1/a1#2"]
    assert all(summary(run.messages) == EXPECTED for run in runs)


def test_two_sessions_in_one_file():
    other = [{**line, "sessionId": "s-2"} for line in SESSION]
    mixed = [line for pair in zip(SESSION, other, strict=True) for line in pair]
    runs = read(as_lines(mixed))
    assert [run.key for run in runs] == ["s-1", "s-2"]
    assert all(summary(run.messages) == EXPECTED for run in runs)


# -- spans -------------------------------------------------------------------------------------------------------------


def test_a_trace_may_be_spread_over_several_exports():
    scopes = OTLP["resourceSpans"][0]["scopeSpans"]
    exports = [{"resourceSpans": [{"scopeSpans": [scope]}]} for scope in reversed(scopes)]
    (run,) = read(as_lines(exports))
    assert summary(run.messages) == EXPECTED


def tool_span(name, start, end, parent=None, **more):
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": name, **more}
    return {"name": name, "attributes": about, "start_time": start, "end_time": end, "parent_id": parent}


def test_calls_that_run_at_the_same_time_under_one_parent_were_given_together():
    spans = [
        tool_span("a", 1, 4, "p"), tool_span("b", 2, 3, "p"), tool_span("inside a", 2.5, 3.5, "a"),
        tool_span("c", 3.9, 5, "p"), tool_span("d", 5, 6, "p"),
    ]  # fmt: skip
    (run,) = read(as_json({"spans": spans}), "otel-spans")
    assert numbers_of_calls(run) == {"a": 0, "b": 0, "inside a": 2, "c": 0, "d": 4}


def test_calls_that_one_answer_asks_for_were_given_together_whenever_they_ran():
    said = [
        {
            "role": "assistant",
            "tool_calls": [{"id": name, "function": {"name": name}} for name in ("a", "b")],
            "content": "",
        }
    ]
    model = {"name": "m", "attributes": {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(said)}}
    spans = [
        {**model, "start_time": 0, "end_time": 1},
        tool_span("a", 2, 3, "p"), tool_span("b", 4, 5, "q"), tool_span("c", 4, 6, "q"),
        {**model, "start_time": 7, "end_time": 8}, tool_span("a", 9, 10, "p"),
    ]  # fmt: skip
    (run,) = read(as_json({"spans": spans}), "otel-spans")
    calls = [(message.name, message.index) for message in run.messages if message.kind == "call"]
    assert calls == [("a", 1), ("b", 1), ("c", 3), ("a", 5)]


def test_spans_may_stand_alone():
    (run,) = read(as_lines(reversed(OTEL_SPANS["spans"])))
    assert summary(run.messages) == EXPECTED


def test_a_trace_without_tools_is_its_longest_conversation():
    conversations = [step for step in LANGFUSE["observations"] if step["type"] != "TOOL"]
    conversations[-1] = {**conversations[-2], "input": CHAT[:-1], "output": CHAT[-1]}
    (run,) = read(as_json({**LANGFUSE, "observations": conversations}))
    assert summary(run.messages) == without_errors(EXPECTED)


def test_tools_that_are_only_offered_are_no_results():
    offered = {"role": "tool", "content": {"type": "function", "function": {"name": "search", "description": "x"}}}
    observation = {"type": "GENERATION", "input": [offered, {"role": "user", "content": "hi"}], "output": "hello"}
    (run,) = read(as_json({"trace": {"id": "t"}, "observations": [observation]}))
    assert kinds(run) == [("user", None), ("agent", None)]


def test_messages_of_langchain():
    sent = [
        {"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": "find a flight"}},
        {"type": "ai", "content": "", "tool_calls": [{"name": "book", "args": BOOK, "id": "c2"}]},
        {"type": "tool", "content": "done", "tool_call_id": "c2"},
    ]
    run = {**LANGSMITH[0], "inputs": {"messages": [sent]}, "outputs": {"generations": [[{"text": "booked"}]]}}
    (found,) = read(as_lines([run]))
    assert summary(found.messages) == [
        ("user", None, {"text": "find a flight"}),
        ("call", "book", BOOK),
        ("result", "book", {"text": "done", "error": None, "call": BOOK}),
        ("agent", None, {"text": "booked"}),
    ]


def test_nested_attributes():
    span = {
        "context": {"trace_id": "t"},
        "attributes": {"openinference": {"span": {"kind": "TOOL"}}, "tool": {"name": "pay"}, "input": {"value": "{}"}},
    }
    (run,) = read(as_json({"spans": [span]}), "openinference")
    assert kinds(run) == [("call", "pay"), ("result", "pay")]


@pytest.mark.parametrize("arguments", ['{"x": 1', "", None, 3, [1], '"text"', "[]"])
def test_arguments_that_are_no_object(arguments):
    span = {"attributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.args": arguments}, "name": "t"}
    (run,) = read(as_json({"spans": [span]}), "otel-spans")
    payload = run.messages[0].payload
    assert set(payload) <= {"text"}
    assert (payload == {}) == (arguments in {"", None} if not isinstance(arguments, list) else False)


# -- skimming ----------------------------------------------------------------------------------------------------------


def skimmed(messages):
    return [
        (m.kind, m.index, m.name, m.call_id, m.answers and m.answers.call_id, None if m.kind == "result" else m.payload)
        for m in messages
    ]


@pytest.mark.parametrize("reader", [reader for reader in READERS if reader.skim is not None], ids=lambda r: r.name)
@pytest.mark.parametrize("named", [False, True])
def test_skimming_leaves_out_what_tools_returned_and_nothing_else(reader, named):
    data = SAMPLES[reader.name]
    if named:
        data = data.replace(b'"tool_call_id": "c1"', b'"tool_call_id": "c1", "name": "search"')
    (read_,) = read(data)
    (run,) = reader.skim(io.BufferedReader(io.BytesIO(data)), "file")
    assert skimmed(run.messages) == skimmed(read_.messages)
    assert [m.text for m in run.messages if m.kind == "result"] == ["", "", ""]
    assert (run.key, run.metadata) == (read_.key, read_.metadata)


@pytest.mark.parametrize("reader", [reader for reader in READERS if reader.skim is not None], ids=lambda r: r.name)
def test_a_role_that_nobody_knows_breaks_its_run(reader):
    """It may be the agent's by another name, and half a run is none."""
    data = SAMPLES[reader.name].replace(b'"role": "assistant"', b'"role": "ai"')
    for way in (reader.read, reader.skim):
        (broken,) = way(io.BufferedReader(io.BytesIO(data)), "file")
        assert "has the role `ai`, which this format does not have" in broken.reason


@pytest.mark.parametrize("name", ["anthropic", "agentdojo", "openai-responses", "tau2-bench"])
def test_a_role_that_nobody_knows_breaks_its_run_in_other_formats(name):
    (broken,) = read(SAMPLES[name].replace(b'"role": "assistant"', b'"role": "model"'), name)
    assert "has the role `model`" in broken.reason


def test_an_item_that_nobody_knows_breaks_its_run():
    said = {"type": "message", "role": "user", "content": "hello"}
    silent, unknown = {"type": "reasoning", "summary": []}, {"type": "tool_use", "name": "pay"}
    (run,) = read(as_json([said, silent]), "openai-responses")
    assert [message.kind for message in run.messages] == ["user"]
    (broken,) = read(as_json([said, unknown]), "openai-responses")
    assert broken.reason.startswith("item 1 is of the type `tool_use`")


def test_results_that_came_together_are_several_results():
    answers = [{"role": "tool", "id": "c1", "content": "one"}, {"role": "tool", "id": "c2", "content": "two"}]
    simulation = {"task_id": "1", "messages": [{"role": "tool", "tool_messages": answers}]}
    (run,) = read(as_json({**TAU2, "simulations": [simulation]}), "tau2-bench")
    assert [(message.kind, message.text) for message in run.messages] == [("result", "one"), ("result", "two")]


# -- files that begin badly --------------------------------------------------------------------------------------------

CHATS = [
    [{"role": "user", "content": f"hello {number}"}, {"role": "assistant", "content": "hi"}] for number in range(4)
]


def lines_of(*records):
    return b"".join(record if isinstance(record, bytes) else json.dumps(record).encode() + b"\n" for record in records)


def said(found):
    return [run.messages[0].text for run in found if isinstance(run, Run)]


@pytest.mark.parametrize(
    "first",
    [
        b'{"messages": [{"role": "user", "con\n',
        b"log opened\n",
        b"null\n",
        b'tent": "x"}]}\n',
        b"\xff\xfe{\n",
        b"[10:03] go\n",
    ],
)
def test_a_damaged_first_line_does_not_take_the_others_with_it(first):
    """Logs that are rotated begin in the middle of a line."""
    records = [{"messages": chat} for chat in CHATS]
    found = read(lines_of(first, *records))
    assert said(found) == [f"hello {number}" for number in range(4)]
    assert [(run.line, run.reason != "") for run in found if isinstance(run, Broken)] == [(1, True)]
    assert [run.line for run in found if isinstance(run, Run)] == [2, 3, 4, 5]


@pytest.mark.parametrize("data", [lines_of(*CHATS), json.dumps(CHATS).encode(), json.dumps(CHATS, indent=1).encode()])
def test_a_run_may_be_a_bare_list(data):
    assert said(read(data)) == [f"hello {number}" for number in range(4)]


def test_a_damaged_line_among_bare_lists_is_broken():
    found = read(lines_of(CHATS[0], b'[{"role": "user"\n', CHATS[2]))
    assert said(found) == ["hello 0", "hello 2"]
    assert [run.line for run in found if isinstance(run, Broken)] == [2]


def test_bare_lists_of_blocks_and_items():
    chats = [[{"role": "user", "content": [{"type": "text", "text": f"hello {number}"}]}] for number in range(3)]
    assert said(read(lines_of(*chats), "anthropic")) == ["hello 0", "hello 1", "hello 2"]
    items = [[{"type": "message", "role": "user", "content": f"hello {number}"}] for number in range(3)]
    assert said(read(lines_of(*items), "openai-responses")) == ["hello 0", "hello 1", "hello 2"]


def test_elements_that_stand_on_lines_of_their_own_are_no_lines():
    texts = [json.dumps({"messages": chat}) for chat in CHATS]
    found = read(("[\n" + ",\n".join(texts) + ",\n{broken}\n]").encode())
    assert said(found) == [f"hello {number}" for number in range(4)]
    found = read(("[" + ",\n".join(texts) + ",\n{broken}\n]").encode())
    assert said(found) == [f"hello {number}" for number in range(4)]


def test_keys_that_look_like_made_ones_stay_apart():
    """A chain of such keys as long as somebody likes."""
    names = ["a" + "#2" * number for number in range(1_500)]
    runs = [{"id": name, "messages": CHATS[0]} for name in [*names, "a", "a"]]
    keys = [run.key for run in read(lines_of(*runs))]
    assert len(set(keys)) == len(runs)
