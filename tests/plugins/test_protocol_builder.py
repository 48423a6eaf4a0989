"""The plugin for coding assistants: its skill names what is there, and its scripts do what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from accord.cli.app import COMMANDS
from accord.studio.role_snippets import ROLE_KINDS
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


def shell(command, folder):
    """As an assistant runs it: in the person's folder, with accord and its Python on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "SKILL": str(SKILL)}
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_every_command_of_the_skill_works_as_it_is_written(tmp_path):
    """From the top of the page to its end, in an empty folder."""
    commands = re.findall(r"(?:^|`)accord ([a-z]+)", TEXT, re.MULTILINE)
    assert set(commands) <= set(COMMANDS) and {"check", "show", "new", "step", "studio"} <= set(commands)
    good, bad = template("payment").runs
    (tmp_path / "good.run").write_text(good)
    (tmp_path / "bad.run").write_text(bad)
    blocks = re.findall(r"^```console\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) >= 7
    for line in ["accord --version", *lines]:
        result = shell(line, tmp_path)
        assert result.returncode == 0, (line, result.stderr)
        assert result.stdout or line.startswith("accord fmt")
    named = set(re.findall(r"`(\w+)`", TEXT.split("instead of `guard`")[1].split("\n\n")[0])) | {"guard"}
    assert named == {*KINDS, *ROLE_KINDS}


CONTRACTS = re.findall(r"^```accord\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", CONTRACTS)
def test_every_contract_of_the_skill_is_one(text, tmp_path):
    (tmp_path / "contract.accord").write_text(text)
    result = shell("accord check contract.accord && accord fmt --check contract.accord", tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_skill_leads_to_values_people_and_times():
    every = "".join(CONTRACTS)
    for feature in (
        " as ",
        "<= ",
        "by human",
        "within 24h else",
        "within 48h after",
        "each order_id:",
        "at most",
        " -> ",
    ):
        assert feature in every


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ('@2 !pay {"amount": 260, "currency": "EUR"}', "amount <= price"),
        ('@2 !pay {"amount": 250, "currency": "EUR"}', "a person agrees"),
        ("@2 !ask_approval\n@90000 ?Approval by ana", "too late"),
    ],
)
def test_the_contract_of_the_skill_stops_what_it_is_about(run, expected, tmp_path):
    (tmp_path / "contract.accord").write_text(CONTRACTS[0])
    quoted = '@0 !ask_quote\n@1 ?quote {"total": 250, "currency": "EUR"}\n'
    (tmp_path / "bad.run").write_text(quoted + run)
    (tmp_path / "good.run").write_text(f"{quoted}@2 !cancel")
    result = shell('python "$SKILL/scripts/try_runs.py" contract.accord --good good.run --bad bad.run', tmp_path)
    assert result.returncode == 0, result.stderr
    assert expected in result.stdout


def test_runs_between_roles(tmp_path):
    (tmp_path / "contract.accord").write_text(CONTRACTS[-1])
    (tmp_path / "good.run").write_text(
        'Traveller -> Desk: Request\nDesk -> Traveller: Offer {"price": 3}\nTraveller -> Desk: Decline'
    )
    (tmp_path / "bad.run").write_text("Traveller -> Desk: Request\nDesk -> Airline: Book")
    command = 'python "$SKILL/scripts/try_runs.py" contract.accord --good good.run --bad bad.run'
    result = shell(command, tmp_path)
    assert result.returncode == 0 and "`Desk` may not send `Book`" in result.stdout
    for kind in ROLE_KINDS:
        code = shell(f'python "$SKILL/scripts/integration.py" contract.accord {kind} --role Desk', tmp_path)
        assert code.returncode == 0, code.stderr
        compile(code.stdout, "<handed over>", "exec")
    (tmp_path / "good.run").write_text("Traveller -> Desk: Request")
    result = shell(command, tmp_path)
    assert result.returncode == 1 and "may not end after it" in result.stderr


def test_good_and_bad_runs(design):
    result = run("try_runs.py", "contract.accord", "--good", "good.run", "--bad", "bad.run", cwd=design)
    assert result.returncode == 0
    assert "irst call `ask_approval`" in result.stdout
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
    assert "`pay` is not allowed yet: first call `ask_quote`" in refused.content
    wrong = run("integration.py", "missing.accord", "guard", cwd=design)
    assert wrong.returncode == 1 and "cannot read" in wrong.stderr
