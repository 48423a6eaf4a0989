"""Where the bytes of a ledger go.

A sink is a row of bytes that grows at its end. `Ledger` says where each line begins, so a sink need not know what was
acknowledged and what was not: bytes behind the place where the next line begins are what is left of a write that was
interrupted, and go. The ledger calls one method at a time.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["MemorySink", "Sink"]


class Sink(Protocol):
    """What a ledger needs of a place to write to."""

    @property
    def size(self) -> int:
        """How many bytes there are."""

    def read(self, start: int, count: int) -> bytes:
        """Bytes from `start`, at most `count` of them; none only at the end."""

    def write(self, start: int, line: bytes) -> None:
        """Make `line` the end, from `start` on; once this returns, the line is kept.

        If it cannot be kept, raise an error and leave all bytes before `start` as they are.
        """

    def close(self) -> None:
        """Nothing more will be written."""


class MemorySink:
    """A ledger in memory, for tests and for programs that keep it somewhere themselves.

    `data` may be the bytes of an earlier ledger, which is then continued.
    """

    __slots__ = ("_data",)

    def __init__(self, data: bytes = b"") -> None:
        self._data = bytearray(data)

    @property
    def data(self) -> bytes:
        """All bytes, as a file would hold them."""
        return bytes(self._data)

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return len(self._data)

    def read(self, start: int, count: int) -> bytes:
        """Bytes from `start`, at most `count` of them."""
        return bytes(self._data[start : start + count])

    def write(self, start: int, line: bytes) -> None:
        """Make `line` the end, from `start` on."""
        self._data[start:] = line

    def close(self) -> None:
        """Nothing is to be done; `data` stays."""
