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

import click
import pytest

import accord
from accord import integrations
from accord.cli.app import app
from accord.diagnostics import Source
from accord.diagnostics.agent_codes import AGENT_CODES
from accord.limits import Limits
from accord.sources import READERS
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
    page = (ROOT / "docs" / "reference" / "limits.md").read_text()
    for limit in fields(Limits):
        assert re.search(rf"\| `{limit.name}` \| {getattr(Limits(), limit.name):,}", page), limit.name


def first_cells(page: str) -> set[str]:
    """What stands in the first column of the tables of a page."""
    return set(re.findall(r"[\w.-]+", " ".join(re.findall(r"^\| ([^|]*) \|", (ROOT / page).read_text(), re.MULTILINE))))


def test_every_format_of_recorded_runs_is_documented():
    assert {reader.name for reader in READERS} <= first_cells("docs/reference/sources.md")


def test_every_finding_of_lint_is_documented():
    assert {code.code for code in AGENT_CODES} <= first_cells("docs/reference/lint.md")


def test_every_adapter_is_documented():
    adapters = {f"accord.integrations.{name}" for name in integrations.__all__ if name.startswith("adapt_")}
    assert len(adapters) >= 3
    assert adapters <= first_cells("docs/how-to/any-sdk.md")


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
    page = ROOT / "docs" / "how-to" / "templates.md"
    if os.environ.get("ACCORD_UPDATE_GOLDEN"):
        page.write_text(template_page())
    assert page.read_text() == template_page()


HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
ANCHOR = re.compile(r'<a id="([\w-]+)">')


def places(page: Path) -> set[str]:
    """What a link into a page can name: its headings as mkdocs and GitHub both write them, and anchors set by hand."""
    text = page.read_text()
    named = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in HEADING.findall(BLOCK.sub("", text))]
    slugs = {re.sub(r"[^\w\s-]", "", name).strip().lower().replace(" ", "-") for name in named}
    return slugs | set(ANCHOR.findall(text))


def test_links_lead_somewhere():
    followed = 0
    for page in [*PAGES, *sorted(ROOT.glob("*.md"))]:
        prose = BLOCK.sub("", page.read_text())  # in code, what looks like a link is a call
        for target, place in re.findall(r"\]\(([^)#:\s]*)(?:#([\w-]+))?\)", prose):
            found = page.parent / target if target else page
            assert found.exists(), f"{page.name}: {target}"
            assert not place or place in places(found), f"{page.name}: {target}#{place}"
            followed += 1 + bool(place)
    assert followed >= 250


def test_every_page_is_in_the_table_of_contents():
    """`mkdocs build --strict` says it too; mkdocs is not where tests run."""
    listed = re.findall(r"^ +- .*: ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}
    assert sorted(listed) == sorted(name for name in pages if not re.fullmatch(r"errors/[EW]\d+\.md", name))


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


IN_BLOCK = re.compile(r"^(?: +- run: |\$ )?accord ([a-z][^\n#]*)", re.MULTILINE)
IN_PROSE = re.compile(r"`accord ([a-z][^`\n]*)`")


def written_commands(page: Path) -> list[str]:
    text = page.read_text()
    blocks = "\n".join(text for language, text in BLOCK.findall(text) if language in {"", "text", "console"})
    return IN_BLOCK.findall(blocks) + IN_PROSE.findall(BLOCK.sub("", text))


def faults(line: str) -> list[str]:
    """What of a command as it is written, without `accord`, there is not: a command, or options of it."""
    words, command = line.split(), app
    while words and isinstance(command, click.Group):
        word = words.pop(0)
        found = command.get_command(click.Context(command), word)
        if found is None:
            return [word]
        command = found
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
    return [name for name in re.findall(r"(?<!\S)--[a-z-]+", " ".join(words)) if name not in known]


def test_every_command_that_is_written_is_there_with_its_options():
    assert faults("audti") == ["audti"] and faults("trace diff a b --what") == ["--what"]
    found = {(page.name, line): faults(line) for page in PAGES for line in written_commands(page)}
    assert len(found) > 100
    assert {where: wrong for where, wrong in found.items() if wrong} == {}
