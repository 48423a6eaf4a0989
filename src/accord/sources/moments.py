"""When something happened, as formats write it: seconds, nanoseconds in a text, ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from math import isfinite
from typing import TypeAlias

__all__ = ["Moment", "as_seconds", "from_nanoseconds", "iso_seconds"]

Moment: TypeAlias = "float | int | str | None"

# A count of seconds beyond this is one of milli-, micro- or nanoseconds: year 5138 in seconds, 1973 in milliseconds.
_SECONDS = 1e11
_MOST_DIGITS = 25


def as_seconds(moment: Moment) -> float | None:
    """Seconds since 1970; `None` for what is no time. A text without a time zone is in UTC."""
    if isinstance(moment, str):
        try:
            when = datetime.fromisoformat(moment)
        except ValueError:
            return from_nanoseconds(moment)
        return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()
    if moment is None or isinstance(moment, bool):
        return None
    try:
        seconds = float(moment)
    except OverflowError:
        return None
    if not isfinite(seconds):
        return None
    while abs(seconds) > _SECONDS:
        seconds /= 1000
    return seconds


def from_nanoseconds(text: str) -> float | None:
    """Seconds from a count of nanoseconds in a text, which is how OTLP writes them."""
    return as_seconds(int(text)) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


_DURATION = re.compile(r"P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,12})?)S)?)?")


def iso_seconds(text: str) -> float | None:
    """Seconds from a duration such as `PT1M48.75S`."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
