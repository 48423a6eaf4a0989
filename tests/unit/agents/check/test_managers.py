"""Which managers swallow exceptions: what is read from the text is what they do."""

from __future__ import annotations

import ast

import pytest

from accord.agents.check.managers import swallowed
from accord.agents.check.modules import read_module
from accord.agents.check.names import Program
from accord.diagnostics import Source

FRONT = "import contextlib\nfrom contextlib import contextmanager, suppress\n\n"
SWALLOWING = {
    "suppress(ValueError)": "",
    "m()": "def m(): return suppress(ValueError)",
    "stack()": "@contextmanager\ndef stack():\n    with suppress(ValueError):\n        yield",
    "caught()": "@contextmanager\ndef caught():\n    try:\n        yield\n    except ValueError:\n        print()",
    "M()": "class M:\n    def __enter__(self): ...\n    def __exit__(self, *error): return True",
    "N()": "class M(suppress): ...\nclass N(M):\n    def __init__(self): super().__init__(ValueError)",
    "(suppress(ValueError) if True else contextlib.nullcontext())": "",
}
LETTING_PASS = {
    "contextlib.nullcontext()": "",
    "suppress(KeyError)": "",
    "again()": "@contextmanager\ndef again():\n    try:\n        yield\n    except ValueError:\n        raise",
    "cleaned()": "@contextmanager\ndef cleaned():\n    try:\n        yield\n    finally:\n        print()",
    "M()": "class M:\n    def __enter__(self): ...\n    def __exit__(self, *error): return None",
    "N()": "class N:\n    def __enter__(self): ...\n    def __exit__(self, *error): print()",
}


def swallows(manager: str, front: str) -> bool:
    """Whether it really does."""
    names: dict[str, object] = {"print": lambda: None}
    exec(FRONT + front, names)  # noqa: S102 - what stands above
    try:
        exec(f"with {manager}:\n    raise ValueError", names)  # noqa: S102
    except ValueError:
        return False
    return True


def read(manager: str, front: str):
    module = read_module(Source(FRONT + front, "managers.py"))
    return swallowed(ast.parse(manager, mode="eval").body, module.scope, Program([module]))


@pytest.mark.parametrize(("manager", "front"), SWALLOWING.items())
def test_those_that_swallow(manager, front):

    assert swallows(manager, front)
    found = read(manager, front)
    assert found is not None
    assert found.names is None or "ValueError" in found.names


@pytest.mark.parametrize(("manager", "front"), LETTING_PASS.items())
def test_those_that_let_pass(manager, front):
    assert not swallows(manager, front)
    found = read(manager, front)
    assert found is None or found.names == ("KeyError",)
