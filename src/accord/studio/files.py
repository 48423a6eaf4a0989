"""The contracts that the studio was opened on. The page names them by their place in the list, never by a path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.machine.contract import read_source
from accord.replacing import replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from accord.limits import Limits

__all__ = ["Files"]


class Files:
    """Contracts on disk."""

    def __init__(self, paths: tuple[Path, ...], limits: Limits, *, writable: bool) -> None:
        self.paths = paths
        self.limits = limits
        self.writable = writable

    def listed(self) -> list[dict[str, object]]:
        """Each file with its number."""
        return [{"number": number, "name": str(path)} for number, path in enumerate(self.paths)]

    def path(self, number: int) -> Path:
        """The file of that number."""
        if not 0 <= number < len(self.paths):
            raise UsageError(f"there is no file {number}; the studio was opened on {len(self.paths)}")
        return self.paths[number]

    def text(self, number: int) -> str:
        """What it holds now."""
        return read_source(self.path(number), self.limits).text

    def save(self, number: int, text: str, before: str) -> None:
        """Give it a new text, if it still holds the one that was edited."""
        if not self.writable:
            raise UsageError("the studio only reads; start it with `--write` to save")
        if self.text(number) != before:
            raise UsageError(f"{self.path(number)} was changed by somebody else in the meantime; nothing was saved")
        replace_file(self.path(number), text)
