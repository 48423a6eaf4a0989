"""Any lines give violations, or an error that names the line; nothing else is ever raised."""

from __future__ import annotations

import io
import json
import random

from accord.errors import UsageError
from accord.trace import compile_trace_config, load_trace_config, validate_file, validate_with_config
from accord.trace.summaries import summarise
from accord.trace.violations import CODES
from tests.census import Census

SCHEMA = {"required": ["x"], "properties": {"x": {"type": "integer"}}}
CONFIG = {
    "store": {"redact": {"enabled": True, "json_pointers": ["/arguments/*", "/**/error"]}},
    "contracts": {
        "tool_payloads": {"tools": {"a": {"args_schema": SCHEMA, "result_schema": {"type": "object"}}}},
        "tool_order": {
            "must_precede": {"a": ["b"]},
            "only_after_success": {"b": ["a"]},
            "eventually": {"a": ["b"]},
            "forbidden_sequences": [["a", "b", "a"], ["é"]],
            "forbidden_subsequences": [["b", "b"]],
            "at_most": {"a": 3},
        },
        "protocol": {"contract": "protocol P = each id: rec L.{!a(x as r).?a(id == r).L, ?note by human.L, end}"},
    },
}
KINDS = [
    "generate_start", "generate_end", "stream_start", "stream_chunk", "stream_end", "tool_call_start", "tool_result",
    "error", "note", "", "\ud800", "é",
]  # fmt: skip
KEYS = [
    "tool_name",
    "arguments",
    "tool_call_id",
    "stream_id",
    "chunk_index",
    "generate_id",
    "ok",
    "result",
    "error",
    "by",
    "id",
    "x",
    "é",
]
LEAVES = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2**70,
    1.5,
    1e300,
    "a",
    "b",
    "é",
    "e\u0301",
    "",
    "\ud800",
    "s3cr3t",
    [],
    {},
    "x" * 600,
]


def value(chance, depth=0):
    kind = chance.random()
    if depth > 3 or kind < 0.6:
        return chance.choice(LEAVES)
    if kind < 0.7:
        return [value(chance, depth + 1) for _ in range(chance.randrange(3))]
    return {chance.choice(KEYS): value(chance, depth + 1) for _ in range(chance.randrange(4))}


PLACES = ("first event", "further on", "last event", "of a named run", "in 30+ events")


NEVER = {
    (code, "first event"): "it takes an event before"
    for code in ("STREAM_NESTED", "STREAM_CHUNK_AFTER_END", "STREAM_CHUNK_INDEX_MISMATCH", "GENERATE_NESTED")
}


def likely(chance):
    """An event as a recorder writes them; whether it fits those around it is left to chance."""
    kind = chance.choice(KINDS[:8])
    if kind.startswith("tool"):
        payload = {"tool_name": chance.choice("aaabbz"), "tool_call_id": chance.choice("12")}
        given = {"id": chance.choice((1, 2)), "x": chance.choice((1, 1, 2, "one"))}
        given = {key: value for key, value in given.items() if chance.random() < 0.8}
        return kind, payload | ({"arguments": given} if kind == "tool_call_start" else {"ok": True, "result": given})
    if kind.startswith("stream"):
        index = {"chunk_index": chance.choice((0, 0, 1, 2))} if kind == "stream_chunk" else {}
        return kind, {"stream_id": chance.choice("ssst"), **index}
    return kind, {"generate_id": chance.choice("gh")}


def event(chance, seq):
    if chance.random() < 0.6:
        kind, payload = likely(chance)
        return {
            "seq": seq,
            "kind": kind,
            "payload": payload,
            **({"run_id": chance.choice("rrs")} if chance.random() < 0.5 else {}),
        }
    payload = {key: value(chance) for key in chance.sample(KEYS, chance.randrange(6))}
    if chance.random() < 0.8:
        payload["tool_name"] = chance.choice("ab")
    found = {"seq": seq, "kind": chance.choice(KINDS), "payload": payload if chance.random() < 0.95 else value(chance)}
    if chance.random() < 0.5:
        found[chance.choice(["run_id", "example_id"])] = chance.choice(["r", "s", 7, None])
    if chance.random() < 0.01:
        found[chance.choice(["seq", "kind", "run_id"])] = value(chance)
    return found


def test_random_traces(soak, health):
    chance = random.Random(11)
    plan = compile_trace_config(load_trace_config(CONFIG))
    seen = Census("violation in a trace", tuple(CODES), PLACES, NEVER)
    judged = refused = 0
    for _ in range(5000 if soak else 800):
        length = chance.randrange(12) if chance.random() < 0.9 else 80
        events = [event(chance, seq) for seq in range(length)]
        lines = b"".join(json.dumps(one).encode() + b"\n" for one in events)
        if chance.random() < 0.1 and lines:
            place = chance.randrange(len(lines))
            lines = lines[:place] + bytes([chance.randrange(256)]) + lines[place + 1 :]
        try:
            found = validate_file(io.BytesIO(lines), plan)
            summary = summarise(io.BytesIO(lines), plan)
        except UsageError:
            refused += 1
            continue
        judged += 1
        assert sum(len(run.violations) for run in summary.runs.values()) == len(found)
        for violation in found:
            json.dumps(violation.to_dict())
            seen.add((violation.code, place) for place in places(violation, length))
    sentence = f"{judged:,} random traces, {refused:,} were refused"
    assert judged > 200 and refused > 5, sentence
    health(sentence)
    health(seen.table())
    seen.check(1)


def places(violation, length):
    """Where in its trace something is wrong."""
    seq = violation.event_seq
    yield "first event" if seq == 0 else "last event" if seq == length - 1 else "further on"
    if violation.run_id is not None:
        yield "of a named run"
    if length > 30:
        yield "in 30+ events"


def test_a_file_and_its_events_are_judged_alike():
    chance = random.Random(12)
    plan = compile_trace_config(load_trace_config(CONFIG))
    for _ in range(150):
        events = [event(chance, seq) for seq in range(10)]
        lines = b"".join(json.dumps(one).encode() + b"\n" for one in events)
        try:
            expected = validate_file(io.BytesIO(lines), plan)
        except UsageError:
            continue
        assert validate_with_config(json.loads(f"[{','.join(map(json.dumps, events))}]"), plan) == expected
