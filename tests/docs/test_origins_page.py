"""The page about the documents that accord started from: what it names is there, and it names all that shows it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = "tests/spec/test_origins.py"
PAGE = ROOT / "docs" / "explanation" / "origins.md"
HEADINGS = re.findall(r"^## (.*)$", PAGE.read_text(), re.MULTILINE)
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text().splitlines()
    if re.match(r"\| \d+ \|", line)
]
IDS = [f"{row[0]} {row[1][:40]}" for row in ROWS]


def shown_by(row) -> list[tuple[str, str]]:
    return [(file or EXAMPLES, name) for file, name in re.findall(r"`(?:(tests/[\w/]+\.py)::)?(test_\w+)`", row[4])]


def written_in(file: str) -> set[str]:
    return set(re.findall(r"^(?:async )?def (test_\w+)\(", (ROOT / file).read_text(), re.MULTILINE))


def test_there_is_a_table_for_each_document():
    assert len(HEADINGS) == 5 and len(ROWS) >= 60
    heads = re.findall(r"^# -- (.*?) -+$", (ROOT / EXAMPLES).read_text(), re.MULTILINE)
    for name in HEADINGS:
        assert any(name in head for head in heads), f"no example of {name!r}"


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_row_is_whole(row):
    _, promise, where, kept, shown = row
    assert promise and where
    verdict, _, missing = kept.partition(": ")
    assert verdict in {"yes", "half", "no"}
    assert bool(missing) == (verdict != "yes"), "what is not kept says what is missing, and nothing else does"
    assert bool(shown) == (verdict != "no"), "what is kept is shown by a test"
    assert not re.sub(r"`[^`]+`(, )?", "", shown), "nothing but names of tests"


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_what_a_row_names_is_there(row):
    named = re.findall(r"`([^`]+)`", row[2])
    for name in named:
        if name.startswith("accord"):
            assert importlib.util.find_spec(name), name
        else:
            assert (ROOT / name).exists(), name
    for target in re.findall(r"\]\(([^)#]+)", row[2]):
        assert (PAGE.parent / target).is_file(), target
    for file, name in shown_by(row):
        assert name in written_in(file), f"{file}::{name}"


def test_every_example_is_in_a_table():
    named = {name for row in ROWS for file, name in shown_by(row) if file == EXAMPLES}
    assert written_in(EXAMPLES) == named
