"""`accord replay`: recorded events against a contract, verdict by verdict.

Events are judged by the pure `step`, one after the other, and nothing is kept of those that have passed: the input may
be as long as it likes.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from accord.cli.exit_status import ExitStatus
from accord.cli.sources import read_start
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.cli.terminal import Screen, Style
    from accord.machine.clocks import Time
    from accord.monitor.step import Mode, Situation
    from accord.stepping.happenings import Told

__all__ = ["command"]


@click.command("replay")
@click.argument("contract", type=click.Path(path_type=Path))
@click.argument("events", metavar="[EVENTS…|-]", nargs=-1)
@click.option("--protocol", metavar="NAME", help="the protocol, where the contract has several")
@click.option(
    "--mode",
    type=click.Choice(["halt", "refuse"]),
    default="halt",
    show_default=True,
    help="after a violation: halt, or refuse the event and go on",
)
@click.option("--at", metavar="SECONDS", callback=read_start, help="when the session begins; else with its first event")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object per event and one for the status")
def command(
    contract: Path, events: tuple[str, ...], protocol: str | None, mode: Mode, at: Time | None, *, as_json: bool
) -> None:
    """Run events against a contract and print the verdict on each.

    Events are words: !Ask is sent, ?Yes is received, B!Ask names the partner, !"2nd try" is a label in quotes, and end
    closes the session. Behind a word may stand its payload and who decided it: !pay {"amount": 3}, ?Approval by ana.
    An argument may hold several events. Most shells give ! ? and quotes a meaning of their own, so put the events in
    single quotes: accord replay ask.accord '!Ask ?Yes end'

    Where the contract uses time, each event says when it happens, in seconds: @12.5 !Ask. In @20 tick only time passes.

    With - or without EVENTS they are read from standard input, as words or as JSON lines: {"event": "!Ask"},
    {"send": "pay", "payload": {"amount": 3}, "to": "B", "at": 12.5}, {"receive": "Approval", "by": "ana"},
    {"tick": 20}, {"close": true}. Text output counts events from 1; "position" in the JSON output counts from 0, as in
    the library. A tick is no event and is not counted.

    Exit status: 0 every event was accepted · 1 an event was refused, or the contract has errors · 2 wrong usage.
    """
    from accord.choreography.compiling import compile_contract
    from accord.cli.terminal import open_screen
    from accord.cli.verdict_lines import event_width, verdict_line
    from accord.monitor.step import begin
    from accord.monitor.verdicts import Blocked, Violation
    from accord.stepping.happenings import Tick, happen
    from accord.stepping.wording import verdict_object

    compiled = compile_contract(contract)
    situation = begin(compiled, protocol, at)
    screen = open_screen()
    width = event_width(screen, compiled, protocol)
    counts = Counter[str]()
    position = 0
    for told in _told(events, situation):
        try:
            situation, verdict = happen(situation, told.event, mode, position)
        except UsageError as error:
            raise UsageError(f"{told.where}: {error}") from None
        counts[type(verdict).__name__] += 1
        if as_json:
            screen.print(json.dumps(verdict_object(position, told.event, verdict)))
        else:
            screen.print(verdict_line(screen, position + 1, told.event, verdict, width))
        position += not isinstance(told.event, Tick)
    _print_end(screen, situation, position, counts[Violation.__name__], as_json=as_json)
    if counts[Violation.__name__] or counts[Blocked.__name__]:
        raise Exit(ExitStatus.FINDINGS)


def _print_end(screen: Screen, situation: Situation, events: int, violations: int, *, as_json: bool) -> None:
    """How the session stands after the last event, and what would still have to happen."""
    from accord.stepping.outcome import outcome_of

    outcome = outcome_of(situation)
    if as_json:
        totals = {"events": events, "violations": violations}
        screen.print(json.dumps({"status": outcome.status, **totals, **outcome.facts()}))
        return
    style: Style = "good" if outcome.status == "complete" else "strong" if outcome.status == "running" else "error"
    total = "1 event" if events == 1 else f"{events} events"
    screen.print(f"{screen.paint(style, outcome.status)} after {total}{outcome.text()}")


def _told(arguments: tuple[str, ...], situation: Situation) -> Iterable[Told]:
    """The events of the command line, or those of standard input."""
    from accord.cli.terminal import open_input
    from accord.stepping.events import events_in_arguments, events_in_stream
    from accord.stepping.happenings import check_time

    if arguments and arguments != ("-",):
        all_told = list(events_in_arguments(arguments))  # all first: a mistake is reported before anything is printed
        for told in all_told:
            try:
                check_time(situation, told.event)
            except UsageError as error:
                raise UsageError(f"{told.where}: {error}") from None
        return all_told
    stream = open_input()
    if not arguments and stream.isatty():
        raise UsageError("no events: give them as words, pipe them in, or type them after `-`")
    return events_in_stream(stream)
