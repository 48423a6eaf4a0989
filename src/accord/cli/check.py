"""`accord check`: every finding in every contract, for people, programs and code-scanning services."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from accord.cli.sources import existing_path

if TYPE_CHECKING:
    from pathlib import Path

    from accord.diagnostics import Diagnostic

__all__ = ["command"]


@click.command("check")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True, callback=existing_path)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    show_default=True,
    help="text for people, json for programs, sarif for code scanning, github for annotations in a workflow",
)
def command(paths: tuple[Path, ...], format_: str) -> None:
    """Check contracts and report every error and warning.

    PATH is a file, a folder (all *.accord files in it, hidden folders left out) or - for standard input.

    Exit status: 0 nothing found · 1 errors or warnings · 2 wrong usage, such as a path that does not exist.
    """
    from accord import __version__
    from accord.cli.sources import find_contracts, findings_in
    from accord.cli.terminal import open_screen, print_diagnostics
    from accord.diagnostics.machine_readable import to_github, to_json, to_sarif

    by_file = [findings_in(path)[1] for path in find_contracts(paths)]
    findings = [finding for of_file in by_file for finding in of_file]
    screen = open_screen()
    if format_ == "json":
        screen.print(json.dumps(to_json(findings), indent=2))
    elif format_ == "sarif":
        screen.print(json.dumps(to_sarif(findings, __version__), indent=2))
    elif format_ == "github":
        if findings:
            screen.print(to_github(findings))
    else:
        if findings:
            print_diagnostics(screen, findings)
            screen.print()
        screen.print(screen.paint("strong" if findings else "good", _summary(by_file)))
    if findings:
        raise Exit(1)


def _summary(by_file: list[tuple[Diagnostic, ...]]) -> str:
    files = len(by_file)
    severities = [finding.severity for of_file in by_file for finding in of_file]
    if not severities:
        return "1 file is fine" if files == 1 else f"{files} files are fine"
    counts = [(severities.count("error"), "error"), (severities.count("warning"), "warning")]
    counted = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count)
    touched = sum(1 for of_file in by_file if of_file)
    return f"{counted} in {touched} of {files} file{'' if files == 1 else 's'}"
