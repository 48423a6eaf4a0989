"""`accord check`: every finding in every contract, for people, programs and code-scanning services."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from accord.cli.exit_status import ExitStatus
from accord.cli.findings import counted, format_option, print_for_people, print_for_programs
from accord.cli.sources import existing_path

if TYPE_CHECKING:
    from pathlib import Path

    from accord.diagnostics import Diagnostic

__all__ = ["command"]


@click.command("check")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True, callback=existing_path)
@format_option
def command(paths: tuple[Path, ...], format_: str) -> None:
    """Check contracts and report every error and warning.

    PATH is a file, a folder (all *.accord files in it, hidden folders left out) or - for standard input.

    Exit status: 0 nothing found · 1 errors or warnings · 2 wrong usage, such as a path that does not exist.
    """
    from accord.cli.sources import find_contracts, findings_in
    from accord.cli.terminal import open_screen

    by_file = [findings_in(path)[1] for path in find_contracts(paths)]
    findings = [finding for of_file in by_file for finding in of_file]
    screen = open_screen()
    if format_ == "text":
        print_for_people(screen, findings)
        touched = sum(1 for of_file in by_file if of_file)
        screen.print(screen.paint("strong" if findings else "good", _summary(findings, touched, len(by_file))))
    else:
        print_for_programs(screen, findings, format_)
    if findings:
        raise Exit(ExitStatus.FINDINGS)


def _summary(findings: list[Diagnostic], touched: int, files: int) -> str:
    if not findings:
        return "1 file is fine" if files == 1 else f"{files} files are fine"
    return f"{counted(findings)} in {touched} of {files} file{'' if files == 1 else 's'}"
