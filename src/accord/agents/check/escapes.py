"""Where an agent gets out of sight: what others could then do in its name cannot be followed.

To speak for an agent, code needs the agent or one of its methods that speak. So it is enough to find where `self` or
such a method is used as a value, and where code is made while the program runs.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.declarations import VERBS, Method
from accord.agents.check.own_calls import own_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.agents.check.declarations import AgentClass

__all__ = ["effectful_methods", "escapes"]

_HARMLESS = frozenset({"hash", "hasattr", "id", "isinstance", "len", "print", "repr", "str", "super", "type"})
_DYNAMIC = frozenset({"eval", "exec", "globals", "locals", "vars"})


def effectful_methods(agent: AgentClass) -> frozenset[str]:
    """The names of methods that send or receive, themselves or by others that they call."""
    calls: dict[str, set[str]] = {}
    known = {method.node: method for method in agent.methods.values()}
    for declared in (agent.declared, *agent.above):
        for node in declared.node.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                method = known.get(node) or Method(node.name, node, declared)
                calls.setdefault(node.name, set()).update(
                    inner.attr
                    for inner, _ in method.nodes
                    if isinstance(inner, ast.Attribute) and _is_own(inner.value, method.self_name)
                )
    found = {name for name, called in calls.items() if called & VERBS}
    grew = True
    while grew:
        more = {name for name, called in calls.items() if called & found} - found
        found |= more
        grew = bool(more)
    return frozenset(found)


def _is_own(base: ast.expr, self_name: str | None) -> bool:
    if isinstance(base, ast.Name):
        return base.id == self_name
    return isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super"


def escapes(method: Method, effectful: frozenset[str]) -> Iterator[tuple[ast.AST, str]]:
    """Every place in a method where the agent gets out of sight."""
    me = method.self_name
    for node, parent in method.nodes:
        if isinstance(node, ast.Name):
            if node.id == me or node.id in _DYNAMIC:
                yield from _of_name(node, parent, me)
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id == me is not None:
                yield from _of_attribute(node, parent, effectful, me)
        elif isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node is not method.node and _speaks(node, me, effectful):
                what = "a nested function" if not isinstance(node, ast.Lambda) else "a lambda"
                yield node, f"what {what} sends or receives is not followed"
        elif isinstance(node, ast.Yield | ast.YieldFrom) and method.name in effectful:
            yield node, f"`{method.name}` is a generator, which goes on when somebody asks"


def _of_name(node: ast.Name, parent: ast.AST | None, me: str | None) -> Iterator[tuple[ast.AST, str]]:
    if node.id in _DYNAMIC and isinstance(parent, ast.Call) and parent.func is node:
        yield parent, f"what `{node.id}` does is known only while the program runs"
    if node.id != me or me is None:
        return
    if isinstance(node.ctx, ast.Store | ast.Del):
        yield node, f"`{me}` is bound to something else"
    elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "getattr":
        yield parent, "what `getattr` finds is known only while the program runs"
    elif not isinstance(parent, ast.Attribute) and not (
        isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id in _HARMLESS
    ):
        if isinstance(parent, ast.FormattedValue | ast.Compare):
            return
        yield node, f"`{me}` is given away: what others do with it cannot be seen"


def _of_attribute(
    node: ast.Attribute, parent: ast.AST | None, effectful: frozenset[str], me: str
) -> Iterator[tuple[ast.AST, str]]:
    if node.attr == "__dict__" or (node.attr == "__class__" and not isinstance(parent, ast.Attribute)):
        yield node, f"what is done with `{me}.{node.attr}` cannot be seen"
        return
    if node.attr not in VERBS and node.attr not in effectful:
        return
    if isinstance(node.ctx, ast.Store | ast.Del):
        yield node, f"`{me}.{node.attr}` is replaced while the program runs"
    elif not (isinstance(parent, ast.Call) and parent.func is node):
        yield node, f"`{me}.{node.attr}` is used as a value: who calls it, and when, cannot be seen"


def _speaks(tree: ast.AST, me: str | None, effectful: frozenset[str]) -> bool:
    names = {own_call(node, me) for node in ast.walk(tree)}
    return bool(names & VERBS) or bool(names & effectful)
