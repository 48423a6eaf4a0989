"""What a `with` does to exceptions: whether its manager may swallow them, and whether it ends what takes too long.

A manager that is declared in the files is looked at. One from elsewhere is known by its name or does not swallow.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from accord.agents.check.descent import dotted_name
from accord.agents.check.exceptions import caught_by
from accord.agents.check.methods import own_nodes
from accord.agents.check.modules import Class, Function, Scope, Value
from accord.agents.check.names import Outside
from accord.agents.check.own_calls import own_call

if TYPE_CHECKING:
    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.methods import Method
    from accord.agents.check.names import Program

__all__ = ["Swallowed", "is_deadline", "swallowed", "swallowed_by"]

_DEADLINES = frozenset({"asyncio.timeout", "asyncio.timeout_at", "async_timeout.timeout", "asyncio.TaskGroup"})
_SWALLOWING = frozenset(
    {
        "anyio.CancelScope",
        "anyio.move_on_after",
        "anyio.move_on_at",
        "contextlib.AsyncExitStack",
        "contextlib.ExitStack",
        "trio.CancelScope",
        "trio.move_on_after",
        "trio.move_on_at",
    }
)
_GENERATING = frozenset({"contextlib.asynccontextmanager", "contextlib.contextmanager"})
_DEEPEST = 12


class Swallowed(NamedTuple):
    """The exceptions that a manager may swallow; `None` for all."""

    names: tuple[str, ...] | None


_ALL = Swallowed(None)


def is_deadline(manager: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether it may end what stands in it at any time."""
    return isinstance(manager, ast.Call) and dotted_name(manager, scope, program) in _DEADLINES


def swallowed_by(manager: ast.expr, method: Method, agent: AgentClass, program: Program) -> Swallowed | None:
    """What `with manager:` may swallow; `None` if nothing."""
    name = own_call(manager, method.self_name)
    if name in agent.methods:
        helper = agent.methods[name]
        return _by_function(Function(helper.module, helper.owner.scope, helper.node), program, 0)
    is_attribute = isinstance(manager, ast.Attribute) and isinstance(manager.value, ast.Name)
    if is_attribute and manager.value.id == method.self_name and manager.attr in agent.attributes:  # type: ignore[attr-defined] # it is one
        return swallowed(*agent.attributes[manager.attr], program, 0)  # type: ignore[attr-defined]
    return swallowed(manager, method.scope, program, 0)


def swallowed(manager: ast.expr, scope: Scope, program: Program, depth: int = 0) -> Swallowed | None:
    """The same outside an agent, where nothing is its own."""
    if depth > _DEEPEST:
        return _ALL
    if isinstance(manager, ast.IfExp):
        sides = [swallowed(side, scope, program, depth + 1) for side in (manager.body, manager.orelse)]
        return _ALL if any(sides) else None
    if not isinstance(manager, ast.Call):
        meaning = program.resolve(manager, scope) if isinstance(manager, ast.Name | ast.Attribute) else None
        is_value = isinstance(meaning, Value)
        return swallowed(meaning.expression, meaning.scope, program, depth + 1) if is_value else None  # type: ignore[union-attr] # one
    made = program.resolve(manager.func, scope)
    if isinstance(made, Class):
        return _by_class(made, program, depth)
    if isinstance(made, Function):
        return _by_function(made, program, depth)
    name = made.name if isinstance(made, Outside) else ""
    if name == "contextlib.suppress":
        return Swallowed(caught_by(ast.Tuple(manager.args), scope, program))
    return _ALL if name in _SWALLOWING else None


def _by_class(declared: Class, program: Program, depth: int) -> Swallowed | None:
    """Swallows if what it does at the end can return something true."""
    for statement in declared.node.body:
        is_end = getattr(statement, "name", "") in {"__exit__", "__aexit__"}
        if is_end and isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            returned = [node.value for node in own_nodes(statement) if isinstance(node, ast.Return)]
            return None if all(_is_false(value) for value in returned) else _ALL
        if is_end or _binds_end(statement):
            return _ALL
    for base in declared.node.bases:
        meaning = program.resolve(base, declared.scope)
        if isinstance(meaning, Class) and depth < _DEEPEST:
            found = _by_class(meaning, program, depth + 1)
            if found is not None:
                return found
        elif isinstance(meaning, Outside) and meaning.name in _SWALLOWING | {"contextlib.suppress"}:
            return _ALL
    return None


def _binds_end(statement: ast.stmt) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id in {"__exit__", "__aexit__"} for target in targets)


def _is_false(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and not value.value)


def _by_function(function: Function, program: Program, depth: int) -> Swallowed | None:
    """Swallows if it is a generator that catches around its `yield`, or returns a manager that does."""
    scope = Scope(function.module, function.node.body, function.scope, function.node.args)
    names = {dotted_name(decorator, function.scope, program) for decorator in function.node.decorator_list}
    if names & _GENERATING:
        return (
            _ALL
            if any(_catches_around_yield(node, scope, program, depth) for node in own_nodes(function.node))
            else None
        )
    returned = [node.value for node in own_nodes(function.node) if isinstance(node, ast.Return)]
    found = [swallowed(value, scope, program, depth + 1) for value in returned if value is not None]
    return next((one for one in found if one is not None), None)


def _catches_around_yield(node: ast.AST, scope: Scope, program: Program, depth: int) -> bool:
    if isinstance(node, ast.Try):
        goes_on = [handler for handler in node.handlers if not isinstance(handler.body[-1], ast.Raise)]
        return bool(goes_on) and _yields(node.body)
    if isinstance(node, ast.With | ast.AsyncWith):
        managers = [swallowed(item.context_expr, scope, program, depth + 1) for item in node.items]
        return any(found is not None for found in managers) and _yields(node.body)
    return False


def _yields(body: list[ast.stmt]) -> bool:
    return any(isinstance(inner, ast.Yield) for statement in body for inner in ast.walk(statement))
