"""`accord project`: one role's own protocol."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

__all__ = ["command"]


@click.command("project")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--role", metavar="NAME", required=True, help="whose protocol to print")
@click.option("--protocol", metavar="NAME", help="project this protocol, where the file has several between roles")
def command(file: Path, role: str, protocol: str | None) -> None:
    """Print what one role of a protocol between roles has to follow, as a local protocol.

    It is a contract of its own: `Partner!label` is what the role sends, `Partner?label` what it receives. Rules of the
    file are printed with it.

    Exit status: 0 printed · 1 the contract has errors, or its roles cannot follow it · 2 wrong usage.
    """
    from accord.choreography import project
    from accord.choreography.compiling import compile_contract
    from accord.cli.terminal import open_screen
    from accord.language import print_document

    mine = project(compile_contract(file), role, protocol)
    open_screen().print(print_document(mine.document).rstrip("\n"))
