"""E021 and E026: every recursion variable has its `rec`, on the same side of every interleaving."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note, did_you_mean
from accord.language.tree import Action, Interleaving, Recursion, Variable

if TYPE_CHECKING:
    from accord.diagnostics import Source, Span
    from accord.language.tree import Protocol

__all__ = ["check"]


def check(body: Protocol, source: Source) -> list[Diagnostic]:
    """One finding for each variable that jumps nowhere, or out of its part."""
    findings: list[Diagnostic] = []
    # For each name in scope: how many interleaving parts were entered at its `rec`, and where it stands.
    scope: dict[str, tuple[int, Span]] = {}
    labels: set[str] | None = None
    parts_entered = 0
    # A pair restores a name when its loop has been left; a number is the depth to go back to after a part.
    todo: list[Protocol | tuple[str, tuple[int, Span] | None] | int] = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, int):
            parts_entered += node
        elif isinstance(node, tuple):
            name, previous = node
            if previous is None:
                del scope[name]
            else:
                scope[name] = previous
        elif isinstance(node, Recursion):
            todo.append((node.variable, scope.get(node.variable)))
            scope[node.variable] = (parts_entered, node.variable_span)
            todo.append(node.body)
        elif isinstance(node, Variable):
            if node.name not in scope:
                labels = _labels(body) if labels is None else labels
                findings.append(_unbound(node, source, scope, labels))
            elif scope[node.name][0] != parts_entered:
                findings.append(_crossing(node, source, scope[node.name][1]))
        elif isinstance(node, Interleaving):
            for part in reversed(node.parts):
                todo += [-1, part, 1]
        else:
            todo += reversed(node.children())
    return findings


def _labels(body: Protocol) -> set[str]:
    found: set[str] = set()
    todo = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, Action):
            found.add(node.label)
        todo += node.children()
    return found


def _unbound(node: Variable, source: Source, scope: dict[str, tuple[int, Span]], labels: set[str]) -> Diagnostic:
    help_ = "a jump needs a `rec` of that name around it; a message needs `!` or `?` in front of its label"
    meant = did_you_mean(node.name, scope)
    if meant:
        help_ = f"did you mean `{meant}`?"
    elif node.name in labels:
        help_ = f"a message says its direction: `!{node.name}` or `?{node.name}`"
    elif scope:
        help_ = f"in scope here: {', '.join(f'`{name}`' for name in sorted(scope)[:8])}"
    return Diagnostic(
        "E021",
        f"recursion variable `{node.name}` is not bound",
        source,
        node.span,
        label=f"no `rec {node.name}` around this",
        help=help_,
    )


def _crossing(node: Variable, source: Source, bound: Span) -> Diagnostic:
    return Diagnostic(
        "E026",
        f"`{node.name}` jumps out of a part of an interleaving",
        source,
        node.span,
        label="the other parts would be left hanging",
        help=f"jump after the interleaving: `(… | …).{node.name}`",
        notes=(Note(bound, "bound here, outside the interleaving"),),
    )
