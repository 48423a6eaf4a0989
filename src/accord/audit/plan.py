"""Which files an audit is about, in the order in which its reports tell of them."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from accord.errors import UsageError
from accord.sources.files import STDIN, files_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["FileTask", "Plan", "make_plan"]


class FileTask(NamedTuple):
    """A file: its place in the plan, where it is, what it is called in reports, and its size."""

    number: int
    path: str
    name: str
    size: int


class Plan(NamedTuple):
    """All files, and a copy of standard input, if that is one of them."""

    files: tuple[FileTask, ...]
    spooled: Path | None = None

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(task.size for task in self.files)

    def forget(self) -> None:
        """Remove the copy of standard input."""
        if self.spooled is not None:
            with suppress(OSError):
                self.spooled.unlink()


def make_plan(paths: Iterable[str]) -> Plan:
    """The files that paths, folders and patterns mean; `-` is standard input, which is copied to be read twice.

    Raises `UsageError` for what is not there.
    """
    tasks = []
    spooled = None
    for number, path in enumerate(files_of(paths)):
        where = path
        if path == STDIN:
            spooled = _spool()
            where = str(spooled)
        tasks.append(FileTask(number, where, path, _size(where)))
    if not tasks:
        raise UsageError("no files of runs: name files, folders or patterns, or `-` for standard input")
    return Plan(tuple(tasks), spooled)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - as given
    except OSError:
        return 0  # whoever reads it says why it cannot be read


def _spool() -> Path:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise UsageError("standard input cannot be read here")
    descriptor, name = tempfile.mkstemp(prefix="accord-", suffix=".runs")
    with open(descriptor, "wb") as kept:  # noqa: PTH123 - a descriptor
        shutil.copyfileobj(stream, kept)
    return Path(name)
