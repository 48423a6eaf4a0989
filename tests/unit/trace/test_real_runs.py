"""Real runs of agents: ids that repeat or are missing, texts of all kinds. They are not part of the project."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from accord.trace import JsonlSink, TraceConfig, TraceRecorder, trace_fingerprint, validate_file, validate_with_config
from accord.trace.reading import read_lines

CORPUS = Path(os.environ.get("ACCORD_CORPUS", Path(__file__).parents[4] / "shared" / "corpus"))


def runs():
    """Each run with its messages."""
    for path in sorted((CORPUS / "tau1").glob("*.json")):
        for number, run in enumerate(json.loads(path.read_text())):
            yield f"{path.stem}-{number}", run["traj"]
    for path in sorted((CORPUS / "agentdojo").glob("*.json")):
        yield path.stem, json.loads(path.read_text())["messages"]


def record(name, messages, sink):
    """The run as a recorder would have seen it, and how many ids stand in it more than once or not at all."""
    recorder = TraceRecorder(example_id=name, sink=sink, keep=None)
    ids = Counter()
    for message in messages:
        for call in message.get("tool_calls") or []:
            function = call["function"]
            tool, arguments = (
                (function, call.get("args"))
                if isinstance(function, str)
                else (function["name"], {"json": function["arguments"]})
            )
            ids[call.get("id") or None] += 1
            recorder.record_tool_call(tool, arguments, call.get("id") or None)
        if message["role"] == "tool":
            call = message.get("tool_call") or {}
            tool = message.get("name") or call.get("function")
            recorder.record_tool_result(tool, message["content"], message.get("tool_call_id") or None)
        elif message["role"] == "assistant":
            recorder.record_chat_end(message["content"])
    missing = ids.pop(None, 0)
    return recorder, missing, sum(count - 1 for count in ids.values())


def test_real_runs(health):
    if not CORPUS.exists():
        health(f"!!! REAL RUNS WERE NOT LOOKED AT: there is no {CORPUS} !!!")
        pytest.skip("no real runs here")
    chosen = list(runs())
    file = io.BytesIO()
    calls = missing = repeated = events = 0
    expected, prints = [], {}
    for name, messages in chosen:
        recorder, without, again = record(name, messages, JsonlSink(file))
        kinds = Counter(event.kind for event in recorder.events)
        owed = kinds["tool_call_start"] - kinds["tool_result"]
        found = validate_with_config(recorder.events, TraceConfig())
        assert [violation.code for violation in found] == ["TOOL_NO_RESULT"] * owed, name
        expected += found
        prints[name] = trace_fingerprint(recorder.events)
        calls, missing, repeated = calls + kinds["tool_call_start"], missing + without, repeated + again
        events += recorder.count
    file.seek(0)
    assert validate_file(file, TraceConfig()) == expected
    file.seek(0)
    by_run = {}
    for line in read_lines(file):
        by_run.setdefault(line.example_id, []).append(line)
    assert {name: trace_fingerprint(lines) for name, lines in by_run.items()} == {
        name: print_ for name, print_ in prints.items() if name in by_run
    }
    assert len(chosen) >= 500 and missing > 400 and repeated > 70, (len(chosen), missing, repeated)
    health(
        f"{len(chosen):,} real runs with {events:,} events: {calls:,} calls, {missing:,} without an id, "
        f"{repeated:,} with an id that was there before"
    )
