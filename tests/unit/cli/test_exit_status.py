"""Every command ends with a status of one table, and gives each status that its help page speaks of."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from pathlib import Path
from unittest.mock import Mock

import click
import pytest
from tests.reviews import BEGAN, CONTRACT, HOUR, fill

from accord import Guard, SQLiteStore, StoredSession
from accord.cli.app import app
from accord.cli.exit_status import ExitStatus
from accord.errors import InternalError, StoreError, UsageError

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples"
TRACES = EXAMPLES / "traces"
TRAVEL = EXAMPLES / "travel_team" / "travel.accord"
LEDGERS = EXAMPLES / "payment"
PAYMENTS = EXAMPLES / "recorded_payments"
LATER = f"--at {BEGAN + HOUR}"

CASES = {
    "new": {0: "booking", 2: "boking"},
    "check": {0: "{good}", 1: "{bad}", 2: "{tmp}/no.accord"},
    "lint": {0: f"{EXAMPLES}/agents", 1: "{agent}", 2: "{tmp}/no.py"},
    "fmt": {0: "--check {good}", 1: "--check {untidy}", 2: "{tmp}/no.accord"},
    "show": {0: "{good}", 1: "{bad}", 2: "{tmp}/no.accord"},
    "project": {0: f"{TRAVEL} --role Agent", 1: "{bad} --role A", 2: f"{TRAVEL} --role Agnet"},
    "replay": {0: "{good} !Ask", 1: "{good} !Sorry", 2: "{tmp}/no.accord !Ask"},
    "step": {0: "{good}", 1: "{bad}", 2: "{tmp}/no.accord"},
    "events": {
        0: f"{PAYMENTS}/payments.accord {PAYMENTS}/runs.jsonl",
        1: f"{{bad}} {PAYMENTS}/runs.jsonl",
        2: f"{PAYMENTS}/payments.accord {{tmp}}/no.jsonl",
    },
    "audit": {
        0: f"{{open}} {PAYMENTS}/runs.jsonl --no-cache",
        1: f"{PAYMENTS}/payments.accord {PAYMENTS}/runs.jsonl --no-cache",
        2: f"{PAYMENTS}/payments.accord {{tmp}}/no.jsonl --no-cache",
    },
    "verify": {0: f"{LEDGERS}/payment.ledger", 1: f"{LEDGERS}/tampered.ledger", 2: "{tmp}/no.ledger"},
    "ledger show": {0: f"{LEDGERS}/payment.ledger", 1: f"{LEDGERS}/tampered.ledger", 2: "{tmp}/no.ledger"},
    "sessions list": {0: "{store}", 1: "{corrupted}", 2: "{tmp}/no.db"},
    "sessions show": {0: "{store} busy", 1: "{corrupted} busy", 2: "{store} bsuy"},
    "sessions close": {
        0: "{store} over {over}",
        1: "{store} asked {good}",
        2: "{corrupted} asked {good}",
    },
    "sessions resume": {
        0: f"{{store}} stopped {CONTRACT} --by ana --reason fine {LATER}",
        1: f"{{store}} busy {CONTRACT} --by ana --reason fine {LATER}",
        2: f"{{corrupted}} busy {CONTRACT} --by ana --reason fine {LATER}",
    },
    "sessions export": {0: "{store} busy {tmp}/busy.ledger", 2: "{corrupted} busy {tmp}/busy.ledger"},
    "sessions move": {0: "{store} busy free", 2: "{store} busy stopped"},
    "review list": {0: f"{{store}} {LATER}", 1: f"{{corrupted}} {LATER}", 2: "{tmp}/no.db"},
    "review show": {
        0: f"{{store}} order-17 1-ff80254a {LATER}",
        1: f"{{forged}} order-17 1-ff80254a {LATER}",
        2: f"{{store}} order-17 1-00000000 {LATER}",
    },
    "review decide": {
        0: f"{{store}} order-17 1-ff80254a allow {CONTRACT} --by ana {LATER}",
        1: f"{{store}} order-17 3-234e9d18 allow {CONTRACT} --by bob {LATER}",
        2: f"{{store}} order-17 1-ff80254a perhaps {CONTRACT} --by ana {LATER}",
    },
    "trace validate": {
        0: f"{TRACES}/base.jsonl --config {TRACES}/trace.yaml --fail-on-trace-violations",
        1: f"{TRACES}/hasty.jsonl --config {TRACES}/trace.yaml",
        2: f"{TRACES}/baseline.json",
        3: f"{TRACES}/hasty.jsonl --config {TRACES}/trace.yaml --fail-on-trace-violations",
    },
    "trace fingerprint": {
        0: f"{TRACES}/hasty.jsonl",
        1: f"{TRACES}/hasty.jsonl --config {{misspelt}}",
        2: "{tmp}/no.jsonl",
    },
    "trace diff": {
        0: f"{TRACES}/baseline.json {TRACES}/base.jsonl --fail-on-trace-drift --fail-on-trace-violations",
        1: f"{TRACES}/base.jsonl {TRACES}/hasty.jsonl",
        2: "- -",
        3: f"{TRACES}/base.jsonl {TRACES}/hasty.jsonl --config {TRACES}/trace.yaml"
        " --fail-on-trace-drift --fail-on-trace-violations",
        4: f"{TRACES}/base.jsonl {TRACES}/hasty.jsonl --config {TRACES}/trace.yaml --fail-on-trace-drift",
    },
    "trace accept": {
        0: f"{TRACES}/hasty.jsonl --baseline {{tmp}}/baseline.json",
        1: f"{TRACES}/hasty.jsonl --baseline {{tmp}}/baseline.json --config {{misspelt}}",
        2: f"{TRACES}/baseline.json --baseline {{tmp}}/baseline.json",
    },
    "studio": {2: "{tmp}/no.accord"},
    "explain": {0: "E021", 2: "E999"},
}  # fmt: skip

ELSEWHERE = {
    ("audit", 130): "tests/audit/test_interrupts.py",
    ("studio", 0): "tests/studio/test_command.py",
}


def leaves(group, path=()):
    """Every command that can be called, by the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        if isinstance(one, click.Group):
            yield from leaves(one, (*path, name))
        else:
            yield " ".join((*path, name)), one


