"""Which files an audit is about, in the order in which its reports tell of them."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from accord.errors import UsageError
from accord.sources.files import STDIN, files_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

__all__ = ["FileTask", "Plan", "make_plan"]


class FileTask(NamedTuple):
    """A file: its place in the plan, where it is, what it is called in reports, and its size."""

    number: int
    path: str
    name: str
    size: int


class Plan(NamedTuple):
    """All files, and copies of those that can be read only once: standard input and other pipes."""

    files: tuple[FileTask, ...]
    spooled: tuple[Path, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(task.size for task in self.files)

    def forget(self) -> None:
        """Remove the copies."""
        for path in self.spooled:
            with suppress(OSError):
                path.unlink()


def make_plan(paths: Iterable[str]) -> Plan:
    """The files that paths, folders and patterns mean; `-` is standard input. A file with several names is one file.

    Files are read more than once, so pipes are copied first.

    Raises `UsageError` for what is not there.
    """
    tasks: list[FileTask] = []
    spooled: list[Path] = []
    names = _Names()
    files = files_of(paths)
    if not files:
        raise UsageError("no files of runs: name files, folders or patterns, or `-` for standard input")
    try:
        for path in files:
            facts = _facts(path)
            if facts is not None and stat.S_ISREG(facts.st_mode):
                if not names.is_new(path, facts):
                    continue
                tasks.append(FileTask(len(tasks), path, path, facts.st_size))
            elif path == STDIN or (facts is not None and not stat.S_ISDIR(facts.st_mode)):
                _spool(path, spooled)
                where = str(spooled[-1])
                tasks.append(FileTask(len(tasks), where, path, spooled[-1].stat().st_size))
            else:
                tasks.append(FileTask(len(tasks), path, path, 0))  # whoever reads it says why it cannot be read
    except BaseException:
        Plan((), tuple(spooled)).forget()
        raise
    return Plan(tuple(tasks), tuple(spooled))


class _Names:
    """The places that paths lead to. A file that is linked stands in several; where a path leads is asked only then."""

    def __init__(self) -> None:
        self._first: dict[tuple[int, int], str] = {}
        self._places: set[str] = set()

    def is_new(self, path: str, facts: os.stat_result) -> bool:
        """Whether no path before has led there."""
        first = self._first.setdefault((facts.st_dev, facts.st_ino), path)
        if first == path:
            return True
        self._places.add(os.path.realpath(first))
        place = os.path.realpath(path)
        if place in self._places:
            return False
        self._places.add(place)
        return True


def _facts(path: str) -> os.stat_result | None:
    try:
        return None if path == STDIN else os.stat(path)  # noqa: PTH116 - as given
    except OSError:
        return None


def _spool(path: str, spooled: list[Path]) -> None:
    """Copy a pipe to a file, which is in the list before anything can fail."""
    descriptor, name = tempfile.mkstemp(prefix="accord-", suffix=".runs")
    spooled.append(Path(name))
    try:
        with open(descriptor, "wb") as kept, _opened(path) as stream:  # noqa: PTH123 - a descriptor
            shutil.copyfileobj(stream, kept)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None


def _opened(path: str) -> AbstractContextManager[BinaryIO]:
    if path != STDIN:
        return Path(path).open("rb")
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise UsageError("standard input cannot be read here")
    return nullcontext(stream)
