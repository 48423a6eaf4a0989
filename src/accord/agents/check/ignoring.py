"""`# accord: ignore[E076] reason`: a finding that somebody has looked at and accepts.

It stands on the line of the finding. It names codes and says why; whoever ignores without a reason, or ignores what is
not there, is told so, lest old comments hide new mistakes.
"""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Span
from accord.diagnostics.agent_codes import IGNORES_NOTHING
from accord.diagnostics.codes import CODES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.agents.check.modules import Module
    from accord.diagnostics import Source

__all__ = ["Ignored", "apply_ignores"]

_COMMENT = re.compile(r"#\s*accord:\s*ignore\b\s*(?:\[([^\]]*)\])?\s*(.*)")


@dataclass(frozen=True)
class Ignored:
    """A finding that is ignored, and why."""

    finding: Diagnostic
    reason: str


@dataclass(frozen=True)
class _Comment:
    source: Source
    span: Span
    line: int
    codes: tuple[str, ...]
    reason: str


def apply_ignores(findings: Iterable[Diagnostic], modules: Iterable[Module]) -> tuple[list[Diagnostic], list[Ignored]]:
    """What is left of some findings, and what is ignored."""
    comments = [comment for module in modules for comment in _comments(module)]
    at = {(comment.source.name, comment.line, code): comment for comment in comments for code in comment.codes}
    left: list[Diagnostic] = []
    ignored: list[Ignored] = []
    used: set[tuple[str, int, str]] = set()
    for finding in findings:
        line = finding.source.line_and_column(finding.span.start)[0]
        key = (finding.source.name, line, finding.code)
        comment = at.get(key)
        if comment is None or not comment.reason:
            left.append(finding)
        else:
            ignored.append(Ignored(finding, comment.reason))
        if comment is not None:
            used.add(key)
    for comment in comments:
        left += _complaints(comment, used)
    return left, ignored


def _complaints(comment: _Comment, used: set[tuple[str, int, str]]) -> list[Diagnostic]:
    def complain(message: str, help_: str) -> Diagnostic:
        return Diagnostic(IGNORES_NOTHING, message, comment.source, comment.span, help=help_)

    if not comment.codes:
        return [complain("which code is ignored is not said", "write `# accord: ignore[E076] reason`")]
    unknown = [code for code in comment.codes if code not in CODES]
    if unknown:
        return [complain(f"there is no code `{unknown[0]}`", "`accord explain` lists all codes")]
    idle = [code for code in comment.codes if (comment.source.name, comment.line, code) not in used]
    found = [complain(f"`{code}` is not found on this line", "remove it from the comment") for code in idle]
    if not comment.reason:
        found.append(complain("why it is ignored is not said", "write the reason behind the brackets"))
    return found


def _comments(module: Module) -> list[_Comment]:
    if "accord:" not in module.source.text:
        return []
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(module.source.text).readline):
            match = _COMMENT.search(token.string) if token.type == tokenize.COMMENT else None
            if match is not None:
                codes = tuple(code.strip().upper() for code in (match[1] or "").split(",") if code.strip())
                start = module.source.line_start(token.start[0]) + token.start[1] + match.start()
                span = Span(start, start + len(match[0].rstrip()))
                found.append(_Comment(module.source, span, token.start[0], codes, match[2].strip()))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return found  # the parser has taken it, so at most its end is unusual
    return found
