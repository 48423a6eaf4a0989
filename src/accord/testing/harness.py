"""What the conformance suite needs to know of a kind of store: how to open it, and how to do it harm.

What a kind of store has no way to do raises `NotImplementedError`; the tests that need it are skipped and say so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from accord.stores import Row, Store

__all__ = ["StoreHarness"]


class StoreHarness(ABC):
    """One empty store of the kind under test; each test gets a new one.

    `address` is what `opener`, a function written `module:name`, makes the same store of in another process, or `None`
    if processes cannot share it.
    """

    address: str | None = None
    opener: str = "accord.stores:open_store"

    @abstractmethod
    def open(self, *, secret: bytes | None = None, patient: bool = True) -> Store:
        """Open the store once more, on the same data; one that is not patient gives up within a second."""

    def put_row(self, key: str, row: Row | None) -> None:
        """Overwrite what is kept of a session, or remove it, past the store."""
        raise NotImplementedError

    def put_line(self, key: str, number: int, line: bytes | None) -> None:
        """Overwrite a line of a ledger, or remove it, past the store."""
        raise NotImplementedError

    def set_schema(self, version: int) -> None:
        """Make it look as if that version of the schema was there."""
        raise NotImplementedError

    def unreachable(self) -> AbstractContextManager[None]:
        """While inside, the store cannot be reached or does not answer."""
        raise NotImplementedError

    def full(self, store: Store) -> AbstractContextManager[None]:
        """While inside, that open store runs out of room soon."""
        raise NotImplementedError

    def restart(self) -> None:
        """Let whatever holds the data crash and start again."""
        raise NotImplementedError

    def change_row(self, store: Store, key: str, change: Callable[[Row], Row]) -> None:
        """Change what is kept of a session, past the store."""
        row = store.row(key)
        assert row is not None
        self.put_row(key, change(row))
