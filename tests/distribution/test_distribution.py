"""What users install: the sdist and the wheel that is made from it, looked into, and used in a venv of their own.

It is done once, as a release would do it: the files of the checkout give an sdist, the sdist alone gives the wheel, and
the wheel is installed without any extra, beside pytest, far from the checkout.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from configparser import ConfigParser
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from packaging.metadata import Metadata

from accord.templates import template_names
from tests.checkout import ROOT, copied, files
from tests.docs.test_installing import NAMED, TEXTS

CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = CONFIGURATION["project"]
NAME = f"accord_contracts-{PROJECT['version']}"
README = (ROOT / "README.md").read_text()
LONGEST = 600
"""Seconds that one step may take on a machine where little gets done; a quiet one needs a few for all of them."""

BUILD = """
import sys
from setuptools import build_meta
print(getattr(build_meta, f"build_{sys.argv[1]}")(sys.argv[2]))
"""


def run(command, folder: Path) -> subprocess.CompletedProcess[str]:
    """A process that is told nothing of the checkout."""
    told = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ACCORD", "PYTEST"))}
    return subprocess.run(
        [str(word) for word in command], cwd=folder, env=told, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=LONGEST, check=False,
    )  # fmt: skip


def done(command, folder: Path) -> str:
    """What a process prints that must succeed."""
    ended = run(command, folder)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    return ended.stdout


def venv(folder: Path) -> Path:
    done([sys.executable, "-m", "venv", "--without-pip", folder], folder.parent)
    return folder / "bin" / "python"


def install(python: Path, *what) -> subprocess.CompletedProcess[str]:
    """`pip install` into a venv that has no pip of its own, which would take longer than all the rest."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    return run([*pip, "install", "-q", *what], python.parent)


