"""`accord audit`: exit statuses, what is told before the work and what behind it."""

from __future__ import annotations

import json
import re

import pytest
from tests.audit.recorded import CONFIRM, FINE, HASTY, chat, write_tau

from accord.cli import main
from accord.cli.app import app


@pytest.fixture(name="files")
def _files(tmp_path):
    (tmp_path / "c.accord").write_text(CONFIRM)
    write_tau(tmp_path / "fine.json", [FINE])
    write_tau(tmp_path / "hasty.json", [FINE, HASTY], [0.0, 1.0])
    (tmp_path / "damaged.jsonl").write_text(json.dumps({"messages": FINE}) + "\n{broken}\n")
    (tmp_path / "nothing.json").write_text("[]")
    (tmp_path / "other.json").write_text('{"hello": 1}')
    return tmp_path


@pytest.fixture(name="audit")
def _audit(accord, files):
    def run(*arguments, contract="c.accord", cached=False):
        more = [] if cached else ["--no-cache"]
        return accord("audit", files / contract, *arguments, "--jobs", "1", *more)

    return run


@pytest.mark.parametrize(
    ("names", "options", "status"),
    [
        (["fine.json"], [], 0),
        (["hasty.json"], [], 1),
        (["fine.json", "damaged.jsonl"], [], 0),
        (["fine.json", "damaged.jsonl"], ["--strict"], 2),
        (["hasty.json", "damaged.jsonl"], ["--strict"], 2),
        (["fine.json", "nothing.json"], ["--strict"], 0),
        (["nothing.json"], [], 2),
        (["other.json"], [], 2),
        (["fine.json"], ["--source", "parquet"], 2),
    ],
)
def test_exit_statuses(audit, files, names, options, status):
    assert audit(*[files / name for name in names], *options).exit_code == status


def test_a_run_that_ends_too_early_fails(audit, files):
    (files / "p.accord").write_text("events { Pay when call pay\nDone when call done }\nprotocol P = !Pay.!Done.end")
    write_tau(files / "early.json", [chat("user: yes", "call pay")])
    found = audit(files / "early.json", contract="p.accord")
    assert found.exit_code == 1
    assert "ended too early" in found.stdout


def test_what_a_contract_with_deadlines_lacks(audit, files):
    (files / "p.accord").write_text("events { Pay when call pay }\nprotocol P = !Pay within 1h else end")
    found = audit(files / "fine.json", contract="p.accord")
    assert re.search(r"the contract uses time, and message \d+ was recorded without one", found.stdout)


def test_where_nothing_was_judged_nothing_is_fine(audit, files):
    found = audit(files / "other.json")
    assert "no format is recognised" in found.stdout
    assert found.stderr == "error: no run was judged, so nothing is known to be fine\n"


@pytest.mark.parametrize("option", ["--html", "--csv", "--parquet", "--sarif", "--junit"])
def test_what_cannot_be_written_is_told_before_the_work(audit, files, monkeypatch, option):
    monkeypatch.setattr("accord.audit.auditing.audit", lambda *_, **__: pytest.fail("worked"))
    for path, why in ((files / "no" / "out", "there is no folder"), (files, "it is a folder")):
        found = audit(files / "fine.json", option, path)
        assert found.exit_code == 2
        assert f"cannot write {path}: {why}" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--source", "tau-bensh"], "did you mean `tau-bench`?"),
        (["--source", "gone.yaml"], "cannot read gone.yaml"),
        (["--by", "modle"], "no run has a `modle`"),
        (["--outcome", "rewrad"], "did you mean `reward`?"),
        (["--cache", "x"], "`--no-cache` keeps nothing"),
        (["--address", "somewhere"], "an address is for the engines"),
        (["--protocol", "P"], "declares no protocol"),
    ],
)
def test_misuse(audit, files, arguments, told):
    found = audit(files / "fine.json", *arguments)
    assert found.exit_code == 2
    assert told in found.stderr


@pytest.mark.parametrize(
    ("contract", "status", "told"),
    [
        ("protocol P { A -> B: Ask; B -> A: Yes }", 2, "is between roles"),
        ("protocol P = !pay.end\nprotocol Q = !x.end", 2, "say which"),
        ("protocol P = !pay.", 1, "error["),
    ],
)
def test_contracts_that_no_run_can_be_held_to(audit, files, contract, status, told):
    (files / "x.accord").write_text(contract)
    found = audit(files / "fine.json", contract="x.accord")
    assert found.exit_code == status
    assert told in found.stderr + found.stdout


def test_a_cache_that_cannot_be_written_is_told(audit, files):
    found = audit(files / "fine.json", "--cache", files / "c.accord", cached=True)
    assert found.exit_code == 2
    assert "cannot keep results in" in found.stderr


def test_ctrl_c_before_anything_has_begun_is_no_finding(monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.argv", ["accord", "audit"])
    monkeypatch.setattr(app, "make_context", stopped)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
