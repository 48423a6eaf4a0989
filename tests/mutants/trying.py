"""One mistake is planted in a copy of the source, and the nearest tests run against it in a process of their own.

The tree is never touched: tests come from it, accord from the copy, which stands first on the path. A process that
does not end is ended, with all that it has started, and counts as having found the mistake.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import cache_from_source
from pathlib import Path
from typing import Self

from tests.mutants.parts import ROOT, SOURCE
from tests.mutants.text import Module

SECONDS = 90  # for the tests nearest to one mistake
LAST_SECONDS = 400  # for those that are asked last
STARTING = 45  # and for starting Python on a busy machine


STOPPED = threading.Event()
"""Set by Ctrl-C: nothing more is run, and of what is running nothing is believed."""


@dataclass(frozen=True)
class Verdict:
    """What became of a mistake: `found` or `hung` by a test; `survived`, after so many tests; `unreached` by any."""

    verdict: str
    by: str = ""
    ran: int = 0

    @property
    def is_found(self) -> bool:
        return self.verdict in {"found", "hung"}

    def written(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Copy:
    """A copy of `src`, and what a process needs to use it."""

    place: Path

    @property
    def source(self) -> Path:
        return self.place / "src" / "accord"

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.place / "src"), str(ROOT)])
        return {"PYTHONPATH": path, "HYPOTHESIS_STORAGE_DIRECTORY": str(self.place / "hypothesis")}

    @property
    def options(self) -> list[str]:
        return ["-p", "no:cacheprovider", "--basetemp", str(self.place / "tmp")]

    def write(self, path: str, text: bytes) -> None:
        """Give a file a text; what Python has compiled from the one before is gone."""
        target = self.source / path
        target.write_bytes(text)
        Path(cache_from_source(str(target))).unlink(missing_ok=True)


class Copies:
    """Some copies of the source, each used by one process at a time; gone when the block is left."""

    def __init__(self, place: Path, many: int) -> None:
        self.place = place / str(os.getpid())
        self._free: queue.Queue[Copy] = queue.Queue()
        self._many = many

    def __enter__(self) -> Self:
        for number in range(self._many):
            copy = Copy(self.place / str(number))
            shutil.copytree(SOURCE, copy.source, ignore=shutil.ignore_patterns("__pycache__"))
            self._free.put(copy)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.place, ignore_errors=True)

    @contextlib.contextmanager
    def one(self) -> Iterator[Copy]:
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)


def tried(copies: Copies, module: Module, edits: tuple, tests: dict[str, float], last: Sequence[str] = ()) -> Verdict:
    """What the tests make of a mistake; `last` are asked if they do not find it."""
    verdict = Verdict("unreached")
    with copies.one() as copy:
        copy.write(module.path, module.planted(edits))
        try:
            if tests:
                verdict = _asked(copy, tests, SECONDS)
            more = {test: float(LAST_SECONDS) for test in last if test not in tests}
            if more and not verdict.is_found:
                more_said = _asked(copy, more, LAST_SECONDS)
                verdict = replace(more_said, ran=verdict.ran + more_said.ran)
            return verdict
        finally:
            copy.write(module.path, module.text)


def _asked(copy: Copy, tests: dict[str, float], seconds: float) -> Verdict:
    asked, answer = copy.place / "asked.json", copy.place / "answer.json"
    asked.write_text(json.dumps({"tests": tests, "seconds": seconds}))
    answer.unlink(missing_ok=True)
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    environment = {"ACCORD_MUTANTS_ASKED": str(asked), "ACCORD_MUTANTS_ANSWER": str(answer)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.choosing", *copy.options, *files]
    ran = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **copy.environment, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    if ended(ran, seconds + STARTING) is None:
        return Verdict("hung", "the process")
    if not answer.exists():
        return Verdict("found", "starting pytest")
    return Verdict(**json.loads(answer.read_text()))


def ended(ran: subprocess.Popen, seconds: float) -> str | None:
    """What a process has said when it is over; `None` if it had to be ended. All it has started is ended too."""
    until = time.monotonic() + seconds
    try:
        while not STOPPED.is_set():
            with contextlib.suppress(subprocess.TimeoutExpired):
                said, _ = ran.communicate(timeout=1)
                return said.decode(errors="replace")
            if time.monotonic() > until:
                return None
        raise InterruptedError
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(ran.pid, signal.SIGKILL)
        ran.wait()
        if ran.stdout is not None:
            ran.stdout.close()
