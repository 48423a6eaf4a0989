"""`accord verify`: whether a ledger is whole and unchanged, and which is the first bad entry if it is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from accord.cli.exit_status import ExitStatus
from accord.cli.ledger_files import key_options

if TYPE_CHECKING:
    from accord.cli.terminal import Screen
    from accord.ledger.chain import Verification

__all__ = ["command"]


@click.command("verify")
@click.argument("ledger")
@click.option("--head", metavar="HEAD", help="a head of this ledger, NUMBER:HASH, that was kept elsewhere")
@key_options
@click.option("--json", "as_json", is_flag=True, help="print one JSON object")
def command(ledger: str, head: str | None, key_file: str | None, key_env: str | None, *, as_json: bool) -> None:
    """Verify a ledger and name the first bad entry.

    LEDGER is a file or - for standard input. Edits, deletions, insertions and reorderings are found in the ledger
    itself. An end that was cut off is found only with --head: keep the head that this command prints where whoever can
    write the ledger cannot.

    Exit status: 0 the ledger is whole · 1 it is not · 2 wrong usage, such as a file that cannot be read.
    """
    from accord.cli.ledger_files import finding_object, open_ledger, read_key, with_progress
    from accord.cli.terminal import open_screen
    from accord.ledger.chain import Head, verify
    from accord.ledger.reading import lines_as_they_come

    key = read_key(key_file, key_env)
    wanted = None if head is None else Head.read(head.strip())
    with open_ledger(ledger) as (stream, size), with_progress(lines_as_they_come(stream), size) as lines:
        result = verify(lines, key=key, head=None if wanted is None else str(wanted))
    screen = open_screen()
    if as_json:
        finding = None if result.finding is None else finding_object(result.finding)
        facts = {"ok": result.ok, "entries": result.entries, "head": result.head, "finding": finding}
        screen.print(json.dumps(facts))
    elif result.finding is None:
        _print_whole(screen, result, None if wanted is None else wanted.seq)
    else:
        _print_bad(screen, result, ends_with_line_break=key is not None and key.endswith(b"\n"))
    if not result.ok:
        raise Exit(ExitStatus.FINDINGS)


def _print_whole(screen: Screen, result: Verification, wanted: int | None) -> None:
    number = "1 entry" if result.entries == 1 else f"{result.entries:,} entries"
    screen.print(f"{screen.paint('good', 'the ledger is whole')}: {number}")
    if wanted is None:
        screen.print(screen.paint("faint", "that its end was not cut off shows only against a head kept elsewhere"))
    else:
        behind = result.entries - 1 - wanted
        screen.print(f"the head given is its {'last entry' if not behind else f'entry {wanted}; {behind:,} follow'}")
    screen.print(f"head {result.head}")


def _print_bad(screen: Screen, result: Verification, *, ends_with_line_break: bool) -> None:
    from accord.diagnostics.visible import visible

    finding = result.finding
    if finding is None:
        return
    what = "missing" if finding.fault == "missing" else "bad"
    screen.print(f"{screen.paint('error', f'entry {finding.entry} (line {finding.line}) is {what}')}:")
    screen.print(screen.prose(visible(finding.reason), "  "))
    if ends_with_line_break and not result.entries:
        screen.print(screen.prose("the key ends with a line break, which is part of it; was it written without?", "  "))
    if result.entries:
        count = "the entry before it is" if result.entries == 1 else f"the {result.entries:,} entries before it are"
        screen.print(f"{count} sound")
        screen.print(f"head {result.head}")
