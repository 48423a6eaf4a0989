"""What stands in a payload in place of something of which only the digest counts.

INVARIANT: a mark is left alone by everything that changes payloads, so that doing it twice is doing it once.
"""

from __future__ import annotations

from accord.ledger.represent import MARK

__all__ = ["is_mark", "make_mark"]

_HASHED = "hashed"
_HEX = frozenset("0123456789abcdef")


def make_mark(digest: str) -> dict[str, str]:
    """The mark of what has that SHA-256 digest."""
    return {MARK: _HASHED, "sha256": digest}


def is_mark(value: object) -> bool:
    """Whether a value is such a mark."""
    if not isinstance(value, dict) or len(value) != 2 or value.get(MARK) != _HASHED:
        return False
    digest = value.get("sha256")
    return isinstance(digest, str) and len(digest) == 64 and _HEX.issuperset(digest)
