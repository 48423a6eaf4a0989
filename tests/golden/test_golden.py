"""The command line's output, compared with files that people have read.

A case is a file `expected/NAME.txt`: its first line is the command, then comes what it printed, then its exit status.
Commands run in this folder, so the contracts are `contracts/….accord`. After a change that is meant to change the
output, write the files anew and read the difference before it is committed:

    ACCORD_UPDATE_GOLDEN=1 .venv/bin/pytest tests/golden && git diff tests/golden
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from accord.cli.app import app

HERE = Path(__file__).parent

CASES = {
    "check": "check contracts",
    "check_json": "check contracts/many_errors.accord --format json",
    "check_sarif": "check contracts/many_errors.accord --format sarif",
    "check_github": "check contracts/many_errors.accord --format github",
    "check_fine": "check contracts/orders.accord contracts/ask.accord",
    "explain": "explain",
    "explain_e023": "explain E023",
    "fmt_check": "fmt --check contracts/orders.accord contracts/ask.accord",
    "replay": "replay contracts/ask.accord '!Ask !Sorry ?No !Sorry end'",
    "replay_refuse": "replay contracts/ask.accord --mode refuse '!Sory !Ask !Sorry ?Unrecognized ?No end !Sorry'",
    "replay_json": "replay contracts/ask.accord --json '!Ask !Sorry ?No'",
    "replay_parts": "replay contracts/orders.accord --protocol Order "
    """'!"show [red]cart[/red]" ?pay !log Bank!charge !log !log end'""",
    "show_text": "show contracts/orders.accord",
    "show_dot": "show contracts/orders.accord --format dot",
    "show_mermaid": "show contracts/orders.accord --format mermaid",
    "show_json": "show contracts/orders.accord --format json",
    "step": "step contracts/ask.accord",
}
TYPED = {"step": "1\n!Sorry\nSory\n?No\nundo\nhelp\nclose\nquit\n"}


@pytest.mark.parametrize("name", CASES)
def test_output(name, monkeypatch):
    monkeypatch.chdir(HERE)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    arguments = shlex.split(CASES[name])
    result = CliRunner().invoke(app, arguments, prog_name="accord", input=TYPED.get(name, ""))
    seen = f"$ accord {CASES[name]}\n{result.output}[exit status {result.exit_code}]\n"
    expected = HERE / "expected" / f"{name}.txt"
    if os.environ.get("ACCORD_UPDATE_GOLDEN"):
        expected.write_text(seen, encoding="utf-8")
    assert seen == expected.read_text(encoding="utf-8")


def test_no_file_is_left_over():
    assert {path.stem for path in (HERE / "expected").iterdir()} == set(CASES)
