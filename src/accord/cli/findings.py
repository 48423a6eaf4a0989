"""How findings are given out by the commands that look for them: to people, to programs, to code-scanning services."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.cli.terminal import Screen
    from accord.diagnostics import Diagnostic

__all__ = ["counted", "format_option", "print_for_people", "print_for_programs"]

format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    show_default=True,
    help="text for people, json for programs, sarif for code scanning, github for annotations in a workflow",
)


def print_for_programs(screen: Screen, findings: Sequence[Diagnostic], format_: str) -> None:
    """Print findings as JSON, as SARIF or as annotations of a GitHub workflow."""
    from accord import __version__
    from accord.diagnostics.machine_readable import to_github, to_json, to_sarif

    if format_ == "json":
        screen.print(json.dumps(to_json(findings), indent=2))
    elif format_ == "sarif":
        screen.print(json.dumps(to_sarif(findings, __version__), indent=2))
    elif findings:
        screen.print(to_github(findings))


def print_for_people(screen: Screen, findings: Sequence[Diagnostic]) -> None:
    """Print findings with their lines and carets, and an empty line after them."""
    from accord.cli.terminal import print_diagnostics

    if findings:
        print_diagnostics(screen, findings)
        screen.print()


def counted(findings: Sequence[Diagnostic]) -> str:
    """How many errors and warnings there are: `2 errors, 1 warning`."""
    severities = [finding.severity for finding in findings]
    counts = [(severities.count("error"), "error"), (severities.count("warning"), "warning")]
    return ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts if count)
