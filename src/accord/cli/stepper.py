"""The stepper behind `accord step`, without its terminal: where the session is, and what a typed line does to it.

A stepper is a value. Each event makes a new one with one turn more; undoing is going back to the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from accord.cli.events import Close, happen, read_word
from accord.diagnostics import did_you_mean
from accord.diagnostics.visible import clip, visible
from accord.errors import UsageError
from accord.monitor.step import Aside, Event, standing_of
from accord.monitor.verdicts import Ok

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.cli.terminal import Style
    from accord.machine.configurations import Configuration
    from accord.monitor.step import Mode, Place
    from accord.monitor.verdicts import Verdict

__all__ = ["HELP", "Answer", "Stepper", "Turn", "actions", "occupied", "respond"]

HELP = """\
1, 2, …   do the action of that number
!Ask      try any event: !label is sent, ?label is received, Role!label names the partner
close     end the session; says what is still owed
undo      take the last event back
reset     start again
help      this list
quit      leave (so does Ctrl-D)"""

_Command = Literal["close", "undo", "reset", "help", "quit"]

_COMMANDS: dict[str, _Command] = {
    "close": "close",
    "end": "close",
    "undo": "undo",
    "u": "undo",
    "reset": "reset",
    "help": "help",
    "?": "help",
    "quit": "quit",
    "exit": "quit",
    "q": "quit",
}


@dataclass(frozen=True, slots=True)
class Turn:
    """An event that was tried, the verdict on it, and where the session was afterwards."""

    word: str
    verdict: Verdict
    place: Place


@dataclass(frozen=True, slots=True)
class Stepper:
    """A session with its past."""

    start: Place
    mode: Mode
    turns: tuple[Turn, ...] = ()

    @property
    def place(self) -> Place:
        """Where the session is."""
        return self.turns[-1].place if self.turns else self.start


@dataclass(frozen=True, slots=True)
class Answer:
    """What a typed line did."""

    stepper: Stepper
    message: str = ""
    style: Style = "faint"
    leave: bool = False


def actions(place: Place) -> tuple[Event, ...]:
    """What may happen now, in the order in which it is numbered."""
    if isinstance(place, Aside) and place.phase != "puzzled":
        return ()
    symbols = sorted(standing_of(place).after, key=lambda symbol: symbol.word)
    return tuple(Event(*symbol) for symbol in symbols)


def occupied(place: Place) -> frozenset[int]:
    """The states the session is in: several where parts run side by side or where more than one reading is possible."""
    return frozenset(number for c in standing_of(place).configurations for number in _states(c))


def _states(configuration: Configuration) -> Iterator[int]:
    if len(configuration) == 1:
        yield configuration[0]
    else:
        for part in configuration[1]:
            yield from _states(part)


def respond(stepper: Stepper, line: str) -> Answer:
    """What a typed line does: a command, the number of an action, or an event."""
    text = line.strip()
    command = _COMMANDS.get(text.casefold())
    if command is not None:
        return _obey(stepper, command)
    if not text:
        return Answer(stepper)
    if text.isdecimal() and text.isascii():
        return _take_number(stepper, text)
    try:
        return _take(stepper, read_word(text))
    except ValueError:
        words = [event.word for event in actions(stepper.place)]
        meant = did_you_mean(text, [*words, *(name for name in _COMMANDS if len(name) > 1)])
        hint = f"did you mean `{clip(meant)}`?" if meant else "type `help` for what can be typed"
        return Answer(stepper, f"`{clip(text)}` is neither an event nor a command; {hint}", "warning")


def _obey(stepper: Stepper, command: _Command) -> Answer:
    if command == "close":
        return _take(stepper, Close())
    if command == "reset":
        return Answer(replace(stepper, turns=()), "started again")
    if command == "undo" and stepper.turns:
        return Answer(replace(stepper, turns=stepper.turns[:-1]), f"took back {clip(stepper.turns[-1].word)}")
    if command == "undo":
        return Answer(stepper, "nothing to undo", "warning")
    return Answer(stepper, leave=True) if command == "quit" else Answer(stepper, HELP)


def _take_number(stepper: Stepper, text: str) -> Answer:
    possible = actions(stepper.place)
    # A number with more digits than there are actions is not worth being read as one.
    if len(text) > 9 or not 1 <= int(text) <= len(possible):
        return Answer(stepper, f"there is no action {clip(text)}", "warning")
    return _take(stepper, possible[int(text) - 1])


def _take(stepper: Stepper, event: Event | Close) -> Answer:
    try:
        place, verdict = happen(stepper.place, event, stepper.mode)
    except UsageError as error:
        return Answer(stepper, visible(str(error)), "warning")
    after = replace(stepper, turns=(*stepper.turns, Turn(event.word, verdict, place)))
    if isinstance(verdict, Ok):
        return Answer(after, f"{clip(event.word)} is ok", "good")
    return Answer(after, visible(verdict.explain()), "error")
