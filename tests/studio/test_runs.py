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
from accord.studio import runs as judging
from accord.studio.bounds import DEFAULT_BOUNDS
from accord.studio.requests import Recorded, Runs
from accord.studio.runs import several_runs
from accord.studio.uploads import receive
from accord.studio.workshop import Workshop
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
    order = ["violating", "incomplete", "unrecognised", "conforming"]
    expected.sort(key=lambda run: order.index(run["status"]))  # what somebody looks for comes first
    assert told["runs"] == [{**run, "file": "runs.jsonl", "number": 0} for run in expected]
    assert sum(edge["times"] for edge in told["traffic"]) == sum(traffic.values())
    assert {run["status"] for run in told["runs"]} >= {"conforming", "violating"}


def test_compressed_and_several_files(asker):
    files = [file_of(gzip.compress(RUNS.read_bytes()), "runs.jsonl.gz"), file_of(b"no runs at all {", "x.txt")]
    told = asker.ask("runs", text=CONTRACT.read_text(), files=files)
    assert told["found"] == len(told["runs"]) == 8
    assert (told["unreadable"], told["broken"][0]["file"]) == (1, "x.txt")


def test_one_run_message_by_message(asker):
    text, file = CONTRACT.read_text(), file_of(RUNS.read_bytes())
    runs = asker.ask("runs", text=text, files=[file])["runs"]
    for run in runs:
        told = asker.ask("run", text=text, file=file, key=run["run"])
        refused = [message["index"] for message in told["messages"] if message["verdict"] == "refused"]
        if run["status"] == "violating" and run["violation"]["index"] is not None:
            assert refused[0] == run["violation"]["index"]
            follow = [message["follows"] for message in told["messages"] if message["verdict"] == "refused"]
            assert follow == [False, *[True] * (run["refused"] - 1)]
            explained = [message["explanation"] for message in told["messages"] if message["explanation"]]
            assert explained[0] == run["violation"]["sentence"]
        elif run["status"] == "conforming":
            assert refused == []
        assert told["metadata"] == run["metadata"]
    assert asker.post("run", text=text, file=file, key="nobody").status == 400


CALL = '{"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": %s}]}'
GOOD, BAD = (
    f'{{"model": "{model}", "messages": [{CALL % json.dumps({"name": name, "arguments": "{}"})}]}}\n'.encode()
    for model, name in (("m1", "a"), ("m2", "b"))
)
ONE_CALL = "protocol P = !a.end"


def test_every_figure_speaks_of_all_runs_however_many_are_listed(asker):
    """The last thousand of seven thousand violate."""
    question = {"text": ONE_CALL, "files": [file_of(GOOD * 6_000 + BAD * 1_000)]}
    told = asker.ask("runs", **question)
    assert told["statuses"] == {"conforming": 6_000, "violating": 1_000, "incomplete": 0, "unrecognised": 0}
    assert {row["value"]: sum(row["statuses"].values()) for row in told["groups"]} == {"m1": 6_000, "m2": 1_000}
    assert told["found"] == 7_000 and len(told["runs"]) < 1_000
    assert {run["status"] for run in told["runs"]} == {"violating"}
    assert asker.ask("runs", **question, value="m1")["found"] == 6_000
    assert asker.ask("runs", **question, status="violating", value="m1")["found"] == 0
    lines = [*range(6_001, 7_001), *range(1, 6_001)]  # those that violate come first
    for first in (0, 900, 6_900, 7_000):
        stretch = asker.ask("runs", **question, first=first)["runs"]
        assert [run["line"] for run in stretch] == lines[first : first + 200]


def test_judging_tells_how_far_it_is_and_judges_once(asker, monkeypatch):
    monkeypatch.setattr(judging, "_BETWEEN", 0)
    question = {"text": ONE_CALL, "file": file_of(GOOD * 20 + b"{\n")}
    progress, answer = asker.told("judge", **question)
    assert [word["judged"] for word in progress] == list(range(21))
    assert answer == {"runs": 20, "unreadable": 1}
    assert asker.told("judge", **question) == ([], answer)


def test_reading_what_was_kept_tells_that_it_gets_on(asker):
    """A million runs take longer to be read than a request may take without a word."""
    request = Runs(ONE_CALL, [Recorded(**file_of(GOOD * 5_001))])
    words = []
    shop = Workshop(DEFAULT_BOUNDS, asker.uploads, words.append)
    several_runs(shop, request)
    words.clear()
    several_runs(shop, request)
    assert len(words) >= 4  # two chunks, twice


def test_several_files_are_told_apart_even_if_they_have_one_name(asker):
    files = [file_of(GOOD, "r.jsonl"), file_of(BAD, "r.jsonl")]
    told = asker.ask("runs", text=ONE_CALL, files=files)
    assert [(run["file"], run["number"]) for run in told["runs"]] == [("r.jsonl", 1), ("r.jsonl", 0)]
    assert told["keys"] == ["model", "file"]
    files[1]["name"] = "other.jsonl"
    told = asker.ask("runs", text=ONE_CALL, files=files, by="file", value="other.jsonl")
    assert [row["value"] for row in told["groups"]] == ["other.jsonl", "r.jsonl"]
    assert [run["number"] for run in told["runs"]] == [1]


def test_what_stands_in_too_many_places_for_a_table_is_judged_all_the_same(asker, monkeypatch):
    monkeypatch.setattr("accord.audit.steps._MOST_ROWS", 1)
    told = asker.ask("runs", text="protocol P = !a.!b.end", files=[file_of(GOOD * 3)])
    assert (told["statuses"]["incomplete"], told["unreadable"]) == (3, 0)


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
