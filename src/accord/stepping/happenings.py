"""What can be told to a session: an event, that time passes, that it is closed; and what comes of it.

Times are seconds on whatever clock the contract's deadlines are counted by.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from accord.diagnostics.visible import clip
from accord.errors import UsageError
from accord.machine.events import Event
from accord.monitor.events import make_time
from accord.monitor.step import close, step, tick
from accord.monitor.verdicts import CLOSING, TICKING

if TYPE_CHECKING:
    from accord.machine.clocks import Time
    from accord.monitor.step import Mode, Situation
    from accord.monitor.verdicts import Verdict

__all__ = ["Close", "Happening", "Tick", "Told", "check_time", "happen", "read_time", "uses_time"]


class Close(NamedTuple):
    """The session is closed: nothing more will come."""

    at: Time | None = None

    @property
    def word(self) -> str:
        """As it is written among events."""
        return CLOSING


class Tick(NamedTuple):
    """Time passes and nothing happens."""

    at: Time | None = None

    @property
    def word(self) -> str:
        """As it is written among events."""
        return TICKING


Happening: TypeAlias = Event | Close | Tick


class Told(NamedTuple):
    """Something that is said to have happened, and where that was said."""

    event: Happening
    where: str


_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z", re.ASCII)
_LONGEST_NUMBER = 40


def read_time(text: str) -> Time:
    """A time. Raises `ValueError` that says what is wrong with it."""
    match = _NUMBER.match(text)
    if match is None or len(text) > _LONGEST_NUMBER:
        raise ValueError(f"`{clip(text, 40)}` is no time; a time is a number of seconds, such as `12.5`")
    try:
        time = make_time(float(text) if match[1] or match[2] else int(text))
    except UsageError:
        time = None
    if time is None:
        raise ValueError(f"`{clip(text, 40)}` is no time that a clock can show")
    return time


def uses_time(situation: Situation) -> bool:
    """Whether a session has to be told the time."""
    return situation.stage.stages.is_timed


def check_time(situation: Situation, happening: Happening) -> None:
    """Raise `UsageError` if the contract uses time and nobody said when this happens."""
    if happening.at is None and uses_time(situation):
        word = clip(happening.word, 40)
        raise UsageError(
            f'the contract uses time, so everything says when it happens: `@12.5 {word}`, or "at": 12.5 in a JSON line'
        )


def happen(situation: Situation, happening: Happening, mode: Mode, position: int) -> tuple[Situation, Verdict]:
    """A session after what happened, and the verdict on it."""
    check_time(situation, happening)
    if isinstance(happening, Close):
        return close(situation, position, happening.at)
    if isinstance(happening, Tick):
        return tick(situation, mode, position, happening.at)
    return step(situation, happening, mode, position)
