"""Mistakes in what is asked: comparisons, branches, and how conditions are joined."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.mutants.text import Edit, Module

Found = Iterator[tuple[ast.AST, tuple[Edit, ...]]]

OTHERS = {
    ast.Lt: (rb"<", b"<="),
    ast.LtE: (rb"<=", b"<"),
    ast.Gt: (rb">", b">="),
    ast.GtE: (rb">=", b">"),
    ast.Eq: (rb"==", b"!="),
    ast.NotEq: (rb"!=", b"=="),
    ast.Is: (rb"\bis\b", b"is not"),
    ast.IsNot: (rb"\bis\s+not\b", b"is"),
    ast.In: (rb"\bin\b", b"not in"),
    ast.NotIn: (rb"\bnot\s+in\b", b"in"),
}


def comparison(module: Module) -> Found:
    """A comparison that takes the bound in, leaves it out, or is the wrong way round."""
    for node in module.of(ast.Compare):
        for left, asked, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            pattern, other = OTHERS[type(asked)]
            if edit := _token(module, left, right, pattern, other):
                yield node, (edit,)


def branch(module: Module) -> Found:
    """A condition that always holds, or never does; an `else` that is forgotten."""
    for node in module.of(ast.If, ast.IfExp, ast.While, ast.comprehension):
        if isinstance(getattr(node, "test", None), ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        for test in node.ifs if isinstance(node, ast.comprehension) else [node.test]:
            if isinstance(test, ast.Constant) or any(isinstance(each, ast.NamedExpr) for each in ast.walk(test)):
                continue
            if not isinstance(node, ast.While):
                yield node, (module.put(test, b"True"),)
            if not isinstance(node, ast.comprehension):
                yield node, (module.put(test, b"False"),)
        if isinstance(node, ast.If) and node.orelse and not module.bytes_of(node.orelse[0]).startswith(b"elif"):
            yield node, (Edit(module.span(node.orelse[0])[0], module.span(node.orelse[-1])[1], b"pass"),)


def logic(module: Module) -> Found:
    """`and` for `or`, a condition left out, a `not` forgotten."""
    for node in module.of(ast.BoolOp, ast.UnaryOp):
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield node, (module.put(node, b"(" + module.bytes_of(operand) + b")"),)
            case ast.BoolOp(op=joined, values=values):
                is_and = isinstance(joined, ast.And)
                token, other, nothing = (rb"\band\b", b"or", b"True") if is_and else (rb"\bor\b", b"and", b"False")
                for left, right in pairwise(values):
                    if edit := _token(module, left, right, token, other):
                        yield node, (edit,)
                for value in values:
                    if not isinstance(value, ast.Constant) and not any(
                        isinstance(each, ast.NamedExpr) for each in ast.walk(value)
                    ):
                        yield node, (module.put(value, nothing),)


def _token(module: Module, left: ast.AST, right: ast.AST, pattern: bytes, other: bytes) -> Edit | None:
    """The edit of an operator between two nodes; comments are passed over."""
    start, end = module.between(left, right)
    code = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), module.text[start:end])
    found = re.search(pattern, code)
    return Edit(start + found.start(), start + found.end(), other) if found else None
