"""What a well-formed contract must satisfy beyond its grammar; one file per check.

Each check is a function from a declaration's body to findings. None of them recurses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.language.checks import (
    binding,
    choices,
    deceptive_labels,
    declarations,
    events,
    guardedness,
    nesting,
    payloads,
    reachability,
    registers,
    rules,
)
from accord.language.checks.ways import ways_through

if TYPE_CHECKING:
    from accord.diagnostics import Diagnostic
    from accord.language.tree import Document
    from accord.limits import Limits

__all__ = ["check_document"]


def check_document(document: Document, limits: Limits) -> list[Diagnostic]:
    """Every finding in a parsed text, in source order."""
    findings = [*declarations.check(document), *rules.check(document), *events.check(document)]
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
    findings.sort(key=lambda d: d.span)
    return findings
