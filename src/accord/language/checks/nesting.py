"""E014: interleavings are nested no deeper than the limits allow.

A session's configuration is nested as deeply as its interleavings, and unlike the text it is handled while the agent
waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic
from accord.language.tree import Interleaving

if TYPE_CHECKING:
    from accord.diagnostics import Source
    from accord.language.tree import Protocol
    from accord.limits import Limits

__all__ = ["check"]


def check(body: Protocol, source: Source, limits: Limits) -> list[Diagnostic]:
    """At most one finding, at the first interleaving that is too deep."""
    todo: list[tuple[Protocol, int]] = [(body, 0)]
    while todo:
        node, depth = todo.pop()
        if isinstance(node, Interleaving):
            depth += 1
            if depth > limits.interleaving_depth:
                message = f"interleavings are nested deeper than {limits.interleaving_depth}"
                help_ = "write the parts side by side, or pass `Limits(interleaving_depth=…)`"
                return [Diagnostic("E014", message, source, node.span, help=help_)]
        todo.extend((child, depth) for child in reversed(node.children()))
    return []
