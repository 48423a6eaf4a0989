"""Which messages a function returns, where its text shows it.

An annotation is not believed: it is what somebody meant. Every `return` must be seen to make a message, or nothing;
whoever gets past the last of them returns nothing.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from accord.agents.check.managers import swallowed
from accord.agents.check.messages import label_of
from accord.agents.check.methods import own_nodes
from accord.agents.check.modules import Class, Function, Scope, Value
from accord.agents.check.names import Outside

if TYPE_CHECKING:
    from accord.agents.check.methods import Method
    from accord.agents.check.names import Program

__all__ = ["NOTHING", "Made", "returned"]

_DEEPEST = 8
_HARMLESS = frozenset({"staticmethod", "classmethod", "override", "typing.override", "final"})


class Made(NamedTuple):
    """What a function gives: a message, with its class as far as it is known, or nothing."""

    label: str | None
    meaning: Class | Outside | None = None


NOTHING = Made(None)


def returned(
    function: Function | Method, program: Program, *, awaited: bool, owner: Class | None = None, depth: int = 0
) -> frozenset[Made] | None:
    """All that a function gives that is called, and waited for; `None` if it cannot be told.

    `owner` is the class that it was asked of, for one that makes instances of it.
    """
    node = function.node
    around = function.scope if isinstance(function, Function) else function.owner.scope
    scope = Scope(function.module, node.body, around, node.args)
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    inside = list(own_nodes(node))
    if depth > _DEEPEST or decorators - _HARMLESS or isinstance(node, ast.AsyncFunctionDef) is not awaited:
        return None
    if any(isinstance(found, ast.Yield | ast.YieldFrom) for found in inside):
        return None
    asked = node.args.args[0].arg if "classmethod" in decorators and node.args.args else None
    if any(isinstance(found, ast.Name) and found.id == asked and isinstance(found.ctx, ast.Store) for found in inside):
        return None
    making = _Making(scope, program, owner if asked is not None else None, asked or "", depth)
    made: set[Made] = set() if _ends(node.body, scope, program) else {NOTHING}
    for found in inside:
        if isinstance(found, ast.Return):
            some = making.by(found.value)
            if some is None:
                return None
            made |= some
    return frozenset(made)


@dataclass(frozen=True)
class _Making:
    """What expressions in a function make."""

    scope: Scope
    program: Program
    owner: Class | None
    asked: str
    depth: int

    def by(self, value: ast.expr | None) -> frozenset[Made] | None:
        """All that an expression can be, if that is messages or nothing."""
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            return frozenset({NOTHING})
        if isinstance(value, ast.IfExp):
            one, other = self.by(value.body), self.by(value.orelse)
            return None if one is None or other is None else one | other
        if isinstance(value, ast.Name):
            bound = self.scope.names.get(value.id)
            return self.by(bound.expression) if isinstance(bound, Value) else None
        called = value.value if isinstance(value, ast.Await) else value
        if not isinstance(called, ast.Call):
            return None
        if self.owner is not None and ast.unparse(called.func) == self.asked:
            return frozenset({Made(self.owner.name, self.owner)})
        meaning = self.program.resolve(called.func, self.scope)
        if isinstance(meaning, Function):
            return returned(meaning, self.program, awaited=called is not value, depth=self.depth + 1)
        label = label_of(meaning) if isinstance(meaning, Class | Outside) and called is value else None
        return None if label is None else frozenset({Made(label, meaning)})  # type: ignore[arg-type] # one of these


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
