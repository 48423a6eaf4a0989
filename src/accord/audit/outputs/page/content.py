"""What the page shows, as JSON: the summary, a bounded list of runs, and the messages of some of them.

A page is opened in a browser, so it cannot hold a million runs. It holds those that somebody wants to see: violating
ones first, of each status up to a number, and messages up to a number of characters. It says what it leaves out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.audit.excerpts import find_runs, lines_of
from accord.audit.model import STATUSES
from accord.audit.report import summary_of

if TYPE_CHECKING:
    from accord.audit.model import Status, Verdict
    from accord.audit.report import Report

__all__ = ["content_of"]

_MOST_RUNS: dict[Status, int] = {"violating": 3_000, "incomplete": 1_000, "unrecognised": 1_000, "conforming": 1_000}
_WITH_MESSAGES: dict[Status, int] = {"violating": 150, "incomplete": 50, "unrecognised": 50, "conforming": 25}
_MOST_CHARACTERS = 6_000_000


def content_of(report: Report) -> dict[str, Any]:
    """Everything that the page's script reads."""
    runs = _runs(report)
    return {
        **summary_of(report),
        "statuses": STATUSES,
        "rules": _rules(report),
        "shown": [verdict.to_json() for verdict in runs],
        "messages": _messages(report, runs),
    }


def _runs(report: Report) -> list[Verdict]:
    """The runs of the list: the examples of violations are among them."""
    room = dict(_MOST_RUNS)
    examples = {_place(finding.group.example) for finding in (*report.violations, *report.owed)}
    found = []
    for verdict in report.audit.verdicts():
        if (verdict.file, verdict.run) in examples:
            found.append(verdict)
        elif room[verdict.status] > 0:
            room[verdict.status] -= 1
            found.append(verdict)
    order = {"violating": 0, "incomplete": 1, "unrecognised": 2, "conforming": 3}
    return sorted(found, key=lambda verdict: order[verdict.status])  # the order of the plan within each


def _place(example: Any) -> tuple[str, str]:  # noqa: ANN401 - an example or a verdict
    return example.file, example.run


def _rules(report: Report) -> list[dict[str, Any]]:
    violating: dict[str, int] = {}
    for finding in (*report.violations, *report.owed):
        violating[finding.group.clause] = violating.get(finding.group.clause, 0) + finding.group.runs
    return [
        {
            "name": machine.rule.name,
            "text": machine.text,
            "exercised": number in report.tally.exercised,
            "runs": violating.get(f'rule "{machine.rule.name}"', 0),
        }
        for number, machine in enumerate(report.audit.job.contract.rules.machines)
    ]


def _messages(report: Report, runs: list[Verdict]) -> dict[str, Any]:
    """The messages of some runs, by their place in the list; each file is read once."""
    audit = report.audit
    path_of = {task.name: task.path for task in audit.plan.files}
    wanted: dict[str, dict[str, int]] = {}
    examples = {_place(finding.group.example) for finding in (*report.violations, *report.owed)}
    room = dict(_WITH_MESSAGES)
    for place, verdict in enumerate(runs):
        if _place(verdict) in examples or room[verdict.status] > 0:
            room[verdict.status] -= 1
            wanted.setdefault(verdict.file, {})[verdict.run] = place
    found: dict[str, Any] = {}
    left = _MOST_CHARACTERS
    for file, places in wanted.items():
        for run in find_runs(audit.job, path_of[file], places):
            place = places[run.key]
            lines = lines_of(audit.job, run, runs[place].breach)
            left -= sum(len(line.text) + 40 for line in lines)
            if left < 0:
                return found
            found[str(place)] = [list(line) for line in lines]
    return found
