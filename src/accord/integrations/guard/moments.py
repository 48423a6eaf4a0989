"""Points in time as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from accord.machine.clocks import print_time

if TYPE_CHECKING:
    from accord.machine.clocks import Time

__all__ = ["moment_text"]

# What no clock of the world shows for a session of today is a clock of somebody's own, and stays a number.
_EARLIEST_DATE, _LATEST_DATE = 100_000_000, 100_000_000_000


def moment_text(time: Time) -> str:
    """A time as a date, if it is one of the time of day.

    Example:
        >>> moment_text(1_772_442_000), moment_text(60)
        ('2026-03-02T09:00:00Z', '60')
    """
    if _EARLIEST_DATE <= time < _LATEST_DATE:
        return datetime.fromtimestamp(int(time), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return print_time(time)
