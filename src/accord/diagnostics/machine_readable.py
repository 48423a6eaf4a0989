"""Diagnostics for programs: plain JSON, SARIF 2.1.0 for code-scanning services, GitHub workflow commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics.codes import CODES
from accord.diagnostics.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accord.canonical import Json
    from accord.diagnostics.model import Diagnostic, Source, Span

__all__ = ["to_github", "to_json", "to_sarif"]


def _region(source: Source, span: Span) -> dict[str, int]:
    line, column = source.line_and_column(span.start)
    end_line, end_column = source.line_and_column(max(span.end, span.start))
    return {"line": line, "column": column, "end_line": end_line, "end_column": end_column}


def to_json(diagnostics: Iterable[Diagnostic]) -> list[Json]:
    """One object per diagnostic; lines and columns count from 1, the end is exclusive."""
    return [
        {
            "code": d.code,
            "severity": d.severity,
            "message": d.message,
            "file": d.source.name,
            **_region(d.source, d.span),
            "label": d.label,
            "help": d.help,
            "notes": [{**_region(d.source, n.span), "message": n.message} for n in d.notes],
        }
        for d in diagnostics
    ]


def _sarif_region(source: Source, span: Span) -> Json:
    region = _region(source, span)
    return {
        "startLine": region["line"],
        "startColumn": region["column"],
        "endLine": region["end_line"],
        "endColumn": region["end_column"],
    }


def _location(source: Source, span: Span) -> dict[str, Json]:
    from urllib.parse import quote  # noqa: PLC0415 - only SARIF needs it

    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(source.name, errors="surrogateescape")},
            "region": _sarif_region(source, span),
        }
    }


def to_sarif(diagnostics: Sequence[Diagnostic], version: str) -> Json:
    """A SARIF log with one run and the rules it used."""
    used = sorted({d.code for d in diagnostics})
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "accord",
                        "version": version,
                        "rules": [
                            {
                                "id": code,
                                "shortDescription": {"text": CODES[code].title},
                                "fullDescription": {"text": CODES[code].explanation},
                            }
                            for code in used
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [
                    {
                        "ruleId": d.code,
                        "ruleIndex": used.index(d.code),
                        "level": d.severity,
                        "message": {"text": f"{d.message}. {d.help}" if d.help else d.message},
                        "locations": [_location(d.source, d.span)],
                        "relatedLocations": [
                            {**_location(d.source, n.span), "message": {"text": n.message}} for n in d.notes
                        ],
                    }
                    for d in diagnostics
                ],
            }
        ],
    }


def _escape_data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


def to_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Workflow commands, one line each: they show up at the changed lines of a pull request."""
    lines = []
    for d in diagnostics:
        region = _region(d.source, d.span)
        place = (
            f"file={_escape_property(d.source.name)},line={region['line']},col={region['column']},"
            f"endLine={region['end_line']},endColumn={region['end_column']}"
        )
        message = f"{d.message} (help: {d.help})" if d.help else d.message
        lines.append(f"::{d.severity} {place},title={d.code}::{_escape_data(message)}")
    return "\n".join(lines)
