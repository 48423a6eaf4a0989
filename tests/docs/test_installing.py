"""What users are told to install is accord: the distribution is `accord-contracts`, `accord` is somebody else's."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import accord

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]

COMMAND = re.compile(r"(?:pip[3x]?|uvx?|poetry|pdm|rye|conda)\b[^\n`\"]*?\s(?:install|add)\s+([^\n`\"()]+)")
RUN_AT_ONCE = re.compile(r"(?:uvx|uv tool run|pipx run)(?: --from)? '?accord(?![\w-])")
NAME = re.compile(r"['\s]*accord(?![\w.:/-])")
EXTRA_OF_ANOTHER = re.compile(rf"(?<![\w.-])accord\\?\[(?:{'|'.join(EXTRAS)})\b")
PINNED = re.compile(r"(?<![\w.-])accord\s?(?:==|>=|~=|<=)\s?\d")
NAMED = re.compile(r"accord-contracts\\?\[([a-z,]+)\\?\]")


def faults(text: str) -> list[str]:
    """The places of a text that would install the distribution of somebody else."""
    commands = [m[0] for m in COMMAND.finditer(text) if any(NAME.match(word) for word in m[1].split())]
    return commands + [m[0] for pattern in (RUN_AT_ONCE, EXTRA_OF_ANOTHER, PINNED) for m in pattern.finditer(text)]


def texts() -> dict[str, str]:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = {}
    for name in tracked.rstrip("\0").split("\0"):
        if ROOT / name != Path(__file__) and (ROOT / name).is_file():
            data = (ROOT / name).read_bytes()
            if b"\0" not in data:
                found[name] = data.decode(errors="replace")
    return found


TEXTS = texts()


@pytest.mark.parametrize(
    "text",
    [
        "pip install accord", "pip install 'accord'", "pip3 install -U accord\n", "`uv add accord`", "uvx accord check",
        "uvx --from accord accord lint", "pipx install accord==1", "uv tool install accord",
        "python -m pip install -q msgspec accord", "accord>=0.1", '"accord[audit]", "ray"', "pipx run accord",
        "pip install 'accord[trace]'", "the extra `accord[studio]`", r"match='accord\[redis\]'",
    ],
)  # fmt: skip
def test_the_wrong_name_is_found(text):
    assert faults(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install accord-contracts", "pip install 'accord-contracts[trace]'", "then `accord check`",
        "uv run accord check", 'record.accord["tool"]', "whoever installs accord has no node",
        "pip install -e '.[dev]'", "pip install ./accord/", "uvx --from accord-contracts accord check",
    ],
)  # fmt: skip
def test_the_right_name_and_the_command_are_left_alone(text):
    assert not faults(text)


def test_no_text_tells_anyone_to_install_another_distribution():
    assert len(TEXTS) > 500
    assert {name: found for name, text in TEXTS.items() if (found := faults(text))} == {}


def test_every_extra_that_a_text_names_exists():
    named = {extra for text in TEXTS.values() for extras in NAMED.findall(text) for extra in extras.split(",")}
    assert named <= set(EXTRAS)
    assert set(EXTRAS) - named <= {"dev", "docs"}, "an extra that no page, message or other extra names"


def test_the_distribution_is_the_project_that_is_imported():
    assert (PROJECT["name"], PROJECT["version"]) == ("accord-contracts", accord.__version__)
    assert PROJECT["scripts"].keys() == {"accord"}


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/tutorials/guard-an-agent.md"])
def test_where_people_begin_it_is_said_how_to_install(page):
    assert f"pip install {PROJECT['name']}\n" in TEXTS[page]
