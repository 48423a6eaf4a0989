from __future__ import annotations

import ast

import pytest

from accord.agents.check.modules import Class, Function, Module, Value, read_module
from accord.agents.check.names import Outside, Program
from accord.diagnostics import Source, Span


def program(**files) -> Program:
    return Program(read_module(Source(text, f"{name.replace('__', '/')}.py")) for name, text in files.items())


def meaning(found: Program, expression: str, at: int = 0):
    return found.resolve(ast.parse(expression, mode="eval").body, found.modules[at].scope)


def test_names_across_files():
    found = program(main="from shop.parts import A as B\nimport shop.parts as p", src__shop__parts="class A: ...")
    for expression in ("B", "p.A"):
        assert isinstance(meaning(found, expression), Class)
        assert meaning(found, expression).name == "A"
    assert isinstance(meaning(found, "p"), Module)


def test_relative_imports():
    found = program(
        a__b__c="from ..d import X\nfrom . import e\nfrom .e import Y", a__d="X = 1", a__b__e="def Y(): ..."
    )
    assert isinstance(meaning(found, "X"), Value)
    assert isinstance(meaning(found, "Y"), Function)
    assert isinstance(meaning(found, "e.Y"), Function)


def test_names_that_stand_for_names():
    found = program(main="class A: ...\nB = A\nC = B")
    assert meaning(found, "C").name == "A"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("A = 1\nA = 2", "bound in several places"),
        ("if x:\n    A = 1\nelse:\n    A = 2", "bound in several places"),
        ("for A in b: ...", "not followed"),
        ("with b as A: ...", "not followed"),
        ("from elsewhere import *", "may come from"),
        ("A = A", "stands for itself"),
    ],
)
def test_names_that_mean_nothing_certain(text, why):
    assert why in meaning(program(main=text), "A").why


def test_imports_in_a_circle():
    found = program(a="from b import X", b="from a import X")
    assert "circle" in meaning(found, "X").why


def test_what_is_outside():
    found = program(main="import accord.agents as g\nfrom pathlib import Path")
    assert meaning(found, "g.Agent") == Outside("accord.agents.Agent")
    assert meaning(found, "Path") == Outside("pathlib.Path")
    assert meaning(found, "print") == Outside("builtins.print")


def test_places_count_characters():
    module = read_module(Source("ä = 'ö'; class_ = é\r\nclass Ünder: ...", "x.py"))
    name = module.tree.body[1].targets[0]
    assert module.source.text[slice(*module.span(name))] == "class_"
    node = module.tree.body[2]
    assert module.source.text[slice(*module.name_span(node))] == "Ünder"
    assert isinstance(module.span(node), Span)


def test_the_source_of_accord_among_the_files_changes_nothing():
    found = program(main="from accord.agents import Agent", src__accord__agents____init__="class Agent: ...")
    assert meaning(found, "Agent") == Outside("accord.agents.Agent")


def test_two_files_of_one_name_and_neither_is_nearer():
    found = program(main="from messages import A", a__messages="class A: ...", b__messages="class A: ...")
    assert meaning(found, "A") == Outside("messages.A")


def test_a_star_brings_what_accord_exports():
    found = program(main="from accord.agents import *")
    assert meaning(found, "follows") == Outside("accord.agents.follows")
    assert meaning(found, "print") == Outside("builtins.print")


def test_what_a_function_binds_by_global_means_nothing_certain():
    found = program(main="A = 1\nB = 2\ndef f():\n    global A\n    A = 3")
    assert "several places" in meaning(found, "A").why
    assert isinstance(meaning(found, "B"), Value)


def test_where_files_lie_counts_and_not_how_they_are_named():
    names = {"main.py": "from shop.parts import A", "parts.py": "class A: ..."}
    found = Program(read_module(Source(text, name), "/home/shop") for name, text in names.items())
    assert isinstance(meaning(found, "A"), Class)


@pytest.mark.parametrize(
    ("expression", "files"),
    [
        ("A", {"main": "B = 1"}),
        ("A", {"main": "from shop import A", "shop": "B = 1"}),
        ("A", {"shop__main": "from .parts import A", "shop__parts": "B = 1"}),
        ("A", {"shop__main": "from shop.parts import A", "shop__parts": "B = 1"}),
        ("p.A", {"main": "import parts as p", "parts": "B = 1"}),
        ("A", {"main": "from parts import *", "parts": "from others import *", "others": "B = 1"}),
        ("A", {"main": "from parts import *", "parts": "from main import *"}),
    ],
)
def test_names_that_nothing_defines(expression, files):
    found = meaning(program(**files), expression)
    assert isinstance(found, Outside) and found.undefined


@pytest.mark.parametrize(
    ("expression", "files"),
    [
        ("print", {"main": ""}),
        ("__file__", {"main": ""}),
        ("A", {"main": "from elsewhere import A"}),
        ("A", {"main": "from elsewhere import *"}),
        ("A", {"main": "from parts import *", "parts": "from elsewhere import *"}),
        ("A", {"main": "from parts import A", "parts": "from elsewhere import *"}),
        ("A", {"main": "from parts import A", "parts": "def __getattr__(name): ..."}),
        ("A", {"main": "from parts import A", "parts": "B = 1", "other": "import parts\nparts.A = 2"}),
        ("A", {"app__main": "from parts import A", "tests__parts": "B = 1"}),
        ("p.A", {"app__main": "import parts as p", "tests__parts": "B = 1"}),
        ("A", {"main": "globals()['A'] = 1"}),
        ("A", {"main": "exec('A = 1')"}),
        ("A", {"main": "import builtins\nbuiltins.A = 1"}),
        ("A", {"main": "import sys\nsetattr(sys.modules[__name__], 'A', 1)"}),
        ("A", {"main": "try: ...\nexcept ValueError as A: ..."}),
        ("A", {"main": "match b:\n    case A: ..."}),
        ("A", {"main": "match b:\n    case [*A]: ..."}),
        ("A", {"main": "match b:\n    case {**A}: ..."}),
    ],
)
def test_names_that_something_may_define(expression, files):
    assert not getattr(meaning(program(**files), expression), "undefined", False)


def test_what_a_package_holds_may_lie_in_files_that_are_not_checked():
    names = {"shop/main.py": "from . import parts", "shop/__init__.py": "B = 1"}
    found = Program(read_module(Source(text, name)) for name, text in names.items())
    assert meaning(found, "parts") == Outside("parts")


def test_a_star_gives_what_its_own_stars_give():
    files = {"parts": "from others import *", "others": "class A: ..."}
    assert isinstance(meaning(program(main="from parts import *", **files), "A"), Class)
    assert isinstance(meaning(program(main="from parts import A", **files), "A"), Class)
    assert isinstance(meaning(program(main="import parts", **files), "parts.A"), Class)
