"""W048: a sliced protocol that is not open refuses what it does not name, which it once let pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Span
from accord.language.details import print_slice

if TYPE_CHECKING:
    from accord.language.tree import Document

__all__ = ["check"]


def check(document: Document) -> list[Diagnostic]:
    """One finding for each protocol that is sliced and not open."""
    findings: list[Diagnostic] = []
    for declaration in document.declarations:
        if declaration.each is None or declaration.is_open:
            continue
        bare = declaration.name is None
        name = "Name" if bare else declaration.name
        span = Span(declaration.span.start, declaration.span.start + len("each")) if bare else declaration.name_span
        which = "the protocol" if bare else f"protocol `{name}`"
        help_ = (
            f"earlier versions let them pass; write `protocol {name} open = {print_slice(declaration.each)} …` if they "
            "are to, and `// accord: ignore[W048] reason` above it if they are to be refused"
        )
        message = f"{which} is sliced and not open, so messages that it does not name are refused"
        findings.append(Diagnostic("W048", message, document.source, span, help=help_))
    return findings
