from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

CONTRACT = "record Ask { text: String }\nprotocol Asking { Client -> Server: Ask; Server -> Client: Answer }\n"
MESSAGES = """
from dataclasses import dataclass

@dataclass
class Ask:
    text: str

@dataclass
class Answer: ...
"""
AGENT = """
from pathlib import Path
import accord
from accord.agents import Agent, follows
from messages import Answer, Ask

ASKING = accord.load(Path(__file__).parent / "asking.accord")

@follows(ASKING, as_="Server")
class Server(Agent):
    async def on_ask(self, ask: Ask):
        if ask.text:
            await self.reply(Answer())
"""
RIGHT = AGENT.replace("        if ask.text:\n    ", "")


@pytest.fixture
def project(write):
    write(CONTRACT, "asking.accord")
    write(MESSAGES, "messages.py")
    return write(AGENT, "agent.py")


def test_a_path_without_the_reply(accord, project):
    result = accord("lint", project)
    assert result.exit_code == 1
    assert "error[E076]: protocol `Asking` requires `Server` to send `Answer` after receiving `Ask`" in result.stdout
    assert "unless this holds" in result.stdout
    assert "the step is `Server -> Client: Answer` (" in result.stdout
    assert result.stdout.endswith("\n1 error in 1 agent in 1 file\n")


def test_all_is_well(accord, project, write, tmp_path):
    write(RIGHT, "agent.py")
    for path in (project, tmp_path):
        result = accord("lint", path)
        assert result.exit_code == 0, result.stdout
        assert result.stdout.startswith("1 agent in ")
        assert result.stdout.endswith("follows its protocols\n")


def test_the_code_is_never_imported(accord, write, tmp_path):
    marker = tmp_path / "imported"
    path = write(f"open({str(marker)!r}, 'w')\nfrom accord.agents import Agent\n")
    accord("lint", path)
    assert not marker.exists()


def test_modules_around_say_what_names_mean(accord, project, write):
    write(MESSAGES.replace("text: str", "text: int"), "messages.py")
    write(RIGHT, "agent.py")
    result = accord("lint", project)
    assert result.exit_code == 1
    assert "[E084]" in result.stdout
    assert "messages.py:6:" in result.stdout


def test_packages_and_relative_imports(accord, write, tmp_path, monkeypatch):
    write(CONTRACT, "shop/asking.accord")
    write(MESSAGES, "shop/parts/messages.py")
    write("", "shop/__init__.py")
    write("", "shop/parts/__init__.py")
    path = write(RIGHT.replace("from messages", "from .parts.messages"), "shop/agent.py")
    assert accord("lint", path).exit_code == 0
    assert accord("lint", tmp_path).exit_code == 0
    monkeypatch.chdir(tmp_path / "shop" / "parts")
    assert accord("lint", "../agent.py").exit_code == 0
    write(MESSAGES.replace("text: str", "text: int"), "shop/parts/messages.py")
    assert "--> ../parts/messages.py:6:" in accord("lint", "../agent.py").stdout


def test_an_agent_by_inheritance_alone(accord, write, project, tmp_path, monkeypatch):
    write("", "__init__.py")
    write(RIGHT, "agent.py")
    child = write(
        "from agent import Server\nfrom messages import Ask\n\n\n"
        "class Silent(Server):\n    async def on_ask(self, ask: Ask):\n        pass\n",
        "silent.py",
    )
    for path in (child, tmp_path):
        assert "silent.py:6:15" in accord("lint", path).stdout
    monkeypatch.chdir(tmp_path)
    write(child.read_text().replace("from agent", f"from {tmp_path.name}.agent"), "silent.py")
    assert "silent.py:6:15" in accord("lint", "silent.py").stdout


def test_a_contract_by_the_path_of_its_file(accord, write, tmp_path, monkeypatch):
    write(CONTRACT, "contracts/asking.accord")
    write(MESSAGES, "messages.py")
    write(RIGHT.replace('Path(__file__).parent / "asking.accord"', '"contracts/asking.accord"'), "agent.py")
    monkeypatch.chdir(tmp_path)
    assert accord("lint", "agent.py").exit_code == 0


def test_a_contract_from_where_the_command_runs(accord, write, tmp_path, monkeypatch):
    write(CONTRACT, "contracts/asking.accord")
    write(MESSAGES, "code/messages.py")
    path = write(
        RIGHT.replace('Path(__file__).parent / "asking.accord"', 'Path("contracts/asking.accord")'), "code/agent.py"
    )
    assert accord("lint", path).exit_code == 1
    monkeypatch.chdir(tmp_path)
    assert accord("lint", "code/agent.py").exit_code == 0


