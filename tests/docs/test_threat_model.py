"""Each promise of the threat model names tests, and they are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "threat-model.md").read_text()
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_holds_a_promise_is_there(file, name):
    assert re.search(rf"^(?:async )?def {name}\(", (ROOT / file).read_text(), re.MULTILINE)


def test_every_promise_is_held():
    _, _, promised = PAGE.partition("## What is promised\n")
    table, _, _ = promised.partition("\n## ")
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 10
    for row in rows:
        assert re.search(r"`tests/[\w/]+\.py::test_\w+`", row), row
