"""What a well-formed contract must satisfy beyond its grammar; one file per check.

Each check is a function from a declaration's body to findings. None of them recurses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.language.checks import (
    binding,
    calls,
    choices,
    closed_slices,
    deceptive_labels,
    deciders,
    declarations,
    events,
    exchanges,
    global_loops,
    guardedness,
    nesting,
    payloads,
    reachability,
    registers,
    roles,
    rules,
    tools,
    types,
)
from accord.language.checks.ways import ways_through
from accord.language.global_firsts import Shapes

if TYPE_CHECKING:
    from accord.diagnostics import Diagnostic
    from accord.language.tree import Document
    from accord.limits import Limits

__all__ = ["check_document"]


def check_document(document: Document, limits: Limits) -> list[Diagnostic]:
    """Every finding in a parsed text, in source order."""
    findings = [*declarations.check(document), *closed_slices.check(document), *rules.check(document)]
    findings += [*events.check(document), *tools.check(document), *types.check(document)]
    for declaration in document.declarations:
        body, source = declaration.body, document.source
        findings += nesting.check(body, source, limits)
        unbound = binding.check(body, source)
        findings += unbound
        findings += choices.check(body, source)
        findings += payloads.check(body, source)
        findings += registers.check(body, source)
        if not unbound:  # where a jump leads nowhere, what it leads to cannot be judged
            known = ways_through(body)
            findings += guardedness.check(body, source, known)
            findings += reachability.check(body, source, known)
        findings += deceptive_labels.check(body, source)
    findings += _check_globals(document)
    findings.sort(key=lambda d: d.span)
    return findings


def _check_globals(document: Document) -> list[Diagnostic]:
    findings: list[Diagnostic] = []
    shapes = Shapes(document.globals)
    for protocol in document.globals:
        findings += exchanges.check(protocol, document.source)
        findings += roles.check(protocol, document.source)
        findings += calls.check(protocol, document, shapes)
        findings += deciders.check(protocol, document.source, shapes)
        findings += global_loops.check(protocol, document.source, shapes)
    return findings
