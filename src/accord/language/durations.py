"""Durations: a whole number and its unit, `500ms`, `90s`, `30m`, `24h`, `7d`.

They are kept as whole milliseconds, so that two ways to write one duration are one duration and nothing is ever
rounded.
"""

from __future__ import annotations

import re

__all__ = ["LONGEST", "UNITS", "DurationError", "parse_duration", "print_duration"]

UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
"""Milliseconds in each unit."""

_DAYS = 100_000
LONGEST = _DAYS * UNITS["d"]
"""Milliseconds of the longest duration a contract can speak of."""

_DURATION = re.compile(r"([0-9]+)([^\W\d_]*)\Z")
_SEVERAL = re.compile(r"(?:[0-9]+(?:ms|s|m|h|d)){2,}\Z")
_UNITS_ARE = "the units are `ms`, `s`, `m`, `h` and `d`"

# The words people write for units.
_MEANT = {
    **dict.fromkeys(("milli", "millis", "msec", "msecs", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
}


class DurationError(ValueError):
    """The text is no duration; `help` says what to write instead."""

    def __init__(self, message: str, help_: str) -> None:
        super().__init__(message)
        self.help = help_


def unit_meant(word: str) -> str | None:
    """The unit a word stands for, or may have been meant to."""
    small = word.casefold()
    return small if small in UNITS else _MEANT.get(small)


def parse_duration(text: str) -> int:
    """The milliseconds of a duration.

    Raises `DurationError` that says what is wrong with it.

    Example:
        >>> parse_duration("90s"), parse_duration("24h")
        (90000, 86400000)
    """
    if _SEVERAL.match(text):
        raise DurationError(f"`{text}` has several units", "write one number and one unit: `90m` for `1h30m`")
    match = _DURATION.match(text)
    if match is None:
        raise DurationError(
            f"`{text}` is no duration", f"a duration is a whole number and its unit: `24h`; {_UNITS_ARE}"
        )
    digits, unit = match.groups()
    number = digits.lstrip("0")
    if not unit:
        raise DurationError(f"the duration `{text}` has no unit", f"write `{text}s` for seconds; {_UNITS_ARE}")
    if unit not in UNITS:
        meant = unit_meant(unit)
        raise DurationError(f"`{unit}` is no unit of time", f"did you mean `{digits}{meant}`?" if meant else _UNITS_ARE)
    if not number:
        raise DurationError("the duration is zero", "a deadline leaves some time: write at least `1ms`")
    if len(number) > len(str(LONGEST)) or int(number) * UNITS[unit] > LONGEST:
        raise DurationError("the duration is too long", f"it is at most {_DAYS} days")
    return int(number) * UNITS[unit]


def print_duration(milliseconds: int) -> str:
    """A duration in the largest unit in which it is whole; up to three days in hours, as people say them.

    Example:
        >>> print_duration(90_000), print_duration(86_400_000), print_duration(604_800_000)
        ('90s', '24h', '7d')
    """
    day = UNITS["d"]
    largest_first = [unit for unit in reversed(UNITS) if unit != "d" or milliseconds > 3 * day]
    unit = next(unit for unit in largest_first if milliseconds % UNITS[unit] == 0)
    return f"{milliseconds // UNITS[unit]}{unit}"
