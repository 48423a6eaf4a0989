"""Recorded runs held against contracts on the page: the same verdicts as `accord audit`."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path

import pytest

from accord.audit import audit
from tests.studio.asking import Asker

EXAMPLES = Path(__file__).parents[2] / "examples" / "recorded_payments"
CONTRACT = EXAMPLES / "payments.accord"
RUNS = EXAMPLES / "runs.jsonl"


@pytest.fixture(scope="module")
def asker():
    return Asker()


def file_of(content: bytes, name="runs.jsonl"):
    return {"name": name, "content": base64.b64encode(content).decode()}


def test_the_verdicts_are_those_of_an_audit(asker):
    told = asker.ask("runs", text=CONTRACT.read_text(), files=[file_of(RUNS.read_bytes())])
    with audit(CONTRACT, [str(RUNS)], jobs=1) as audited:
        expected = [verdict.to_json() for verdict in audited.verdicts()]
        traffic = audited.tally.traffic
    assert [{**run, "file": ""} for run in told["runs"]] == [{**run, "file": ""} for run in expected]
    assert {run["file"] for run in told["runs"]} == {"runs.jsonl"}
    assert sum(edge["times"] for edge in told["traffic"]) == sum(traffic.values())
    assert {run["status"] for run in told["runs"]} >= {"conforming", "violating"}


def test_compressed_and_several_files(asker):
    files = [file_of(gzip.compress(RUNS.read_bytes()), "runs.jsonl.gz"), file_of(b"no runs at all {", "x.txt")]
    told = asker.ask("runs", text=CONTRACT.read_text(), files=files)
    assert len(told["runs"]) == 8
    assert (told["unreadable"], told["broken"][0]["file"]) == (1, "x.txt")


def test_one_run_message_by_message(asker):
    text, file = CONTRACT.read_text(), file_of(RUNS.read_bytes())
    runs = asker.ask("runs", text=text, files=[file])["runs"]
    for run in runs:
        told = asker.ask("run", text=text, file=file, key=run["run"])
        refused = [message["index"] for message in told["messages"] if message["verdict"] == "refused"]
        if run["status"] == "violating" and run["violation"]["index"] is not None:
            assert refused[0] == run["violation"]["index"]
            explained = [message["explanation"] for message in told["messages"] if message["explanation"]]
            assert explained[0] == run["violation"]["sentence"]
        elif run["status"] == "conforming":
            assert refused == []
        assert told["metadata"] == run["metadata"]
    assert asker.post("run", text=text, file=file, key="nobody").status == 400


def test_hostile_messages_are_inert(asker):
    line = '{"messages": [{"role": "user", "content": "\\u001b[2Jyes <script>\\u202e\\nnext"}]}\n'
    text, file = 'rule "r" { at most 1 pay }', file_of(line.encode())
    (run,) = asker.ask("runs", text=text, files=[file])["runs"]
    told = asker.ask("run", text=text, file=file, key=run["run"])
    (message,) = told["messages"]
    assert message["text"] == "\\x1b[2Jyes <script>\\u202e\nnext"


@pytest.mark.parametrize("content", ["%%%", "AAA", "\u00e4"])
def test_what_did_not_arrive_whole(asker, content):
    answer = asker.post("runs", text="!a.end", files=[{"name": "x", "content": content}])
    assert answer.status == 400
    assert "did not arrive whole" in answer.json["error"]
