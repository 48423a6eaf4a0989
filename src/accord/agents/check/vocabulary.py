"""Which class each message of an agent is.

A label is the name of a class. Which one is meant is seen where the agent stands, or where its methods, which may come
from other files, name it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check.modules import Class

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.names import Meaning, Program

__all__ = ["vocabulary"]


def vocabulary(agent: AgentClass, labels: Iterable[str], program: Program) -> dict[str, Class]:
    """The classes that an agent means by some labels; those that are not in the files are not among them."""
    found: dict[str, Class] = {}
    wanted = set(labels)
    for label, meaning in _named(agent, wanted, program):
        if isinstance(meaning, Class) and meaning.name == label:
            found.setdefault(label, meaning)
            if len(found) == len(wanted):
                break
    return found


def _named(agent: AgentClass, labels: set[str], program: Program) -> Iterator[tuple[str, Meaning]]:
    """What the names mean by which an agent could call its messages, those around it first."""
    for declared in (agent.declared, *agent.above):
        for label in labels:
            yield label, program.look_up(label, declared.scope)
    for method in agent.methods.values():
        for node, _ in method.nodes:
            if isinstance(node, ast.Attribute) and node.attr in labels:
                yield node.attr, program.resolve(node, method.scope)
        for label in labels:
            for call in method.module.calls.get(label, ()):
                yield label, program.resolve(call.func, method.module.scope)
