"""tau-bench: an array of `{task_id, trial, reward, traj, info}` with messages of the chat API.

A task is tried several times, so the key of a run is `task/trial`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Generic, TypeAlias, TypeVar, cast

import msgspec

from accord.sources.chat import ChatMessage, QuickMessage, SkimmedMessage, chat_messages
from accord.sources.model import Broken, Run
from accord.sources.reader import Reader
from accord.sources.records import Keys, Shape
from accord.sources.roles import UnknownRoleError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.canonical import Json
    from accord.sources.sketch import Sketch

__all__ = ["TAU"]


M = TypeVar("M")


class _TauRun(msgspec.Struct, Generic[M], gc=False):
    traj: list[M]
    task_id: str | int | None = None
    trial: str | int | None = None
    reward: float | None = None


def _kind(kind: object) -> type[_TauRun[object]]:
    """The type checker takes one with its parameter for a value."""
    return cast("type[_TauRun[object]]", kind)


_Runs: TypeAlias = "Shape[_TauRun[object]]"
_RUNS: _Runs = Shape(_kind(_TauRun[QuickMessage]), _kind(_TauRun[ChatMessage]))
_SKIMMED: _Runs = Shape(_kind(_TauRun[SkimmedMessage]), _kind(_TauRun[ChatMessage]))


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    return _runs(_RUNS, stream, file, outputs=True)


def _skim(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    return _runs(_SKIMMED, stream, file, outputs=False)


def _runs(shape: _Runs, stream: BinaryIO, file: str, *, outputs: bool) -> Iterator[Run | Broken]:
    keys = Keys()
    for record in shape.records(stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        run = record.value
        key = keys.unique(f"{record.place if run.task_id is None else run.task_id}/{run.trial or 0}")
        told: dict[str, Json] = {"task": run.task_id, "trial": run.trial, "reward": run.reward}
        metadata: dict[str, Json] = {name: value for name, value in told.items() if value is not None}
        try:
            yield Run(key, file, chat_messages(run.traj, outputs=outputs), record.line, metadata)
        except UnknownRoleError as error:
            yield Broken(file, record.line, f"run {key}: {error}")


def _recognises(sketch: Sketch) -> bool:
    return "traj" in sketch.keys and "reward" in sketch.keys


TAU = Reader("tau-bench", 2, _recognises, _read, _skim)
