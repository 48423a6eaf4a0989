"""One small run, written in every format that accord reads."""

from __future__ import annotations

import io
import json

from accord.sources import detect, reader_named

SEARCH, BOOK, PAY = {"to": "JFK"}, {"flight": "A1"}, {"amount": 3}
FOUND = {"flights": ["A1"]}

EXPECTED = [
    ("user", None, {"text": "find a flight"}),
    ("agent", None, {"text": "looking"}),
    ("call", "search", SEARCH),
    ("result", "search", {**FOUND, "error": None, "call": SEARCH}),
    ("user", None, {"text": "yes, book it"}),
    ("call", "book", BOOK),
    ("call", "pay", PAY),
    ("result", "book", {"text": "done", "error": None, "call": BOOK}),
    ("error", "pay", {"text": "no money", "error": "no money", "call": PAY}),
    ("agent", None, {"text": "booked"}),
]
"""Kind, name and payload of each message, ids of calls aside."""


def summary(messages):
    """Kind, name and payload of messages, without ids, which formats have or have not."""
    found = []
    for message in messages:
        payload = message.payload
        payload.pop("call_id", None)
        found.append((message.kind, message.name, payload))
    return found


def without_errors(expected):
    """As formats tell it that do not say whether a tool failed."""
    return [
        ("result", name, {**payload, "error": None}) if kind == "error" else (kind, name, payload)
        for kind, name, payload in expected
    ]


def _call(name, arguments, number):
    return {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


CHAT = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "find a flight"},
    {"role": "assistant", "content": "looking", "tool_calls": [_call("search", SEARCH, 1)]},
    {"role": "tool", "tool_call_id": "c1", "content": json.dumps(FOUND)},
    {"role": "user", "content": [{"type": "text", "text": "yes, book it"}]},
    {"role": "assistant", "content": None, "tool_calls": [_call("book", BOOK, 2), _call("pay", PAY, 3)]},
    {"role": "tool", "tool_call_id": "c2", "content": "done"},
    {"role": "tool", "tool_call_id": "c3", "content": "no money"},
    {"role": "assistant", "content": "booked"},
]
TAU = [{"task_id": 7, "trial": 1, "reward": 1.0, "info": {}, "traj": CHAT}]


def _tau2_call(name, arguments, number):
    return {"id": f"c{number}", "name": name, "arguments": arguments, "requestor": "assistant"}


TAU2 = {
    "info": {"user_info": {}, "agent_info": {"llm": "m-1"}, "environment_info": {"domain_name": "air"}},
    "tasks": [],
    "simulations": [
        {
            "id": "s",
            "task_id": "7",
            "trial": 1,
            "reward_info": {"reward": 1.0},
            "messages": [
                {"role": "user", "content": "find a flight", "timestamp": "2025-01-01T00:00:00"},
                {"role": "assistant", "content": "looking", "tool_calls": [_tau2_call("search", SEARCH, 1)]},
                {"role": "tool", "id": "c1", "content": json.dumps(FOUND), "requestor": "assistant", "error": False},
                {"role": "user", "content": "yes, book it"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [_tau2_call("book", BOOK, 2), _tau2_call("pay", PAY, 3)],
                },
                {"role": "tool", "id": "c2", "content": "done", "requestor": "assistant", "error": False},
                {"role": "tool", "id": "c3", "content": "no money", "requestor": "assistant", "error": True},
                {"role": "assistant", "content": "booked"},
            ],
        }
    ],
}


def _dojo(name, arguments):
    return {"function": name, "args": arguments, "id": None, "placeholder_args": None}


def _part(text):
    return [{"type": "text", "content": text}]


AGENTDOJO = {
    "suite_name": "travel",
    "pipeline_name": "m-1",
    "user_task_id": "user_task_7",
    "injection_task_id": None,
    "attack_type": None,
    "utility": True,
    "security": False,
    "messages": [
        {"role": "user", "content": _part("find a flight")},
        {"role": "assistant", "content": _part("looking"), "tool_calls": [_dojo("search", SEARCH)]},
        {"role": "tool", "content": json.dumps(FOUND), "tool_call": _dojo("search", SEARCH), "tool_call_id": ""},
        {"role": "user", "content": "yes, book it"},
        {"role": "assistant", "content": None, "tool_calls": [_dojo("book", BOOK), _dojo("pay", PAY)]},
        {"role": "tool", "content": _part("done"), "tool_call": _dojo("book", BOOK), "tool_call_id": None},
        {"role": "tool", "content": "", "tool_call": _dojo("pay", PAY), "tool_call_id": None, "error": "no money"},
        {"role": "assistant", "content": "booked", "tool_calls": None},
    ],
}

