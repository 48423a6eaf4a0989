"""`accord ledger`: looking at ledgers. `accord ledger show` renders one for a person."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from accord.cli.exit_status import ExitStatus
from accord.cli.ledger_files import key_options

if TYPE_CHECKING:
    from accord.cli.terminal import Screen
    from accord.ledger.chain import Finding, Walk

__all__ = ["command"]


@click.group("ledger")
def command() -> None:
    """Look at a ledger."""


@command.command("show")
@click.argument("ledger")
@click.option("--session", metavar="NAME", help="show the attempts of this session only")
@click.option("--from", "start", metavar="NUMBER", type=click.IntRange(min=0), default=0, help="begin at this entry")
@key_options
@click.option("--json", "as_json", is_flag=True, help="print one JSON object per entry")
def show(
    ledger: str,
    session: str | None,
    start: int,
    key_file: str | None,
    key_env: str | None,
    *,
    as_json: bool,
) -> None:
    """Show what was tried and what was answered.

    LEDGER is a file or - for standard input. Each entry is verified before it is shown, and the first bad one ends the
    output. The entries of a ledger with a key are shown without it too; their hashes are then not checked.

    Exit status: 0 all of it was shown · 1 there is a bad entry · 2 wrong usage, such as a file that cannot be read.
    """
    from accord.cli.ledger_files import finding_object, open_ledger, read_key
    from accord.cli.ledger_lines import entry_object, entry_text
    from accord.cli.terminal import open_screen
    from accord.ledger.chain import BadEntryError, Walk, walk
    from accord.ledger.entries import AttemptEntry, NoteEntry, show_entry
    from accord.ledger.reading import lines_as_they_come

    walking = Walk(read_key(key_file, key_env), just_looking=True)
    screen = open_screen()
    verdicts = Counter[str]()
    bad: Finding | None = None
    with open_ledger(ledger) as (stream, _):
        try:
            for sound in walk(lines_as_they_come(stream), walking):
                entry = show_entry(sound.body)
                of_session = session is None or (
                    isinstance(entry, AttemptEntry | NoteEntry) and entry.session == session
                )
                if entry.seq >= start and of_session:
                    screen.print(entry_object(sound) if as_json else entry_text(screen, entry))
                    if isinstance(entry, AttemptEntry):
                        verdicts[entry.verdict] += 1
        except BadEntryError as error:
            bad = error.finding
    if as_json and bad is not None:
        screen.print(json.dumps({"finding": finding_object(bad)}))
    elif not as_json:
        _print_end(screen, verdicts, walking, bad)
    if bad is not None:
        raise Exit(ExitStatus.FINDINGS)


def _print_end(screen: Screen, verdicts: Counter[str], walking: Walk, bad: Finding | None) -> None:
    from accord.cli.ledger_lines import VERDICTS
    from accord.diagnostics.visible import visible

    if bad is not None:
        screen.print(f"{screen.paint('error', f'entry {bad.entry} (line {bad.line}) is bad')}:")
        screen.print(screen.prose(visible(bad.reason), "  "))
        return
    total = "1 attempt" if verdicts.total() == 1 else f"{verdicts.total():,} attempts"
    each = ", ".join(f"{verdicts[name]:,} {VERDICTS[name][0].lower()}" for name in VERDICTS if verdicts[name])
    screen.print(f"{total}{': ' if each else ''}{each}")
    if not walking.checks_hashes:
        screen.print(screen.paint("warning", "the ledger has a key; without it the hashes were not checked"))
