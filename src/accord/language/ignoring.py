"""`// accord: ignore[W048] reason`: a warning that somebody has looked at and accepts.

It stands on the line of the warning or on the line above, names codes and says why. Without a reason it is a comment
like any other. Errors cannot be ignored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.diagnostics import Diagnostic

__all__ = ["without_ignored"]

_COMMENT = re.compile(r"//\s*accord:\s*ignore\[([^\]]*)\]\s*\S")


def without_ignored(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings but for warnings that the text says are meant."""
    return [finding for finding in findings if finding.severity == "error" or not _is_ignored(finding)]


def _is_ignored(finding: Diagnostic) -> bool:
    line, _ = finding.source.line_and_column(finding.span.start)
    above = finding.source.line(line - 1).strip() if line > 1 else ""
    return any(
        finding.code in {code.strip() for code in codes.split(",")}
        for text in (finding.source.line(line), above if above.startswith("//") else "")
        for codes in _COMMENT.findall(text)
    )
