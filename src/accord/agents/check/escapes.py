"""Where an agent gets out of sight: what others could then do in its name cannot be followed.

To speak for an agent, code needs the agent, its class, or one of its methods that speak. So it is enough to find where
those are used as values, and where code is made, or frames and objects are looked up, while the program runs.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.known_calls import only_tells
from accord.agents.check.methods import VERBS, Method
from accord.agents.check.names import Outside
from accord.agents.check.own_calls import is_super, own_call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.names import Program

__all__ = ["effectful_methods", "escapes"]

_HARMLESS = frozenset({"hash", "hasattr", "id", "len", "print", "repr", "str"})
_DYNAMIC = frozenset({"__builtins__", "__import__", "builtins", "eval", "exec", "globals", "locals", "vars"})
_LOOKING_UP = frozenset({"delattr", "getattr", "setattr"})
_PRYING = frozenset(
    {"__closure__", "__func__", "__self__", "__self_class__", "_getframe", "cr_frame", "currentframe", "f_locals"}
    | {"get_objects", "get_referrers", "gi_frame"}
)
_NAMING = frozenset({"__doc__", "__module__", "__name__", "__qualname__"})
_OWN_DUNDERS = frozenset({"__class__", "__doc__", "__init__", "__module__", "__repr__", "__str__"})


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
    return (isinstance(base, ast.Name) and base.id == self_name) or is_super(base)


def escapes(
    method: Method, effectful: frozenset[str], agent: AgentClass, program: Program
) -> Iterator[tuple[ast.AST, str]]:
    """Where the agent, its class or a method of it that speaks is used as a value, and why that is out of sight."""
    me = method.self_name
    parents = {id(node): parent for node, parent in method.nodes}
    for node, parent in method.nodes:
        if isinstance(node, ast.Name):
            if node.id == me is not None:
                yield from _of_self(node, parent, parents, method, effectful, program)
            elif node.id in _DYNAMIC | _LOOKING_UP | {"super"}:
                yield from _of_builtin(node, parent, parents)
        elif isinstance(node, ast.Attribute):
            if node.attr in _PRYING:
                yield node, f"what is found by `.{node.attr}` is known only while the program runs"
            elif _is_own(node.value, me):
                yield from _of_attribute(node, parent, parents, effectful, agent)
        elif isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node is not method.node and _speaks(node, me, effectful):
                what = "a nested function" if not isinstance(node, ast.Lambda) else "a lambda"
                yield node, f"what {what} sends or receives is not followed"
        elif isinstance(node, ast.Yield | ast.YieldFrom) and method.name in effectful:
            yield node, f"`{method.name}` is a generator, which goes on when somebody asks"


def _of_builtin(
    node: ast.Name, parent: ast.AST | None, parents: dict[int, ast.AST | None]
) -> Iterator[tuple[ast.AST, str]]:
    is_called = isinstance(parent, ast.Call) and parent.func is node
    if node.id in _DYNAMIC:
        yield parent if is_called and parent is not None else node, _unknown(node.id)
    elif node.id in _LOOKING_UP:
        if not is_called:
            yield node, _unknown(node.id)
    elif is_called and _begins(parents.get(id(parent))):
        return
    elif not is_called or not is_super(parent):
        yield node, "which class `super` means here is not followed"
    elif not isinstance(parents.get(id(parent)), ast.Attribute):
        yield node, "`super()` is the agent under another name: what is done with it is not followed"


def _is_set_by_method(method: Method) -> bool:
    """Whether it is a property, which is there to be set; of its parts the last one counts."""
    return any(ast.unparse(decorator).endswith((".setter", ".deleter")) for decorator in method.node.decorator_list)


def _begins(node: ast.AST | None) -> bool:
    """Whether it is `….__init__`, as in `super(Server, self).__init__()`: whatever that does, it is no handler."""
    return isinstance(node, ast.Attribute) and node.attr == "__init__"


def _unknown(name: str) -> str:
    return f"what `{name}` does is known only while the program runs"


def _of_self(
    node: ast.Name,
    parent: ast.AST | None,
    parents: dict[int, ast.AST | None],
    method: Method,
    effectful: frozenset[str],
    program: Program,
) -> Iterator[tuple[ast.AST, str]]:
    """The agent itself, where it is more than what stands before a dot."""
    me = node.id
    if isinstance(node.ctx, ast.Store | ast.Del):
        yield node, f"`{me}` is bound to something else"
        return
    called = parent.func.id if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) else ""
    if called == "getattr":
        yield parent or node, f"what `{called}` finds is known only while the program runs"
    elif called == "type" and isinstance(parent, ast.Call) and len(parent.args) == 1:
        yield from _of_class(parent, parents, effectful)
    elif called == "super" and _begins(parents.get(id(parent))):
        return
    elif called in _HARMLESS:
        meaning = program.look_up(called, method.scope)
        if not isinstance(meaning, Outside) or not meaning.name.startswith("builtins."):
            yield node, f"`{me}` is given away: `{called}` is not Python's own"
    elif isinstance(parent, ast.Compare):
        if not all(isinstance(operator, ast.Is | ast.IsNot) for operator in parent.ops):
            yield node, f"`{me}` is given away to whatever it is compared with"
    elif isinstance(parent, ast.Call) and only_tells(parent, method.scope, program):
        return
    elif not isinstance(parent, ast.Attribute | ast.FormattedValue):
        yield node, f"`{me}` is given away: what others do with it cannot be seen"


def _of_class(
    node: ast.expr, parents: dict[int, ast.AST | None], effectful: frozenset[str]
) -> Iterator[tuple[ast.AST, str]]:
    """The agent's class: it is asked for its name or for a constant, and nothing else."""
    parent = parents.get(id(node))
    if isinstance(parent, ast.FormattedValue | ast.Compare):
        return
    if isinstance(parent, ast.Attribute) and isinstance(parent.ctx, ast.Load):
        speaks = parent.attr in VERBS or parent.attr in effectful
        if not speaks and (parent.attr in _NAMING or not parent.attr.startswith("__")):
            return
    yield node, f"what is done with `{ast.unparse(node)}` cannot be seen"


def _of_attribute(
    node: ast.Attribute,
    parent: ast.AST | None,
    parents: dict[int, ast.AST | None],
    effectful: frozenset[str],
    agent: AgentClass,
) -> Iterator[tuple[ast.AST, str]]:
    """`self.name` or `super().name`."""
    shown = ast.unparse(node)
    if node.attr == "__class__":
        yield from _of_class(node, parents, effectful)
        return
    if node.attr.startswith("__") and node.attr.endswith("__") and node.attr not in _OWN_DUNDERS:
        yield node, f"what is done with `{shown}` cannot be seen"
        return
    if isinstance(node.ctx, ast.Store | ast.Del):
        method = agent.methods.get(node.attr)
        if node.attr in VERBS or (method is not None and not _is_set_by_method(method)):
            yield node, f"`{shown}` is replaced while the program runs"
        return
    if node.attr not in VERBS and node.attr not in effectful:
        return
    if not (isinstance(parent, ast.Call) and parent.func is node):
        yield node, f"`{shown}` is used as a value: who calls it, and when, cannot be seen"


def _speaks(tree: ast.AST, me: str | None, effectful: frozenset[str]) -> bool:
    names = {own_call(node, me) for node in ast.walk(tree)}
    return bool(names & VERBS) or bool(names & effectful)
