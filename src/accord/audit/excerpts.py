"""Messages of runs for people to read: those around a violation, or all of a run.

Judging reads as little of a run as the contract needs. What is shown is read again, from the file, for the few runs
that are shown. Text is cut, and nothing of it is made safe here: that is for whoever knows where it goes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from accord.audit.worker import is_parquet
from accord.calls.replay import Replay
from accord.monitor.verdicts import Violation
from accord.projection.projection import projection_of
from accord.sources.labelled import PARQUET, read_parquet
from accord.sources.model import Run
from accord.sources.registry import read_runs, reader_named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from accord.audit.model import Breach
    from accord.audit.worker import Job

__all__ = ["Line", "around", "find_runs", "lines_of"]

_BEFORE, _BEHIND = 3, 1


class Line(NamedTuple):
    """A message: its number in the run, who or what, the label it got, what it says, and whether it was refused."""

    number: int
    kind: str
    name: str | None
    label: str | None
    text: str
    refused: bool = False


def find_runs(job: Job, path: str, keys: Collection[str]) -> Iterator[Run]:
    """The runs of a file that have these keys."""
    wanted = set(keys)
    reader = None if job.source is None else reader_named(job.source)
    if is_parquet(job, path):
        reader = replace(PARQUET, read=lambda stream, file: read_parquet(stream, file, keys))
    for run in read_runs(path, reader, job.limits):
        if isinstance(run, Run) and run.key in wanted:
            yield run
            wanted.discard(run.key)
            if not wanted:
                return


def lines_of(job: Job, run: Run, breach: Breach | None, *, most: int = 400, longest: int = 2_000) -> list[Line]:
    """The messages of a run; of a very long one, those around its first violation."""
    lines = _lines(job, run, breach, longest)
    if len(lines) <= most:
        return lines
    at = next((number for number, line in enumerate(lines) if line.refused), len(lines))
    begin = max(0, min(at - most // 2, len(lines) - most))
    return lines[begin : begin + most]


def around(job: Job, run: Run, breach: Breach, longest: int = 300) -> list[Line]:
    """The messages around a violation, or the last ones of a run that ended too early."""
    lines = _lines(job, run, breach, longest)
    at = next((number for number, line in enumerate(lines) if line.refused), len(lines))
    return lines[max(0, at - _BEFORE) : at + _BEHIND + 1]


def _lines(job: Job, run: Run, breach: Breach | None, longest: int) -> list[Line]:
    """All messages; the refused one is the first that is judged so, which need not be the first of its message."""
    projection = projection_of(job.contract, job.protocol)
    refused = None if breach is None or breach.index is None else _first_refused(job, run)
    found = []
    for message in run.messages:
        event = projection.event(message, skim=True).event
        word = None if event is None else f"{event.direction}{event.label}"
        text = message.text
        if len(text) > longest:
            text = text[:longest] + "…"
        found.append(Line(message.index, message.kind, message.name, word, text, message is refused))
    return found


def _first_refused(job: Job, run: Run) -> object:
    judged = Replay(job.contract, job.protocol).follow(run.messages)
    return next((one.happened for one in judged if isinstance(one.verdict, Violation)), None)
