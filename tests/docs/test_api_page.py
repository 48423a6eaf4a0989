"""The page of the API names every name of `accord`, each once, and no other; its modules are there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import accord

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text()
NAMES, _, MODULES = PAGE.partition("## Modules")
CELLS = re.findall(r"^\| (`.*?) \|", NAMES, re.MULTILINE)
NAMED = [name for cell in CELLS for name in re.findall(r"`(\w+)(?:\([^`]*\))?`", cell)]


def test_the_page_has_every_name_once():
    assert sorted(NAMED) == sorted(accord.__all__)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(accord(?:\.\w+)+)`", MODULES))))
def test_its_modules_are_there(name):
    importlib.import_module(name)
