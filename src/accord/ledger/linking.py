"""Making the next line of a chain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from accord.canonical import encode
from accord.errors import UsageError
from accord.ledger.entries import LONGEST, frame, read_entry, seal

if TYPE_CHECKING:
    from accord.canonical import Json

__all__ = ["link"]

# Made once, while the module is imported: making it is not safe when several threads do it at the same time.
_ENCODER = msgspec.json.Encoder(order="deterministic")


def link(fields: dict[str, Json], seq: int, last: str, key: bytes | None) -> tuple[bytes, str]:
    """The line that holds these fields as entry `seq` behind the one with the hash `last`, and its own hash.

    Raises `UsageError` if it would not verify: that is not written.
    """
    body = _canonical({**fields, "seq": seq, "prev": last})
    sealed = seal(body, key)
    line = frame(body, sealed)
    if len(line) > LONGEST:
        raise UsageError(f"this cannot be recorded: it is longer than {LONGEST:,} bytes")
    return line, sealed


def _canonical(fields: dict[str, Json]) -> bytes:
    """What msgspec writes is nearly always canonical, and reading it shows if it is not; then it is done slowly."""
    try:
        body = _ENCODER.encode(fields)
        read_entry(body)
    except (TypeError, ValueError, RecursionError, OverflowError):
        pass
    else:
        return body
    try:
        body = encode(fields)
        read_entry(body)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise UsageError(f"this cannot be recorded: {error}") from None
    return body
