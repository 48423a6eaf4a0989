"""tau-bench: an array of `{task_id, trial, reward, traj, info}` with messages of the chat API.

A task is tried several times, so the key of a run is `task/trial`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import msgspec

from accord.sources.chat import ChatMessage, chat_messages
from accord.sources.metadata import scalars
from accord.sources.model import Broken, Run
from accord.sources.reader import Reader
from accord.sources.records import Keys, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.sources.sketch import Sketch

__all__ = ["TAU"]


class _TauRun(msgspec.Struct, gc=False):
    traj: list[ChatMessage]
    task_id: str | int | None = None
    trial: str | int | None = None
    reward: float | None = None


_RUNS = Shape(_TauRun)


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    keys = Keys()
    for record in _RUNS.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        run = record.value
        key = keys.unique(f"{record.place if run.task_id is None else run.task_id}/{run.trial or 0}")
        metadata = scalars({"task": run.task_id, "trial": run.trial, "reward": run.reward})
        yield Run(key, file, chat_messages(run.traj), record.line, metadata)


def _recognises(sketch: Sketch) -> bool:
    return "traj" in sketch.keys and "reward" in sketch.keys


TAU = Reader("tau-bench", 1, _recognises, _read)