@dataclass(frozen=True)
class Built:
    """The two files of a release."""

    sdist: Path
    wheel: Path

    @cached_property
    def in_sdist(self) -> dict[str, bytes]:
        with tarfile.open(self.sdist) as archive:
            members = [member for member in archive if member.isfile()]
            return {member.name: archive.extractfile(member).read() for member in members}

    @cached_property
    def in_wheel(self) -> dict[str, bytes]:
        with zipfile.ZipFile(self.wheel) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    @cached_property
    def metadata(self) -> Metadata:
        return Metadata.from_email(self.in_wheel[f"{NAME}.dist-info/METADATA"], validate=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    folder = tmp_path_factory.mktemp("built")
    checkout = copied(folder / "checkout")
    python = venv(folder / "building")
    fetched = install(python, *CONFIGURATION["build-system"]["requires"])
    if fetched.returncode:
        pytest.skip(f"NOT TESTED: the distribution, because pip cannot fetch what builds it: {fetched.stderr[-200:]}")
    *_, sdist = done([python, "-c", BUILD, "sdist", folder], checkout).splitlines()
    with tarfile.open(folder / sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    *_, wheel = done([python, "-c", BUILD, "wheel", folder], folder / "unpacked" / NAME).splitlines()
    return Built(folder / sdist, folder / wheel)


@pytest.fixture(scope="module")
def bin_folder(built, tmp_path_factory) -> Path:
    """Of a venv with the wheel and pytest."""
    folder = tmp_path_factory.mktemp("installed")
    python = venv(folder / "venv")
    installed = install(python, "-c", ROOT / "constraints.txt", built.wheel, "pytest")
    assert installed.returncode == 0, installed.stderr
    return python.parent


# -- what is in it -----------------------------------------------------------------------------------------------------


def test_the_files_are_named_as_the_project(built):
    assert (built.sdist.name, built.wheel.name) == (f"{NAME}.tar.gz", f"{NAME}-py3-none-any.whl")


def test_the_wheel_holds_the_package_and_nothing_else(built):
    """To the byte: a page, a template or `py.typed` that is not listed as package data would be missing here."""
    sources = {name.removeprefix("src/"): ROOT / name for name in files() if name.startswith("src/")}
    expected = {name: path.read_bytes() for name, path in sources.items()}
    packed = {name: data for name, data in built.in_wheel.items() if not name.startswith(f"{NAME}.dist-info/")}
    assert packed.keys() == expected.keys()
    assert [name for name in packed if packed[name] != expected[name]] == []
    for wanted in ("accord/py.typed", "accord/studio/page/index.html", "accord/audit/outputs/page/page.html"):
        assert packed[wanted] or wanted.endswith("py.typed")
    assert {name for name in packed if name.endswith(".accord")} == {
        f"accord/templates/{name}.accord" for name in template_names()
    }


def test_the_sdist_holds_what_the_wheel_is_made_from_and_no_more(built):
    made = f"{NAME}/src/accord_contracts.egg-info/"
    held = {name.removeprefix(f"{NAME}/") for name in built.in_sdist if not name.startswith(made)}
    beside = {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO", "setup.cfg"}
    assert held == beside | {name for name in files() if name.startswith("src/accord/")}


def test_the_licence_is_there(built):
    licence = (ROOT / "LICENSE").read_bytes()
    assert built.in_wheel[f"{NAME}.dist-info/licenses/LICENSE"] == licence == built.in_sdist[f"{NAME}/LICENSE"]
    assert (built.metadata.license_expression, built.metadata.license_files) == ("Apache-2.0", ["LICENSE"])


# -- what is said of it ------------------------------------------------------------------------------------------------


def test_it_says_what_it_is(built):
    said = built.metadata
    assert (said.name, str(said.version), said.summary) == tuple(PROJECT[w] for w in ("name", "version", "description"))
    assert str(said.requires_python) == PROJECT["requires-python"]
    assert said.classifiers == PROJECT["classifiers"]


def test_its_extras_are_those_of_the_documents(built):
    named = {extra for text in TEXTS.values() for extras in NAMED.findall(text) for extra in extras.split(",")}
    assert len(named) >= 9
    assert set(built.metadata.provides_extra) == named | {"dev", "docs"}


def test_its_page_can_be_shown(built):
    """What is not closed swallows what follows: every heading of the text is one of the page."""
    assert built.metadata.description_content_type == "text/markdown"
    assert built.metadata.description == README
    tokens = MarkdownIt().enable("table").parse(built.metadata.description)
    headings = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    prose = re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    written = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    assert headings == written
    assert len(headings) >= 5 and headings[0] == "accord"
    assert [token.content for token in tokens if token.type == "html_block"] == []


def test_it_has_one_command_and_one_plugin(built):
    points = ConfigParser()
    points.read_string(built.in_wheel[f"{NAME}.dist-info/entry_points.txt"].decode())
    assert {group: dict(points[group]) for group in points.sections()} == {
        "console_scripts": PROJECT["scripts"],
        "pytest11": PROJECT["entry-points"]["pytest11"],
    }


# -- what it does ------------------------------------------------------------------------------------------------------


def test_it_is_imported_from_where_it_was_installed(bin_folder, tmp_path):
    said = done([bin_folder / "python", "-c", "import accord; print(accord.__version__, accord.__file__)"], tmp_path)
    version, _, file = said.strip().partition(" ")
    assert version == PROJECT["version"]
    assert Path(file).is_relative_to(bin_folder.parent / "lib")


def test_every_public_name_is_there_or_says_which_extra_it_needs(bin_folder, tmp_path):
    code = """
import accord
for name in accord.__all__:
    try:
        getattr(accord, name)
    except Exception as error:
        print(name, type(error).__name__, error)
"""
    for line in done([bin_folder / "python", "-c", code], tmp_path).splitlines():
        assert NAMED.search(line), line


def test_the_command(bin_folder, tmp_path):
    accord = bin_folder / "accord"
    assert PROJECT["version"] in done([accord, "--version"], tmp_path)
    done([accord, "new", "booking"], tmp_path)
    assert done([accord, "check", "."], tmp_path) == "1 file is fine\n"
    (tmp_path / "loop.accord").write_text("protocol P = rec X.X\n")
    found = run([accord, "check", "."], tmp_path)
    assert found.returncode == 1 and "error[E023]" in found.stdout + found.stderr


def test_what_needs_an_extra_says_so(bin_folder, tmp_path):
    asked = run([bin_folder / "accord", "studio", "."], tmp_path)
    assert asked.returncode == 2 and "pip install 'accord-contracts[studio]'" in asked.stderr


def test_what_the_readme_shows(bin_folder, tmp_path):
    """Its examples, after nothing but the `pip install` that it begins with."""
    shown = doctest.DocTestParser().get_examples(README)
    assert any("Guard(" in one.source for one in shown) and len(shown) >= 8
    page = tmp_path / "readme.md"
    page.write_text(README)
    done([bin_folder / "python", "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", page], tmp_path)
    page.write_text(README.replace("'booked ", "'sold "))  # planted: what is not so is told
    assert run([bin_folder / "python", "-m", "doctest", page], tmp_path).returncode == 1


def test_pytest_takes_its_plugin(bin_folder, tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    said = done([bin_folder / "python", "-m", "pytest", "-W", "error", tmp_path], tmp_path)
    assert f"accord-contracts-{PROJECT['version']}" in said and "1 passed" in said
