"""Tables on a terminal (with rich) or as plain text everywhere else."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.tables import Table

__all__ = ["print_tables"]

_STYLES = {"PASS": "green", "MISS": "bold red"}


def print_tables(tables: Iterable[Table]) -> None:
    """Print them one below the other."""
    show = _show_on_terminal if sys.stdout.isatty() else _show_plain
    for table in tables:
        show(table)


def _show_on_terminal(table: Table) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table as RichTable

    shown = RichTable(title=table.title, caption=table.note or None, title_justify="left", caption_justify="left")
    for number, column in enumerate(table.columns):
        shown.add_column(column, justify="left" if number == 0 or table.title == "Bars" else "right")
    for row in table.rows:
        shown.add_row(*map(escape, row), style=_STYLES.get(row[0]))
    console = Console()
    console.print(shown)
    console.print()


def _show_plain(table: Table) -> None:
    lines = (table.columns, *table.rows)
    widths = [max(len(line[number]) for line in lines) for number in range(len(table.columns))]
    print(table.title)
    for line in lines:
        first = line[0].ljust(widths[0])
        rest = (
            text.ljust(width) if table.title == "Bars" else text.rjust(width)
            for text, width in zip(line[1:], widths[1:], strict=True)
        )
        print("  " + "  ".join((first, *rest)).rstrip())
    if table.note:
        print(textwrap.fill(table.note, 118, initial_indent="  ", subsequent_indent="  "))
    print()
