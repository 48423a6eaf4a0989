"""One file of recorded runs, judged: the same function whoever runs it, here, in another process or on another machine.

The result depends on nothing but the job, the bytes of the file and its name without the folder, so it is known by
their digest (`result_key`) and need never be worked out twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from accord.audit.judging import StepJudge, TableJudge, is_for_columns, is_for_table
from accord.audit.results import FORMAT, Chunks, seal, write_line
from accord.audit.steps import TooManyRowsError
from accord.canonical import digest
from accord.errors import UsageError
from accord.limits import DEFAULT_LIMITS, Limits
from accord.projection.projection import projection_of
from accord.sources.labelled import PARQUET
from accord.sources.mapping_files import is_mapping_file
from accord.sources.model import Broken
from accord.sources.registry import READERS, read_runs, reader_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.audit.judging import Judge
    from accord.audit.model import Verdict
    from accord.canonical import Json
    from accord.machine.contract import Contract
    from accord.sources.model import Run

__all__ = ["Job", "is_parquet", "judge_file", "result_key"]

Watch: TypeAlias = Callable[[int], None]

_PIECE = 1 << 18
_PARQUET = b"PAR1"


@dataclass(frozen=True, slots=True)
class Job:
    """What all files are held to, and how they are read."""

    contract: Contract
    protocol: str | None = None
    source: str | None = None
    """The format of all files; without it, each file's content tells."""
    limits: Limits = DEFAULT_LIMITS

    def identity(self) -> str:
        """The digest of everything in a job that decides what a file's result is."""
        readers: list[Json] = [[reader.name, reader.version] for reader in READERS]
        limits: list[Json] = [[name, getattr(self.limits, name)] for name in Limits.__slots__]
        contract = self.contract
        bounds: list[Json] = [[name, getattr(contract.limits, name)] for name in Limits.__slots__]
        mapping = None
        if self.source is not None and is_mapping_file(self.source):
            mapping = hashlib.sha256(Path(self.source).read_bytes()).hexdigest()
        return digest([FORMAT, contract.to_json(), bounds, self.protocol, self.source, mapping, limits, readers])


def _unwatched(_judged: int) -> None:
    pass


def result_key(identity: str, path: str) -> str:
    """The name of a file's result. Raises `UsageError` if the file cannot be read."""
    known = hashlib.sha256(identity.encode())
    known.update(PurePath(path).name.encode("utf-8", "surrogatepass") + b"\0")
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as given, which may be no path that can be split
            # One buffer that stays in the processor's cache: new ones would cost a fifth of the hashing.
            piece = memoryview(bytearray(_PIECE))
            while size := file.readinto(piece):
                known.update(piece[:size])
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    return known.hexdigest()


def judge_file(job: Job, path: str, stream: BinaryIO, watch: Watch = _unwatched) -> None:
    """Judge all runs of a file and write its result.

    `watch` is told before each run how many were judged before it; of runs that are judged together it is not told.

    Raises `UsageError` if the file cannot be opened.
    """
    for attempt in (_judge_in_columns, _judge_by_table, _judge_by_steps):
        stream.seek(0)
        stream.truncate()
        if attempt(job, path, stream, watch):
            break
    seal(stream)


def _judge_in_columns(job: Job, path: str, stream: BinaryIO, _: Watch = _unwatched) -> bool:
    """Many runs at a time. False if the file or the contract is not like that, or numpy or pyarrow is not there."""
    if not is_for_columns(job.contract) or not is_parquet(job, path):
        return False
    try:
        from accord.audit.labelled import judge_columns  # noqa: PLC0415 - the extra `audit`
    except ImportError:
        return False
    return judge_columns(job.contract, job.protocol, path, stream)


def _judge_by_table(job: Job, path: str, stream: BinaryIO, watch: Watch = _unwatched) -> bool:
    """Run by run, by look-ups. False if the contract is not like that, or runs stand in too many places."""
    if not is_for_table(job.contract):
        return False
    try:
        runs = _runs(job, path, outputs=projection_of(job.contract, job.protocol).reads_outputs)
        _judge_all(TableJudge(job.contract, job.protocol), runs, stream, watch)
    except TooManyRowsError:
        return False
    return True


def _judge_by_steps(job: Job, path: str, stream: BinaryIO, watch: Watch = _unwatched) -> bool:
    """Run by run, by the steps of the monitor."""
    _judge_all(StepJudge(job.contract, job.protocol), _runs(job, path), stream, watch)
    return True


def is_parquet(job: Job, path: str) -> bool:
    """Whether a file is read as Parquet, and can be read in any order."""
    if job.source not in {None, PARQUET.name}:
        return False
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as given
            return file.read(len(_PARQUET)) == _PARQUET
    except (OSError, ValueError):
        return False  # which whoever reads it says


def _judge_one(judge: Judge, run: Run) -> Verdict | Broken:
    try:
        return judge.judge(run)
    except TooManyRowsError:
        raise
    except UsageError as error:
        return Broken("", run.line, f"run {run.key} cannot be judged: {error}")
    except Exception as error:  # noqa: BLE001 - one run must not take a million others with it
        return Broken("", run.line, f"run {run.key} cannot be judged: accord failed inside ({error!r})")


def _runs(job: Job, path: str, *, outputs: bool = True) -> Iterator[Run | Broken]:
    reader = None if job.source is None else reader_named(job.source)
    return read_runs(path, reader, job.limits, outputs=outputs)


def _judge_all(judge: Judge, runs: Iterator[Run | Broken], stream: BinaryIO, watch: Watch) -> None:
    chunks = Chunks(stream)
    for judged, run in enumerate(runs):
        watch(judged)
        verdict = run if isinstance(run, Broken) else _judge_one(judge, run)
        if isinstance(verdict, Broken):
            judge.add_broken(Broken("", verdict.line, verdict.reason))
        else:
            chunks.add(verdict)
    chunks.flush()
    write_line(stream, judge.finish())
