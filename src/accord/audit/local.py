"""The engine of one machine: a process per core, which write results where they are kept.

Files are handed out in batches, the largest first, so that no core is left with a large one at the end and many small
ones do not cost a message each. Ctrl-C ends the workers; what they had finished is kept, and is the partial result.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import secrets
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

from accord.audit.cache import Cache, CannotKeepError
from accord.audit.worker import judge_file, result_key
from accord.errors import InternalError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from accord.audit.plan import FileTask
    from accord.audit.worker import Job

__all__ = ["Done", "batches", "cores", "key_of", "key_of_nothing", "run_here", "run_local", "stamp", "unpacked"]

_BATCH_BYTES = 1 << 22
_BATCH_FILES = 64
_SMALL = 1 << 23
"""Bytes that are judged before another process would have started."""


class Done(NamedTuple):
    """A file that is finished, by its number in the plan: the name of its result, or why there is none."""

    number: int
    key: str | None
    cached: bool = False
    error: str | None = None


def cores() -> int:
    """How many processes can work at the same time here."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def batches(tasks: Sequence[FileTask], jobs: int) -> list[list[FileTask]]:
    """Files that go out together, the largest first; some for each of the workers, if there are enough."""
    most = min(_BATCH_BYTES, sum(task.size for task in tasks) // (4 * jobs))
    found: list[list[FileTask]] = []
    room = files = 0
    for task in sorted(tasks, key=lambda task: (-task.size, task.number)):
        if room < task.size or not files:
            found.append([])
            room, files = most, _BATCH_FILES
        found[-1].append(task)
        room -= task.size
        files -= 1
    return found


def key_of(identity: str | None, task: FileTask) -> str:
    """The name of a file's result; where nothing is kept for another time, its number will do."""
    return f"{task.number:064x}" if identity is None else result_key(identity, task.path)


def run_here(job: Job, identity: str | None, tasks: Sequence[FileTask], kept: Cache) -> Iterator[Done]:
    """Judge files in this process, one after the other."""
    for task in tasks:
        try:
            yield _judged(job, identity, task, kept)
        except CannotKeepError:
            raise  # nor can those of other files
        except UsageError as error:
            yield Done(task.number, None, error=str(error))
        except Exception as error:  # noqa: BLE001 - one file must not take all others with it
            yield Done(task.number, None, error=f"accord failed inside ({error!r})")


def _judged(job: Job, identity: str | None, task: FileTask, kept: Cache) -> Done:
    before = stamp(task.path)
    key = key_of(identity, task)
    if identity is not None and kept.has(key):
        return Done(task.number, key, cached=True)
    with kept.writing(key) as writing:
        judge_file(job, task.path, writing.stream)
        if identity is not None and stamp(task.path) != before:
            writing.key = key_of_nothing()
    return Done(task.number, writing.key)


def stamp(path: str) -> tuple[int, ...] | None:
    """What is different when a file has been written to; nothing if it is not there."""
    try:
        facts = os.stat(path)  # noqa: PTH116 - as given
    except (OSError, ValueError):
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def key_of_nothing() -> str:
    """A name for the result of a file that changes while it is read: good for this audit, and never found again."""
    return secrets.token_hex(32)


def ignore_interrupts() -> None:
    """Leave Ctrl-C to whoever started this process, and ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@cache
def unpacked(job: bytes) -> Job:
    """A job from its pickle; a process compiles its contract once."""
    return cast("Job", pickle.loads(job))  # noqa: S301 - made by whoever started this process


def _work(job: bytes, identity: str | None, folder: Path, tasks: list[FileTask]) -> list[Done]:
    return list(run_here(unpacked(job), identity, tasks, Cache(folder)))


def _may_fork() -> bool:
    """Whether this process has no threads, as far as can be told. To fork is quicker than to begin anew."""
    return (
        sys.platform == "linux"
        and threading.active_count() == 1
        and not {"pyarrow", "ray", "pyspark"} & set(sys.modules)
    )


def run_local(
    job: Job,
    identity: str | None,
    tasks: Sequence[FileTask],
    kept: Cache,
    jobs: int,
    begun: Callable[[], None],
    told: Callable[[Done], None],
) -> None:
    """Judge files in as many processes as there are jobs.

    `begun` is called when they work, and `told` for each file that is finished. Whoever wants threads for that has them
    made then.
    """
    groups = batches(tasks, jobs)
    if jobs == 1 or len(groups) == 1 or sum(task.size for task in tasks) < _SMALL:
        begun()
        for done in run_here(job, identity, tasks, kept):
            told(done)
        return
    context = multiprocessing.get_context("fork" if _may_fork() else "spawn")
    packed = pickle.dumps(job)
    pool = ProcessPoolExecutor(min(jobs, len(groups)), context, ignore_interrupts)
    left = len(groups)
    try:
        futures = [pool.submit(_work, packed, identity, kept.folder, group) for group in groups]
        begun()
        for future in as_completed(futures):
            for done in future.result():
                told(done)
            left -= 1
    except BrokenProcessPool:
        raise InternalError("a worker process died; if the system killed it, there was too little memory") from None
    finally:
        # Nothing else ends a worker that is in the middle of a file.
        processes = list((pool._processes or {}).values())  # noqa: SLF001
        pool.shutdown(wait=False, cancel_futures=True)
        if left:
            for process in processes:
                process.terminate()
        pool.shutdown(wait=True)
