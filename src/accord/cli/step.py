"""`accord step`: walk through a contract by hand.

This file is the terminal around `stepper`: it prints what `panel` makes of it and reads a line. Where standard input is
no terminal it does the same line by line until the end, so that a walk can be scripted.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from accord.cli.sources import read_start

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.cli.stepper import Stepper
    from accord.cli.terminal import Screen
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.monitor.step import Mode

__all__ = ["command"]

_WIDEST_LINE = 100


@click.command("step")
@click.argument("contract", type=click.Path(path_type=Path))
@click.option("--protocol", metavar="NAME", help="the protocol, where the contract has several")
@click.option(
    "--mode",
    type=click.Choice(["halt", "refuse"]),
    default="refuse",
    show_default=True,
    help="after a violation: halt, or refuse the event and go on",
)
@click.option("--at", metavar="SECONDS", callback=read_start, help="when the session begins; else with its first event")
def command(contract: Path, protocol: str | None, mode: Mode, at: Time | None) -> None:
    """Walk through a contract by hand.

    Type the number of an action or any event, such as !Ask, !pay {"amount": 3} or ?Approval by ana; a wrong one is
    explained. An action that needs data, a person or a time asks for them; @12.5 !Ask says when, and tick 30 lets time
    pass. `help` lists the commands. In a pipe, lines are read from standard input until it ends.

    Exit status: 0 left · 1 the contract has errors · 2 wrong usage.
    """
    from accord.choreography.compiling import compile_contract
    from accord.cli.stepper import Stepper, respond
    from accord.cli.terminal import is_live, open_screen, read_live
    from accord.monitor.step import begin

    compiled = compile_contract(contract)
    screen = open_screen()
    live = is_live()
    stepper = Stepper(begin(compiled, protocol, at), mode)
    message = screen.paint("faint", "type a number, an event such as !Ask, or `help`")
    _show(screen, compiled, stepper, message, live=live)
    read = read_live if live else _reader(screen)
    while (line := read(stepper.prompt)) is not None:
        answer = respond(stepper, line)
        if answer.leave:
            return
        stepper = answer.stepper
        lines = answer.message.splitlines()
        message = "\n".join(screen.paint(answer.style, part) for text in lines for part in _broken(screen, text))
        if stepper.asking is None:
            _show(screen, compiled, stepper, message, live=live)
        elif message:  # the question stays below what was chosen
            screen.print(message)


def _broken(screen: Screen, text: str) -> list[str]:
    """The text in lines, so that each can be painted alone; the lines of the help keep their columns."""
    return [text] if screen.width is None or len(text) <= screen.width else screen.prose(text).splitlines()


def _reader(screen: Screen) -> Callable[[str], str | None]:
    """Reads the next line of a text and writes it behind the prompt, so that the output tells the whole story."""
    from accord.cli.terminal import open_input
    from accord.diagnostics.visible import clip

    stream = open_input()

    def read(prompt: str) -> str | None:
        line = stream.readline()
        if not line:
            return None
        screen.print(f"{prompt}{clip(line.strip(), _WIDEST_LINE)}".rstrip())
        return line

    return read


def _show(screen: Screen, contract: Contract, stepper: Stepper, message: str, *, live: bool) -> None:
    from accord.cli.panel import draw_machine, sections

    if live:
        click.clear()
    rest = "\n\n".join(section for section in [*sections(screen, contract, stepper), message] if section)
    # The machine gets the lines that are left: below it an empty one, and the line that is typed.
    drawing = draw_machine(screen, stepper, shutil.get_terminal_size().lines - rest.count("\n") - 5)
    screen.print(f"{drawing}\n\n{rest}" if drawing else rest)
    screen.print()
