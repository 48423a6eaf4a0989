"""A report for CI: one test case for each run, failed if the run violates the contract or ends too early."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from accord.diagnostics.visible import visible

if TYPE_CHECKING:
    from typing import TextIO

    from accord.audit.model import Verdict
    from accord.audit.report import Report

__all__ = ["write_junit"]


def write_junit(report: Report, stream: TextIO) -> None:
    """Write the report."""
    tally = report.tally
    failures = tally.statuses["violating"] + tally.statuses["incomplete"]
    skipped = tally.statuses["unrecognised"]
    head = (
        f'name="accord audit" tests="{tally.runs + bool(tally.broken)}" failures="{failures}" '
        f'skipped="{skipped}" errors="{int(bool(tally.broken))}"'
    )
    stream.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites {head}>\n  <testsuite {head}>\n')
    stream.writelines(_case(verdict) for verdict in report.audit.verdicts())
    if tally.broken:
        reasons = "\n".join(f"{one.file}:{one.line or ''} {one.reason}" for one in tally.first_broken)
        stream.write(
            f'    <testcase name="records that cannot be read" classname="accord audit">'
            f'<error type="broken" message="{tally.broken} of them">{_text(reasons)}</error></testcase>\n'
        )
    stream.write("  </testsuite>\n</testsuites>\n")


def _case(verdict: Verdict) -> str:
    name = f"    <testcase name={_attribute(verdict.run)} classname={_attribute(verdict.file)}"
    breach = verdict.breach
    if breach is None:
        return f"{name}><skipped/></testcase>\n" if verdict.status == "unrecognised" else f"{name}/>\n"
    where = "at the end" if breach.index is None else f"in message {breach.index}"
    more = f"\nrefused after it, perhaps because of it: {verdict.followed}" if verdict.followed else ""
    body = _text(f"{breach.what.clause}, {where}:\n{breach.what.sentence}{more}")
    message = _attribute(f"{breach.what.arrived} {where}")
    return f"{name}><failure type={_attribute(verdict.status)} message={message}>{body}</failure></testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(visible(text))


def _text(text: str) -> str:
    return escape("\n".join(visible(line) for line in text.split("\n")))
