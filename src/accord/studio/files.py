"""The contracts that the studio was opened on. The page names them by their place in the list, never by a path."""

from __future__ import annotations

import os
import stat
import threading
from typing import TYPE_CHECKING

from accord.diagnostics.visible import visible
from accord.errors import UsageError
from accord.machine.contract import read_source
from accord.replacing import ChangedFileError, create_file, replace_file
from accord.studio.endings import with_endings
from accord.studio.requests import ConflictError

if TYPE_CHECKING:
    from pathlib import Path

    from accord.limits import Limits

__all__ = ["Files"]


class Files:
    """Contracts on disk, and the folder that they were found in, if they were."""

    def __init__(
        self, paths: tuple[Path, ...], limits: Limits, folder: Path | None = None, *, writable: bool = False
    ) -> None:
        self.paths = paths
        self.limits = limits
        self.folder = folder
        self.writable = writable
        self._saving = threading.Lock()

    def listed(self) -> list[dict[str, object]]:
        """All files."""
        return [self.one(number) for number in range(len(self.paths))]

    def one(self, number: int) -> dict[str, object]:
        """A file: its number, its name, and where it is, by which a page knows it again."""
        path = self.path(number)
        return {"number": number, "name": visible(str(path)), "path": visible(str(path.absolute()))}

    def path(self, number: int) -> Path:
        """The file of that number."""
        if not 0 <= number < len(self.paths):
            raise UsageError(f"there is no file {number}; the studio was opened on {len(self.paths)}")
        return self.paths[number]

    def text(self, number: int) -> str:
        """What it holds now, all of it."""
        path = self.path(number)
        try:
            if not stat.S_ISREG(path.stat().st_mode):  # reading a pipe would wait for whoever writes into it
                raise UsageError(f"cannot read {path}: it is no ordinary file")
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
        text = read_source(path, self.limits).text
        self._fits(text, str(path))
        return text

    def save(self, number: int, text: str, before: str | None) -> str:
        """Give it a new text, if it still holds the one that was edited; without one, if it is not there.

        What the file holds then is given back: its ends of lines are those that it had. Raises `ConflictError`.
        """
        path = self.path(number)
        if not self.writable:
            raise UsageError("the studio only reads; start it with `--write` to save")
        if self.folder is not None and not path.resolve().is_relative_to(self.folder.resolve()):
            raise UsageError(f"{path} leads out of the folder {self.folder}; open the studio on {path} itself to save")
        self._fits(text, "the text")
        new = text if before is None else with_endings(text, before)
        with self._saving:
            try:
                if before is None:
                    create_file(path, new)
                elif self._now(number) == before:
                    replace_file(path, new, before)
                else:
                    raise self._conflict(number)
            except ChangedFileError:
                raise self._conflict(number) from None
        return new

    def _now(self, number: int) -> str | None:
        return self.text(number) if os.path.lexists(self.path(number)) else None

    def _conflict(self, number: int) -> ConflictError:
        path, theirs = self.path(number), self._now(number)
        what = "is not there any more" if theirs is None else "was changed by somebody else in the meantime"
        return ConflictError(f"{path} {what}; nothing was saved", theirs)

    def _fits(self, text: str, what: str) -> None:
        if len(text) > self.limits.source_characters:
            most = f"{self.limits.source_characters:,}"
            raise UsageError(f"{what} has more than {most} characters, which is too long for the studio")