RESPONSES = {
    "id": "resp_1",
    "object": "response",
    "model": "m-1",
    "input": [
        {"role": "developer", "content": "be kind"},
        {"role": "user", "content": "find a flight"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "looking"}]},
        {"type": "function_call", "call_id": "c1", "name": "search", "arguments": json.dumps(SEARCH)},
        {"type": "function_call_output", "call_id": "c1", "output": json.dumps(FOUND)},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "yes, book it"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "c2", "name": "book", "arguments": json.dumps(BOOK)},
        {"type": "function_call", "call_id": "c3", "name": "pay", "arguments": json.dumps(PAY)},
        {"type": "function_call_output", "call_id": "c2", "output": "done"},
        {"type": "function_call_output", "call_id": "c3", "output": "no money"},
    ],
    "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "booked"}]}],
}


def _use(name, arguments, number):
    return {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments}


def _returned(text, number, *, failed=False):
    return {"type": "tool_result", "tool_use_id": f"c{number}", "content": text, "is_error": failed}


ANTHROPIC = {
    "model": "m-1",
    "system": "be kind",
    "messages": [
        {"role": "user", "content": "find a flight"},
        {"role": "assistant", "content": [{"type": "text", "text": "looking"}, _use("search", SEARCH, 1)]},
        {"role": "user", "content": [_returned([{"type": "text", "text": json.dumps(FOUND)}], 1)]},
        {"role": "user", "content": [{"type": "text", "text": "yes, book it"}]},
        {"role": "assistant", "content": [_use("book", BOOK, 2), _use("pay", PAY, 3)]},
        {"role": "user", "content": [_returned("done", 2), _returned("no money", 3, failed=True)]},
        {"role": "assistant", "content": "booked"},
    ],
}


def _session_line(kind, content, message_id=None, **more):
    message = {"role": kind, "content": content, **({"id": message_id, "model": "m-1"} if message_id else {})}
    return {"type": kind, "sessionId": "s-1", "uuid": "u", "parentUuid": None, "message": message, **more}


SESSION = [
    {"type": "summary", "summary": "a flight", "leafUuid": "u"},
    _session_line("user", "be careful", isMeta=True),
    _session_line("user", "find a flight", timestamp="2025-01-01T00:00:00Z"),
    _session_line("assistant", [{"type": "thinking", "thinking": "hm"}], "m1"),
    _session_line("assistant", [{"type": "text", "text": "looking"}], "m1"),
    _session_line("assistant", [_use("search", SEARCH, 1)], "m1"),
    _session_line("user", [_returned(json.dumps(FOUND), 1)]),
    _session_line("user", "yes, book it"),
    _session_line("assistant", [_use("book", BOOK, 2)], "m2"),
    _session_line("user", [_returned("done", 2)]),
    _session_line("assistant", [_use("pay", PAY, 3)], "m2"),
    _session_line("user", [_returned("no money", 3, failed=True)]),
    _session_line("assistant", [{"type": "text", "text": "booked"}], "m3"),
]

TRACE = [
    {"seq": 0, "kind": "chat_start", "payload": {"messages": [{"role": "user", "content": "find a flight"}]}},
    {"seq": 1, "kind": "chat_end", "payload": {"response": "looking"}},
    {"seq": 2, "kind": "tool_call_start", "payload": {"tool_name": "search", "arguments": SEARCH}},
    {"seq": 3, "kind": "tool_result", "payload": {"tool_name": "search", "result": FOUND, "ok": True}},
    {
        "seq": 4,
        "kind": "chat_start",
        "payload": {
            "messages": [
                {"role": "user", "content": "find a flight"},
                {"role": "assistant", "content": "looking"},
                {"role": "user", "content": "yes, book it"},
            ]
        },
    },
    {"seq": 5, "kind": "tool_call_start", "payload": {"tool_name": "book", "arguments": BOOK}},
    {"seq": 6, "kind": "tool_call_start", "payload": {"tool_name": "pay", "arguments": PAY}},
    {"seq": 7, "kind": "tool_result", "payload": {"tool_name": "book", "result": "done", "ok": True}},
    {"seq": 8, "kind": "tool_result", "payload": {"tool_name": "pay", "ok": False, "error": "no money"}},
    {"seq": 9, "kind": "chat_end", "payload": {"response": "booked"}},
]

