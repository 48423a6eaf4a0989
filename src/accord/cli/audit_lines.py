"""What `accord audit` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.audit.model import STATUSES
from accord.diagnostics.visible import clip, display_width, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from accord.audit.excerpts import Line
    from accord.audit.groups import Row
    from accord.audit.report import Finding, Report
    from accord.cli.terminal import Screen, Style

__all__ = ["print_report"]

_MOST_FINDINGS = 10
_MOST_ROWS = 30
_MOST_NAMES = 8
_MOST_BROKEN = 10
_CELL = 44
_TEXT = 100


def print_report(screen: Screen, report: Report) -> None:
    """The whole report."""
    _print_totals(screen, report)
    tables = report.tables
    for key, rows in tables.by.items():
        _print_table(screen, key, rows)
    outcome = tables.outcome
    if outcome is not None:
        _print_table(screen, outcome.key, outcome.rows)
        if outcome.passed:
            share = _share(outcome.passed_but_violated, outcome.passed)
            told = f"{outcome.passed_but_violated:,} of {_counted(outcome.passed, 'run')} that passed"
            style: Style = "error" if outcome.passed_but_violated else "good"
            screen.print(screen.paint(style, f"passed but violated: {told} ({share})"))
    stands = bool(report.audit.job.contract.machines)
    _print_findings(screen, "violations", report.violations, in_state=stands)
    _print_findings(screen, "ended too early", report.owed, in_state=stands)
    _print_blocked(screen, report)
    _print_vacuous(screen, report)
    _print_rest(screen, report)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _print_totals(screen: Screen, report: Report) -> None:
    audit, tally = report.audit, report.tally
    statuses = tally.statuses
    files = _counted(tally.files, "file")
    screen.print(screen.paint("strong", f"{_counted(tally.runs, 'run')} in {files}"))
    for status in STATUSES:
        number = statuses[status]
        style: Style = "good" if status == "conforming" else "error" if number and status == "violating" else "strong"
        told = f"  {status:<13} {number:>10,}  {_share(number, tally.runs):>7}"
        screen.print(screen.paint(style, told) if number else screen.paint("faint", told))
    if tally.broken:
        screen.print(screen.paint("warning", f"  {'broken':<13} {tally.broken:>10,}  could not be read or judged"))
    messages = f"{_counted(tally.messages, 'message')}, {_counted(tally.calls, 'call')}"
    screen.print(screen.paint("faint", f"  {messages}, {_counted(tally.events, 'event')} that the contract looks at"))
    if audit.unfinished:
        left = _counted(audit.unfinished, "file")
        again = "" if audit.folder is not None else "; start it again to go on from here"
        screen.print(screen.paint("warning", f"  stopped: {left} not judged{again}"))


def _print_table(screen: Screen, key: str, rows: Sequence[Row]) -> None:
    names = [_name(row.value) for row in rows[:_MOST_ROWS]]
    width = max(display_width(name) for name in (clip(key, _CELL), *names))
    screen.print()
    title = clip(key, _CELL)
    head = f"{title}{' ' * (width - display_width(title))}  {'runs':>9}  " + "  ".join(f"{s:>12}" for s in STATUSES)
    screen.print(screen.paint("strong", f"{head}  {'share':>7}"))
    for row, name in zip(rows, names, strict=False):
        cells = "  ".join(f"{row.statuses[status]:>12,}" for status in STATUSES)
        share = _share(row.statuses["violating"], row.runs)
        screen.print(f"{name}{' ' * (width - display_width(name))}  {row.runs:>9,}  {cells}  {share:>7}")
    if len(rows) > _MOST_ROWS:
        screen.print(screen.paint("faint", f"and {len(rows) - _MOST_ROWS:,} more"))


def _name(value: str) -> str:
    """A value that fits a cell; of a long one the end, which is where files and models differ."""
    shown = visible(value[-_CELL:]) if len(value) > _CELL else visible(value)
    return (f"…{shown[1 - _CELL :]}" if len(value) > _CELL or len(shown) > _CELL else shown) or "(none)"


def _print_findings(screen: Screen, title: str, findings: Sequence[Finding], *, in_state: bool) -> None:
    if not findings:
        return
    screen.print()
    screen.print(screen.paint("strong", title))
    for finding in findings[:_MOST_FINDINGS]:
        group, example = finding.group, finding.group.example
        arrived = _names(group.arrived)
        runs = screen.paint("error", f"{_counted(group.runs, 'run'):>10}")
        where = f" in state {clip(group.state, 40)}" if in_state else ""
        more = f" ({_counted(group.followed, 'refusal')} after it)" if group.followed else ""
        screen.print(f"{runs}  {clip(group.clause, _TEXT)}{where}: {arrived}{screen.paint('faint', more)}")
        index = example.breach.index
        place = "its end" if index is None else f"message {index}"
        shortest = f"shortest: run {clip(example.run)} of {visible(example.file)}, {place}"
        screen.print(screen.paint("faint", f"{'':>12}{shortest}"))
        screen.print(screen.prose(visible(example.breach.what.sentence), f"{'':>12}"))
        for line in finding.lines:
            screen.print(_message(screen, line))
    if len(findings) > _MOST_FINDINGS:
        screen.print(screen.paint("faint", f"{'':>12}and {_counted(len(findings) - _MOST_FINDINGS, 'more group')}"))


def _message(screen: Screen, line: Line) -> str:
    mark = screen.paint("error", "✗") if line.refused else " "
    name = f" {line.name}" if line.name else ""
    label = f"  {clip(line.label, 40)}" if line.label else ""
    text = clip(" ".join(line.text.split()), _TEXT)
    return f"{'':>12}{mark} {line.number:>4}  {clip(line.kind + name, 40):<28}{label}  {text}".rstrip()


def _names(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{clip(name, 60)} {number:,}" for name, number in ordered[:_MOST_NAMES]]
    more = [f"{len(ordered) - _MOST_NAMES:,} more"] if len(ordered) > _MOST_NAMES else []
    return ", ".join([*shown, *more])


def _print_blocked(screen: Screen, report: Report) -> None:
    tally = report.tally
    if not tally.refused and not tally.waited:
        return
    screen.print()
    screen.print(screen.paint("strong", "if it had been enforced"))
    if tally.blocked:
        actions = _counted(sum(tally.blocked.values()), "action")
        screen.print(screen.prose(f"{actions} would have been refused: {_names(tally.blocked)}", "  "))
    if tally.refused:
        causes = _counted(tally.statuses["violating"], "first cause")
        told = f"{causes}, one to a run; {_counted(tally.followed, 'refusal')} after that may follow from it"
        screen.print(screen.paint("faint", screen.prose(told, "  ")))
    if tally.waited:
        told = f"{_counted(tally.waited, 'call')} would have waited for an earlier call of the same message"
        screen.print(screen.prose(f"{told}, which is no violation", "  "))


def _print_vacuous(screen: Screen, report: Report) -> None:
    vacuous = report.vacuous
    if not vacuous.rules and not vacuous.steps:
        return
    screen.print()
    screen.print(screen.paint("strong", "vacuous so far") + screen.paint("faint", " (no run exercised it)"))
    lines = [f'rule "{name}"' for name in vacuous.rules]
    lines += [f"step {word} from state {state} to {to}" for state, word, to in vacuous.steps]
    _print_lines(screen, lines, _MOST_ROWS)


def _print_rest(screen: Screen, report: Report) -> None:
    tally = report.tally
    if tally.unmatched:
        screen.print()
        total = sum(tally.unmatched.values())
        told = f"the contract says nothing about {_counted(total, 'message')}: {_names(tally.unmatched)}"
        screen.print(screen.paint("faint", screen.prose(told)))
    if tally.broken:
        screen.print()
        screen.print(screen.paint("warning", "could not be read or judged"))
        lines = [
            f"{one.file}{'' if one.line is None else f':{one.line}'}: {clip(one.reason, 200)}"
            for one in tally.first_broken[:_MOST_BROKEN]
        ]
        _print_lines(screen, lines, _MOST_BROKEN, tally.broken)


def _print_lines(screen: Screen, lines: Iterable[str], most: int, total: int | None = None) -> None:
    lines = list(lines)
    for line in lines[:most]:
        screen.print(f"  {visible(line)}")
    left = (len(lines) if total is None else total) - min(most, len(lines))
    if left > 0:
        screen.print(screen.paint("faint", f"  and {left:,} more"))
