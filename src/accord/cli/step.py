"""`accord step`: walk through a contract by hand.

This file is the terminal around `stepper`: it prints the machine with the current state marked, the events so far and
what may happen now, and reads a line. Where standard input is no terminal it does the same line by line until the end,
so that a walk can be scripted.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.cli.stepper import Stepper
    from accord.cli.terminal import Screen
    from accord.machine.tables import Machine
    from accord.monitor.step import Mode

__all__ = ["command"]

PROMPT = "step> "

_TURNS_SHOWN = 6
_ACTIONS_SHOWN = 12
_LINES_BESIDE_STATES = 12 + _TURNS_SHOWN


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
def command(contract: Path, protocol: str | None, mode: Mode) -> None:
    """Walk through a contract by hand.

    Type the number of an action or any event, such as !Ask; a wrong one is explained. `help` lists the commands.
    In a pipe, lines are read from standard input until it ends.

    Exit status: 0 left · 1 the contract has errors · 2 wrong usage.
    """
    from accord.cli.stepper import Stepper, respond
    from accord.cli.terminal import open_screen
    from accord.machine.contract import compile_contract

    compiled = compile_contract(contract)
    machine = compiled.machine(protocol)
    screen = open_screen()
    live = sys.stdin.isatty() and sys.stdout.isatty()
    stepper = Stepper(compiled.standings(protocol).start, mode)
    message = screen.paint("faint", "type a number, an event such as !Ask, or `help`")
    _show(screen, machine, stepper, message, live=live)
    for line in _typed(screen, live=live):
        answer = respond(stepper, line)
        if answer.leave:
            return
        stepper = answer.stepper
        lines = answer.message.splitlines()
        message = "\n".join(screen.paint(answer.style, part) for text in lines for part in _broken(screen, text))
        _show(screen, machine, stepper, message, live=live)


def _broken(screen: Screen, text: str) -> list[str]:
    """The text in lines, so that each can be painted alone; the lines of the help keep their columns."""
    return [text] if screen.width is None or len(text) <= screen.width else screen.prose(text).splitlines()


def _typed(screen: Screen, *, live: bool) -> Iterator[str]:
    if not live:
        from accord.cli.terminal import open_input
        from accord.diagnostics.visible import visible

        for line in open_input():
            screen.print(f"{PROMPT}{visible(line.strip())}")
            yield line
        return
    with suppress(ImportError):
        import_module("readline")  # being loaded is enough for `input` to edit lines and remember them
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            screen.print()
            return


def _show(screen: Screen, machine: Machine, stepper: Stepper, message: str, *, live: bool) -> None:
    from accord.monitor.step import status

    if live:
        click.clear()
    outcome = status(stepper.place)
    painted = screen.paint("good" if outcome in {"running", "complete"} else "error", outcome)
    sections = [
        _drawing(screen, machine, stepper),
        _past(screen, machine, stepper),
        f"{screen.paint('strong', 'status')}  {painted}, mode {stepper.mode}",
        _choices(screen, stepper),
        message,
    ]
    screen.print("\n\n".join(section for section in sections if section))
    screen.print()


def _drawing(screen: Screen, machine: Machine, stepper: Stepper) -> str:
    from accord.cli.stepper import occupied
    from accord.machine.draw.text import CURRENT, draw_text, neighbourhood

    current = occupied(stepper.place)
    most = max(shutil.get_terminal_size().lines - _LINES_BESIDE_STATES, 8)
    only = None
    if len(machine.states) > most:
        # First where the session is, then where it goes from there; where it came from if there is room.
        came_from = [number for turn in stepper.turns[:-3:-1] for number in sorted(occupied(turn.place))]
        only = neighbourhood(machine, [*sorted(current), *came_from], most)
    title, *lines = draw_text(machine, current, only).splitlines()
    painted = [screen.paint("good", line) if line.startswith(CURRENT) else line for line in lines]
    return "\n".join([screen.paint("strong", title), *painted])


def _past(screen: Screen, machine: Machine, stepper: Stepper) -> str:
    from dataclasses import replace

    from accord.cli.verdict_lines import verdict_line, word_width
    from accord.monitor.verdicts import Violation

    if not stepper.turns:
        return ""
    width = word_width(machine)
    hidden = max(len(stepper.turns) - _TURNS_SHOWN, 0)
    lines = [screen.paint("faint", f"   … {hidden} before")] if hidden else []
    for number, turn in enumerate(stepper.turns[hidden:], hidden + 1):
        line = verdict_line(replace(screen, width=None), number, turn.word, turn.verdict, width)
        # The explanation of a violation is shown once, as the answer to what was typed.
        lines.append(line.splitlines()[0] if isinstance(turn.verdict, Violation) else line)
    return "\n".join([screen.paint("strong", "so far"), *lines])


def _choices(screen: Screen, stepper: Stepper) -> str:
    from accord.cli.stepper import actions
    from accord.diagnostics.visible import clip
    from accord.monitor.step import Aside, standing_of

    place = stepper.place
    possible = actions(place)
    lines = [
        f"{screen.paint('faint', f'{number:>4}')}  {clip(event.word)}"
        for number, event in enumerate(possible[:_ACTIONS_SHOWN], 1)
    ]
    if len(possible) > _ACTIONS_SHOWN:
        lines.append(screen.paint("faint", f"      … {len(possible) - _ACTIONS_SHOWN} more"))
    closed = isinstance(place, Aside) and not possible
    if closed:
        lines.append("      nothing; `undo` takes the last event back, `reset` starts again")
    elif standing_of(place).complete:
        lines.append("      `close`: the session may end here")
    return "\n".join([screen.paint("strong", "may happen now"), *lines])
