"""E027: the protocols of a contract have different names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note

if TYPE_CHECKING:
    from accord.diagnostics import Span
    from accord.language.global_tree import GlobalProtocol
    from accord.language.tree import Declaration, Document

__all__ = ["check"]


def check(document: Document) -> list[Diagnostic]:
    """One finding for each name that was taken already."""
    findings: list[Diagnostic] = []
    seen: dict[str, Span] = {}
    named: list[Declaration | GlobalProtocol] = [*document.declarations, *document.globals]
    for declaration in sorted(named, key=lambda d: d.span):
        name = declaration.name
        if name is None:
            continue
        if name in seen:
            findings.append(
                Diagnostic(
                    "E027",
                    f"protocol `{name}` is declared twice",
                    document.source,
                    declaration.name_span,
                    label="declared again",
                    help="give one of them another name",
                    notes=(Note(seen[name], "first declared here"),),
                )
            )
        else:
            seen[name] = declaration.name_span
    return findings
