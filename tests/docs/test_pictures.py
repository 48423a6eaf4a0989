"""The pictures of terminals in the documents are what the commands say today; pictures of pages are `tests/browser`'s.

`ACCORD_UPDATE_PICTURES=1`, which `make pictures` sets, writes them.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.terminal import COLUMNS, picture

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def said(command: str, typed: str = "") -> str:
    """What the command writes to a terminal that shows colours."""
    program, *arguments = shlex.split(command)
    shown = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "PYTHONUTF8": "1"}
    run = subprocess.run(
        [Path(sys.executable).parent / program, *arguments], cwd=ROOT, input=typed, text=True, check=False,
        capture_output=True, env={**{name: value for name, value in os.environ.items() if name != "NO_COLOR"}, **shown},
    )  # fmt: skip
    assert run.returncode in {0, 1}, run.stderr
    return run.stdout


def demo() -> str:
    command = "python examples/booking/demo.py"
    _, told, story = said(command).rpartition(".end")
    assert told
    return picture(command, story.partition("\n\n")[2], "A booking is refused, and done right")


def lint() -> str:
    command = "accord lint examples/lint/steward.py"
    return picture(command, said(command), "A missing reply, and the path on which it is missing")


def step() -> str:
    command = "accord step examples/booking/booking.accord"
    *_, shown = re.split(r"^step> .*\n", said(command, "1\n1\n!BookFlight\n"), flags=re.MULTILINE)
    return picture(command, shown, "A booking that is tried too early, stepped through by hand")


MADE = {"demo": demo, "lint": lint, "step": step}


@pytest.mark.parametrize("name", MADE)
def test_a_picture_of_a_terminal_is_up_to_date(name):
    file, made = PICTURES / f"{name}.svg", MADE[name]()
    if os.environ.get("ACCORD_UPDATE_PICTURES"):
        file.write_text(made, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == made


def test_every_picture_is_shown_and_there_is_one_for_each():
    shown = {name for page in PAGES for name in re.findall(r"pictures/([\w-]+\.\w+)\)", page.read_text())}
    there = {path.name for path in PICTURES.iterdir()}
    assert shown <= there
    assert {name for name in there - shown if not name.endswith("-dark.jpg")} == set()
