"""Contracts in their one canonical form.

Whoever formats replaces a text that nobody else has a copy of. So the new text is parsed and compared with the old
before anybody gets it.
"""

from __future__ import annotations

from accord.diagnostics import Source
from accord.errors import ContractError, InternalError
from accord.language import examine, print_document
from accord.limits import DEFAULT_LIMITS, Limits

__all__ = ["formatted"]


def formatted(source: Source, limits: Limits = DEFAULT_LIMITS) -> str:
    r"""The canonical text of a contract.

    Raises `ContractError` if the contract has errors, and `InternalError` if the canonical text would mean anything
    else than the text it was made from, or had lost a comment.

    Example:
        >>> formatted(Source("!Ask . ?Answer"))
        '!Ask.?Answer\n'
    """
    document, findings = examine(source, limits)
    if any(finding.severity == "error" for finding in findings):
        raise ContractError(findings)
    text = print_document(document)
    again, _ = examine(Source(text, source.name), limits)
    comments, kept = (sorted(comment.text for comment in d.comments) for d in (document, again))
    if again != document or comments != kept:
        raise InternalError(f"formatting {source.name} would change what it says; it is left as it is")
    return text
