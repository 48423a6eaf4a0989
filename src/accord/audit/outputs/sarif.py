"""A report for services that show findings in files: SARIF 2.1.0, one result for each run that is not fine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from accord.diagnostics.visible import visible

if TYPE_CHECKING:
    from typing import TextIO

    from accord.audit.model import Breach, Verdict
    from accord.audit.report import Report

__all__ = ["write_sarif"]


def write_sarif(report: Report, stream: TextIO) -> None:
    """Write the report."""
    clauses = sorted({finding.group.clause for finding in (*report.violations, *report.owed)})
    rules = [{"id": visible(clause), "shortDescription": {"text": visible(clause)}} for clause in clauses]
    driver = {"name": "accord", "rules": rules}
    head = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": []}],
    }
    before, behind = json.dumps(head, indent=2).split('"results": []')
    stream.write(f'{before}"results": [')
    separator = "\n"
    for verdict in report.audit.verdicts():
        if verdict.breach is not None:
            stream.write(separator + json.dumps(_result(verdict, verdict.breach)))
            separator = ",\n"
    stream.write(f"\n]{behind}\n")


def _result(verdict: Verdict, breach: Breach) -> dict[str, Any]:
    where = "at its end" if breach.index is None else f"in message {breach.index}"
    text = f"run {verdict.run}, {where}: {breach.what.sentence}"
    return {
        "ruleId": visible(breach.what.clause),
        "level": "error" if verdict.status == "violating" else "warning",
        "message": {"text": visible(text)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(verdict.file, errors="surrogatepass")},
                    "region": {"startLine": verdict.line or 1},
                }
            }
        ],
        "properties": {"followed": verdict.followed},
        "partialFingerprints": {"run": visible(f"{verdict.file}#{verdict.run}")},
    }
