"""`accord show`: what a contract compiles to, drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from accord.machine.draw import Format

__all__ = ["command"]


@click.command("show")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "dot", "mermaid", "json"]),
    default="text",
    show_default=True,
    help="text for a terminal, dot for Graphviz, mermaid for Markdown, json for programs",
)
@click.option("--protocol", metavar="NAME", help="draw this protocol only")
def command(file: Path, format_: Format, protocol: str | None) -> None:
    """Draw the protocols of a contract, one after another, and its rules.

    In the text form an arrow leads to the first state, `!Ask → 1` is an edge, `after 24h → 3` a deadline,
    `(1 | 4) then 6` starts parts side by side, and `end` or `pause` says that the session may stop there. The JSON form
    is a list of machines and rules, or one machine if --protocol is given.

    Behind them the text form says what it means if a call fails that the contract names: `undone` if it counts as not
    made, `done` if it counts as made, `unknown` if it may be either. A contract says it: `tools { pay fails unknown }`.

    A protocol between roles is drawn as a whole, in mermaid as a sequence diagram, and then each role's own machine.

    Exit status: 0 drawn · 1 the contract has errors · 2 wrong usage.
    """
    from accord.choreography.compiling import compile_contract
    from accord.choreography.draw import draw_contract
    from accord.cli.terminal import open_screen
    from accord.machine.draw.failures import draw_failures

    contract = compile_contract(file)
    drawings = [draw_contract(contract, format_, protocol)]
    if format_ == "text" and protocol is None:
        drawings.append(draw_failures(contract))
    open_screen().print("\n\n".join(filter(None, drawings)))
