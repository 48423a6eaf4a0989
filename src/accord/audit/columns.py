"""All runs of a labelled file stepped together, over arrays.

The k-th events of all runs are taken in one go: rows and columns of the table of steps are added up to places in it, and
what stands there is where each run is afterwards. Longer runs stand first, so those that still have a k-th event are
always the front of the arrays. A place that nobody has been to is worked out when it is met, by the table itself.

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
    Small: TypeAlias = NDArray[np.int32]

__all__ = ["Stepped", "step_all"]

_BLOCK = 1 << 15
"""Runs that are stepped together: so many that a step pays, so few that they stay in the processor's cache."""
_FEW = 24
"""Runs for which arrays do not pay any more."""


@dataclass(frozen=True, slots=True)
class Stepped:
    """For each run: the row it ended in, how many events were refused, and the first of them (-1 if none was)."""

    row: Small
    refused: Small
    first: Numbers
    """Which event of the run."""
    first_row: Small
    first_column: Small
    counts: Numbers
    """How often each place of the table was looked up: row by row, `width` to a row."""
    width: int


def step_all(steps: Steps, columns: Small, starts: Numbers, lengths: Numbers) -> Stepped:
    """Step every run from the first row.

    `columns` are the events of all runs, those of run `r` from `starts[r]` on, `lengths[r]` of them.
    """
    table = _Table(steps)
    runs = len(starts)
    stepped = Stepped(
        np.zeros(runs, np.int32),
        np.zeros(runs, np.int32),
        np.full(runs, -1, np.int64),
        np.zeros(runs, np.int32),
        np.zeros(runs, np.int32),
        np.zeros(0, np.int64),
        table.width,
    )
    for begin in range(0, runs, _BLOCK):
        block = slice(begin, begin + _BLOCK)
        order = np.argsort(-lengths[block], kind="stable") + begin
        _step_block(table, columns, starts[order], lengths[order], order, stepped)
    counts = table.counts[: len(steps.rows) * table.width]
    return Stepped(
        stepped.row, stepped.refused, stepped.first, stepped.first_row, stepped.first_column, counts, table.width
    )


class _Table:
    """The table of steps as one array: places are `row * width + column`, codes have rows times `width` in them."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.width = max(1, len(steps.words))
        self.codes = np.full(len(steps.rows) * self.width, -1, np.int64)
        self.counts = np.zeros(len(self.codes), np.int64)
        for row, known in enumerate(steps.rows):
            for column, code in enumerate(known):
                if code >= 0:
                    self.codes[row * self.width + column] = self._placed(code)

    def _placed(self, code: int) -> int:
        return ((code >> 1) * self.width << 1) | (code & 1)

    def work_out(self, place: int) -> int:
        """The code of a place, which is in the array from then on."""
        row, column = divmod(place, self.width)
        known = self.steps.rows[row][column]
        placed = self._placed(known if known >= 0 else self.steps.work_out(row, column))
        missing = len(self.steps.rows) * self.width - len(self.codes)
        if missing > 0:
            missing += len(self.codes)  # twice as many, so that growing costs nothing in the end
            self.codes = np.concatenate([self.codes, np.full(missing, -1, np.int64)])
            self.counts = np.concatenate([self.counts, np.zeros(missing, np.int64)])
        self.codes[place] = placed
        return placed


def _step_block(
    table: _Table, columns: Small, starts: Numbers, lengths: Numbers, order: Numbers, stepped: Stepped
) -> None:
    """Step runs that stand in the order of their lengths, the longest first."""
    runs = len(starts)
    rows = np.zeros(runs, np.int64)  # rows times width
    where = starts.copy()
    # How many runs have more than k events, for each k.
    longest = int(lengths[0]) if runs else 0
    active = runs - np.searchsorted(lengths[::-1], np.arange(longest), side="right")
    refused, seen = np.zeros(runs, np.int64), np.zeros(runs, np.int64)
    column, places, codes, bits = (np.empty(runs, kind) for kind in (np.int32, np.int64, np.int64, np.int64))
    for number in range(longest):
        count = int(active[number])
        if count < _FEW:
            break
        at, code, bit = places[:count], codes[:count], bits[:count]
        np.take(columns, where[:count], out=column[:count], mode="clip")
        np.add(rows[:count], column[:count], out=at)
        np.take(table.codes, at, out=code, mode="clip")
        if code.min() < 0:
            for place in np.unique(at[code < 0]).tolist():
                table.work_out(place)
            np.take(table.codes, at, out=code, mode="clip")
        table.counts += np.bincount(at, minlength=len(table.counts))
        np.bitwise_and(code, 1, out=bit)
        if bit.any():
            refused[:count] += bit
            fresh = np.flatnonzero(bit > seen[:count])
            if len(fresh):
                seen[fresh] = 1
                first = order[fresh]
                stepped.first[first] = number
                stepped.first_row[first], stepped.first_column[first] = np.divmod(at[fresh], table.width)
        np.right_shift(code, 1, out=rows[:count])
        where[:count] += 1
    else:
        count = 0
    stepped.refused[order] = refused
    if count:
        _walk(table, columns, starts[:count], lengths[:count], number, rows, order, stepped)
    stepped.row[order] = rows // table.width


def _walk(
    table: _Table,
    columns: Small,
    starts: Numbers,
    lengths: Numbers,
    number: int,
    rows: Numbers,
    order: Numbers,
    stepped: Stepped,
) -> None:
    """Walk the few runs that are left from their number-th event on, one by one."""
    steps, width = table.steps, table.width
    known = steps.rows
    counts: dict[int, int] = {}
    for run in range(len(starts)):
        row = int(rows[run]) // width
        begin, end = int(starts[run]), int(starts[run] + lengths[run])
        which = order[run]
        for position, column in enumerate(columns[begin + number : end].tolist(), number):
            place = row * width + column
            counts[place] = counts.get(place, 0) + 1
            code = known[row][column]
            if code < 0:
                code = steps.work_out(row, column)
            if code & 1:
                if not stepped.refused[which]:
                    stepped.first[which] = position
                    stepped.first_row[which], stepped.first_column[which] = row, column
                stepped.refused[which] += 1
            row = code >> 1
        rows[run] = row * width
    highest = max(counts, default=0)
    if highest >= len(table.counts):
        table.counts = np.concatenate([table.counts, np.zeros(highest + 1 - len(table.counts), np.int64)])
        table.codes = np.concatenate([table.codes, np.full(highest + 1 - len(table.codes), -1, np.int64)])
    for place, count in counts.items():
        table.counts[place] += count
