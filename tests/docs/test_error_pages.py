"""One page for each code, from the table behind `accord explain`, with what accord says of the wrong example."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from accord.cli.explain import findings_in_example
from accord.diagnostics.codes import CODES, Code
from accord.diagnostics.text import render_all

FOLDER = Path(__file__).parents[2] / "docs" / "errors"
LONGEST = 2_000  # what breaks a limit is too long to be read


def page(code: Code) -> str:
    language = "python" if code.is_python else "text"
    parts = [f"# {code.code}: {code.title}\n\n{code.explanation}\n"]
    if code.wrong and len(code.wrong) < LONGEST:
        said = render_all(findings_in_example(code), colour=False).rstrip("\n")
        parts.append(f"## Wrong\n\n{block(language, code.wrong)}\naccord says:\n\n{block('text', said)}")
        parts.append(f"## Right\n\n{block(language, code.right)}")
    return "\n".join(parts)


def block(language: str, text: str) -> str:
    body = text.rstrip("\n")
    return f"```{language}\n{body}\n```\n"


def index() -> str:
    rows = [f"| [{code.code}]({code.code}.md) | {code.title} |" for code in CODES.values()]
    head = "# Error codes\n\nMade from the table behind `accord explain CODE`, a page for each.\n"
    return "\n".join([head, "| code | what is wrong |", "|---|---|", *rows, ""])


PAGES = {"index": index, **{name: lambda code=code: page(code) for name, code in CODES.items()}}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_of_a_code_matches_the_table(name):
    file, made = FOLDER / f"{name}.md", PAGES[name]()
    if os.environ.get("ACCORD_UPDATE_GOLDEN"):
        file.write_text(made)
    assert file.read_text() == made


def test_no_page_is_left_of_a_code_that_is_gone():
    assert {file.stem for file in FOLDER.iterdir()} == set(PAGES)
