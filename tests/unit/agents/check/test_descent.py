"""The order in which methods are looked up, against Python's own."""

from __future__ import annotations

from itertools import combinations, permutations, product

import pytest

from accord.agents.check.descent import descent_of, is_agent
from accord.agents.check.modules import read_module
from accord.agents.check.names import Program
from accord.diagnostics import Source


def read(text: str):
    module = read_module(Source(text, "classes.py"))
    return module.scope.names, Program([module])


def hierarchies():
    """Every way in which four classes can inherit from those before them, up to two bases each."""
    choices = []
    for number in range(4):
        before = [f"C{other}" for other in range(number)]
        bases = [order for size in range(3) for some in combinations(before, size) for order in permutations(some)]
        choices.append([", ".join(order) for order in bases])
    for chosen in product(*choices):
        yield "".join(f"class C{number}({bases}): ...\n" for number, bases in enumerate(chosen))


def python_order(text: str) -> list[str] | None:
    names: dict[str, type] = {}
    try:
        exec(text, names)  # noqa: S102 - made here
    except TypeError:
        return None
    return [found.__name__ for found in names["C3"].__mro__[:-1]]


def test_the_order_is_that_of_python():
    seen = contradicting = 0
    for text in hierarchies():
        names, program = read(text)
        expected = python_order(text)
        line, doubts = descent_of(names["C3"], program)
        seen += 1
        if expected is None:
            contradicting += 1
        else:
            assert [found.name for found in line] == expected, text
            assert not doubts
    assert seen > 40
    assert contradicting >= 2


def test_bases_that_contradict_each_other_are_a_doubt():
    names, program = read("class A: ...\nclass B(A): ...\nclass C(A, B): ...")
    line, [(_, _, why)] = descent_of(names["C"], program)
    assert [found.name for found in line] == ["C"]
    assert why == "in which order `C` inherits cannot be told"


@pytest.mark.parametrize(
    "text",
    [
        "from accord.agents import Agent\nclass C(Agent): ...",
        "import accord.agents as a\nclass B(a.Agent): ...\nclass C(B): ...",
        "from accord.agents import *\nclass C(Agent): ...",
        "@anything(P, as_='Role')\nclass C: ...",
    ],
)
def test_what_is_an_agent_or_may_be_one(text):
    names, program = read(text)
    assert is_agent(names["C"], program)


@pytest.mark.parametrize("text", ["class C: ...", "class Agent: ...\nclass C(Agent): ...", "@anything\nclass C: ..."])
def test_what_is_none(text):
    names, program = read(text)
    assert not is_agent(names["C"], program)
