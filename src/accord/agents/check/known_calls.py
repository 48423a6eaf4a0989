"""Calls that are known by what they are: Python's own, those of `asyncio`, and those that only tell people."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.modules import Class, Function
from accord.agents.check.names import Outside

if TYPE_CHECKING:
    from accord.agents.check.modules import Scope
    from accord.agents.check.names import Program

__all__ = ["is_builtin", "only_tells", "waited_for"]

_TELLING = frozenset({"print", "log", "logger", "logging"})


def is_builtin(function: ast.expr, name: str, scope: Scope, program: Program) -> bool:
    """Whether a function is Python's own of that name."""
    if not isinstance(function, ast.Name) or function.id != name:
        return False
    meaning = program.look_up(name, scope)
    return isinstance(meaning, Outside) and (meaning.name == f"builtins.{name}" or "import *" in meaning.why)


def waited_for(expression: ast.expr, scope: Scope, program: Program) -> tuple[ast.expr, bool]:
    """What is really waited for: in `asyncio.wait_for(this, …)`, and whether there is a limit to it."""
    timed = False
    while isinstance(expression, ast.Call) and expression.args:
        meaning = program.resolve(expression.func, scope)
        if not isinstance(meaning, Outside) or meaning.name != "asyncio.wait_for":
            break
        expression, timed = expression.args[0], True
    return expression, timed


def only_tells(expression: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether it is `print(…)` or a call of a logger: those do not fail, and stand everywhere."""
    if not isinstance(expression, ast.Call):
        return False
    base = expression.func.value if isinstance(expression.func, ast.Attribute) else expression.func
    if not isinstance(base, ast.Name) or base.id.strip("_").lower() not in _TELLING:
        return False
    if isinstance(program.look_up(base.id, scope), Function | Class):
        return False  # it has that name, and may do anything
    inside = [node for argument in [*expression.args, *expression.keywords] for node in ast.walk(argument)]
    return not any(isinstance(inner, ast.Call | ast.Subscript) for inner in inside)
