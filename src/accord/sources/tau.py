"""tau-bench: an array of `{task_id, trial, reward, traj, info}` with messages of the chat API.

The array may stand beside what was made of it, as `{metrics, results: […]}`. A task is tried several times, so the key
of a run is `task/trial`.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Generic, TypeAlias, TypeVar, cast

import msgspec

from accord.sources.chat import ChatMessage, QuickMessage, SkimmedMessage, chat_messages
from accord.sources.model import Broken, Run
from accord.sources.reader import Reader
from accord.sources.records import Keys, Record, Shape
from accord.sources.roles import UnknownRoleError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.canonical import Json
    from accord.sources.sketch import Sketch

__all__ = ["TAU"]


M = TypeVar("M")

_NOTHING = msgspec.Raw(b"null")


class _TauRun(msgspec.Struct, Generic[M], gc=False):
    """A run, as nearly all are: decoded in one go, without a call of ours."""

    traj: list[M]
    results: ClassVar[msgspec.Raw] = _NOTHING
    task_id: str | int | None = None
    trial: str | int | None = None
    reward: float | None = None


class _RunOrFile(msgspec.Struct, gc=False):
    """A run with messages of other roles, or the whole of a file, which has `results` and no `traj`."""

    traj: list[ChatMessage] | None = None
    results: msgspec.Raw = _NOTHING
    task_id: str | int | None = None
    trial: str | int | None = None
    reward: float | None = None

    def __post_init__(self) -> None:
        if self.traj is None and not bytes(self.results).startswith(b"["):
            raise ValueError("Object missing required field `traj`")


def _kind(kind: object) -> type[_RunOrFile]:
    """The type checker takes one with its parameter for a value, and what is read of both is the same."""
    return cast("type[_RunOrFile]", kind)


_Runs: TypeAlias = Shape[_RunOrFile]
_RUNS: _Runs = Shape(_kind(_TauRun[QuickMessage]), _RunOrFile)
_SKIMMED: _Runs = Shape(_kind(_TauRun[SkimmedMessage]), _RunOrFile)


def _read(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    return _runs(_RUNS, stream, file)


def _skim(stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    return _runs(_SKIMMED, stream, file)


def _runs(shape: _Runs, stream: BinaryIO, file: str) -> Iterator[Run | Broken]:
    keys = Keys()
    for record in _unwrapped(shape, stream, file):
        if isinstance(record, Broken):
            yield record
            continue
        run = record.value
        key = keys.unique(f"{record.place if run.task_id is None else run.task_id}/{run.trial or 0}")
        told: dict[str, Json] = {"task": run.task_id, "trial": run.trial, "reward": run.reward}
        metadata: dict[str, Json] = {name: value for name, value in told.items() if value is not None}
        try:
            yield Run(key, file, chat_messages(run.traj or []), record.line, metadata)
        except UnknownRoleError as error:
            yield Broken(file, record.line, f"run {key}: {error}")


def _unwrapped(shape: _Runs, stream: BinaryIO, file: str) -> Iterator[Record[_RunOrFile] | Broken]:
    for record in shape.records(stream, file):
        if isinstance(record, Broken) or record.value.traj is not None:
            yield record
            continue
        for inner in shape.records(io.BytesIO(bytes(record.value.results)), file):
            # Lines within it are no lines of the file.
            if isinstance(inner, Broken):
                yield Broken(file, record.line, inner.reason)
            elif inner.value.traj is None:
                yield Broken(file, record.line, f"record {inner.place}: results within results")
            else:
                yield inner._replace(line=record.line)


def _recognises(sketch: Sketch) -> bool:
    return "traj" in sketch.keys and "reward" in sketch.keys


TAU = Reader("tau-bench", 3, _recognises, _read, _skim)
