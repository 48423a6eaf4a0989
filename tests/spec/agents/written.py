"""What random agents are made of: what they do, and inside of what, for the table of what was written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.census import Cell, Census
from tests.spec.agents.mutants import VERBS

AROUND = {
    ast.If: "if",
    ast.For: "loop",
    ast.Try: "try",
    ast.With: "with",
    ast.AsyncWith: "with",
    ast.Match: "match",
    ast.ListComp: "comprehension",
}
METHODS = ("on_start", "handler", "other method")
DEEDS = ("send", "reply", "receive", "call", "return")
NEVER = {
    **{(deed, "comprehension"): "a method is called there" for deed in DEEDS if deed != "call"},
}


def census() -> Census:
    """An empty table."""
    return Census("what random agents do", DEEDS, (*METHODS, *dict.fromkeys(AROUND.values())), NEVER)


def cells(text: str) -> Iterator[Cell]:
    """Each deed of the agent in a text with what is around it."""
    (agent,) = [n for n in ast.parse(text).body if isinstance(n, ast.ClassDef) and n.name == "Tested"]
    for method in agent.body:
        if isinstance(method, ast.AsyncFunctionDef):
            kind = "other method" if method.name.startswith("part_") else "handler"
            yield from _inside(method, ("on_start" if method.name == "on_start" else kind,))


def _inside(node: ast.AST, around: tuple[str, ...]) -> Iterator[Cell]:
    for inner in ast.iter_child_nodes(node):
        deed = _deed(inner)
        if deed is not None:
            yield from ((deed, place) for place in dict.fromkeys(around))
        name = AROUND.get(type(inner))
        yield from _inside(inner, around if name is None else (*around, name))


def _deed(node: ast.AST) -> str | None:
    if isinstance(node, ast.Return):
        return "return"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr if node.func.attr in VERBS else "call" if node.func.attr.startswith("part_") else None
    return None
