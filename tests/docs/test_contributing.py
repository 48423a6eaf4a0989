"""The recipes for a first change, followed to the letter in a copy of the checkout: what they promise comes of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.checkout import ROOT, copied

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
PATH = re.compile(r"`([\w./-]+/[\w-]+\.\w+)`")
FENCE = re.compile(r"^(`{3,})(\w+)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
LONGEST = 600
"""Seconds for one command, on a machine where little else gets done."""


class WrongRecipeError(ValueError):
    """What is written cannot be followed."""


@dataclass(frozen=True)
class Step:
    """A file to make, lines to add to one (`diff`), or commands to run (`console`)."""

    kind: str
    text: str
    path: str = ""


def recipes(page: str) -> dict[str, list[Step]]:
    """Every recipe of a page with its steps. A block belongs to the file that is named last in front of it."""
    _, _, section = page.partition("\n## A first change\n")
    section = FENCE.sub(lambda block: block[0].replace("\n#", "\n\0#"), section)  # headings in blocks are none
    section = re.split(r"^## ", section, flags=re.MULTILINE)[0]
    titles = re.split(r"^### (.*)\n", section, flags=re.MULTILINE)[1:]
    return {title: list(steps(text.replace("\0", ""))) for title, text in zip(titles[::2], titles[1::2], strict=True)}


def steps(text: str):
    path, after = "", 0
    for block in FENCE.finditer(text):
        path = [path, *PATH.findall(text[after : block.start()])][-1]
        after = block.end()
        if block[2] == "console":
            yield from (Step("console", line.removeprefix("$ ")) for line in block[3].splitlines())
        else:
            yield Step("diff" if block[2] == "diff" else "file", block[3], path)


def follow(step: Step, folder: Path) -> None:
    file = folder / step.path
    if step.kind == "file":
        if file.exists():
            raise WrongRecipeError(f"`{step.path}` is there already")
        file.write_text(step.text)
    elif step.kind == "diff":
        file.write_text(added(file.read_text(), step))


def added(text: str, step: Step) -> str:
    """A text with the lines that a diff adds, where the others stand, which is one place."""
    lines, changes = text.splitlines(), step.text.splitlines()
    around = [line[1:] for line in changes if line.startswith(" ")]
    wanted = [line[1:] for line in changes if line.startswith((" ", "+"))]
    if not around or len(wanted) != len(changes):
        raise WrongRecipeError(f"not lines to keep and lines to add: {step.text}")
    places = [at for at in range(len(lines)) if lines[at : at + len(around)] == around]
    if len(places) != 1:
        raise WrongRecipeError(f"`{step.path}` has {len(places)} places that look like {around}")
    lines[places[0] : places[0] + len(around)] = wanted
    return "\n".join([*lines, ""])


def run(command: str, folder: Path, checkout: Path) -> subprocess.CompletedProcess[str]:
    """A command as somebody in the venv of a checkout types it."""
    told = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ACCORD", "PYTEST"))}
    told["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{told['PATH']}"
    told["PYTHONPATH"] = str(checkout / "src")
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, env=told, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=LONGEST, check=False,
    )  # fmt: skip


RECIPES = recipes(PAGE)

AGENT = """import time
from accord.agents import Agent, follows

@follows("protocol P { A -> B: Ask; B -> A: Answer }", as_="B")
class Sleepy(Agent):
    async def on_start(self):
        time.sleep(1)
"""
NOTES = [
    {"note": "heard", "what": "hello"},
    {"note": "called", "tool": "search", "with": {"to": "JFK"}},
    {"note": "got", "tool": "search", "what": "A1"},
]
GUARDED = """
from accord import Guard
from accord.integrations import adapt_chat
raw = {"message": {"content": "", "tool_calls": [{"function": {"name": "pay", "arguments": {"amount": 3}}}]}}
guard = Guard("!pay(amount <= 5).end", tools={"pay": lambda amount: f"paid {amount}"})
print(guard.run(adapt_chat(raw).tool_calls)[0].content)
"""
FILES = {
    "long.accord": f"protocol P = !{'a' * 90}.end\n",
    "sleepy.py": AGENT,
    "runs.jsonl": "".join(json.dumps(note) + "\n" for note in NOTES),
    "search.accord": "protocol P = !search.?search.end\n",
    "guarded.py": GUARDED,
}
PROOFS = {
    "A template": ("accord new greet-first && accord check greet-first.accord", "1 file is fine"),
    "A diagnostic": ("accord check long.accord", "warning[W019]: label has 90 characters"),
    "A rule of lint": ("accord lint sleepy.py", "warning[W099]: `on_start` blocks every agent of the process"),
    "A reader of recorded runs": ("accord events search.accord runs.jsonl", "?search"),
    "An adapter for an SDK": ("python guarded.py", "paid 3"),
}
"""For each recipe what shows that it works, and what is then to be seen; without it, it is not."""


@pytest.fixture(scope="module")
def changed(tmp_path_factory) -> Path:
    """A copy of the checkout in which all recipes were followed up to their commands."""
    folder = copied(tmp_path_factory.mktemp("first") / "checkout")
    for title in RECIPES:
        for step in RECIPES[title]:
            follow(step, folder)
    return folder


@pytest.fixture
def folder(tmp_path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_there_is_a_recipe_for_each_kind_of_change():
    assert RECIPES.keys() == PROOFS.keys()
    for title, steps in RECIPES.items():
        kinds = [step.kind for step in steps]
        assert "file" in kinds and kinds[-1] == "console", title
        assert len({step.path for step in steps if step.path}) <= 6, f"{title} takes too many places"


@pytest.mark.parametrize("title", RECIPES)
def test_what_is_added_is_at_work(title, changed, folder):
    command, seen = PROOFS[title]
    before = run(command, folder, ROOT)
    assert seen not in before.stdout + before.stderr
    after = run(command, folder, changed)
    assert seen in after.stdout + after.stderr, after.stdout + after.stderr


@pytest.mark.parametrize("title", RECIPES)
def test_its_commands_succeed(title, changed):
    for step in RECIPES[title]:
        if step.kind == "console":
            ended = run(step.text, changed, changed)
            assert ended.returncode == 0, f"{step.text}\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"


def test_what_is_added_passes_the_linter(changed):
    ended = run("ruff check . && ruff format --check .", changed, changed)
    assert ended.returncode == 0, ended.stdout


# -- recipes that cannot be followed -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ("Make `src/a.py`:\n\n```python\nx = 2\n```\n", "`src/a.py` is there already"),
        ("In `src/a.py`:\n\n```diff\n y = 1\n+z = 1\n```\n", "has 0 places that look like"),
        ("In `src/a.py`:\n\n```diff\n x = 1\n+z = 1\n```\n", "has 2 places that look like"),
        ("In `src/a.py`:\n\n```diff\n-x = 1\n+z = 1\n```\n", "not lines to keep and lines to add"),
    ],
)
def test_a_recipe_that_cannot_be_followed_is_told(steps, says, tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x = 1\nx = 1\n")
    ((step,),) = recipes(f"\n## A first change\n\n### One\n\n{steps}\n## Another\n\n### Two\n").values()
    with pytest.raises(WrongRecipeError, match=says):
        follow(step, tmp_path)
