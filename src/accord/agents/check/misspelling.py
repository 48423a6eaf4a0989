"""Verbs that are written wrongly: what was meant to be said is then not said at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.agents.check.methods import VERBS
from accord.agents.check.own_calls import own_call
from accord.diagnostics import did_you_mean

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.methods import Method

__all__ = ["misspelt_verbs"]


def misspelt_verbs(agent: AgentClass, method: Method) -> Iterator[tuple[ast.AST, str, str]]:
    """Calls of methods that the agent does not have, and that look like a verb: where, what, what was meant."""
    known = {*VERBS, *agent.methods, *agent.attributes}
    for node, _ in method.nodes:
        name = own_call(node, method.self_name)
        meant = did_you_mean(name, VERBS) if name is not None and name not in known else None
        if name is not None and meant is not None:
            yield node, name, meant
