"""The contracts that the studio was opened on. The page names them by their place in the list, never by a path."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from accord.diagnostics.visible import visible
from accord.errors import UsageError
from accord.machine.contract import read_source
from accord.replacing import replace_file

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
        """Each file with its number."""
        return [{"number": number, "name": visible(str(path))} for number, path in enumerate(self.paths)]

    def path(self, number: int) -> Path:
        """The file of that number."""
        if not 0 <= number < len(self.paths):
            raise UsageError(f"there is no file {number}; the studio was opened on {len(self.paths)}")
        return self.paths[number]

    def text(self, number: int) -> str:
        """What it holds now, all of it."""
        path = self.path(number)
        if path.exists() and not path.is_file():  # reading a pipe would wait for whoever writes into it
            raise UsageError(f"cannot read {path}: it is no ordinary file")
        text = read_source(path, self.limits).text
        self._fits(text, str(path))
        return text

    def save(self, number: int, text: str, before: str) -> None:
        """Give it a new text, if it still holds the one that was edited."""
        path = self.path(number)
        if not self.writable:
            raise UsageError("the studio only reads; start it with `--write` to save")
        if self.folder is not None and not path.resolve().is_relative_to(self.folder.resolve()):
            raise UsageError(f"{path} leads out of the folder {self.folder}; open the studio on {path} itself to save")
        self._fits(text, "the text")
        with self._saving:
            if self.text(number) != before:
                raise UsageError(f"{path} was changed by somebody else in the meantime; nothing was saved")
            replace_file(path, text, before)

    def _fits(self, text: str, what: str) -> None:
        if len(text) > self.limits.source_characters:
            most = f"{self.limits.source_characters:,}"
            raise UsageError(f"{what} has more than {most} characters, which is too long for the studio")
