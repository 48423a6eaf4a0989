"""One reading and one compiling of a contract for all surfaces that are asked about it.

Each compiles the text for itself, and would do most of the work of a campaign again and again. That every entry takes
and refuses the same texts is another test (`test_rows`).
"""

from __future__ import annotations

from contextlib import contextmanager
from unittest.mock import patch

from accord.choreography import compiling
from accord.diagnostics import Source
from accord.errors import ContractError
from accord.language.tree import Document

__all__ = ["compiled_once", "read"]


def read(text: str) -> Document:
    """As `accord.language.parse`, and the document is the one that is compiled."""
    document, findings = compiling.examine(Source(text), compiling.DEFAULT_LIMITS)
    if any(finding.severity == "error" for finding in findings):
        raise ContractError(findings)
    return document


@contextmanager
def compiled_once():
    """What was read or compiled last is not done again."""
    examine, compile_document = compiling.examine, compiling.compile_document
    last_read: list = [None, None]
    last_compiled: list = [None, None]

    def examine_once(source, limits):
        key = source.text, limits
        if last_read[0] != key:
            last_read[:] = key, examine(source, limits)
        return last_read[1]

    def compile_once(document, limits):
        if last_compiled[0] is not document:
            last_compiled[:] = document, compile_document(document, limits)
        return last_compiled[1]

    with patch.object(compiling, "examine", examine_once), patch.object(compiling, "compile_document", compile_once):
        yield
