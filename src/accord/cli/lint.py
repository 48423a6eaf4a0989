"""`accord lint`: whether the code of agents follows their protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from accord.cli.exit_status import ExitStatus
from accord.cli.findings import counted, format_option, print_for_people, print_for_programs
from accord.cli.sources import existing_path

if TYPE_CHECKING:
    from pathlib import Path

    from accord.agents.check import Report
    from accord.cli.terminal import Screen

__all__ = ["command"]


@click.command("lint")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True, callback=existing_path)
@format_option
def command(paths: tuple[Path, ...], format_: str) -> None:
    """Check that agents follow the protocols they declare, on every path, without running them.

    PATH is a Python file, a folder (all *.py and *.accord files in it, hidden folders left out) or - for standard
    input. Contracts that the code loads are read from where it says, seen from here or from its own folder.

    `# accord: ignore[E076] reason` on the line of a finding accepts it; what is accepted is listed.

    Exit status: 0 nothing found · 1 errors or warnings · 2 wrong usage, such as a path that does not exist.
    """
    from accord.cli.python_files import find_files, lint_files
    from accord.cli.terminal import open_screen

    files = find_files(paths)
    report = lint_files(files)
    screen = open_screen()
    if format_ == "text":
        _print(screen, report, len(files.python))
    else:
        print_for_programs(screen, report.findings, format_)
    if report.findings:
        raise Exit(ExitStatus.FINDINGS)


def _print(screen: Screen, report: Report, files: int) -> None:
    from accord.diagnostics.visible import visible

    print_for_people(screen, report.findings)
    for ignored in report.ignored:
        finding = ignored.finding
        line, column = finding.source.line_and_column(finding.span.start)
        place = f"{finding.source.name}:{line}:{column}"
        screen.print(screen.paint("faint", visible(f"ignored: {finding.code} at {place}: {ignored.reason}")))
    screen.print(screen.paint("strong" if report.findings else "good", _summary(report, files)))


def _summary(report: Report, files: int) -> str:
    where = f"in {files} file{'' if files == 1 else 's'}"
    if not report.agents and not report.findings:
        return f"no agents {where}"
    looked = f"{report.agents or 'no'} agent{'' if report.agents == 1 else 's'} {where}"
    ignored = f", {len(report.ignored)} ignored" if report.ignored else ""
    if report.findings:
        return f"{counted(report.findings)}{ignored} in {looked}"
    return f"{looked} {'follows its protocols' if report.agents == 1 else 'follow their protocols'}{ignored}"
