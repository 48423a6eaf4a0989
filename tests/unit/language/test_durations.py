"""Durations: what is one, and how one is written."""

import random

import pytest

from accord.language.durations import LONGEST, UNITS, DurationError, parse_duration, print_duration


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1ms", 1),
        ("500ms", 500),
        ("1s", 1_000),
        ("007s", 7_000),
        ("90s", 90_000),
        ("15m", 900_000),
        ("24h", 86_400_000),
        ("7d", 604_800_000),
        ("100000d", LONGEST),
        (f"{LONGEST}ms", LONGEST),
    ],
)
def test_a_duration_is_read(text, milliseconds):
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "says", "helps"),
    [
        ("", "no duration", "whole number"),
        ("s", "no duration", "whole number"),
        ("5", "has no unit", "write `5s`"),
        ("0s", "zero", "1ms"),
        ("000ms", "zero", "1ms"),
        ("5S", "`S` is no unit", "did you mean `5s`?"),
        ("5min", "`min` is no unit", "did you mean `5m`?"),
        ("5hours", "`hours` is no unit", "did you mean `5h`?"),
        ("5msec", "`msec` is no unit", "did you mean `5ms`?"),
        ("5parsec", "`parsec` is no unit", "the units are `ms`"),
        ("5µs", "`µs` is no unit", "the units are `ms`"),
        ("1h30m", "several units", "`90m`"),
        ("5_000ms", "no duration", "whole number"),
        ("٣s", "no duration", "whole number"),
        ("5s\n", "no duration", "whole number"),
        (" 5s", "no duration", "whole number"),
        ("-5s", "no duration", "whole number"),
        ("1.5h", "no duration", "whole number"),
        ("100001d", "too long", "100000 days"),
        (f"{LONGEST + 1}ms", "too long", "100000 days"),
        ("9" * 5000 + "s", "too long", "100000 days"),
    ],
)
def test_what_is_no_duration_says_why(text, says, helps):
    with pytest.raises(DurationError) as caught:
        parse_duration(text)
    assert says in str(caught.value)
    assert helps in caught.value.help


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (1, "1ms"),
        (1_500, "1500ms"),
        (1_000, "1s"),
        (60_000, "1m"),
        (90_000, "90s"),
        (5_400_000, "90m"),
        (86_400_000, "24h"),
        (3 * 86_400_000, "72h"),
        (4 * 86_400_000, "4d"),
        (LONGEST, "100000d"),
    ],
)
def test_a_duration_is_written_in_one_way(milliseconds, text):
    assert print_duration(milliseconds) == text


def test_writing_and_reading_undo_each_other():
    make = random.Random(1)
    for _ in range(2_000):
        milliseconds = min(LONGEST, make.choice(list(UNITS.values())) * make.randint(1, 200))
        assert parse_duration(print_duration(milliseconds)) == milliseconds
        milliseconds = make.randint(1, LONGEST)
        assert parse_duration(print_duration(milliseconds)) == milliseconds