TRAJECTORY = [
    {"type": "meta", "task_id": "t7", "trial": 0, "model": "m-1"},
    {"type": "user", "content": "find a flight"},
    {"type": "agent_text", "content": "looking"},
    {"type": "agent_tool_call", "name": "search", "args": SEARCH},
    {"type": "monitor", "kind": "send", "label": "x"},
    {"type": "tool_result", "name": "search", "content": json.dumps(FOUND)},
    {"type": "user", "content": "yes, book it"},
    {"type": "agent_tool_call", "name": "book", "args": BOOK},
    {"type": "agent_tool_call", "name": "pay", "args": PAY},
    {"type": "tool_result", "name": "book", "content": "done"},
    {"type": "tool_result", "name": "pay", "content": "no money"},
    {"type": "agent_text", "content": "booked"},
    {"type": "outcome", "outcome": "ok"},
]

# -- spans -------------------------------------------------------------------------------------------------------------

_HEARD = [{"role": "user", "content": "find a flight"}]
_HEARD_MORE = [*_HEARD, {"role": "assistant", "content": "looking"}, {"role": "user", "content": "yes, book it"}]
STEPS = [
    # What it is, name, start, end, input, output, whether it failed. Recorded when they end, as spans are.
    ("model", "chat", 1, 2, _HEARD, [{"role": "assistant", "content": "looking"}], False),
    ("tool", "search", 3, 4, SEARCH, json.dumps(FOUND), False),
    ("model", "chat", 5, 6, _HEARD_MORE, [{"role": "assistant", "tool_calls": [_call("book", BOOK, 2)]}], False),
    ("tool", "book", 7, 9, BOOK, "done", False),
    ("tool", "pay", 8, 10, PAY, "no money", True),
    ("model", "chat", 11, 12, _HEARD_MORE, [{"role": "assistant", "content": "booked"}], False),
    ("other", "agent", 0, 13, None, None, False),
]


def _genai(kind, name, sent, said):
    if kind == "tool":
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.args": json.dumps(json.dumps(sent)),
            "gen_ai.output": said,
        }
    if kind == "model":
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m-1",
            "gen_ai.input.messages": json.dumps(sent),
            "gen_ai.output.messages": json.dumps(said),
        }
    return {"gen_ai.operation.name": "invoke_agent"}


def _flattened(prefix, messages):
    found = {}
    for number, message in enumerate(messages):
        for name, value in message.items():
            if name == "tool_calls":
                for place, call in enumerate(value):
                    about = f"{prefix}.{number}.message.tool_calls.{place}.tool_call.function"
                    found[f"{about}.name"] = call["function"]["name"]
                    found[f"{about}.arguments"] = call["function"]["arguments"]
            else:
                found[f"{prefix}.{number}.message.{name}"] = value
    return found


def _openinference(kind, name, sent, said):
    if kind == "tool":
        arguments = json.dumps({"args": [], "sanitize_inputs_outputs": False, "kwargs": sent})
        about = {"tool.name": name, "input.value": arguments, "output.value": said}
        return {"openinference.span.kind": "TOOL", **about}
    if kind == "model":
        told = {"openinference.span.kind": "LLM", "llm.model_name": "m-1"}
        return {**told, **_flattened("llm.input_messages", sent), **_flattened("llm.output_messages", said)}
    return {"openinference.span.kind": "AGENT"}


def _seconds(moment):
    return 1_700_000_000 + moment


def _iso(moment):
    return f"2025-01-01T00:00:{moment:02}.000Z"