def test_a_contract_that_is_not_there(accord, project, tmp_path):
    (tmp_path / "asking.accord").unlink()
    result = accord("lint", project)
    assert result.exit_code == 1
    assert "error[E070]: the contract `asking.accord` cannot be read: no such file" in result.stdout


def test_a_contract_with_errors_is_shown_at_its_place(accord, project, write):
    write("protocol Asking { Client -> Client: Ask }", "asking.accord")
    result = accord("lint", project)
    assert result.exit_code == 1
    assert "asking.accord:1:29" in result.stdout
    assert "[E030]" in result.stdout


def test_a_protocol_that_nobody_follows_in_a_file_beside(accord, project, write, tmp_path):
    write(RIGHT, "agent.py")
    write("protocol Other { A -> B: m }", "other.accord")
    result = accord("lint", tmp_path)
    assert result.exit_code == 1
    assert "warning[W087]: nobody follows protocol `Other`" in result.stdout
    assert "other.accord:1:10" in result.stdout
    assert accord("lint", project).exit_code == 0


def test_what_is_ignored_is_listed(accord, project, write):
    write(AGENT.replace("ask: Ask):", "ask: Ask):  # accord: ignore[E076] silence means no"), "agent.py")
    result = accord("lint", project)
    assert result.exit_code == 0
    assert result.stdout.startswith("ignored: E076 at ")
    assert "agent.py:11:15: silence means no\n" in result.stdout
    assert result.stdout.endswith("1 agent in 1 file follows its protocols, 1 ignored\n")


def test_json(accord, project):
    (finding,) = json.loads(accord("lint", "--format", "json", project).stdout)
    assert (finding["code"], finding["severity"], finding["line"]) == ("E076", "error", 11)
    assert [note["line"] for note in finding["notes"]] == [11, 12]
    assert finding["file"] == str(project)


def test_sarif(accord, project):
    run = json.loads(accord("lint", "--format", "sarif", project).stdout)["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["E076"]
    (result,) = run["results"]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 11
    assert len(result["relatedLocations"]) == 2


def test_github(accord, project, write):
    line = accord("lint", "--format", "github", project).stdout
    assert line.startswith(f"::error file={project},line=11,col=15,")
    write(RIGHT, "agent.py")
    assert accord("lint", "--format", "github", project).stdout == ""


def test_standard_input(accord):
    result = accord("lint", "-", input="class A(:")
    assert result.exit_code == 1
    assert "error[E086]" in result.stdout
    assert "<stdin>:1:9" in result.stdout
    result = accord("lint", "-", input="x = 1")
    assert (result.exit_code, result.stdout) == (0, "no agents in 1 file\n")


@pytest.mark.parametrize(
    ("name", "message"), [("missing.py", "no such file or folder"), ("", "an empty argument is no path")]
)
def test_wrong_usage(accord, tmp_path, name, message):
    result = accord("lint", tmp_path / name if name else "")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_folder_without_python(accord, tmp_path):
    result = accord("lint", tmp_path)
    assert result.exit_code == 2
    assert "no .py file in the folder" in result.stderr


def test_bytes_that_are_no_text(accord, write):
    result = accord("lint", write(b"x = '\xff'", "latin.py"))
    assert result.exit_code == 2
    assert "cannot be decoded" in result.stderr
    assert accord("lint", write(b"# coding: latin-1\nx = '\xff'", "latin.py")).exit_code == 0


def test_hidden_folders_and_files_named_twice(accord, project, write, tmp_path):
    write(AGENT, ".venv/lib/agent.py")
    result = accord("lint", tmp_path, project, project)
    assert result.stdout.endswith("1 error in 1 agent in 2 files\n")


def test_the_hook_runs_it_on_everything():
    """A change of a contract or of a message class alone can break agents in files that have not changed."""
    hooks = {
        hook["id"]: hook for hook in yaml.safe_load((Path(__file__).parents[3] / ".pre-commit-hooks.yaml").read_text())
    }
    assert hooks["accord-check"]["entry"] == "accord check"
    lint = hooks["accord-lint"]
    assert (lint["entry"], lint["args"], lint["pass_filenames"]) == ("accord lint", ["."], False)
    assert all(re.search(lint["files"], changed) for changed in ("messages.py", "contracts/sync.accord"))
    assert "types" not in lint
