"""What the studio does not go beyond, however it is asked.

The page is for looking, so its limits are far below those of a monitor. What exceeds them is an answer that says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from accord.limits import Limits

__all__ = ["DEFAULT_BOUNDS", "Bounds"]


_LIMITS = Limits(
    source_characters=200_000,
    nesting=4_000,
    states=20_000,
    configurations=2_000,
    remembered_standings=20_000,
    set_members=20_000,
    instances=20_000,
    decompressed_bytes=64_000_000,
    search=5_000,
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much one request may bring, and how long it may take."""

    body_bytes: int = 8_000_000
    """Bytes of a request."""
    upload_bytes: int = 64_000_000
    """Bytes of a file of recorded runs."""
    uploads_bytes: int = 256_000_000
    """Bytes of all such files that are kept at the same time."""
    seconds: float = 10.0
    """How long a request may take to arrive, to be taken up, and to be worked on, each."""
    memory_bytes: int = 2_000_000_000
    """Memory of a process that works on requests."""
    events: int = 20_000
    """Events of one walk."""
    shown_states: int = 80
    """States that are drawn of a machine, unless more are asked for."""
    shown_turns: int = 200
    """Turns of a walk that are told in full."""
    at_once: int = 4
    """Requests that are worked on at the same time; others wait."""
    limits: Limits = _LIMITS
    """For contracts and sessions."""


DEFAULT_BOUNDS = Bounds()
