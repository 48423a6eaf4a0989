"""An audit from files to a result: plan, work, merge.

Work leaves one result for each file in the cache; merging reads them in the order of the plan, one chunk at a time. So
what a report says does not depend on who did the work or in which order, an audit that was stopped has the results of
the files that were finished, and one that is started again goes on from there.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from accord.audit.cache import Cache
from accord.audit.local import cores, run_local
from accord.audit.plan import make_plan
from accord.audit.results import Chunk, read_result, read_tally, verdicts_of
from accord.audit.tally import Tally, add_to, of_file
from accord.audit.worker import Job
from accord.choreography.compiling import load_contract
from accord.errors import UsageError
from accord.limits import DEFAULT_LIMITS, Limits
from accord.sources.model import Broken
from accord.sources.registry import reader_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from accord.audit.local import Done
    from accord.audit.model import Verdict
    from accord.audit.plan import FileTask, Plan
    from accord.machine.contract import Contract

__all__ = ["ENGINES", "Audit", "Engine", "audit"]

Engine: TypeAlias = Literal["local", "ray", "spark"]
ENGINES: tuple[Engine, ...] = ("local", "ray", "spark")


@dataclass(slots=True)
class Audit:
    """An audit that is finished, or was stopped: `unfinished` files are then missing from everything it says."""

    job: Job
    plan: Plan
    cache: Cache
    engine: Engine
    jobs: int
    done: dict[int, Done] = field(default_factory=dict)
    seconds: float = 0.0
    tally: Tally = field(default_factory=Tally)
    folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def unfinished(self) -> int:
        """How many files were not judged because the audit was stopped."""
        return len(self.plan.files) - len(self.done)

    @property
    def run_info(self) -> dict[str, Any]:
        """What may differ between two audits of the same runs."""
        cached = sum(done.cached for done in self.done.values())
        return {
            "engine": self.engine,
            "jobs": self.jobs,
            "seconds": round(self.seconds, 3),
            "files_from_cache": cached,
            "bytes": self.plan.size,
        }

    def verdicts(self) -> Iterator[Verdict]:
        """All verdicts, in the order of the plan."""
        for chunk, file in self.chunks():
            yield from verdicts_of(chunk, file)

    def chunks(self) -> Iterator[tuple[Chunk, str]]:
        """The same in columns, each with the name of its file."""
        for task in self.plan.files:
            done = self.done.get(task.number)
            if done is not None and done.key is not None:
                try:
                    for line in read_result(self.cache.path(done.key)):
                        if isinstance(line, Chunk):
                            yield line, task.name
                except OSError as error:
                    raise self._gone(task, error) from None

    def merge(self) -> None:
        """Sum up what was finished."""
        self.tally = Tally()
        for task in self.plan.files:
            done = self.done.get(task.number)
            if done is None:
                continue
            if done.key is None:
                broken = Broken(task.name, None, done.error or "it cannot be read")
                add_to(self.tally, Tally(files=1, broken=1, first_broken=[broken]))
                continue
            try:
                tally = read_tally(self.cache.path(done.key))
            except OSError as error:
                raise self._gone(task, error) from None
            add_to(self.tally, of_file(tally, task.name))

    def _gone(self, task: FileTask, error: OSError) -> UsageError:
        return UsageError(f"the result of {task.name} has gone from {self.cache.folder}: {error.strerror or error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget what was kept for this audit alone; what it says is gone with it."""
        self.plan.forget()
        if self.folder is not None:
            self.folder.cleanup()
        else:
            self.cache.tidy()


def audit(  # noqa: PLR0913 - each is a choice of its own
    contract: Contract | Path,
    paths: Iterable[str],
    *,
    protocol: str | None = None,
    source: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    cache: Path | None = None,
    engine: Engine = "local",
    address: str | None = None,
    jobs: int | None = None,
    watch: Callable[[Plan], Callable[[Done], None]] | None = None,
) -> Audit:
    """Judge all runs of files against a contract.

    `paths` are files, folders, patterns or `-`; `source` says what format they have, if their content does not. With a
    `cache` folder, results are kept there and used again; without one they are gone when the audit is closed. `jobs` is
    the number of processes of the engine `local`, `address` the cluster of the others (without one, they start their
    own on this machine). `watch` is told the plan and returns what is to be told of each finished file.

    `KeyboardInterrupt` ends the work and not the audit: the result is that of the files that were finished.

    Raises `UsageError` for files, formats and protocols that do not exist.
    """
    if isinstance(contract, Path):
        contract = load_contract(contract, limits=limits)
    if jobs is not None and jobs < 1:
        raise UsageError(f"`jobs` is the number of processes, 1 or more, got {jobs}")
    if source is not None:
        reader_named(source)
    job = Job(contract, contract.protocol_name(protocol), source, limits)
    plan = make_plan(paths)
    folder = tempfile.TemporaryDirectory(prefix="accord-audit-") if cache is None else None
    kept = Cache(Path(folder.name) if folder is not None else cache or Path())
    found = Audit(job, plan, kept, engine, jobs or cores(), folder=folder)
    tell: Callable[[Done], None] | None = None

    def begun() -> None:
        nonlocal tell
        tell = watch(plan) if watch is not None else None

    def told(done: Done) -> None:
        found.done[done.number] = done
        if tell is not None:
            tell(done)

    begin = perf_counter()
    try:
        with suppress(KeyboardInterrupt):
            _work(found, begun, told, address)
        found.seconds = perf_counter() - begin
        found.merge()
    except BaseException:
        found.close()
        raise
    return found


def _work(found: Audit, begun: Callable[[], None], told: Callable[[Done], None], address: str | None) -> None:
    job, tasks, cache = found.job, found.plan.files, found.cache
    identity = None if found.folder is not None else job.identity()
    if found.engine == "local":
        if address is not None:
            raise UsageError("an address is for the engines `ray` and `spark`")
        run_local(job, identity, tasks, cache, found.jobs, begun, told)
        return
    begun()
    if found.engine == "ray":
        from accord.audit.ray import run_ray  # noqa: PLC0415 - the extra `ray`

        run_ray(job, identity, tasks, cache, address, told)
    elif found.engine == "spark":
        from accord.audit.spark import run_spark  # noqa: PLC0415 - the extra `spark`

        run_spark(job, identity, tasks, cache, address, told)
    else:
        raise UsageError(f"an engine is one of {', '.join(f'`{name}`' for name in ENGINES)}, got {found.engine!r}")