LEAVES = dict(leaves(app))


def told(command):
    """The statuses of a help page, each with what it says."""
    text = " ".join(command.help.split())
    _, _, listed = text.partition("Exit status: ")
    return {int(number): said for number, said in re.findall(r"(?:^|· )(\d+) ([^·]+)", listed)}


AGENT = """
from accord.agents import follows
GO = '''protocol P { A -> B: Go }'''
@follows(GO, as_="A")
class A:
    async def main(self) -> None:
        pass
"""
FILES = {
    "good.accord": "protocol P = !Ask.?{Yes.end, No}.!Sorry.end\n",
    "bad.accord": "!a.X",
    "open.accord": 'rule "once" { at most 100 pay_everybody }\n',
    "untidy.accord": "protocol P=!a.end\n",
    "over.accord": "{!a.end, end}",
    "misspelt.yaml": "contracts: {fail_fsat: 1}",
    "agent.py": AGENT,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What the cases are about."""
    folder = tmp_path_factory.mktemp("made")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    fill(folder / "store.db")
    with SQLiteStore(folder / "store.db") as store:
        StoredSession(store, FILES["good.accord"], "asked").send("Ask")
        StoredSession(store, FILES["over.accord"], "over").send("a")
    for name, command in (("corrupted", "sessions SET sealed = 'x'"), ("forged", "entries SET line = 'x'")):
        shutil.copy(folder / "store.db", folder / f"{name}.db")
        with sqlite3.connect(folder / f"{name}.db") as db:
            db.execute(f"UPDATE {command}")
    return folder


def arguments(name, status, folder):
    names = {Path(file).stem: folder / file for file in [*FILES, "store.db", "corrupted.db", "forged.db"]}
    return [*name.split(), *CASES[name][status].format_map({"tmp": folder, **names}).split()]


def test_every_command_has_cases():
    assert set(CASES) == set(LEAVES)


@pytest.mark.parametrize("name", LEAVES)
def test_a_help_page_speaks_of_statuses_of_the_table_for_which_there_are_cases(name):
    found = told(LEAVES[name])
    assert set(found) <= set(ExitStatus)
    assert {0, 2} <= set(found)
    cases = set(CASES[name]) | {status for command, status in ELSEWHERE if command == name}
    assert set(found) == cases
    gates = {status: said for status, said in found.items() if status in {ExitStatus.VIOLATIONS, ExitStatus.DRIFT}}
    assert all("--fail-on-trace" in said or "the same, with" in said for said in gates.values())


def test_what_is_tested_elsewhere_is_tested_there():
    assert all("wait(" in (ROOT / file).read_text() or "returncode" in (ROOT / file).read_text()
               for file in ELSEWHERE.values())  # fmt: skip


@pytest.mark.parametrize(("name", "status"), [(name, status) for name, of in CASES.items() for status in of])
def test_a_command_ends_with(accord, made, tmp_path, monkeypatch, name, status):
    folder = shutil.copytree(made, tmp_path / "made")
    monkeypatch.chdir(folder)
    result = accord(*arguments(name, status, folder))
    assert result.exit_code == status, result.output
    if status == ExitStatus.USAGE:
        assert "error: " in result.stderr


RAISED = {
    "a bug": (ZeroDivisionError("x"), ExitStatus.INTERNAL),
    "a bug that was noticed": (InternalError("x"), ExitStatus.INTERNAL),
    "wrong usage": (UsageError("x"), ExitStatus.USAGE),
    "a store": (StoreError("x"), ExitStatus.USAGE),
    "a disk": (OSError(28, "no space"), ExitStatus.USAGE),
    "a file of click": (click.FileError("x"), ExitStatus.USAGE),
    "Ctrl-C": (KeyboardInterrupt(), ExitStatus.INTERRUPTED),
    "Ctrl-C at a prompt": (click.Abort(), ExitStatus.INTERRUPTED),
    "a reader that has gone": (BrokenPipeError(), ExitStatus.PIPE_CLOSED),
}


@pytest.mark.parametrize("name", LEAVES)
def test_what_goes_wrong_has_the_same_status_everywhere(accord, made, monkeypatch, name):
    words = arguments(name, min(CASES[name]), made)
    for what, (error, status) in RAISED.items():
        monkeypatch.setattr(LEAVES[name], "callback", Mock(side_effect=error))
        for traceback in ("", "1"):
            monkeypatch.setenv("ACCORD_TRACEBACK", traceback)
            result = accord(*words)
            assert result.exit_code == status, what
            assert ("Traceback" in result.stderr) is bool(traceback and what == "a bug")


@pytest.mark.parametrize(("error", "status"), [(StoreError("gone"), 2), (UsageError("not stopped"), 1)])
def test_a_store_that_is_lost_while_a_session_is_resumed_is_no_answer(accord, made, monkeypatch, error, status):
    monkeypatch.setattr(Guard, "resume", Mock(side_effect=error))
    result = accord(*arguments("sessions resume", 0, made))
    assert (result.exit_code, result.stderr) == (status, f"error: {error}\n")


@pytest.mark.parametrize("name", LEAVES)
def test_an_option_that_is_none_is_wrong_usage(accord, name):
    assert accord(*name.split(), "--nope").exit_code == ExitStatus.USAGE


def test_the_main_help_page_has_the_table(accord):
    page = " ".join(re.sub(r"[│─╭╮╰╯]", " ", accord("--help").output).split())
    for status in ExitStatus:
        assert f"{status:d} {status.meaning}" in page


def table():
    rows = "".join(f"| {status:d} | {status.meaning} |\n" for status in ExitStatus)
    return f"| exit status | of every command |\n|---|---|\n{rows}"


def test_the_documents_have_the_table():
    page = ROOT / "docs" / "reference" / "command-line.md"
    if os.environ.get("ACCORD_UPDATE_GOLDEN"):
        page.write_text(re.sub(r"\| exit status \| of every command \|\n(\|.*\n)+", table(), page.read_text()))
    assert table() in page.read_text()


TABLE = re.compile(r"^\| exit status[^\n]*\n\|---\|---\|\n((?:\|[^\n]*\n)+)", re.MULTILINE)


def test_no_page_gives_a_number_another_meaning():
    """The tables of single commands are about the same numbers."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    seen = 0
    for page in pages:
        for block in re.findall(
            r"^\| exit status[^\n]*\n\|---\|---\|\n((?:\|[^\n]*\n)+)", page.read_text(), re.MULTILINE
        ):
            rows = {int(number): said for number, said in re.findall(r"\| (\d+) \| (.*) \|", block)}
            assert set(rows) <= set(ExitStatus), page
            assert "accord itself failed" in rows.get(ExitStatus.INTERNAL, "accord itself failed"), page
            seen += 1
        for number in re.findall(r"exit status (\d+)", page.read_text(), re.IGNORECASE):
            assert int(number) in set(ExitStatus), page
    assert seen >= 3
