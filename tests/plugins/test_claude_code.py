"""The plugin in Claude Code itself: it is found, installed and used; the model behind it is scripted."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import accord
from accord.templates import template
from tests.coding_agents.claude_code import claude_code
from tests.coding_agents.scripted_model import Use, scripted

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs" / "how-to" / "coding-assistants.md", ROOT / "plugins" / "protocol-builder" / "README.md"]
NAME = "protocol-builder:protocol-builder"
BASE = re.compile(r"^Base directory for this skill: (.+)$", re.MULTILINE)


@pytest.fixture
def project(tmp_path):
    """What somebody's assistant has in front of it: a draft with a mistake, a contract, and two runs."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "draft.accord").write_text("rec X.X\n")
    one = template("payment")
    (folder / "contract.accord").write_text(one.text)
    (folder / "good.run").write_text(one.runs[0])
    (folder / "bad.run").write_text(one.runs[1])
    return folder


def published(folder: Path, home: Path) -> None:
    """Lets `example/accord` on GitHub, asked for from that home, be a repository in this folder."""
    for part in (".claude-plugin", "plugins"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    git = ["git", "-C", folder, "-c", "user.name=nobody", "-c", "user.email=nobody@example.com"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "as it is"]):
        subprocess.run([*git, *command], env={"PATH": os.environ["PATH"], "HOME": str(home)}, check=True, timeout=60)
    (home / ".gitconfig").write_text(f'[url "{folder}"]\n\tinsteadOf = https://github.com/example/accord.git\n')


def done(result):
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.parametrize("folder", [".", "plugins/protocol-builder"])
def test_the_manifests_are_as_claude_code_wants_them(folder, tmp_path):
    with scripted() as model:
        done(claude_code(tmp_path / "home", model).run("plugin", "validate", "--strict", ROOT / folder))


def test_installing_from_a_folder_as_the_pages_say(tmp_path):
    commands, *others = (re.findall(r"/(plugin (?:marketplace|install) [^\n`]+)", page.read_text()) for page in PAGES)
    assert len(commands) == 2 and others == [commands]
    with scripted() as model:
        claude = claude_code(tmp_path / "home", model)
        for command in commands:
            done(claude.run(*command.replace("path/to/accord", str(ROOT)).split()))
        (listed,) = json.loads(done(claude.run("plugin", "list", "--json")))
    assert (listed["id"], listed["version"], listed["enabled"]) == ("protocol-builder@accord", accord.__version__, True)


def test_a_contract_is_designed_with_the_plugin(tmp_path, project):
    """Installed from a repository, so that what is used is a copy of the plugin's folder and of nothing else.

    The model takes the skill, does what it says with the commands that it names, and answers with what it has seen.
    """

    def tried(asked):
        told = BASE.search(asked.text)[1]
        runs = f'python "{told}/scripts/try_runs.py" contract.accord --good good.run --bad bad.run'
        return Use("Bash", {"command": runs})

    def seen():
        return [result for asked in model.asked for result in asked.results]

    script = [
        Use("Skill", {"skill": NAME}),
        Use("Bash", {"command": "accord check draft.accord"}),
        Use("Bash", {"command": "accord check contract.accord"}),
        tried,
        lambda _: "\n".join(["This is what accord says.", *seen()]),
    ]
    with scripted(*script) as model:
        claude = claude_code(tmp_path / "home", model)
        published(tmp_path / "repository", claude.home)
        done(claude.run("plugin", "marketplace", "add", "example/accord"))
        done(claude.run("plugin", "install", "protocol-builder"))
        allowed = ["--allowedTools", "Bash(accord:*)", "Bash(python:*)"]
        answer = done(claude.run("-p", "Design a contract for my payment agent.", *allowed, cwd=project))
    assert f"- {NAME}: Design an accord contract" in model.asked[0].text
    assert Path(BASE.search(model.asked[1].text)[1]).is_relative_to(claude.home)
    assert answer.startswith("This is what accord says.")
    _, broken, fine, tried_out = seen()
    assert "E023" in broken and fine == "1 file is fine"
    assert tried_out.endswith("1 good and 1 bad runs do what they should")
    assert all(said in answer for said in seen())
    assert len(model.asked) == len(script)


def test_the_skill_as_a_command_of_the_person(tmp_path):
    with scripted("What does the agent do?") as model:
        claude = claude_code(tmp_path / "home", model)
        done(claude.run("plugin", "marketplace", "add", ROOT))
        done(claude.run("plugin", "install", "protocol-builder"))
        assert done(claude.run("-p", f"/{NAME} for my booking agent")) == "What does the agent do?\n"
    (asked,) = model.asked
    assert "# Design a contract with somebody" in asked.text and "for my booking agent" in asked.text
