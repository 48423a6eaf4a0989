"""Where a class comes from: whether it is an agent, and the line of classes that it inherits from."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.modules import Class
from accord.agents.check.names import Outside

if TYPE_CHECKING:
    from accord.agents.check.modules import Module, Scope
    from accord.agents.check.names import Program

__all__ = ["AGENT", "FOLLOWS", "descends_from_agent", "descent_of", "dotted_name", "follows_call", "is_agent"]

AGENT = frozenset({"accord.agents.Agent", "accord.agents.agent.Agent"})
FOLLOWS = frozenset({"accord.agents.follows", "accord.agents.declaring.follows"})

_QUIET_BASES = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})
_DEEPEST = 32


def dotted_name(expression: ast.expr, scope: Scope, program: Program) -> str:
    """The dotted name of what is named or called, if it is not in the files and its name is certain."""
    called = expression.func if isinstance(expression, ast.Call) else expression
    meaning = program.resolve(called, scope) if isinstance(called, ast.Name | ast.Attribute) else None
    return meaning.name if isinstance(meaning, Outside) and not meaning.why else ""


def follows_call(decorator: ast.expr, declared: Class, program: Program) -> ast.Call | None:
    """The decorator, if it is `@follows(…)`."""
    if not isinstance(decorator, ast.Call):
        return None
    return decorator if dotted_name(decorator, declared.scope, program) in FOLLOWS else None


def is_agent(declared: Class, program: Program, depth: int = 0) -> bool:
    """Whether a class is an agent, or may be one: whatever takes `as_=` may be `follows` under another name."""
    for decorator in declared.node.decorator_list:
        if isinstance(decorator, ast.Call) and any(keyword.arg == "as_" for keyword in decorator.keywords):
            return True
    for base in declared.node.bases:
        meaning = _base(base, declared, program)
        if isinstance(meaning, Outside) and meaning.name in AGENT:
            return True
        if isinstance(meaning, Class) and depth < _DEEPEST and is_agent(meaning, program, depth + 1):
            return True
    return False


def descends_from_agent(line: list[Class], program: Program) -> bool:
    """Whether `Agent` is above one of these classes."""
    bases = (_base(base, declared, program) for declared in line for base in declared.node.bases)
    return any(isinstance(meaning, Outside) and meaning.name in AGENT for meaning in bases)


def _base(base: ast.expr, declared: Class, program: Program) -> object:
    return program.resolve(base.value if isinstance(base, ast.Subscript) else base, declared.scope)


def descent_of(declared: Class, program: Program) -> tuple[list[Class], list[tuple[Module, ast.AST, str]]]:
    """The class and those in the files it inherits from, in the order in which Python looks for methods.

    With it comes what cannot be seen of the others.
    """
    doubts: list[tuple[Module, ast.AST, str]] = []
    line = _linearised(declared, program, doubts, 0)
    if line is None:
        why = f"in which order `{declared.name}` inherits cannot be told"
        doubts.append((declared.module, declared.node, why))
    return line or [declared], list(dict.fromkeys(doubts))


def _linearised(
    declared: Class, program: Program, doubts: list[tuple[Module, ast.AST, str]], depth: int
) -> list[Class] | None:
    """The class and those above it, merged as Python does (C3); `None` if they contradict each other."""
    if depth > _DEEPEST:
        return None
    if any(keyword.arg == "metaclass" for keyword in declared.node.keywords):
        doubts.append((declared.module, declared.node, f"`{declared.name}` has a metaclass"))
    parents: list[Class] = []
    for base in declared.node.bases:
        meaning = _base(base, declared, program)
        if isinstance(meaning, Class):
            parents.append(meaning)
        elif not isinstance(meaning, Outside) or meaning.name not in AGENT | _QUIET_BASES:
            what = f"`{declared.name}` inherits from `{ast.unparse(base)}`, which is not in the files"
            doubts.append((declared.module, base, what))
    lines = [_linearised(parent, program, doubts, depth + 1) for parent in parents]
    rest = [line for line in [*lines, parents] if line is not None]
    if len(rest) <= len(lines):
        return None
    merged = [declared]
    while rest := [line for line in rest if line]:
        behind = {known.node for line in rest for known in line[1:]}
        first = next((line[0] for line in rest if line[0].node not in behind), None)
        if first is None:
            return None
        merged.append(first)
        rest = [line[1:] if line[0].node is first.node else line for line in rest]
    return merged
