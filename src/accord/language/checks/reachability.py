"""E025: everything that is written can happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note, Span
from accord.language.checks import ways
from accord.language.tree import Choice, Deadline, End, Interleaving, Sequence, Variable

if TYPE_CHECKING:
    from accord.diagnostics import Source
    from accord.language.tree import Protocol

__all__ = ["check"]


def check(body: Protocol, source: Source, known: dict[int, ways.Ways]) -> list[Diagnostic]:
    """One finding for each sequence that goes on after a step nothing gets past."""
    findings: list[Diagnostic] = []
    todo: list[Protocol] = [body]
    while todo:
        node = todo.pop()
        if not isinstance(node, Sequence):
            todo += node.children()
            continue
        for index, step in enumerate(node.steps):
            todo.append(step)
            rest = node.steps[index + 1 :] if not ways.of(step, known).passes else ()
            if rest:
                findings.append(_unreachable(step, rest, source))
                break
    return findings


def _unreachable(step: Protocol, rest: tuple[Protocol, ...], source: Source) -> Diagnostic:
    return Diagnostic(
        "E025",
        "this can never be reached",
        source,
        Span(rest[0].span.start, rest[-1].span.end),
        label="never reached",
        help="remove it, or let a way lead here",
        notes=(Note(_last_character(step.span), _why(step)),),
    )


def _last_character(span: Span) -> Span:
    return Span(max(span.start, span.end - 1), span.end) if span.end - span.start > 40 else span


def _why(step: Protocol) -> str:
    if isinstance(step, End):
        return "the session is over here"
    if isinstance(step, Variable):
        return f"this jumps back to `rec {step.name}`"
    if isinstance(step, Choice):
        return "every branch of this choice ends or jumps back"
    if isinstance(step, Deadline):
        return "in time or late, this ends or jumps back"
    if isinstance(step, Interleaving):
        return "a part of this interleaving never finishes"
    return "no way leads out of this loop"
