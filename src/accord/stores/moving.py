"""A session under another key: the record that names it, and the entry of its ledger that says so.

The lines of a ledger are hashed as they are, so those that are there stay, with the name that the session had then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from accord.errors import CorruptSessionError
from accord.ledger.chain import BadEntryError, Walk
from accord.ledger.entries import note_fields
from accord.ledger.linking import link
from accord.stores.record import write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.stores.record import Record, Row

__all__ = ["readdressed"]


def readdressed(record: Record, lines: Sequence[bytes], key: str, secret: bytes | None) -> tuple[Row, bytes]:
    """The row under another key, and one more line for its ledger; `CorruptSessionError` if that is not whole."""
    walking = Walk(secret)
    try:
        for line in lines:
            walking.take(line)
    except BadEntryError as error:
        raise CorruptSessionError(f"the ledger of session `{record.key}` is bad: {error.finding}") from None
    if (walking.count, walking.last) != (record.version + 1, record.head):
        said = "it has not the end that the session's record names"
        raise CorruptSessionError(f"the ledger of session `{record.key}` is bad: {said}")
    note = note_fields(key, record.contract, record.protocol, "session moved", {"from": record.key})
    line, head = link(note, walking.count, walking.last, secret)
    return write(replace(record, key=key, version=walking.count, head=head), secret), line
