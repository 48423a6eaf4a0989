"""`accord explain`: what a diagnostic code means, with an example that has the mistake and one that does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from accord.errors import UsageError

if TYPE_CHECKING:
    from accord.cli.terminal import Screen
    from accord.diagnostics import Diagnostic
    from accord.diagnostics.codes import Code

__all__ = ["command", "findings_in_example"]


@click.command("explain")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Explain a diagnostic code such as E023; without a code, list them all.

    Exit status: 0 explained · 2 there is no such code.
    """
    from accord.cli.terminal import open_screen
    from accord.diagnostics import did_you_mean
    from accord.diagnostics.codes import CODES

    screen = open_screen()
    if code is None:
        for entry in CODES.values():
            screen.print(f"{screen.paint('strong', entry.code)}  {entry.title}")
        return
    wanted = code.strip().upper()
    if wanted not in CODES:
        meant = did_you_mean(wanted, CODES)
        hint = f"did you mean `{meant}`?" if meant else "`accord explain` lists all codes"
        raise UsageError(f"there is no code `{code}`; {hint}")
    _explain(screen, CODES[wanted])


def _explain(screen: Screen, entry: Code) -> None:
    from accord.cli.terminal import print_diagnostics

    screen.print(f"{screen.paint('error', entry.code)}: {screen.paint('strong', entry.title)}")
    screen.print()
    screen.print(screen.prose(entry.explanation))
    # Some mistakes cannot be made in a short text, such as bytes that are no text at all.
    if entry.wrong:
        _print_example(screen, "wrong", entry.wrong)
        screen.print()
        print_diagnostics(screen, findings_in_example(entry))
    _print_example(screen, "right", entry.right)


def findings_in_example(entry: Code) -> tuple[Diagnostic, ...]:
    """What accord says of the wrong example."""
    from accord.choreography.compiling import examine_contract
    from accord.diagnostics import Source

    if entry.is_python:
        from accord.agents.check import lint, read

        return lint(read([Source(entry.wrong, "wrong.py")]), {}).findings
    if not entry.is_configuration:
        return examine_contract(Source(entry.wrong, "wrong.accord"))[2]
    from accord.errors import ContractError
    from accord.trace.loading import load_trace_config

    try:
        load_trace_config(entry.wrong)
    except ContractError as error:
        return error.diagnostics
    except UsageError:  # the packages for it are not installed
        pass
    return ()


def _print_example(screen: Screen, title: str, text: str) -> None:
    from accord.diagnostics.visible import visible

    screen.print()
    screen.print(screen.paint("strong", f"{title}:"))
    for line in text.splitlines():
        screen.print(f"    {visible(line)}")
