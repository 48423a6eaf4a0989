"""Times as people type them while they step: `30`, `12.5`, `+24h` from now, or nothing for the same moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.language.durations import DurationError, parse_duration
from accord.machine.extent import Extent
from accord.monitor.explain_time import due_text
from accord.monitor.wording import time_text
from accord.stepping.happenings import read_time
from accord.stepping.outcome import next_due

if TYPE_CHECKING:
    from accord.machine.clocks import Time
    from accord.monitor.step import Situation

__all__ = ["clock_text", "moment_hints", "now_of", "read_moment"]


def now_of(situation: Situation) -> Time | None:
    """What time it is in a session; `None` if it was not told yet."""
    return situation.holding.now if isinstance(situation.holding, Extent) else None


def read_moment(text: str, now: Time | None) -> Time:
    """The time that is meant. Raises `ValueError` that says what is wrong with it."""
    if not text:
        return 0 if now is None else now
    if not text.startswith("+"):
        return read_time(text)
    try:
        return (now or 0) + parse_duration(text[1:].strip()) / 1000
    except DurationError as error:
        raise ValueError(f"{error}; {error.help}") from None


def moment_hints(situation: Situation) -> tuple[str, ...]:
    """What is worth knowing before a time is typed."""
    now, due = now_of(situation), next_due(situation)
    hints = ["seconds; nothing was told yet" if now is None else f"seconds; it is {time_text(now)}"]
    if due is not None:
        hints.append(f"next due: {due_text(due, now or 0)}")
    return tuple(hints)


def clock_text(situation: Situation) -> str:
    """What time it is and what is due next, in a line; empty if the contract does not use time."""
    if not situation.stage.stages.is_timed:
        return ""
    now, due = now_of(situation), next_due(situation)
    if now is None:
        return "not told yet; it begins with the first event"
    return time_text(now) + (f", next due: {due_text(due, now)}" if due is not None else ", nothing is due")
