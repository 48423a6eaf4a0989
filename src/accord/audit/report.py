"""What an audit found, ready to be printed in any form.

Everything but `run_info` is a function of the contract and the runs: the same whoever did the work, and whether it was
done now or kept from before.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from accord.audit.excerpts import around, find_runs
from accord.audit.groups import make_tables
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accord.audit.auditing import Audit
    from accord.audit.excerpts import Line
    from accord.audit.groups import Row, Tables
    from accord.audit.tally import Group, Tally

__all__ = ["Finding", "Report", "Vacuous", "make_report", "summary_of", "violating_by_state"]

_MOST_EXAMPLES = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """Violations of one clause in one state, with the messages around the shortest example."""

    group: Group
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Vacuous:
    """What no run has exercised: rules by their names, steps of the protocol as `state`, `word`, `next state`."""

    rules: tuple[str, ...]
    steps: tuple[tuple[int, str, int], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that reports tell, except for the runs themselves."""

    audit: Audit
    tables: Tables
    violations: tuple[Finding, ...]
    owed: tuple[Finding, ...]
    vacuous: Vacuous

    @property
    def tally(self) -> Tally:
        """The sums."""
        return self.audit.tally


def make_report(audit: Audit, by: Sequence[str] = (), outcome: str | None = None) -> Report:
    """Sum up an audit: tables by the keys of `by`, and against the outcome that runs have under `outcome`."""
    tables = make_tables(audit.chunks(), by, outcome)
    tally = audit.tally
    groups = [*ranked(tally.violations)[:_MOST_EXAMPLES], *ranked(tally.owed)[:_MOST_EXAMPLES]]
    lines = _lines_around(audit, groups)
    violations = tuple(Finding(group, lines.get(id(group), ())) for group in ranked(tally.violations))
    owed = tuple(Finding(group, lines.get(id(group), ())) for group in ranked(tally.owed))
    return Report(audit, tables, violations, owed, _vacuous(audit))


def ranked(groups: Iterable[Group]) -> list[Group]:
    """The most frequent first."""
    return sorted(groups, key=lambda group: (-group.runs, group.clause, group.state))


def _lines_around(audit: Audit, groups: Sequence[Group]) -> dict[int, tuple[Line, ...]]:
    """For each group the messages around its example; each file is read once."""
    path_of = {task.name: task.path for task in audit.plan.files}
    by_file: dict[str, list[Group]] = {}
    for group in groups:
        by_file.setdefault(group.example.file, []).append(group)
    found: dict[int, tuple[Line, ...]] = {}
    for file, here in by_file.items():
        keys = {group.example.run for group in here}
        with suppress(UsageError):  # a file that has gone since has no messages to show, and was judged all the same
            for run in find_runs(audit.job, path_of[file], keys):
                for group in here:
                    if group.example.run == run.key:
                        found[id(group)] = tuple(around(audit.job, run, group.example.breach))
    return found


def violating_by_state(report: Report) -> dict[str, int]:
    """How many runs violated in each state, whichever clause it was; states are as in `Refused`."""
    found: dict[str, int] = {}
    for finding in report.violations:
        found[finding.group.state] = found.get(finding.group.state, 0) + finding.group.runs
    return found


def _vacuous(audit: Audit) -> Vacuous:
    contract, tally = audit.job.contract, audit.tally
    rules = [
        machine.rule.name for number, machine in enumerate(contract.rules.machines) if number not in tally.exercised
    ]
    steps = [(step["state"], step["word"], step["to"]) for step in _traffic(audit) if not step["times"]]
    return Vacuous(tuple(rules), tuple(steps))


def _traffic(audit: Audit) -> list[dict[str, Any]]:
    """How often each step of the protocol was taken."""
    contract, found = audit.job.contract, []
    if contract.machines:
        machine = contract.machine(audit.job.protocol)
        for number, state in enumerate(machine.states):
            for symbol, target in getattr(state, "edges", ()):
                times = audit.tally.traffic.get(f"{number}/{symbol}", 0)
                found.append({"state": number, "word": machine.symbols[symbol].word, "to": target, "times": times})
    return found


# -- as JSON -----------------------------------------------------------------------------------------------------------


def summary_of(report: Report) -> dict[str, Any]:
    """A report as JSON values, without its runs."""
    audit, tally, tables = report.audit, report.tally, report.tables
    outcome = tables.outcome
    return {
        "contract": {
            "name": audit.job.contract.document.source.name,
            "protocol": audit.job.protocol,
            "has_protocol": bool(audit.job.contract.machines),
            "digest": audit.job.contract.digest,
        },
        "complete": not audit.unfinished,
        "files": {"planned": len(audit.plan.files), "judged": tally.files},
        "total": {
            "runs": tally.runs,
            **tally.statuses,
            "broken": tally.broken,
            "messages": tally.messages,
            "calls": tally.calls,
            "events": tally.events,
            "refused": tally.refused,
            "first_causes": tally.statuses["violating"],
            "followed": tally.followed,
            "would_have_waited": tally.waited,
            "ignored": tally.ignored,
        },
        "by": {key: [_row(row) for row in rows] for key, rows in tables.by.items()},
        "outcome": None
        if outcome is None
        else {
            "key": outcome.key,
            "values": [_row(row) for row in outcome.rows],
            "passed": outcome.passed,
            "passed_but_violated": outcome.passed_but_violated,
        },
        "violations": [_finding(finding) for finding in report.violations],
        "owed": [_finding(finding) for finding in report.owed],
        "vacuous": {
            "rules": list(report.vacuous.rules),
            "steps": [{"state": state, "word": word, "to": to} for state, word, to in report.vacuous.steps],
        },
        "traffic": _traffic(audit),
        "enforcing_would_have_blocked": {"actions": sum(tally.blocked.values()), "words": _ordered(tally.blocked)},
        "unmatched": _ordered(tally.unmatched),
        "broken": [{"file": one.file, "line": one.line, "reason": one.reason} for one in tally.first_broken],
        "run_info": audit.run_info,
    }


def _row(row: Row) -> dict[str, Any]:
    return {"value": row.value, "runs": row.runs, **row.statuses}


def _ordered(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _finding(finding: Finding) -> dict[str, Any]:
    group = finding.group
    example = group.example
    return {
        "clause": group.clause,
        "state": group.state,
        "runs": group.runs,
        "followed": group.followed,
        "arrived": _ordered(group.arrived),
        "example": {
            "file": example.file,
            "run": example.run,
            "violation": example.breach.to_json(),
            "messages": [line._asdict() for line in finding.lines],
        },
    }
