"""Mistakes in what is done: a guard is gone, a write is forgotten or comes too early, a failure is swallowed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.mutants.text import Edit, Module

Found = Iterator[tuple[ast.AST, tuple[Edit, ...]]]

LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
REPLACING = {"_replace", "replace", "evolve"}
NOTHING = b"pass"


def guard(module: Module) -> Found:
    """A clause that leaves early is gone."""
    for node in module.of(ast.If):
        is_elif = module.bytes_of(node).startswith(b"elif")
        if len(node.body) == 1 and isinstance(node.body[0], LEAVES) and not node.orelse and not is_elif:
            yield node, (module.put(node, NOTHING),)


def order(module: Module) -> Found:
    """Two things that are written, in the wrong order."""
    for node in module.nodes:
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if not isinstance(block, list):
                continue
            for first, second in pairwise(block):
                made = _is_construction(module, first) and _is_construction(module, second)
                if _writes(first) and _writes(second) and not made and _could_fail(first, second):
                    yield (
                        first,
                        (module.put(first, module.bytes_of(second)), module.put(second, module.bytes_of(first))),
                    )


def write(module: Module) -> Found:
    """A write that is forgotten: a statement, or a field of what is replaced."""
    for node in module.of(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.Expr, ast.Call):
        if isinstance(node, ast.Call):
            yield from _left_out(module, node)
        elif _writes(node) and not _is_construction(module, node):
            yield node, (module.put(node, NOTHING),)


def unawaited(module: Module) -> Found:
    """Something is started and not waited for."""
    for node in module.of(ast.Await):
        if isinstance(module.above.get(node), ast.Expr):
            yield node, (module.put(node, module.bytes_of(node.value)),)


def exceptions(module: Module) -> Found:
    """A failure that is swallowed, that too much is taken for, or after which nothing is put in order."""
    for node in module.of(ast.Raise, ast.Try, ast.ExceptHandler):
        match node:
            case ast.Raise() if not _sole(module, node):
                yield node, (module.put(node, NOTHING),)
            case ast.Try(finalbody=[first, *_] as last):
                yield node, (Edit(module.span(first)[0], module.span(last[-1])[1], NOTHING),)
            case ast.ExceptHandler(type=ast.expr() as kind) if module.bytes_of(kind) not in {
                b"Exception",
                b"BaseException",
            }:
                yield node, (module.put(kind, b"Exception"),)


def _sole(module: Module, node: ast.Raise) -> bool:
    """Whether it is all that an `if` does: then leaving out the guard is the same mistake."""
    above = module.above.get(node)
    return isinstance(above, ast.If) and above.body == [node] and not above.orelse


def _left_out(module: Module, node: ast.Call) -> Found:
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name not in REPLACING:
        return
    for keyword in node.keywords:
        if keyword.arg is not None:
            start, end = module.span(keyword)
            comma = re.match(rb"\s*,\s*", module.text[end:])
            yield node, (Edit(start, end + (comma.end() if comma else 0), b""),)


def _writes(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            return any(isinstance(each, ast.Attribute | ast.Subscript) for each in targets)
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target, value=ast.expr()):
            return isinstance(target, ast.Attribute | ast.Subscript)
        case ast.Expr(value=ast.Call()) | ast.Expr(value=ast.Await(value=ast.Call())):
            return True
    return False


def _could_fail(first: ast.AST, second: ast.AST) -> bool:
    """Whether one of two writes could fail, or see the other: two plain assignments may come in any order."""
    held = [each for node in (first, second) for each in ast.walk(node)]
    return ast.dump(first) != ast.dump(second) and any(isinstance(each, ast.Call | ast.Await) for each in held)


def _is_construction(module: Module, node: ast.AST) -> bool:
    """`__init__` makes attributes: without one nothing works, which no test need be written for."""
    made_here = isinstance(node, ast.Assign | ast.AnnAssign)
    return made_here and module.where(node).endswith(("__init__", "__post_init__"))
