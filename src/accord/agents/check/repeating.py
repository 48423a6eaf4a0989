"""Handlers that are not safe to be called twice with one message, as far as their text shows it.

A message that opens a conversation is delivered again if the agent crashes before it has done anything that others can
see. What the agent keeps in persistent fields is kept by then. So a field that is changed by what it was (a count, a
list that grows) is changed once more by each delivery, unless the handler looks first whether it knows the message.

Only what is certain is told: a change that stands in the handler itself, before everything that it sends or receives,
with something behind it that can fail, and nothing before it that reads a persistent field.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.descent import dotted_name
from accord.agents.check.known_calls import only_tells
from accord.agents.check.methods import VERBS, own_nodes
from accord.agents.check.own_calls import own_call
from accord.agents.check.rules.counted_twice import counted_twice
from accord.language.global_tree import CRASH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accord.agents.check.declarations import AgentClass, Handler
    from accord.agents.check.methods import Method
    from accord.agents.check.missteps import Misstep
    from accord.agents.check.names import Program
    from accord.agents.check.scripts import Script

__all__ = ["repeated_changes"]

_PERSISTENT = frozenset({"accord.agents.persistent", "accord.agents.persistence.persistent"})
_GROWING = frozenset({"append", "extend", "insert"})
_SAME_AGAIN = (ast.BitOr, ast.BitAnd)
_REPEATING = (ast.Add, ast.Sub, ast.Mult)


def repeated_changes(
    agent: AgentClass, scripts: Sequence[Script], program: Program
) -> Iterator[tuple[Method, ast.AST, Misstep]]:
    """Where handlers change what they keep, once more for each time that a message is delivered."""
    fields = frozenset(_persistent_fields(agent, program))
    for handler in agent.handlers if fields else ():
        labels = [label for label in handler.labels if _comes_again(label, scripts)]
        found = _first_change(handler, fields, program) if labels else None
        if found is not None:
            tree, field = found
            yield handler.method, tree, counted_twice(handler.method.name, field, labels)


def _comes_again(label: str, scripts: Sequence[Script]) -> bool:
    """Whether a message opens a conversation, in a protocol that does not say what follows when the role crashes."""
    return any(
        label != CRASH and not script.notes_crashes and any(label == word for word, _ in script.receives[0])
        for script in scripts
    )


def _persistent_fields(agent: AgentClass, program: Program) -> Iterator[str]:
    for declared in (agent.declared, *agent.above):
        for statement in declared.node.body:
            targets = statement.targets if isinstance(statement, ast.Assign) else ()
            if isinstance(statement, ast.AnnAssign):
                targets = [statement.target]
            value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
            if isinstance(value, ast.Call) and dotted_name(value, declared.inside, program) in _PERSISTENT:
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def _first_change(handler: Handler, fields: frozenset[str], program: Program) -> tuple[ast.AST, str] | None:
    """The first change of a field by what it was, if it is the first thing that the handler does with any."""
    method = handler.method
    ordered = sorted(
        (node for node in own_nodes(method.node) if isinstance(node, ast.expr | ast.stmt)),
        key=lambda node: (node.lineno, node.col_offset),
    )
    for node in ordered:
        if own_call(node, method.self_name) in VERBS:
            return None
        field = _changed(node, method.self_name, fields)
        if field is not None:
            return (node, field) if _can_fail_behind(node, ordered, method, program) else None
        is_read = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
        if is_read and _field(node, method.self_name, fields) is not None:
            return None  # it looks whether it knows the message, or does something else with what it kept
    return None


def _changed(node: ast.AST, self_name: str | None, fields: frozenset[str]) -> str | None:
    """The field that a node changes by what it was."""
    if isinstance(node, ast.AugAssign) and not isinstance(node.op, _SAME_AGAIN):
        target = node.target.value if isinstance(node.target, ast.Subscript) else node.target
        return _field(target, self_name, fields)
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        field = _field(node.targets[0], self_name, fields)
        return field if field is not None and _is_made_of(node.value, self_name, field) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _GROWING:
        return _field(node.func.value, self_name, fields)
    return None


def _is_made_of(value: ast.expr, self_name: str | None, field: str) -> bool:
    """Whether a value is what a field was and something more."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, _REPEATING):
        return any(_is_made_of(side, self_name, field) for side in (value.left, value.right)) or any(
            _field(side, self_name, frozenset({field})) for side in (value.left, value.right)
        )
    if isinstance(value, ast.List):
        starred = [item.value for item in value.elts if isinstance(item, ast.Starred)]
        return any(_field(item, self_name, frozenset({field})) for item in starred)
    return False


def _field(node: ast.AST, self_name: str | None, fields: frozenset[str]) -> str | None:
    """The field that `self.field` is, if it is one of these."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return None
    return node.attr if node.value.id == self_name and node.attr in fields else None


def _can_fail_behind(change: ast.AST, ordered: Sequence[ast.expr | ast.stmt], method: Method, program: Program) -> bool:
    """Whether something stands behind a change that can fail: a call, or a `raise`."""
    end = (change.end_lineno, change.end_col_offset)  # type: ignore[attr-defined] # a node with a place
    behind = [node for node in ordered if (node.lineno, node.col_offset) >= end]
    calls = [node for node in behind if isinstance(node, ast.Call) and not only_tells(node, method.scope, program)]
    return bool(calls) or any(isinstance(node, ast.Raise) for node in behind)
