"""E086: a file that is no Python."""

from __future__ import annotations

from accord.diagnostics import Diagnostic, Source, Span
from accord.diagnostics.agent_codes import UNREADABLE

__all__ = ["unreadable"]


def unreadable(source: Source, error: BaseException) -> Diagnostic:
    """What the parser said, at the place it said it of."""
    at = 0
    if isinstance(error, SyntaxError) and error.lineno is not None:
        last = source.line_and_column(len(source.text))[0]
        line = min(max(error.lineno, 1), last)
        at = min(source.line_start(line) + max((error.offset or 1) - 1, 0), len(source.text))
    said = (
        error.msg
        if isinstance(error, SyntaxError)
        else "it is nested too deeply"
        if isinstance(error, RecursionError | MemoryError | SystemError)
        else str(error)
    )
    return Diagnostic(
        UNREADABLE, f"the file is no Python: {said}", source, Span(at, at + 1), help="nothing in it was checked"
    )
