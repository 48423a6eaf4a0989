"""Which message a function returns, where its text shows it.

An annotation is not believed: it is what somebody meant. Every `return` must make a message of one class, and there
must be no way past them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.managers import swallowed
from accord.agents.check.messages import label_of
from accord.agents.check.methods import own_nodes
from accord.agents.check.modules import Class, Function, Scope, Value
from accord.agents.check.names import Outside

if TYPE_CHECKING:
    from accord.agents.check.methods import Method
    from accord.agents.check.names import Program

__all__ = ["returned_label"]

_DEEPEST = 8
_HARMLESS = frozenset({"staticmethod", "classmethod", "override", "typing.override", "final"})


def returned_label(function: Function | Method, program: Program, *, awaited: bool, depth: int = 0) -> str | None:
    """The label of what a function gives that is called, and waited for; `None` if it cannot be told."""
    node = function.node
    around = function.scope if isinstance(function, Function) else function.owner.scope
    scope = Scope(function.module, node.body, around, node.args)
    if depth > _DEEPEST or not _ends(node.body, scope, program):
        return None
    if isinstance(node, ast.AsyncFunctionDef) is not awaited:
        return None
    if any(ast.unparse(decorator) not in _HARMLESS for decorator in node.decorator_list):
        return None
    inside = list(own_nodes(node))
    returned = [found.value for found in inside if isinstance(found, ast.Return)]
    if not returned or any(isinstance(found, ast.Yield | ast.YieldFrom) for found in inside):
        return None
    labels = {_made(value, scope, program, depth) for value in returned}
    return labels.pop() if len(labels) == 1 else None


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


def _ends(body: list[ast.stmt], scope: Scope, program: Program) -> bool:
    """Whether no way leads past the end of some statements: every one returns or raises before."""
    last = body[-1]
    if isinstance(last, ast.Return | ast.Raise):
        return True
    inner: list[list[ast.stmt]] = []
    is_certain = False
    if isinstance(last, ast.If):
        is_certain, inner = bool(last.orelse), [last.body, last.orelse]
    elif isinstance(last, ast.Match):
        rest = last.cases[-1]
        is_certain = rest.guard is None and isinstance(rest.pattern, ast.MatchAs) and rest.pattern.pattern is None
        inner = [case.body for case in last.cases]
    elif isinstance(last, ast.Try):
        is_certain, inner = True, [last.orelse or last.body, *(handler.body for handler in last.handlers)]
    elif isinstance(last, ast.With | ast.AsyncWith):
        is_certain = all(swallowed(item.context_expr, scope, program) is None for item in last.items)
        inner = [last.body]
    elif isinstance(last, ast.While):
        is_certain = isinstance(last.test, ast.Constant) and bool(last.test.value)
        is_certain = is_certain and not any(isinstance(node, ast.Break) for node in ast.walk(last))
    return is_certain and all(_ends(block, scope, program) for block in inner)
