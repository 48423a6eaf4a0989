"""Which message a function returns, where its text shows it.

An annotation alone is not believed: it is what somebody meant. Every `return` must make a message of that class, and
there must be no way past them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.messages import annotation_of, label_of
from accord.agents.check.modules import Class, Function, Scope, Value
from accord.agents.check.names import Outside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.agents.check.methods import Method
    from accord.agents.check.names import Program

__all__ = ["own_nodes", "returned_label"]

_DEEPEST = 8
_HARMLESS = frozenset({"staticmethod", "classmethod", "override", "typing.override", "final"})


def returned_label(function: Function | Method, program: Program, *, awaited: bool, depth: int = 0) -> str | None:
    """The label of what a function gives that is called, and waited for; `None` if it cannot be told."""
    node = function.node
    around = function.scope if isinstance(function, Function) else function.owner.scope
    scope = Scope(function.module, node.body, around, node.args)
    read = annotation_of(node.returns)
    if depth > _DEEPEST or not isinstance(read, ast.Name | ast.Attribute) or not ends(node.body):
        return None
    if isinstance(node, ast.AsyncFunctionDef) is not awaited:
        return None
    if any(ast.unparse(decorator) not in _HARMLESS for decorator in node.decorator_list):
        return None
    label = label_of(program.resolve(read, around))
    inside = list(own_nodes(node))
    returned = [found.value for found in inside if isinstance(found, ast.Return)]
    if label is None or not returned or any(isinstance(found, ast.Yield | ast.YieldFrom) for found in inside):
        return None
    return label if all(_made(value, scope, program, depth) == label for value in returned) else None


def _made(value: ast.expr | None, scope: Scope, program: Program, depth: int) -> str | None:
    """The label of the message that an expression makes."""
    if isinstance(value, ast.IfExp):
        one, other = (_made(side, scope, program, depth) for side in (value.body, value.orelse))
        return one if one == other else None
    if isinstance(value, ast.Name):
        bound = scope.names.get(value.id)
        return _made(bound.expression, scope, program, depth) if isinstance(bound, Value) else None
    called = value.value if isinstance(value, ast.Await) else value
    if not isinstance(called, ast.Call):
        return None
    meaning = program.resolve(called.func, scope)
    if isinstance(meaning, Function):
        return returned_label(meaning, program, awaited=called is not value, depth=depth + 1)
    return label_of(meaning) if isinstance(meaning, Class | Outside) and called is value else None


def ends(body: list[ast.stmt]) -> bool:
    """Whether no way leads past the end of some statements: every one returns or raises before."""
    last = body[-1]
    if isinstance(last, ast.Return | ast.Raise):
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and ends(last.body) and ends(last.orelse)
    if isinstance(last, ast.Match):
        rest = last.cases[-1]
        takes_all = rest.guard is None and isinstance(rest.pattern, ast.MatchAs) and rest.pattern.pattern is None
        return takes_all and all(ends(case.body) for case in last.cases)
    if isinstance(last, ast.Try):
        done = ends(last.orelse or last.body) and all(ends(handler.body) for handler in last.handlers)
        return done or (bool(last.finalbody) and ends(last.finalbody))
    if isinstance(last, ast.While):
        forever = isinstance(last.test, ast.Constant) and bool(last.test.value)
        return forever and not any(isinstance(node, ast.Break) for node in ast.walk(last))
    return False


def own_nodes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """What stands in a function, and not in those nested in it."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))
