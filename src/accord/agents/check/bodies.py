"""What a class body does beside declaring methods, and could make one that nobody sees.

A function that a class holds becomes a method, whatever it is called and wherever it comes from. So what is assigned in
the body of an agent must be seen to be none, or not be called; and whatever a body does beyond assigning is out of
sight.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.methods import VERBS
from accord.agents.check.modules import Class, Function, Value
from accord.agents.check.names import Outside
from accord.agents.check.own_calls import own_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accord.agents.check.methods import Method
    from accord.agents.check.names import Program

__all__ = ["hidden_in"]

_DECLARING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Pass)
_HOOKS = frozenset(
    {"__delattr__", "__getattr__", "__getattribute__", "__init_subclass__", "__new__", "__setattr__"}
)  # what Python asks before it looks for a method, or when it makes the class
_DESCRIBING = frozenset({"__get__", "__set_name__"})
_DEEPEST = 16


def hidden_in(current: Class, methods: Mapping[str, Method], program: Program) -> Iterator[tuple[ast.AST, str]]:
    """Where a class body does what is not followed, and why. `methods` are those of the agent."""
    for statement in current.node.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name in _HOOKS:
            yield statement, f"what `{statement.name}` makes of the agent's methods cannot be seen"
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            yield from _assigned(statement, current, methods, program)
        elif not isinstance(statement, _DECLARING) and not _is_text(statement):
            yield statement, "a class body that does more than declare is not followed"


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _assigned(
    statement: ast.Assign | ast.AnnAssign, current: Class, methods: Mapping[str, Method], program: Program
) -> Iterator[tuple[ast.AST, str]]:
    if statement.value is None:
        return
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        if not isinstance(target, ast.Name):
            if not _is_plain(statement.value):
                yield statement, "what a class body unpacks is not followed"
        elif target.id in VERBS or target.id in methods or target.id.startswith("on_"):
            yield statement, f"`{target.id}` is made while the class is"
        elif _may_be_method(statement.value, current, program) or (
            _is_from_elsewhere(statement.value, current, program) and _is_called(target.id, methods.values())
        ):
            yield statement, f"`{target.id}` may be a method: what it does with the agent is not followed"


def _is_plain(value: ast.expr) -> bool:
    return all(isinstance(node, ast.Constant | ast.Tuple | ast.List | ast.Load) for node in ast.walk(value))


def _may_be_method(value: ast.expr, current: Class, program: Program, depth: int = 0) -> bool:
    """Whether a value becomes a method, or something like it, by standing in a class."""
    if isinstance(value, ast.Lambda):
        return True
    if isinstance(value, ast.IfExp):
        return any(_may_be_method(side, current, program, depth) for side in (value.body, value.orelse))
    if isinstance(value, ast.Name | ast.Attribute):
        meaning = program.resolve(value, current.inside)
        if isinstance(meaning, Value) and depth < _DEEPEST:
            return _may_be_method(meaning.expression, current, program, depth + 1)
        return isinstance(meaning, Function) or ast.unparse(value).rsplit(".", 1)[-1] in VERBS
    if isinstance(value, ast.Call):
        if ast.unparse(value.func).rsplit(".", 1)[-1] in {"property", "cached_property", "partialmethod"}:
            return True
        made = program.resolve(value.func, current.inside)
        return isinstance(made, Class) and any(_declares(made, name, program) for name in _DESCRIBING)
    return False


def _is_from_elsewhere(value: ast.expr, current: Class, program: Program) -> bool:
    """Whether it may be a function that is not in the files, or one that a function makes."""
    named = value.func if isinstance(value, ast.Call) else value
    if not isinstance(named, ast.Name | ast.Attribute):
        return isinstance(value, ast.Call | ast.Subscript | ast.BoolOp)
    meaning = program.resolve(named, current.inside)
    if isinstance(value, ast.Call):
        if isinstance(meaning, Outside):
            is_class = meaning.name.rsplit(".", 1)[-1][:1].isupper()
            return not is_class and meaning.name not in {"functools.partial", "accord.agents.persistent"}
        return isinstance(meaning, Function)
    return isinstance(meaning, Outside)


def _is_called(name: str, methods: Iterable[Method]) -> bool:
    return any(own_call(node, method.self_name) == name for method in methods for node, _ in method.nodes)


def _declares(declared: Class, name: str, program: Program, depth: int = 0) -> bool:
    if name in declared.inside.names or depth > _DEEPEST:
        return True
    above = [program.resolve(base, declared.scope) for base in declared.node.bases]
    return any(isinstance(base, Class) and _declares(base, name, program, depth + 1) for base in above)
