"""Results of files, kept by what they are results of.

A result is written beside its place and moved there when it is whole, so a result that is there is whole, whoever was
killed when. Nothing in here is needed: what is missing or damaged is worked out again.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from accord.audit.results import is_whole
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Cache", "default_folder"]

_MOST_BYTES = 4_000_000_000


def default_folder() -> Path:
    """Where results are kept if nobody says otherwise."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "accord" / "audit"


class Cache:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot keep results in {folder}: {error.strerror or error}") from None

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
        """The names of all results."""
        return frozenset(path.parent.name + path.stem for path in self.folder.glob("??/*.jsonl"))

    @contextmanager
    def writing(self, key: str) -> Iterator[BinaryIO]:
        """A stream to write a result to; it is there when the block is left without an error."""
        path = self.path(key)
        path.parent.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
        try:
            with open(descriptor, "w+b") as stream:  # noqa: PTH123 - a descriptor
                yield stream
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise

    def tidy(self, most: int = _MOST_BYTES) -> None:
        """Forget what was used least recently, until the rest fits; and what killed workers left behind."""
        found = []
        for path in self.folder.glob("??/*"):
            with suppress(OSError):
                facts = path.stat()
                found.append((facts.st_mtime, facts.st_size, path))
        room = most
        for _, size, path in sorted(found, reverse=True):
            room -= size
            if room < 0:
                with suppress(OSError):
                    path.unlink()
