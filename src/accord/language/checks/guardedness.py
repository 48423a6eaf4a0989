"""E023: between a `rec` and the jump back to it a message is exchanged, on every way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note
from accord.language.checks import ways
from accord.language.tree import Deadline, Interleaving, Recursion, Sequence, Variable

if TYPE_CHECKING:
    from accord.diagnostics import Source, Span
    from accord.language.tree import Protocol

__all__ = ["check"]

# No loop around has been entered silently.
_NONE = 1 << 60


def check(body: Protocol, source: Source, known: dict[int, ways.Ways]) -> list[Diagnostic]:
    """One finding for each jump that can be reached from its `rec` without a message."""
    findings: list[Diagnostic] = []
    scope: dict[str, tuple[int, Span]] = {}
    depth = 0
    # Each protocol comes with the depth of the outermost loop from whose `rec` it can be reached silently.
    todo: list[tuple[Protocol, int] | tuple[str, tuple[int, Span] | None]] = [(body, _NONE)]
    while todo:
        item, detail = todo.pop()
        if isinstance(item, str):
            depth -= 1
            if isinstance(detail, tuple):
                scope[item] = detail
            else:
                del scope[item]
            continue
        assert isinstance(detail, int)  # noqa: S101 - the other kind of pair was dealt with
        silent_from = detail
        if isinstance(item, Variable):
            bound = scope.get(item.name)
            if bound is not None and bound[0] >= silent_from:
                findings.append(_unguarded(item, source, bound[1], timed=_has_deadline(body)))
        elif isinstance(item, Recursion):
            todo.append((item.variable, scope.get(item.variable)))
            scope[item.variable] = (depth, item.variable_span)
            todo.append((item.body, min(silent_from, depth)))
            depth += 1
        elif isinstance(item, Sequence):
            steps: list[tuple[Protocol, int]] = []
            for step in item.steps:
                steps.append((step, silent_from))
                if not ways.of(step, known).passes_silently:
                    silent_from = _NONE
            todo += reversed(steps)
        elif isinstance(item, Interleaving):
            todo += [(part, silent_from) for part in reversed(item.parts)]
        else:
            todo += [(child, silent_from) for child in reversed(item.children())]
    return findings


def _has_deadline(body: Protocol) -> bool:
    todo = [body]
    while todo:
        node = todo.pop()
        if isinstance(node, Deadline):
            return True
        todo += node.children()
    return False


def _unguarded(node: Variable, source: Source, bound: Span, *, timed: bool) -> Diagnostic:
    help_ = "exchange a message before jumping back, for example `rec X.!Ping.X`"
    return Diagnostic(
        "E023",
        f"the loop `{node.name}` can turn without any message",
        source,
        node.span,
        label="reached from its `rec` without a message",
        help=f"{help_}; a deadline that passes is no message" if timed else help_,
        notes=(Note(bound, "the loop starts here"),),
    )
