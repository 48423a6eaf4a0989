"""Labelled columns judged many runs at a time: columns of runs and labels, and a contract that labels alone decide.

The contract's own projection says what each label means; it is asked once per label. The rest is arithmetic over arrays
(`columns`). Only what is told of runs, their keys and first violations, is made run by run, and that in columns too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from accord.audit.columns import Table, step_all
from accord.audit.judging import TableJudge, count_place
from accord.audit.labelled_files import NotInPiecesError, read_pieces, read_whole
from accord.audit.model import STATUSES, Breach
from accord.audit.results import CHUNK, Chunk, letter_of, write_line
from accord.audit.steps import TooManyRowsError
from accord.errors import UsageError
from accord.sources.labelled import message_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from numpy.typing import NDArray

    from accord.audit.columns import Numbers, Small, Stepped
    from accord.audit.labelled_files import Labelled
    from accord.audit.model import Refused
    from accord.audit.tally import Tally
    from accord.machine.contract import Contract
    from accord.sources.model import Message

__all__ = ["ColumnJudge", "judge_columns"]

_VIOLATING, _INCOMPLETE = ord(letter_of("violating")), ord(letter_of("incomplete"))


def judge_columns(contract: Contract, protocol: str | None, path: str, stream: BinaryIO) -> bool:
    """Judge a Parquet file and write its result. False if it has to be read row by row."""
    import pyarrow as pa  # noqa: PLC0415 - the extra `audit`

    with open(path, "rb") as file:  # noqa: PTH123 - as given
        for in_pieces in (True, False):
            judge = ColumnJudge(contract, protocol)
            stream.seek(0)
            stream.truncate()
            try:
                for piece in read_pieces(file, message_of) if in_pieces else [read_whole(file, message_of)]:
                    judge.judge_all(piece, stream)
            except NotInPiecesError:
                continue
            except (TooManyRowsError, UsageError):
                if in_pieces:  # what was taken for a run may have been the rest of one
                    continue
                return False
            except (pa.ArrowException, OSError, ValueError):
                return False
            write_line(stream, judge.finish())
            return True
    return False


_FEW_LABELS = 32
"""How many labels are counted faster by looking for each of them."""


def _times_of(labelled: Labelled) -> list[int]:
    """How often each of the messages is there."""
    codes, labels = labelled.codes, len(labelled.messages)
    if labels <= _FEW_LABELS:
        return [int(np.count_nonzero(codes == number)) for number in range(labels)]
    return [int(times) for times in np.bincount(codes, minlength=labels)]


class ColumnJudge(TableJudge):
    """Judges runs together, and counts them."""

    def __init__(self, contract: Contract, protocol: str | None) -> None:
        super().__init__(contract, protocol)
        self._table = Table(self.steps)

    def judge_all(self, labelled: Labelled, stream: BinaryIO) -> None:
        """Judge runs and write their verdicts."""
        codes, columns = labelled.codes, self._columns_of(labelled.messages)
        if not np.array_equal(columns, np.arange(len(columns))):  # mostly each label has the column of its number
            codes = columns[codes]
        starts, lengths = labelled.starts, labelled.lengths
        rows: Numbers | None = None
        if len(codes) and codes.min() < 0:  # rows that the contract does not look at are left out
            kept = codes >= 0
            before = np.concatenate([[0], np.cumsum(kept)])
            starts, lengths = before[starts], before[starts + lengths] - before[starts]
            rows = np.flatnonzero(kept)
            codes = codes[rows]
        stepped = step_all(self._table, codes, starts, lengths)
        self._count(labelled)
        self.tally.events += int(lengths.sum())
        self.tally.refused += int(stepped.refused.sum())
        bad = np.flatnonzero(stepped.first >= 0)
        index = np.full(len(starts), -1, np.int64)
        first = stepped.first[bad]
        index[bad] = first if rows is None else rows[starts[bad] + first] - labelled.starts[bad]
        self._tell(labelled.keys, stepped, lengths, index, stream)

    def finish(self) -> Tally:
        """Add what was exercised, which the table tells."""
        table, steps = self._table, self.steps
        for place in np.flatnonzero(table.counts).tolist():
            row, column = divmod(place, table.width)
            count_place(self.tally, steps, row, column, int(table.counts[place]))
        return self.tally

    def _columns_of(self, messages: Sequence[Message]) -> Small:
        """The column of each label; -1 for what the contract does not look at.

        In bytes if they suffice: the fewer memory is read, the faster it is.
        """
        found = np.full(len(messages), -1, np.int32)
        for number, message in enumerate(messages):
            found[number] = self.column_of(self.projection.event(message, skim=True), message.kind, message.name)
        return found.astype(np.int8) if len(self.steps.words) < 128 else found

    def _count(self, labelled: Labelled) -> None:
        """Count calls, and what the contract does not look at."""
        self.tally.messages += len(labelled.codes)
        for message, times in zip(labelled.messages, _times_of(labelled), strict=True):
            outcome, event, _, _ = self.projection.event(message, skim=True)
            if message.kind == "call":
                self.tally.calls += times
            if times and event is None:
                self.skip(outcome, message.kind, message.name, times)

    def _tell(self, keys: Sequence[str], stepped: Stepped, lengths: Numbers, index: Numbers, stream: BinaryIO) -> None:
        """Count statuses and violations, and write the verdicts."""
        steps = self.steps
        ended = [steps.closing(row) for row in range(len(steps.rows))]
        letters: NDArray[Any] = np.array([ord(letter_of(status)) for status, _ in ended], np.uint8)[stepped.row]
        bad = stepped.first >= 0
        letters[bad] = _VIOLATING
        for status in STATUSES:
            self.tally.statuses[status] += int(np.count_nonzero(letters == ord(letter_of(status))))
        told = np.flatnonzero(bad | (letters == _INCOMPLETE))
        position = np.where(bad, stepped.first, lengths)
        # What was refused, as one number: a place of the table, or behind all of them a row in which something is owed.
        width = self._table.width
        behind = len(steps.rows) * width
        places = stepped.first_row[told] * width + stepped.first_column[told]
        kinds = np.where(bad[told], places, behind + stepped.row[told])
        refusals: dict[int, Refused] = {}
        for kind in np.unique(kinds).tolist():
            what = steps.refusal(*divmod(kind, width)) if kind < behind else ended[kind - behind][1]
            assert what is not None  # noqa: S101 - in that row something is owed
            refusals[kind] = what
        if len(told):
            self._group(keys, told, kinds, refusals, index, position, stepped.refused, behind)
        text = letters.tobytes().decode("ascii")
        for begin in range(0, len(keys), CHUNK):
            end = min(begin + CHUNK, len(keys))
            low, high = np.searchsorted(told, [begin, end])
            mine = told[low:high]
            here, kind_of = np.unique(kinds[low:high], return_inverse=True)
            chunk = Chunk(
                run=list(keys[begin:end]),
                status=text[begin:end],
                events=lengths[begin:end].tolist(),
                line=[],
                metadata=[],
                kinds=[refusals[kind] for kind in here.tolist()],
                rows=(mine - begin).tolist(),
                kind=kind_of.tolist(),
                index=[None if number < 0 else number for number in index[mine].tolist()],
                position=position[mine].tolist(),
                refused=stepped.refused[mine].tolist(),
            )
            write_line(stream, chunk)

    def _group(
        self,
        keys: Sequence[str],
        told: Numbers,
        kinds: Numbers,
        refusals: dict[int, Refused],
        index: Numbers,
        position: Numbers,
        refused: Numbers,
        behind: int,
    ) -> None:
        """Count what was refused or owed, with the shortest example of each: of equally short ones, the first run."""
        _, kind_of, runs = np.unique(kinds, return_inverse=True, return_counts=True)
        order = np.lexsort((told, index[told], position[told], kind_of))
        shortest = told[order[np.searchsorted(kind_of[order], np.arange(len(runs)))]]
        more = np.bincount(kind_of, np.maximum(refused[told] - 1, 0)).astype(np.int64)
        told_of = zip(shortest.tolist(), sorted(refusals), runs.tolist(), more.tolist(), strict=True)
        for run, kind, number, followed in sorted(told_of):
            violated = kind < behind
            breach = Breach(refusals[kind], int(index[run]) if violated else None, int(position[run]))
            self.note("violating" if violated else "incomplete", keys[run], breach, number, followed)
