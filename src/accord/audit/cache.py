"""Results of files, kept by what they are results of.

A result is written beside its place and moved there when it is whole, so a result that is there is whole, whoever was
killed when. Nothing in here is needed: what is missing or damaged is worked out again.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, BinaryIO

from accord.audit.results import is_whole
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Cache", "CannotKeepError", "Writing", "default_folder"]

_MOST_BYTES = 4_000_000_000
_UNFINISHED = ".part"
_LONGEST_WRITING = 86_400
"""Seconds after which nobody writes to what is not finished."""


def default_folder() -> Path:
    """Where results are kept if nobody says otherwise."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "accord" / "audit"


class CannotKeepError(UsageError):
    """Results cannot be written: the disk is full, or the folder is somebody else's."""


@dataclass(slots=True)
class Writing:
    """A result that is being written; its name may change until it is done."""

    key: str
    stream: BinaryIO


class Cache:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._refused(error) from None

    def path(self, key: str) -> Path:
        """Where the result of that name is, or would be."""
        return self.folder / key[:2] / f"{key[2:]}.jsonl"

    def has(self, key: str) -> bool:
        """Whether there is a whole result of that name; it counts as used."""
        path = self.path(key)
        if not is_whole(path):
            return False
        with suppress(OSError):
            os.utime(path)
        return True

    def keys(self) -> frozenset[str]:
        """The names of all whole results."""
        return frozenset(path.parent.name + path.stem for path in self.folder.glob("??/*.jsonl") if is_whole(path))

    @contextmanager
    def writing(self, key: str) -> Iterator[Writing]:
        """A result to be written; it is there when the block is left without an error.

        Raises `CannotKeepError`, also for what writing to the stream raises.
        """
        folder = self.path(key).parent
        try:
            folder.mkdir(exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=folder, prefix=".", suffix=_UNFINISHED)
        except OSError as error:
            raise self._refused(error) from None
        try:
            with open(descriptor, "w+b") as stream:  # noqa: PTH123 - a descriptor
                writing = Writing(key, stream)
                yield writing
            path = self.path(writing.key)
            path.parent.mkdir(exist_ok=True)
            Path(name).replace(path)
        except BaseException as error:
            with suppress(OSError):
                Path(name).unlink()
            if isinstance(error, OSError):
                raise self._refused(error) from None
            raise

    def _refused(self, error: OSError) -> CannotKeepError:
        return CannotKeepError(f"cannot keep results in {self.folder}: {error.strerror or error}")

    def tidy(self, most: int = _MOST_BYTES) -> None:
        """Forget what was used least recently, until the rest fits; and what killed workers left behind."""
        found = []
        abandoned = time() - _LONGEST_WRITING
        for path in self.folder.glob("??/*"):
            with suppress(OSError):
                facts = path.stat()
                if path.suffix == _UNFINISHED and facts.st_mtime < abandoned:
                    path.unlink()
                    continue
                found.append((facts.st_mtime, facts.st_size, path))
        room = most
        for _, size, path in sorted(found, reverse=True):
            room -= size
            if room < 0:
                with suppress(OSError):
                    path.unlink()
