"""W015: labels and roles that may not be what they seem to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic
from accord.diagnostics.visible import visible
from accord.language.labels import why_suspicious
from accord.language.tree import Action

if TYPE_CHECKING:
    from accord.diagnostics import Source, Span
    from accord.language.tree import Protocol

__all__ = ["check", "deceptive"]


def check(body: Protocol, source: Source) -> list[Diagnostic]:
    """One warning for each deceptive label or role of an action."""
    findings: list[Diagnostic] = []
    todo: list[Protocol] = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, Action):
            findings += deceptive(node.label, "label", node.span, source)
            findings += deceptive(node.partner or "", "role", node.span, source)
        todo += node.children()
    return findings


def deceptive(name: str, what: str, span: Span, source: Source) -> list[Diagnostic]:
    """A warning if a name may deceive its reader."""
    reason = why_suspicious(name)
    if reason is None:
        return []
    message = f"{what} `{visible(name)}` may not be what it seems: {reason}"
    return [Diagnostic("W015", message, source, span, help=f"spelled out it is `{ascii(name)[1:-1]}`")]
