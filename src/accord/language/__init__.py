"""From text to a checked tree and back: `parse` and `check` one way, `print_document` and `print_protocol` the other.

`parse` reads a text and raises a `ContractError` with everything that is wrong; `examine` never raises and returns
what it could read together with all findings, which is what editors, `accord check` and `accord fmt` want.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Source
from accord.errors import ContractError, UsageError
from accord.language.checks import check_document
from accord.language.ignoring import without_ignored
from accord.language.parser import parse_document
from accord.language.printer import print_document, print_protocol
from accord.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from accord.language.tree import Document

__all__ = ["examine", "parse", "print_document", "print_protocol"]


def examine(source: Source, limits: Limits = DEFAULT_LIMITS) -> tuple[Document, tuple[Diagnostic, ...]]:
    """What a text declares and all findings in source order; declarations that cannot be read are left out."""
    document, problems = parse_document(source, limits)
    findings = without_ignored([*problems, *check_document(document, limits)])
    findings.sort(key=lambda d: d.severity == "warning")  # if there are too many, errors come first
    return document, tuple(sorted(findings[: limits.diagnostics], key=lambda d: d.span))


def parse(text: str, *, name: str = "<contract>", limits: Limits = DEFAULT_LIMITS) -> Document:
    """The checked tree of a contract text.

    Raises `ContractError` if the text has errors; warnings do not count.

    Example:
        >>> parse("!Ask.?Answer.end").declarations[0].body
        Sequence('!Ask.?Answer.end')
    """
    if not isinstance(text, str):
        raise UsageError(f"a contract text is a `str`, got `{type(text).__name__}`")
    document, findings = examine(Source(text, name), limits)
    if any(finding.severity == "error" for finding in findings):
        raise ContractError(findings)
    return document
