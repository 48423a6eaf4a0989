"""`accord fmt`: contracts in their one canonical form.

A file is replaced whole or not at all, and only by a text that says the same: see `accord.language.formatting` and
`accord.replacing`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from accord.cli.exit_status import ExitStatus
from accord.cli.sources import existing_path
from accord.errors import ContractError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["command"]


@click.command("fmt")
@click.argument("paths", metavar="PATH…", nargs=-1, required=True, callback=existing_path)
@click.option("--check", "only_check", is_flag=True, help="write nothing; list the files that would change")
def command(paths: tuple[Path, ...], *, only_check: bool) -> None:
    """Rewrite contracts in canonical form; comments are kept.

    PATH is a file or a folder (all *.accord files in it, hidden folders left out). Files with errors are reported and
    left as they are. With - alone, standard input is formatted to standard output.

    Exit status: 0 done, or nothing to do · 1 a file has errors or, with --check, would change · 2 wrong usage.
    """
    from accord.cli.sources import STDIN, find_contracts, read
    from accord.cli.terminal import open_screen, print_diagnostics
    from accord.diagnostics.visible import visible
    from accord.language.formatting import formatted
    from accord.replacing import replace_file

    files = find_contracts(paths)
    if STDIN in files and len(files) > 1:
        raise UsageError("`-` formats standard input to standard output; it cannot be mixed with files")
    screen, errors = open_screen(), open_screen(err=True)
    failed = changed = 0
    unwritable: list[UsageError] = []
    for path in files:
        try:
            source = read(path)
            text = formatted(source)
        except ContractError as error:
            print_diagnostics(errors, error.diagnostics)
            failed += 1
            continue
        if path == STDIN and not only_check:
            _write_out(text)
        elif text != source.text:
            changed += 1
            try:
                if not only_check:
                    replace_file(path, text, source.text)
            except UsageError as error:  # the others are formatted all the same
                unwritable.append(error)
                continue
            screen.print(f"{'would reformat' if only_check else 'reformatted'} {visible(source.name)}")
    if unwritable:
        raise UsageError("; ".join(map(str, unwritable)))
    if failed or (only_check and changed):
        raise Exit(ExitStatus.FINDINGS)


def _write_out(text: str) -> None:
    """The text itself into a pipe or a file; on a terminal with what may hide in its comments made visible."""
    from accord.cli.terminal import open_screen
    from accord.diagnostics.visible import visible

    screen = open_screen()
    if screen.width is None:
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
    else:
        for line in text.splitlines():
            screen.print(visible(line))
