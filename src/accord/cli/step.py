"""`accord step`: walk through a contract by hand.

This file is the terminal around `stepper`: it prints the machine with the current state marked, what the session holds,
what the rules have seen, the events so far and what may happen now, and reads a line. Where standard input is no
terminal it does the same line by line until the end, so that a walk can be scripted.
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
    from collections.abc import Callable

    from accord.cli.stepper import Stepper
    from accord.cli.terminal import Screen
    from accord.machine.contract import Contract
    from accord.monitor.step import Mode

__all__ = ["command"]

_TURNS_SHOWN = 6
_ACTIONS_SHOWN = 12
_REGISTERS_SHOWN = 8
_RULES_SHOWN = 8
_LEAST_STATES_SHOWN = 8
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
def command(contract: Path, protocol: str | None, mode: Mode) -> None:
    """Walk through a contract by hand.

    Type the number of an action or any event, such as !Ask, !pay {"amount": 3} or ?Approval by ana; a wrong one is
    explained. An action that needs data or a person asks for them. `help` lists the commands. In a pipe, lines are
    read from standard input until it ends.

    Exit status: 0 left · 1 the contract has errors · 2 wrong usage.
    """
    from accord.cli.stepper import Stepper, respond
    from accord.cli.terminal import open_screen
    from accord.machine.contract import compile_contract
    from accord.monitor.step import begin

    compiled = compile_contract(contract)
    screen = open_screen()
    live = sys.stdin.isatty() and sys.stdout.isatty()
    stepper = Stepper(begin(compiled, protocol), mode)
    message = screen.paint("faint", "type a number, an event such as !Ask, or `help`")
    _show(screen, compiled, stepper, message, live=live)
    read = _read_live if live else _reader(screen)
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


def _read_live(prompt: str) -> str | None:
    """The next line that is typed."""
    with suppress(ImportError):
        import_module("readline")  # being loaded is enough for `input` to edit lines and remember them
    try:
        return input(prompt)
    except EOFError:
        click.echo()
        return None


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
    from accord.monitor.step import status

    if live:
        click.clear()
    outcome = status(stepper.situation)
    painted = screen.paint("good" if outcome in {"running", "complete"} else "error", outcome)
    sections = [
        _registers(screen, stepper),
        _rules(screen, stepper),
        _past(screen, contract, stepper),
        f"{screen.paint('strong', 'status')}  {painted}, mode {stepper.mode}",
        _choices(screen, stepper),
        message,
    ]
    rest = "\n\n".join(section for section in sections if section)
    # The machine gets the lines that are left: below it an empty one, and the line that is typed.
    drawing = _drawing(screen, stepper, shutil.get_terminal_size().lines - rest.count("\n") - 5)
    screen.print(f"{drawing}\n\n{rest}" if drawing else rest)
    screen.print()


def _drawing(screen: Screen, stepper: Stepper, room: int) -> str:
    """The machine, or of a large one where the session is; nothing where there are only rules."""
    from accord.cli.stepper import occupied
    from accord.machine.draw.text import CURRENT, draw_states, draw_title, neighbourhood
    from accord.machine.standing import OpenStanding

    standing = stepper.situation.standing
    if isinstance(standing, OpenStanding):
        return ""
    machine = standing.standings.machine
    current = occupied(stepper.situation)
    most = max(room, _LEAST_STATES_SHOWN)
    only = None
    if len(machine.states) > most:
        # First where the session is, then where it goes from there; where it came from if there is room.
        came_from = [number for turn in stepper.turns[:-3:-1] for number in sorted(occupied(turn.situation))]
        only = neighbourhood(machine, [*sorted(current), *came_from], most)
    lines = draw_states(machine, current, only)
    painted = [screen.paint("good", line) if line.startswith(CURRENT) else line for line in lines]
    return "\n".join([screen.paint("strong", draw_title(machine)), *painted])


def _registers(screen: Screen, stepper: Stepper) -> str:
    """What the session holds."""
    from accord.cli.holdings import registers_of
    from accord.diagnostics.visible import clip, display_width

    held = registers_of(stepper.situation)
    if not held:
        return ""
    names = {name: clip(name, 24) for name in held}
    width = max(map(display_width, names.values()))
    lines = []
    for name, value in list(held.items())[:_REGISTERS_SHOWN]:
        padding = " " * (width - display_width(names[name]))
        shown = screen.paint("faint", "not bound yet") if value is None else clip(value, _WIDEST_LINE)
        lines.append(f"      {names[name]}{padding}  {shown}")
    if len(held) > _REGISTERS_SHOWN:
        lines.append(screen.paint("faint", f"      … {len(held) - _REGISTERS_SHOWN} more"))
    return "\n".join([screen.paint("strong", "registers"), *lines])


def _rules(screen: Screen, stepper: Stepper) -> str:
    """Each rule and what it has seen; those that are owed something come first if not all can be shown."""
    from accord.diagnostics.visible import clip, visible

    nodes = list(stepper.situation.rules)
    if not nodes:
        return ""
    lines = []
    shown = nodes if len(nodes) <= _RULES_SHOWN else sorted(nodes, key=lambda node: not node.owes)[:_RULES_SHOWN]
    for node in shown:
        mark = screen.paint("warning", "owed") if node.owes else "    "
        lines.append(f"{mark}  {clip(node.machine.text, _WIDEST_LINE)}")
        lines.append(screen.paint("faint", f"        {visible(node.machine.describe(node.state))}"))
    if len(nodes) > len(shown):
        lines.append(screen.paint("faint", f"      … {len(nodes) - len(shown)} more"))
    return "\n".join([screen.paint("strong", "rules"), *lines])


def _past(screen: Screen, contract: Contract, stepper: Stepper) -> str:
    from dataclasses import replace

    from accord.cli.verdict_lines import event_width, verdict_line
    from accord.monitor.verdicts import Violation

    if not stepper.turns:
        return ""
    width = event_width(contract, stepper.situation.standing.standings.machine.name)
    hidden = max(len(stepper.turns) - _TURNS_SHOWN, 0)
    lines = [screen.paint("faint", f"   … {hidden} before")] if hidden else []
    for number, turn in enumerate(stepper.turns[hidden:], hidden + 1):
        line = verdict_line(replace(screen, width=None), number, turn.event, turn.verdict, width)
        # The explanation of a violation is shown once, as the answer to what was typed.
        lines.append(line.splitlines()[0] if isinstance(turn.verdict, Violation) else line)
    return "\n".join([screen.paint("strong", "so far"), *lines])


def _choices(screen: Screen, stepper: Stepper) -> str:
    from accord.cli.stepper import actions
    from accord.diagnostics.visible import clip
    from accord.machine.standing import OpenStanding
    from accord.monitor.step import is_over, status

    situation = stepper.situation
    possible = actions(situation)
    lines = [
        f"{screen.paint('faint', f'{number:>4}')}  {clip(symbol.word)}"
        for number, symbol in enumerate(possible[:_ACTIONS_SHOWN], 1)
    ]
    if len(possible) > _ACTIONS_SHOWN:
        lines.append(screen.paint("faint", f"      … {len(possible) - _ACTIONS_SHOWN} more"))
    if is_over(situation.place):
        lines.append("      nothing; `undo` takes the last event back, `reset` starts again")
    else:
        if isinstance(situation.standing, OpenStanding):
            lines.append("      anything else too: there is no protocol")
        if status(situation) == "complete":
            lines.append("      `close`: the session may end here")
        elif not lines:
            lines.append("      nothing: the rules refuse every step")
    return "\n".join([screen.paint("strong", "may happen now"), *lines])