OTEL_SPANS = {
    "spans": [
        {
            "name": name,
            "context": {"trace_id": 99, "span_id": number},
            "parent": None,
            "start_time": _seconds(start) * 10**9,
            "end_time": _seconds(end) * 10**9,
            "status": {"status_code": "error" if failed else "ok"},
            "attributes": _genai(kind, name, sent, said),
        }
        for number, (kind, name, start, end, sent, said, failed) in enumerate(STEPS)
    ]
}


def _nested():
    *inner, outer = [
        {
            "timestamp": _iso(start),
            "trace_id": "t-1",
            "span_name": name,
            "duration": f"PT{end - start}S",
            "status_code": "Error" if failed else "Ok",
            "span_attributes": _openinference(kind, name, sent, said),
            "child_spans": [],
        }
        for kind, name, start, end, sent, said, failed in STEPS
    ]
    return {"trace_id": "t-1", "spans": [{**outer, "child_spans": inner}]}


OPENINFERENCE = _nested()


def _typed(value):
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


OTLP = {
    "resourceSpans": [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "travel"}}]},
            "scopeSpans": [
                {
                    "spans": [
                        {
                            "traceId": "5b8e",
                            "spanId": f"{number}",
                            "name": name,
                            "startTimeUnixNano": str(_seconds(start) * 10**9),
                            "endTimeUnixNano": str(_seconds(end) * 10**9),
                            "status": {"code": 2} if failed else {},
                            "attributes": [
                                {"key": key, "value": _typed(value)}
                                for key, value in _genai(kind, name, sent, said).items()
                            ],
                        }
                    ]
                }
                for number, (kind, name, start, end, sent, said, failed) in enumerate(STEPS)
            ],
        }
    ]
}

LANGFUSE = {
    "trace": {"id": "t-1", "projectId": "p", "name": "travel", "scores": [{"name": "toxicity", "value": 0}]},
    "observations": [
        {
            "type": {"tool": "TOOL", "model": "GENERATION", "other": "AGENT"}[kind],
            "name": name,
            "startTime": _iso(start),
            "endTime": _iso(end),
            "input": sent if kind == "model" else json.dumps(sent),
            "output": said,
            "model": "m-1" if kind == "model" else None,
            "level": "ERROR" if failed else "DEFAULT",
            "parentObservationId": None,
        }
        for kind, name, start, end, sent, said, failed in STEPS
    ],
}

LANGSMITH = [
    {
        "id": f"r{number}",
        "trace_id": "t-1",
        "parent_run_id": None if kind == "other" else "r6",
        "run_type": {"tool": "tool", "model": "llm", "other": "chain"}[kind],
        "name": name,
        "start_time": _iso(start),
        "end_time": _iso(end),
        "inputs": {"messages": [sent]} if kind == "model" else {"input": json.dumps(sent)},
        "outputs": {"generations": [[{"message": said[0]}]]} if kind == "model" else {"output": said},
        "error": said if failed else None,
        "extra": {"metadata": {"ls_model_name": "m-1"}},
    }
    for number, (kind, name, start, end, sent, said, failed) in enumerate(STEPS)
]


def as_json(value):
    return json.dumps(value).encode()


def as_lines(values):
    return b"".join(as_json(value) + b"\n" for value in values)


SAMPLES = {
    "tau-bench": as_json(TAU),
    "tau2-bench": as_json(TAU2),
    "agentdojo": as_json(AGENTDOJO),
    "openai-chat": as_json({"id": "run-1", "model": "m-1", "messages": CHAT}),
    "openai-responses": as_json(RESPONSES),
    "anthropic": as_json(ANTHROPIC),
    "session": as_lines(SESSION),
    "accord-trace": as_lines(TRACE),
    "trajectory": as_lines(TRAJECTORY),
    "otel-spans": as_json(OTEL_SPANS),
    "openinference": as_json(OPENINFERENCE),
    "otlp": as_json(OTLP),
    "langfuse": as_json(LANGFUSE),
    "langsmith": as_lines(LANGSMITH),
}
"""The run in each format of JSON, by the name of the format."""

TELLING_ERRORS = set(SAMPLES) - {"tau-bench", "openai-chat", "openai-responses", "trajectory"}


def read(data, name=None):
    """All that a reader finds in some bytes; without a name, the one that the bytes look like."""
    reader = detect(data) if name is None else reader_named(name)
    return list(reader.read(io.BufferedReader(io.BytesIO(data)), "file"))
