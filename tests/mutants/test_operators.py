"""Every operator on small texts: the mistakes it makes, and what it leaves alone."""

# ruff: noqa: E501 - mistakes are easier to read beside what they were made from

from __future__ import annotations

import pytest

from tests.mutants.operators import OPERATORS, mutants_of
from tests.mutants.text import Module

MISTAKES = {
    "comparison": [
        ("a < b <= c", {"a <= b <= c", "a < b < c"}),
        ("a is not None", {"a is None"}),
        ("x in (  # is it in?\n y)", {"x not in (  # is it in?\n y)"}),
        ("'≤' != a", {"'≤' == a"}),
    ],
    "bound": [
        ("MOST = 64", {"MOST = 65", "MOST = 63", "MOST = 1_000_000_000"}),
        ("class A:\n    most: int = 1", {"class A:\n    most: int = 2", "class A:\n    most: int = 1_000_000_000"}),
        ("a[-3:]", {"a[-4:]", "a[-2:]", "a[:]"}),
        ("f(a) - 1", {"(f(a))"}),
        ("number = 3\nf(7)", set()),
    ],
    "guard": [
        ("def f():\n    if a:\n        return 1\n    return 2", {"def f():\n    pass\n    return 2"}),
        ("if a:\n    b()", set()),
    ],
    "branch": [
        ("if a:\n    b\nelse:\n    c\n    d", {"if True:\n    b\nelse:\n    c\n    d",
                                              "if False:\n    b\nelse:\n    c\n    d",
                                              "if a:\n    b\nelse:\n    pass"}),
        ("[x for x in y if x]", {"[x for x in y if True]"}),
        ("if (found := f()):\n    found", set()),
        ("if TYPE_CHECKING:\n    import a", set()),
    ],
    "logic": [
        ("a and not b", {"a or not b", "True and not b", "a and True", "a and (b)"}),
        ("a or 0", {"a and 0", "False or 0"}),
        ("(a) or (b)  # or so", {"(a) and (b)  # or so", "(False) or (b)  # or so", "(a) or (False)  # or so"}),
    ],
    "arguments": [
        ("f(a, b.c)", {"f(b.c, a)"}),
        ("f(a, a)\ngetattr(a, b)\nmin(a, b)\nf(a, 'text')\nf(*a, b)", set()),
    ],
    "order": [
        ("self.a = f()\nself.b = 1", {"self.b = 1\nself.a = f()"}),
        ("self.a = 1\nself.b = 2", set()),
        ("x = 1\ny()", set()),
    ],
    "copy": [
        ("own_copy(a)\na.copy()\n[*a]\n{**a}\ndict(a)",
         {"a\na.copy()\n[*a]\n{**a}\ndict(a)", "own_copy(a)\na\n[*a]\n{**a}\ndict(a)", "own_copy(a)\na.copy()\na\n{**a}\ndict(a)",
          "own_copy(a)\na.copy()\n[*a]\na\ndict(a)", "own_copy(a)\na.copy()\n[*a]\n{**a}\na"}),
        ("dict(a, b=1)\nlist(x for x in y)", set()),
    ],
    "await": [("async def f():\n    await g()\n    return await h()", {"async def f():\n    g()\n    return await h()"})],
    "exceptions": [
        ("try:\n    a()\nexcept KeyError as e:\n    b()\n    raise\nfinally:\n    c()\n    d()",
         {"try:\n    a()\nexcept Exception as e:\n    b()\n    raise\nfinally:\n    c()\n    d()",
          "try:\n    a()\nexcept KeyError as e:\n    b()\n    pass\nfinally:\n    c()\n    d()",
          "try:\n    a()\nexcept KeyError as e:\n    b()\n    raise\nfinally:\n    pass"}),
        ("if a:\n    raise A", set()),
    ],
    "key": [
        ("class A:\n    def f(self):\n        if (a, b) in self.x:\n            self.x[a, b] = 1\n        self.x.get((a, b))",
         {"class A:\n    def f(self):\n        if (None, b) in self.x:\n            self.x[None, b] = 1\n        self.x.get((None, b))",
          "class A:\n    def f(self):\n        if (a, None) in self.x:\n            self.x[a, None] = 1\n        self.x.get((a, None))"}),
        ("seal({'thread': t, 'agent': a})", {"seal({'thread': None, 'agent': a})", "seal({'thread': t, 'agent': None})"}),
        ("def key(t, a):\n    return f'{t}/{a}'", {"def key(t, a):\n    return f'/{a}'", "def key(t, a):\n    return f'{t}/'"}),
        ("x: dict[str, int]\nf((a, b))", set()),
    ],
    "write": [
        ("self.a = 1\nx = 2", {"pass\nx = 2"}),
        ("x = replace(a, b=1, c=2)", {"x = replace(a, c=2)", "x = replace(a, b=1, )"}),
        ("class A:\n    def __init__(self):\n        self.a = 1", set()),
    ],
    "result": [
        ("def f(a=True):\n    return False", {"def f(a=False):\n    return False", "def f(a=True):\n    return True"}),
        ("zip(a, b, strict=True)", set()),
    ],
    "minmax": [("min(a)", {"max(a)"})],
}  # fmt: skip


def planted(text, operator=None):
    module = Module("some/module.py", text.encode())
    return [
        module.planted(mutant.edits).decode()
        for mutant in mutants_of(module)
        if operator in {None, mutant.operator} and module.is_mistake(mutant.edits)
    ]


@pytest.mark.parametrize(
    ("operator", "text", "mistakes"),
    [(operator, text, mistakes) for operator, cases in MISTAKES.items() for text, mistakes in cases],
)
def test_what_an_operator_makes(operator, text, mistakes):
    found = planted(text, operator)
    assert set(found) == mistakes
    assert len(found) == len(mistakes)


def test_every_operator_is_tried():
    assert set(MISTAKES) == set(OPERATORS)
    assert all(any(mistakes for _, mistakes in cases) for cases in MISTAKES.values())


@pytest.mark.parametrize(
    "text",
    [
        "a: dict[int, str | None]",
        "def f(a: x < 3) -> y < 3: ...",
        "@f(a, b)\nclass A(b < c): ...",
        "__all__ = ['a', 'b'][0:1]",
        "def __repr__(self):\n    return 'a' if self.b < 3 else f(c, d)",
        "f'{a < b} {f(a, b)}'",
        "if a:\n    pass\n'''a docstring'''",
    ],
)
def test_what_is_never_touched(text):
    assert [each for each in planted(text) if "if a" not in text] == []


def test_what_an_exception_says_is_not_touched_but_that_it_is_raised_is():
    assert planted("x()\nraise A(f(a, b), c < d)") == ["x()\npass", "pass\nraise A(f(a, b), c < d)"]


TEXT = "class A:\n    def f(self, a):\n        return a < 1\n\n    def g(self, a):\n        return a < 1\n"


def names(text):
    return [mutant.id for mutant in mutants_of(Module("some/module.py", text.encode()))]


def test_names_are_different_and_stay_when_lines_move():
    there = names(TEXT)
    assert len(set(there)) == len(there)
    assert set(there) <= set(names(f"import x\n\n\n{TEXT}\n\ndef h(a):\n    return a > 2\n"))
    assert set(there[:1]) - set(names(TEXT.replace("def f", "def other")))
    twice = names("def f(a):\n    if a < 1:\n        a()\n    if a < 1:\n        a()\n")
    assert len(set(twice)) == len(twice)
