"""What is said about reporting faults in private leads somewhere, and names no address that nobody reads."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
ADDRESS = re.compile(r"\S+@\S+\.\w+|\w+://\S+|\bmailto:|\bwww\.")


def test_it_says_what_and_how_and_what_comes_of_it():
    assert re.findall(r"^## (.*)$", PAGE, re.MULTILINE) == ["What to report", "How", "What you can expect"]


def test_what_is_promised_stands_in_one_place():
    assert "](docs/explanation/threat-model.md)" in PAGE
    assert "](docs/explanation/threat-model.md#what-is-not-promised)" in PAGE


def test_no_address_is_made_up():
    """There is no mailbox and no repository address that would be true for everyone who has these files."""
    assert ADDRESS.findall("a@b.org https://x mailto: www.") == ["a@b.org", "https://x", "mailto:", "www."]
    assert ADDRESS.findall(PAGE) == []


def test_whoever_looks_for_it_finds_it():
    for page in ("README.md", "docs/explanation/threat-model.md"):
        assert "SECURITY.md" in (ROOT / page).read_text()
