"""W015: labels and roles that may not be what they seem to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic
from accord.diagnostics.visible import visible
from accord.language.labels import why_suspicious
from accord.language.tree import Action

if TYPE_CHECKING:
    from accord.diagnostics import Source
    from accord.language.tree import Protocol

__all__ = ["check"]


def check(body: Protocol, source: Source) -> list[Diagnostic]:
    """One warning for each deceptive label or role of an action."""
    findings: list[Diagnostic] = []
    todo: list[Protocol] = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, Action):
            for what, name in (("label", node.label), ("role", node.partner or "")):
                reason = why_suspicious(name)
                if reason is None:
                    continue
                spelled = ascii(name)[1:-1]
                findings.append(
                    Diagnostic(
                        "W015",
                        f"{what} `{visible(name)}` may not be what it seems: {reason}",
                        source,
                        node.span,
                        help=f"spelled out it is `{spelled}`",
                    )
                )
        todo += node.children()
    return findings
