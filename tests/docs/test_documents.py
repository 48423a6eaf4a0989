"""The documents are true: every Python example runs, every contract compiles, every table matches the code."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import accord
from accord.diagnostics import Source
from accord.limits import Limits
from accord.sources.mapping_files import read_mapping
from accord.templates import templates

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted(m.name for m in pkgutil.walk_packages(accord.__path__, "accord.") if not m.name.endswith("__main__"))
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_there_are_examples():
    examples = sum(page.read_text().count(">>>") for page in PAGES)
    assert examples >= 30


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_python_examples_run(page):
    failures, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    failures, _ = doctest.testmod(importlib.import_module(name))
    assert failures == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_contracts_compile(page):
    for language, text in BLOCK.findall(page.read_text()):
        if language == "accord" or (not language and text.startswith("protocol ")):
            accord.compile(text)


def test_configurations_and_mappings_load():
    blocks = {
        page.name: [text for language, text in BLOCK.findall(page.read_text()) if language == "yaml"] for page in PAGES
    }
    mappings = [read_mapping(Source(text)) for text in blocks.pop("sources.md")]
    assert len(mappings) >= 1
    assert len([accord.load_trace_config(text, allow_imports=True) for texts in blocks.values() for text in texts]) >= 2


def test_every_limit_is_documented_with_its_default():
    page = (ROOT / "docs" / "limits.md").read_text()
    for limit in fields(Limits):
        assert re.search(rf"\| `{limit.name}` \| {getattr(Limits(), limit.name):,}", page), limit.name


def template_page() -> str:
    """The page of templates, from what `accord new` writes and the pages beside it."""
    parts = ["# Templates\n\nContracts to begin with: `accord new NAME` writes one, `accord step` walks through it.\n"]
    for one in templates():
        heading, _, rest = one.page.partition("\n")
        body = re.sub(r"^## ", "### ", rest, flags=re.MULTILINE).replace("```run", "```text")
        body = re.sub(r"```explanation\n(.*?)```", r"> \1", body, flags=re.DOTALL)
        contract = f"### The contract\n\n`accord new {one.name}`\n\n```accord\n{one.text}```\n\n### A run that keeps"
        parts.append(f"#{heading}\n{body}".replace("### A run that keeps", contract))
    return "\n".join(parts)


def test_the_page_of_templates_matches_them():
    page = ROOT / "docs" / "templates.md"
    if os.environ.get("ACCORD_UPDATE_GOLDEN"):
        page.write_text(template_page())
    assert page.read_text() == template_page()


def test_links_lead_somewhere():
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]:
        prose = BLOCK.sub("", page.read_text())  # in code, what looks like a link is a call
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", prose):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


CONSOLE = re.compile(r"^\$ accord (.*)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)


def shown_commands():
    for page in PAGES:
        for language, text in BLOCK.findall(page.read_text()):
            if language == "console":
                for arguments, output in CONSOLE.findall(text):
                    yield pytest.param(arguments, output, id=f"{page.name}: {arguments[:40]}")


@pytest.mark.parametrize(("arguments", "output"), list(shown_commands()))
def test_commands_print_what_the_documents_show(arguments, output, monkeypatch):
    """A command shown with its output prints exactly that; one shown without must at least work."""
    run = subprocess.run(
        [Path(sys.executable).parent / "accord", *shlex.split(arguments)],
        cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert run.returncode in {0, 1}, run.stderr
    if output:
        assert run.stdout == output
