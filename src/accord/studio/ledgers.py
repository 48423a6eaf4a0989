"""Ledgers in files: whether each is whole and unchanged, and what stands in it.

Only those that the studio was opened on, by their place in the list. A file is verified each time somebody looks, since
it may have grown; one that is too large for that is left to `accord verify`.
"""

from __future__ import annotations

import json
from collections import deque
from typing import TYPE_CHECKING

from accord.diagnostics.visible import visible
from accord.errors import UsageError
from accord.ledger.chain import verify
from accord.ledger.reading import bounded_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["Ledgers", "shown_entry"]

_ENTRIES_SHOWN = 200
_LARGEST = 64_000_000


class Ledgers:
    """Files that are ledgers, and the key that they were written with, if they were written with one."""

    def __init__(self, paths: tuple[Path, ...] = (), key: bytes | None = None) -> None:
        self.paths = paths
        self._key = key

    def listed(self) -> list[dict[str, object]]:
        """Each with its number and how it stands."""
        return [self._verified(number, path)[0] for number, path in enumerate(self.paths)]

    def one(self, number: int) -> dict[str, object]:
        """How one stands, and the last of its entries."""
        if not 0 <= number < len(self.paths):
            raise UsageError(f"there is no ledger {number}; the studio was opened on {len(self.paths)}")
        told, last = self._verified(number, self.paths[number])
        entries = told["entries"]
        assert isinstance(entries, int)  # noqa: S101 - for the type checker
        shown = [shown_entry(json.loads(line)["entry"]) for line in last]
        return {**told, "shown": shown, "before": max(entries - len(shown), 0)}

    def _verified(self, number: int, path: Path) -> tuple[dict[str, object], list[bytes]]:
        told: dict[str, object] = {"number": number, "name": visible(str(path)), "entries": 0}
        told |= {"ok": False, "read": False}
        try:
            if not path.is_file():
                return {**told, "finding": "it is no ordinary file"}, []
            if path.stat().st_size > _LARGEST:
                large = f"it is larger than {_LARGEST // 1_000_000} MB; `accord verify` takes its time"
                return {**told, "finding": large}, []
            with path.open("rb") as file:
                last: deque[tuple[int, bytes]] = deque(maxlen=_ENTRIES_SHOWN + 1)
                result = verify(_kept(bounded_lines(file), last), key=self._key)
        except OSError as error:
            return {**told, "finding": f"cannot read it: {error.strerror or error}"}, []
        finding = None if result.finding is None else visible(str(result.finding))
        sound = [line for number, line in last if number < result.entries]  # what follows a bad one says nothing
        told |= {"ok": result.ok, "read": True, "entries": result.entries}
        told |= {"head": visible(str(result.head)), "finding": finding}
        return told, sound[-_ENTRIES_SHOWN:]


def _kept(lines: Iterable[bytes], last: deque[tuple[int, bytes]]) -> Iterator[bytes]:
    for numbered in enumerate(lines):
        last.append(numbered)
        yield numbered[1]


def shown_entry(entry: dict[str, object]) -> dict[str, object]:
    """An entry of a ledger: what happened, what was answered, when, and all of it as text."""
    at = entry.get("at")
    return {
        "word": visible(str(entry.get("event") or entry.get("what") or entry.get("act"))),
        "verdict": str(entry.get("verdict") or ""),
        "at": None if at is None else visible(str(at)),
        "text": json.dumps(entry, indent=2),  # in ASCII: nothing in it can be mistaken
    }
