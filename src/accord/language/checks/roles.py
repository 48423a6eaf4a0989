"""E031: a `roles` line names exactly the roles of its protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, did_you_mean
from accord.language.global_tree import roles_in

if TYPE_CHECKING:
    from accord.diagnostics import Source
    from accord.language.global_tree import GlobalProtocol

__all__ = ["check"]


def check(protocol: GlobalProtocol, source: Source) -> list[Diagnostic]:
    """One finding for each role that is not listed, listed twice, or listed and never mentioned."""
    if protocol.listed is None:
        return []
    findings: list[Diagnostic] = []
    known = set(protocol.listed)
    used: set[str] = set()
    for role, span in roles_in(protocol.body):
        if role not in known and role not in used:
            meant = did_you_mean(role, protocol.listed)
            help_ = f"did you mean `{meant}`?" if meant else f"add `{role}` to the `roles` line"
            findings.append(Diagnostic("E031", f"role `{role}` is unknown", source, span, help=help_))
        used.add(role)
    seen: set[str] = set()
    for role, span in zip(protocol.listed, protocol.listed_spans, strict=True):
        if role in seen:
            findings.append(Diagnostic("E031", f"role `{role}` is listed twice", source, span, help="list it once"))
        elif role not in used:
            help_ = "let it take part, or take it out of the `roles` line"
            findings.append(Diagnostic("E031", f"role `{role}` is never used", source, span, help=help_))
        seen.add(role)
    return findings
