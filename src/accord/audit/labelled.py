"""Labelled columns judged all at once: a file with a column of runs and a column of labels, and a contract that labels
alone decide.

The contract's own labeller says what each label means; it is asked once per label. The rest is arithmetic over arrays
(`columns`). Only what is told of runs, their keys and first violations, is made run by run, and that in columns too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from accord.audit.columns import step_all
from accord.audit.judging import count_place
from accord.audit.model import Breach
from accord.audit.results import CHUNK, Chunk, letter_of, write_line
from accord.audit.steps import Word
from accord.audit.tally import Group, count, note
from accord.machine.events import Event

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

    from numpy.typing import NDArray

    from accord.audit.columns import Numbers, Small, Stepped
    from accord.audit.judging import TableJudge
    from accord.audit.model import Refused
    from accord.sources.model import Message

__all__ = ["Labelled", "judge_labelled"]

_VIOLATING, _INCOMPLETE = ord(letter_of("violating")), ord(letter_of("incomplete"))


@dataclass(frozen=True, slots=True)
class Labelled:
    """The rows of a file in runs: those of run `r` are `codes[starts[r] : starts[r] + lengths[r]]`."""

    keys: Sequence[str]
    starts: Numbers
    lengths: Numbers
    codes: Small
    """For each row which of `messages` it is."""
    messages: Sequence[Message]


def judge_labelled(judge: TableJudge, labelled: Labelled, stream: BinaryIO) -> None:
    """Judge all runs, count them, and write their verdicts."""
    codes = _columns(judge, labelled)[labelled.codes]
    starts, lengths = labelled.starts, labelled.lengths
    kept = codes >= 0
    rows: Numbers | None = None
    if not kept.all():  # rows that the contract does not look at are left out
        before = np.concatenate([[0], np.cumsum(kept)])
        starts, lengths = before[starts], before[starts + lengths] - before[starts]
        rows = np.flatnonzero(kept)
        codes = codes[rows]
    stepped = step_all(judge.steps, codes, starts, lengths)
    _count(judge, labelled, stepped)
    judge.tally.events += int(lengths.sum())
    bad = np.flatnonzero(stepped.first >= 0)
    index = np.full(len(starts), -1, np.int64)
    first = stepped.first[bad]
    index[bad] = first if rows is None else rows[starts[bad] + first] - labelled.starts[bad]
    _tell(judge, labelled.keys, stepped, lengths, index, stream)


def _columns(judge: TableJudge, labelled: Labelled) -> Small:
    """The column of each label; -1 for what the contract does not look at."""
    found = np.full(len(labelled.messages), -1, np.int32)
    for number, message in enumerate(labelled.messages):
        label = judge.label(message)
        if label is None and message.kind == "call" and judge.refuses_unknown:
            found[number] = judge.steps.column(Word(Event("!", message.name or ""), known=False))
        elif label is not None and label.label is not None:
            by = label.by if judge.gated else None
            found[number] = judge.steps.column(Word(Event(label.direction, label.label, by=by)))
    return found


def _count(judge: TableJudge, labelled: Labelled, stepped: Stepped) -> None:
    tally, steps = judge.tally, judge.steps
    times_of = np.bincount(labelled.codes, minlength=len(labelled.messages))
    for number in np.flatnonzero(times_of).tolist():
        message, times = labelled.messages[number], int(times_of[number])
        label = judge.label(message)
        if message.kind == "call":
            tally.calls += times
        if label is None:
            judge.skip(message, times)
        elif label.label is None:
            tally.ignored += times
    tally.messages += len(labelled.codes)
    tally.refused += int(stepped.refused.sum())
    for place in np.flatnonzero(stepped.counts).tolist():
        row, column = divmod(place, stepped.width)
        times = int(stepped.counts[place])
        count_place(tally, steps, row, column, times)
        if steps.rows[row][column] & 1:
            count(tally.blocked, steps.words[column].event.word, times)


def _tell(
    judge: TableJudge, keys: Sequence[str], stepped: Stepped, lengths: Numbers, index: Numbers, stream: BinaryIO
) -> None:
    """Count statuses and violations, and write the verdicts."""
    steps, tally = judge.steps, judge.tally
    ended = [steps.closing(row) for row in range(len(steps.rows))]
    letters: NDArray[Any] = np.array([ord(letter_of(status)) for status, _ in ended], np.uint8)[stepped.row]
    bad = stepped.first >= 0
    letters[bad] = _VIOLATING
    for status, _ in dict.fromkeys([*ended, ("violating", None)]):
        tally.statuses[status] = int(np.count_nonzero(letters == ord(letter_of(status))))
    told = np.flatnonzero(bad | (letters == _INCOMPLETE))
    position = np.where(bad, stepped.first, lengths)
    # What was refused, as one number: a place of the table, or behind all of them a row in which something is owed.
    behind = len(steps.rows) * stepped.width
    places = stepped.first_row[told].astype(np.int64) * stepped.width + stepped.first_column[told]
    kinds = np.where(bad[told], places, behind + stepped.row[told])
    refusals: dict[int, Refused] = {}
    for kind in np.unique(kinds).tolist():
        what = steps.refusal(*divmod(kind, stepped.width)) if kind < behind else ended[kind - behind][1]
        assert what is not None  # noqa: S101 - in that row something is owed
        refusals[kind] = what
    _group(judge, keys, told, kinds, refusals, index, position, behind)
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
    judge: TableJudge,
    keys: Sequence[str],
    told: Numbers,
    kinds: Numbers,
    refusals: dict[int, Refused],
    index: Numbers,
    position: Numbers,
    behind: int,
) -> None:
    """Count what was refused or owed, with the shortest example of each: of equally short ones, the first run."""
    if not len(told):
        return
    _, kind_of, runs = np.unique(kinds, return_inverse=True, return_counts=True)
    order = np.lexsort((told, index[told], position[told], kind_of))
    shortest = told[order[np.searchsorted(kind_of[order], np.arange(len(runs)))]]
    violations: dict[tuple[str, str], Group] = {}
    owed: dict[tuple[str, str], Group] = {}
    numbered = zip(shortest.tolist(), sorted(refusals), runs.tolist(), strict=True)
    for run, kind, number in sorted(numbered):
        violated = kind < behind
        breach = Breach(refusals[kind], int(index[run]) if violated else None, int(position[run]))
        into, known = (judge.tally.violations, violations) if violated else (judge.tally.owed, owed)
        note(into, known, keys[run], breach, number)
