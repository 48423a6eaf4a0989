"""Durations at the cursor: what stands behind `within`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Span
from accord.diagnostics.visible import clip
from accord.language.durations import UNITS, DurationError, parse_duration, unit_meant

if TYPE_CHECKING:
    from accord.language.parser.cursor import Cursor

__all__ = ["read_duration"]

_A_DURATION_IS = "a duration is a whole number and its unit: `500ms`, `30s`, `15m`, `24h`, `7d`"


def read_duration(cursor: Cursor) -> int:
    """The duration at the cursor, in milliseconds.

    What is wrong with it is reported and read past, so that the parser goes on behind it; the answer is then 1.
    """
    first = cursor.token
    if first.kind != "word" or not first.value[0].isdigit():
        negative = first.kind == "sign" and first.value == "-" and cursor.ahead(1).value[:1].isdigit()
        message = "a duration is never negative" if negative else f"expected a duration; found {cursor.shown(first)}"
        cursor.report("E018", message, first.span, help_=_A_DURATION_IS)
        cursor.at += 2 if negative else 0
        return 1
    cursor.at += 1
    point, fraction, unit = cursor.token, cursor.ahead(1), cursor.token
    if point.value == "." and point.start == first.end and fraction.start == point.end and fraction.value[:1].isdigit():
        span = Span(first.start, fraction.end)
        help_ = "take a smaller unit: `90m` for `1.5h`"
        cursor.report("E018", "a duration is a whole number", span, help_=help_)
        cursor.at += 2
        return 1
    if first.value.isdecimal() and unit.kind == "word" and unit.value.isalpha() and unit_meant(unit.value):
        span = Span(first.start, unit.end)
        help_ = f"write `{clip(first.value, 20)}{unit_meant(unit.value)}`"
        cursor.report("E018", "a number and its unit stand together", span, help_=help_)
        cursor.at += 1
        return 1
    try:
        return parse_duration(first.value)
    except DurationError as error:
        cursor.report("E018", clip(str(error), 80), first.span, help_=clip(error.help, 120))
        return UNITS["ms"]
