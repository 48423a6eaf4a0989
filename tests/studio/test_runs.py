"""Recorded runs held against contracts on the page: the same verdicts as `accord audit`."""

from __future__ import annotations

import csv
import gzip
import io
import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from starlette.requests import ClientDisconnect

from accord.audit import audit
from accord.studio.bounds import DEFAULT_BOUNDS
from accord.studio.uploads import receive
from tests.studio.asking import Asker

EXAMPLES = Path(__file__).parents[2] / "examples" / "recorded_payments"
CONTRACT = EXAMPLES / "payments.accord"
RUNS = EXAMPLES / "runs.jsonl"


ASKER = Asker()


@pytest.fixture(scope="module")
def asker():
    return ASKER


def file_of(content: bytes, name="runs.jsonl"):
    answer = ASKER.upload(content)
    assert answer.status == 200, answer.body
    return {"name": name, "file": answer.json["file"]}


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


def run_of(*messages):
    """A file with one run: what happened when, and with what."""
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(["run", "label", "payload", "at"])
    rows.writerows(["one", label, json.dumps(payload), at] for at, label, payload in messages)
    return out.getvalue().encode()


def heat(told):
    return {(edge["from"], edge["word"]): edge["times"] for edge in told["traffic"]}


def test_sliced_and_timed_runs_have_heat(asker):
    sliced = "protocol P = each id: !open.!shut.end"
    file = file_of(run_of((0, "!open", {"id": 1}), (1, "!open", {"id": 2}), (2, "!shut", {"id": 1})))
    told = asker.ask("runs", text=sliced, files=[file])
    assert heat(told) == {(0, "!open"): 2, (1, "!shut"): 1}
    assert heat(asker.ask("run", text=sliced, file=file, key=told["runs"][0]["run"])) == heat(told)
    timed = "protocol P = !ask.!answer within 10s else !sorry.end"
    file = file_of(run_of((100, "!ask", {}), (120, "!sorry", {})))
    told = asker.ask("runs", text=timed, files=[file])
    assert [run["status"] for run in told["runs"]] == ["conforming"]
    assert sorted(word for _, word in heat(told)) == ["!ask", "!sorry"]
    assert heat(asker.ask("run", text=timed, file=file, key=told["runs"][0]["run"])) == heat(told)


def test_files_that_were_not_sent_are_asked_for_again(asker):
    for name in ("0" * 64, "../../etc/passwd", "", "a" * 63 + "\n"):
        answer = asker.post("runs", text="!a.end", files=[{"name": "x", "file": name}])
        assert (answer.status, answer.json["error"]) == (400, "the file is not here any more; open it again")


def test_files_are_bounded_and_the_oldest_goes_first():
    small = Asker(replace(DEFAULT_BOUNDS, upload_bytes=100, uploads_bytes=250))
    refused = small.upload(b"x" * 101)
    assert refused.status == 413
    assert "accord audit" in refused.json["error"]
    assert list(small.uploads.iterdir()) == []
    sent = [small.upload(bytes([65 + number]) * 100).json["file"] for number in range(4)]
    assert {path.name for path in small.uploads.iterdir()} == set(sent[2:])
    assert small.upload(b"D" * 100).json["file"] == sent[3]  # the same content is the same file
    plain = small.request("POST", "/api/upload", b"x")
    assert plain.status == 415


def test_a_file_that_does_not_arrive_leaves_nothing_behind(tmp_path):
    async def broken():
        yield b"begun"
        raise ClientDisconnect

    with pytest.raises(ClientDisconnect):
        anyio.run(receive, tmp_path, broken(), DEFAULT_BOUNDS)
    assert list(tmp_path.iterdir()) == []
