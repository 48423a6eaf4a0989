"""Many runs of a labelled file stepped together, over arrays.

The k-th events of all runs are taken in one go: rows and columns of the table of steps are added up to places in it,
and what stands there is where each run is afterwards. Longer runs stand first, so those that still have a k-th event
are always the front of the arrays. A place that nobody has been to is worked out when it is met, by the table itself.

When only a few runs are left, which are the long ones, arrays cost more than they save: the rest is walked run by run
along the same table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from accord.audit.steps import Steps

    Numbers: TypeAlias = NDArray[np.int64]
    Small: TypeAlias = NDArray[np.int8] | NDArray[np.int32]

__all__ = ["Stepped", "Table", "step_all"]

_BLOCK = 1 << 15
"""Runs that are stepped together: so many that a step pays, so few that they stay in the processor's cache."""
_UNKNOWN = np.iinfo(np.int64).min
_FEW = 24
"""Runs for which arrays do not pay any more."""


@dataclass(frozen=True, slots=True)
class Stepped:
    """For each run: the row it ended in, how many events were refused, and the first of them (-1 if none was)."""

    row: Numbers
    refused: Numbers
    first: Numbers
    """Which event of the run."""
    first_row: Numbers
    first_column: Numbers


class Table:
    """The table of steps as one array, and how often each place was looked up.

    Places are `row * width + column`. What stands in a place is the row after the event, times `width`, so that the
    next place is one addition; if the event was refused, its complement, which is negative; and if it is not worked out
    yet, a number that is lower than all of these. So one comparison with 0 tells that nothing is the matter.
    """

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.width = 0
        self.codes: Numbers = np.zeros(0, np.int64)
        self.counts: Numbers = np.zeros(0, np.int64)

    def widen(self) -> None:
        """Make room for the words that are there by now."""
        rows, width = len(self.steps.rows), max(1, len(self.steps.words))
        if width == self.width:
            return
        counts = np.zeros((rows, width), np.int64)
        if self.width:
            counts[: len(self.counts) // self.width, : self.width] = self.counts.reshape(-1, self.width)[:rows]
        self.counts, self.width = counts.reshape(-1), width
        known = [self._placed(code) for row in self.steps.rows for code in (*row, *[-1] * (width - len(row)))]
        self.codes = np.array(known, np.int64)

    def _placed(self, code: int) -> int:
        if code < 0:
            return _UNKNOWN
        row = (code >> 1) * self.width
        return ~row if code & 1 else row

    def work_out(self, place: int) -> None:
        """Fill in a place."""
        row, column = divmod(place, self.width)
        code = self.steps.rows[row][column]
        if code < 0:
            code = self.steps.work_out(row, column)
        self.grow()
        self.codes[place] = self._placed(code)

    def grow(self) -> None:
        """Make room for the rows that are there by now, twice as many, so that growing costs nothing in the end."""
        if len(self.steps.rows) * self.width > len(self.codes):
            more = 2 * len(self.steps.rows) * self.width - len(self.codes)
            self.codes = np.concatenate([self.codes, np.full(more, _UNKNOWN, np.int64)])
            self.counts = np.concatenate([self.counts, np.zeros(more, np.int64)])


def step_all(table: Table, columns: Small, starts: Numbers, lengths: Numbers) -> Stepped:
    """Step every run from the first row.

    `columns` are the events of all runs, those of run `r` from `starts[r]` on, `lengths[r]` of them.
    """
    table.widen()
    runs = len(starts)
    stepped = Stepped(*(np.zeros(runs, np.int64) for _ in range(5)))
    stepped.first.fill(-1)
    for begin in range(0, runs, _BLOCK):
        order = _longest_first(lengths[begin : begin + _BLOCK]) + begin
        _step_block(table, columns, starts[order], lengths[order], order, stepped)
    return stepped


def _longest_first(lengths: Numbers) -> Numbers:
    behind = int(lengths.max()) - lengths
    # Numbers of 16 bits are sorted by their digits.
    return np.argsort(behind.astype(np.uint16) if behind.max() < 1 << 16 else behind, kind="stable")


def _step_block(
    table: Table, columns: Small, starts: Numbers, lengths: Numbers, order: Numbers, stepped: Stepped
) -> None:
    """Step runs that stand in the order of their lengths, the longest first."""
    runs, longest = len(starts), int(lengths[0])
    rows = np.zeros(runs, np.int64)  # times width
    where = starts.copy()
    # How many runs have more than k events, for each k.
    active = runs - np.searchsorted(lengths[::-1], np.arange(longest), side="right")
    refused, seen = np.zeros(runs, np.int64), np.zeros(runs, np.bool_)
    column, places, codes = np.empty(runs, columns.dtype), np.empty(runs, np.int64), np.empty(runs, np.int64)
    number = 0
    for number, count in enumerate(active.tolist()):
        if count < _FEW:
            break
        at, code = places[:count], codes[:count]
        np.take(columns, where[:count], out=column[:count], mode="clip")
        np.add(rows[:count], column[:count], out=at)
        np.take(table.codes, at, out=code, mode="clip")
        lowest = code.min()
        if lowest == _UNKNOWN:
            for place in np.unique(at[code == _UNKNOWN]).tolist():
                table.work_out(place)
            np.take(table.codes, at, out=code, mode="clip")
            lowest = code.min()
        table.counts += np.bincount(at, minlength=len(table.counts))
        if lowest < 0:
            bad = np.flatnonzero(code < 0)
            code[bad] = ~code[bad]
            refused[bad] += 1
            fresh = bad[~seen[bad]]
            seen[fresh] = True
            stepped.first[order[fresh]] = number
            stepped.first_row[order[fresh]], stepped.first_column[order[fresh]] = np.divmod(at[fresh], table.width)
        rows, codes = codes, rows  # those that have ended are no longer looked at, except for where they are
        if count < runs:
            rows[count:] = codes[count:]
        where[:count] += 1
    else:
        count = 0
    stepped.refused[order] = refused
    stepped.row[order] = rows // table.width
    for run in range(count):
        _walk(table, columns[int(starts[run]) : int(starts[run] + lengths[run])], number, int(order[run]), stepped)
    table.grow()


def _walk(table: Table, columns: Small, number: int, run: int, stepped: Stepped) -> None:
    """Walk one run from its number-th event on."""
    steps, width = table.steps, table.width
    rows = steps.rows
    row, refused = int(stepped.row[run]), int(stepped.refused[run])
    counts: dict[int, int] = {}
    for position, column in enumerate(columns[number:].tolist(), number):
        place = row * width + column
        counts[place] = counts.get(place, 0) + 1
        code = rows[row][column]
        if code < 0:
            code = steps.work_out(row, column)
        if code & 1:
            if not refused:
                stepped.first[run], stepped.first_row[run], stepped.first_column[run] = position, row, column
            refused += 1
        row = code >> 1
    stepped.row[run], stepped.refused[run] = row, refused
    table.grow()
    for place, times in counts.items():
        table.counts[place] += times
