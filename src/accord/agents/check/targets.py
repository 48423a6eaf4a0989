"""Whom a message is sent to: a role by name, an agent's class, or an attribute that holds an agent."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.agents.check.conversing import Addressee
from accord.agents.check.declarations import class_named
from accord.agents.check.modules import Class
from accord.agents.check.names import Outside

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.knowing import Knowledge
    from accord.agents.check.modules import Scope
    from accord.agents.check.names import Program
    from accord.agents.check.worlds import World

__all__ = ["Targets"]

_REFERENCES = frozenset(
    {
        "accord.agents.Agent",
        "accord.agents.AgentRef",
        "accord.agents.agent.Agent",
        "accord.agents.references.AgentRef",
    }
)


@dataclass(frozen=True)
class Targets:
    """What the targets of an agent's messages are. `plays` says for each agent class which roles it has."""

    agent: AgentClass
    program: Program
    plays: Mapping[ast.ClassDef, frozenset[tuple[object, str]]]

    def addressee(self, target: ast.expr | None, knowledge: Knowledge, world: World) -> Addressee | str:
        """Whom an expression names; a text says why that cannot be seen."""
        if target is None:
            return "`send` without a role"
        known = knowledge.value(target, world)
        if known is not None and known.kind == "text":
            return Addressee(role=str(known.value))
        method = knowledge.method
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            declared = self.agent.attributes.get(target.attr) if target.value.id == method.self_name else None
            if declared is not None:
                return self.declared(*declared, ast.unparse(target))
        if isinstance(target, ast.Name):
            for argument in [*method.parameters, *method.node.args.kwonlyargs]:
                if argument.arg == target.id and argument.annotation is not None:
                    return self.declared(argument.annotation, method.owner.scope, target.id)
        if isinstance(target, ast.Name | ast.Attribute):
            found = class_named(target, method.scope, self.program)
            if isinstance(found, Class) and found.node in self.plays:
                return self.agent_of(found)
        return (
            f"who `{ast.unparse(target)[:60]}` is cannot be seen; name the role, or annotate it with the agent's class"
        )

    def declared(self, annotation: ast.expr, scope: Scope, shown: str) -> Addressee | str:
        """Whom something is that is annotated, or made from a class."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            found = class_named(annotation, scope, self.program)
            if found is None or (isinstance(found, Outside) and found.name.startswith("builtins.")):
                return Addressee(role=annotation.value)  # self.partner = "Server"
        found = class_named(annotation, scope, self.program)
        if isinstance(found, Class) and found.node in self.plays:
            return self.agent_of(found)
        if isinstance(found, Outside) and found.name in _REFERENCES:
            # Whom a reference names is decided where the agents are added to a supervisor.
            return Addressee(words=f"`{shown}`")
        return f"who `{shown}` is cannot be seen; name the role, or annotate it with the agent's class"

    def agent_of(self, found: Class) -> Addressee:
        """An agent of a class."""
        return Addressee(plays=self.plays[found.node], words=f"agent `{found.name}`")
