"""Where drivers put files: one folder for each process, in memory where the machine has such a place.

A pair writes files and opens a store; making and removing folders for each would take longer than what is tested.
"""

from __future__ import annotations

import atexit
import tempfile
from functools import cache
from itertools import count
from pathlib import Path

from accord import SQLiteStore

__all__ = ["fresh_key", "room", "sqlite"]

_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of one's own is made in it
_numbers = count()


@cache
def room() -> Path:
    """The folder of this process."""
    folder = tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None)
    atexit.register(folder.cleanup)
    return Path(folder.name)


@cache
def sqlite() -> SQLiteStore:
    """One store for all sessions, as programs have it."""
    store = SQLiteStore(room() / "sessions.db")
    atexit.register(store.close)
    return store


def fresh_key() -> str:
    """The key of a session that is not in the store."""
    return f"s{next(_numbers)}"
