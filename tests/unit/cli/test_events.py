"""`accord events`: which run, what is told, and what cannot be."""

from __future__ import annotations

import json

import pytest
from tests.recorded import SAMPLES

CONTRACT = """
events {
    Yes    when user says "yes"
    Book   when call book
    ignore when agent says ""
}
protocol P = ?Yes.!Book
"""


@pytest.fixture(name="files")
def _files(tmp_path):
    (tmp_path / "c.accord").write_text(CONTRACT)
    (tmp_path / "runs.json").write_bytes(SAMPLES["anthropic"])
    (tmp_path / "tau.json").write_bytes(SAMPLES["tau-bench"])
    (tmp_path / "map.yaml").write_text("kinds: [{kind: user, where: {type: user}, body: content}]")
    (tmp_path / "trajectory.jsonl").write_bytes(SAMPLES["trajectory"])
    (tmp_path / "empty.json").write_text("")
    return tmp_path


def objects(output):
    return [json.loads(line) for line in output.splitlines()]


def test_each_message_is_told(accord, files):
    run = accord("events", files / "c.accord", files / "runs.json", "--json")
    assert run.exit_code == 0
    *messages, total = objects(run.stdout)
    assert [(m["kind"], m["outcome"], m["event"], m["line"]) for m in messages] == [
        ("user", "unmatched", None, None),
        ("agent", "ignored", None, 2),
        ("call", "refused", None, None),
        ("result", "unmatched", None, None),
        ("user", "labelled", "?Yes", 0),
        ("call", "labelled", "!Book", 1),
        ("call", "refused", None, None),
        ("result", "unmatched", None, None),
        ("error", "unmatched", None, None),
        ("agent", "ignored", None, 2),
    ]
    assert {name: total[name] for name in ("messages", "labelled", "ignored", "unmatched", "refused")} == {
        "messages": 10, "labelled": 2, "ignored": 2, "unmatched": 4, "refused": 2,
    }  # fmt: skip


def test_for_people(accord, files):
    run = accord("events", files / "c.accord", files / "tau.json")
    assert run.exit_code == 0
    assert run.stdout.startswith("run 7/1 of ")
    assert "refused: no line of the events takes it" in run.stdout
    assert run.stdout.endswith("10 messages: 2 labelled, 2 ignored, 4 unmatched, 2 refused\n")


def test_formats_can_be_named(accord, files):
    run = accord("events", files / "c.accord", files / "trajectory.jsonl", "--source", files / "map.yaml", "--json")
    assert [m["kind"] for m in objects(run.stdout)[:-1]] == ["user", "user"]
    run = accord("events", files / "c.accord", files / "tau.json", "--source", "anthropic")
    assert (run.exit_code, run.stdout) == (1, "")
    assert "neither a message nor a run" in run.stderr
    assert "no run can be read" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tau.json", "--run", "7/2"], "holds no run `7/2`; did you mean `7/1`?"),
        (["tau.json", "--run", "x"], "there are 1, such as `7/1`"),
        (["tau.json", "--source", "tau"], "no format is called `tau`"),
        (["nothing.json"], "no such file"),
        ([""], "several files"),
    ],
)
def test_wrong_usage(accord, files, arguments, says):
    run = accord("events", files / "c.accord", files / arguments[0], *arguments[1:])
    assert run.exit_code == 2
    assert says in run.stderr


def test_a_file_without_runs(accord, files):
    run = accord("events", files / "c.accord", files / "empty.json")
    assert (run.exit_code, run.stdout) == (1, "")
    assert "no run can be read" in run.stderr


def test_a_wrong_mapping_is_told_with_its_place(accord, files):
    (files / "map.yaml").write_text("kinds: [{kind: usr}]")
    run = accord("events", files / "c.accord", files / "tau.json", "--source", files / "map.yaml")
    assert run.exit_code == 1
    assert "E062" in run.stderr
    assert "map.yaml:1:" in run.stderr


def test_a_contract_with_errors(accord, files):
    (files / "c.accord").write_text("events { A when call }")
    run = accord("events", files / "c.accord", files / "tau.json")
    assert run.exit_code == 1
    assert "E013" in run.stderr
