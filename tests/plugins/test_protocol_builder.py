"""The plugin for coding assistants: its skill names what is there, and its scripts do what it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from accord.cli.app import COMMANDS
from accord.studio.snippets import KINDS
from accord.templates import template

PLUGIN = Path(__file__).parents[2] / "plugins" / "protocol-builder"
SKILL = PLUGIN / "skills" / "protocol-builder"
TEXT = (SKILL / "SKILL.md").read_text()


def run(script, *arguments, cwd=None):
    return subprocess.run(
        [sys.executable, SKILL / "scripts" / script, *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def design(tmp_path):
    """A contract with its two runs, as an assistant leaves them."""
    one = template("payment")
    (tmp_path / "contract.accord").write_text(one.text)
    (tmp_path / "good.run").write_text(one.runs[0])
    (tmp_path / "bad.run").write_text(one.runs[1])
    return tmp_path


def test_the_skill_can_be_found():
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["name"] == "protocol-builder"
    front = re.match(r"---\nname: ([a-z-]+)\ndescription: (.+)\n---\n", TEXT)
    assert front and front[1] == SKILL.name and len(front[2]) < 1024


def test_every_command_of_the_skill_exists(design):
    commands = re.findall(r"(?:^|`)accord ([a-z]+)", TEXT, re.MULTILINE)
    assert set(commands) <= set(COMMANDS) and {"check", "show", "new", "step", "studio"} <= set(commands)
    for command in re.findall(r"^(?:accord|python) .*$", TEXT, re.MULTILINE):
        program, *arguments = command.split()
        start = (
            [sys.executable, SKILL / arguments.pop(0)]
            if program == "python"
            else [Path(sys.executable).parent / program]
        )
        result = subprocess.run([*start, *arguments], cwd=design, capture_output=True, text=True, check=False)
        assert result.returncode == 0, (command, result.stderr)
    assert set(re.findall(r"`(\w+)`", TEXT.split("instead of `guard`")[1].split("\n\n")[0])) | {"guard"} == set(KINDS)


def test_good_and_bad_runs(design):
    result = run("try_runs.py", "contract.accord", "--good", "good.run", "--bad", "bad.run", cwd=design)
    assert result.returncode == 0
    assert "To make it legal, first send `!ask_approval`" in result.stdout
    assert result.stdout.endswith("1 good and 1 bad runs do what they should\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda folder: (folder / "contract.accord").write_text("!ask_quote.?quote.!pay"),
            "does not stop this run",
        ),
        (lambda folder: (folder / "good.run").write_text("!pay"), "!pay is refused"),
        (lambda folder: (folder / "good.run").write_text("!ask_quote"), "the session may not end after it"),
        (lambda folder: (folder / "good.run").write_text(""), "the run holds no events"),
        (lambda folder: (folder / "bad.run").write_text("!pay\n!ask_quote"), "it is not the last event"),
        (lambda folder: (folder / "bad.run").write_text(""), "the run holds no events"),
        (lambda folder: (folder / "bad.run").write_text("nonsense"), "an event is written"),
        (lambda folder: (folder / "contract.accord").write_text("rec X.X"), "E023"),
        (lambda folder: (folder / "contract.accord").unlink(), "cannot read"),
    ],
)
def test_what_is_wrong_is_found(design, change, message):
    """Planted: a weak contract, a run that is not possible, a run that is refused for something else."""
    change(design)
    result = run("try_runs.py", "contract.accord", "--good", "good.run", "--bad", "bad.run", cwd=design)
    assert result.returncode == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_contract_that_was_not_tried_is_not_finished(design):
    assert run("try_runs.py", "contract.accord", "--good", "good.run", cwd=design).returncode == 2


def test_the_code_that_is_handed_over_runs(design):
    code = run("integration.py", "contract.accord", "guard", cwd=design)
    assert code.returncode == 0
    names: dict[str, object] = {"__name__": "handed_over"}
    exec(compile(code.stdout, "<handed over>", "exec"), names)  # noqa: S102 - it is what is tested
    from accord import ToolCall

    (refused,) = names["run"]([ToolCall("pay", {"amount": 3, "currency": "EUR"}, "1")])
    assert "`!pay` is not allowed yet" in refused.content
    wrong = run("integration.py", "missing.accord", "guard", cwd=design)
    assert wrong.returncode == 1 and "cannot read" in wrong.stderr
