"""E049: what a failed call means is said once for each tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Note
from accord.language.checks.deceptive_labels import deceptive
from accord.language.labels import print_label
from accord.language.tools import Tools

if TYPE_CHECKING:
    from accord.diagnostics import Span
    from accord.language.tree import Document

__all__ = ["check"]

_FIRST = "said here first"


def check(document: Document) -> list[Diagnostic]:
    """All findings about the tools of a contract."""
    blocks = [item for item in document.items if isinstance(item, Tools)]
    findings = [
        _twice(document, "a contract has one tools block", _word(block), _word(blocks[0]), "put all lines into one")
        for block in blocks[1:]
    ]
    for block in blocks:
        findings += _in_block(document, block)
    return findings


def _in_block(document: Document, block: Tools) -> list[Diagnostic]:
    findings: list[Diagnostic] = []
    seen: dict[str | None, Span] = {}
    for line in block.lines:
        names: tuple[str | None, ...] = (None,) if line.names is None else line.names
        for name, span in zip(names, line.name_spans, strict=False):
            if name is not None:
                findings += deceptive(name, "tool", span, document.source)
            if name not in seen:
                seen[name] = span
                continue
            what = "`otherwise` stands twice" if name is None else f"tool `{print_label(name)}` is named twice"
            findings.append(_twice(document, what, span, seen[name], "keep the line that is meant"))
    return findings


def _word(block: Tools) -> Span:
    return block.span._replace(end=block.span.start + len("tools"))


def _twice(document: Document, message: str, span: Span, first: Span, help_: str) -> Diagnostic:
    notes = (Note(first, _FIRST),)
    return Diagnostic("E049", message, document.source, span, label="said again", help=help_, notes=notes)
