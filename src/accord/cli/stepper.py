"""The stepper behind `accord step`, without its terminal: where the session is, and what a typed line does to it.

A stepper is a value. Each event makes a new one with one turn more; undoing is going back to the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from accord.diagnostics import did_you_mean
from accord.diagnostics.visible import clip, visible
from accord.errors import UsageError
from accord.machine.events import Event
from accord.monitor.verdicts import Ok
from accord.stepping.events import read_one
from accord.stepping.happenings import Close, Tick, happen, uses_time
from accord.stepping.moments import now_of, read_moment
from accord.stepping.moves import actions
from accord.stepping.questions import Asking, questions_about, time_question
from accord.stepping.wording import event_text, time_text

if TYPE_CHECKING:
    from accord.cli.terminal import Style
    from accord.monitor.step import Mode, Situation
    from accord.monitor.verdicts import Verdict
    from accord.stepping.happenings import Happening

__all__ = ["HELP", "Answer", "Stepper", "Turn", "respond"]

PROMPT = "step> "

HELP = """\
1, 2, …   do the action of that number; what it needs is asked
!Ask      try any event: !label is sent, ?label is received, Role!label names the partner
          with a payload: !pay {"amount": 3}     with the person who decides: ?Approval by ana
          with the time, where the contract uses it: @12.5 !Ask
tick 30   let time pass until then; tick +24h is from now
close     end the session; says what is still owed
undo      take the last event back
reset     start again
help      this list
quit      leave (so does Ctrl-D)"""

_HOW_TO_ANSWER = "answer in JSON or plain text; an empty line leaves it out, `undo` calls it off"
_HOW_TO_TELL_TIME = "a time is `30`, or `+24h` from now; an empty line is the same moment"

_Command = Literal["close", "tick", "undo", "reset", "help", "quit"]

_COMMANDS: dict[str, _Command] = {
    "close": "close",
    "end": "close",
    "tick": "tick",
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
    """An event that was tried, the verdict on it, and the session afterwards."""

    event: Happening
    verdict: Verdict
    situation: Situation


@dataclass(frozen=True, slots=True)
class Stepper:
    """A session with its past, and the action that is being asked about, if any."""

    start: Situation
    mode: Mode
    turns: tuple[Turn, ...] = ()
    asking: Asking | None = None

    @property
    def situation(self) -> Situation:
        """The session as it stands."""
        return self.turns[-1].situation if self.turns else self.start

    @property
    def prompt(self) -> str:
        """What the next line is asked for with."""
        return self.asking.prompt if self.asking else PROMPT


@dataclass(frozen=True, slots=True)
class Answer:
    """What a typed line did."""

    stepper: Stepper
    message: str = ""
    style: Style = "faint"
    leave: bool = False


def respond(stepper: Stepper, line: str) -> Answer:
    """What a typed line does: an answer to what is asked, a command, the number of an action, or an event."""
    text = line.strip()
    if stepper.asking is not None:
        return _answered(stepper, stepper.asking, text)
    command = _COMMANDS.get(text.casefold())
    if command is not None:
        return _obey(stepper, command)
    if not text:
        return Answer(stepper)
    if text.isdecimal() and text.isascii():
        return _take_number(stepper, text)
    try:
        name, _, rest = text.partition(" ")
        if name.casefold() == "tick":
            return _take(stepper, Tick(read_moment(rest.strip(), now_of(stepper.situation))))
        return _tell(stepper, read_one(text))
    except ValueError as error:
        if any(sign in text.split()[0] for sign in "!?@") or name.casefold() == "tick":
            return Answer(stepper, visible(f"`{clip(text)}`: {error}"), "warning")
        words = [symbol.word for symbol in actions(stepper.situation)]
        meant = did_you_mean(text, [*words, *(name for name in _COMMANDS if len(name) > 1)])
        hint = f"did you mean `{clip(meant)}`?" if meant else "type `help` for what can be typed"
        return Answer(stepper, f"`{clip(text)}` is neither an event nor a command; {hint}", "warning")


def _obey(stepper: Stepper, command: _Command) -> Answer:
    if command == "close":
        return _tell(stepper, Close())
    if command == "tick":
        return _ask(stepper, Asking(Tick(), time_question(stepper.situation), now_of(stepper.situation)))
    if command == "reset":
        return Answer(replace(stepper, turns=()), "started again")
    if command == "undo" and stepper.turns:
        return Answer(replace(stepper, turns=stepper.turns[:-1]), f"took back {_shown(stepper.turns[-1].event)}")
    if command == "undo":
        return Answer(stepper, "nothing to undo", "warning")
    return Answer(stepper, leave=True) if command == "quit" else Answer(stepper, HELP)


def _take_number(stepper: Stepper, text: str) -> Answer:
    possible = actions(stepper.situation)
    # A number with more digits than there are actions is not worth being read as one.
    if len(text) > 9 or not 1 <= int(text) <= len(possible):
        return Answer(stepper, f"there is no action {clip(text)}", "warning")
    symbol = possible[int(text) - 1]
    questions = questions_about(stepper.situation, symbol)
    if not questions:
        return _take(stepper, Event(symbol.direction, symbol.label, symbol.partner))
    return _ask(stepper, Asking(symbol, questions, now_of(stepper.situation)))


def _tell(stepper: Stepper, happening: Happening) -> Answer:
    """Something that was typed happens, at the time that was typed with it or is asked now."""
    if happening.at is not None or not uses_time(stepper.situation):
        return _take(stepper, happening)
    return _ask(stepper, Asking(happening, time_question(stepper.situation), now_of(stepper.situation)))


def _ask(stepper: Stepper, asking: Asking) -> Answer:
    if not asking.questions:
        return Answer(stepper, "the contract does not use time", "warning")
    kinds = {question.asks_time for question in asking.questions}
    how = [text for asks_time, text in ((False, _HOW_TO_ANSWER), (True, _HOW_TO_TELL_TIME)) if asks_time in kinds]
    return Answer(replace(stepper, asking=asking), "\n".join(how))


def _answered(stepper: Stepper, asking: Asking, text: str) -> Answer:
    if text == "quit":
        return Answer(stepper, leave=True)
    if text == "undo":
        return Answer(replace(stepper, asking=None), f"called off {clip(asking.subject.word)}")
    try:
        after = asking.answer(text)
    except (ValueError, UsageError) as error:
        return Answer(stepper, visible(str(error)), "warning")
    if isinstance(after, Asking):
        return Answer(replace(stepper, asking=after))
    return _take(replace(stepper, asking=None), after)


def _shown(event: Happening) -> str:
    return f"{time_text(event)} {event_text(event)}".strip()


def _take(stepper: Stepper, event: Happening) -> Answer:
    try:
        position = sum(not isinstance(turn.event, Tick) for turn in stepper.turns)
        situation, verdict = happen(stepper.situation, event, stepper.mode, position)
    except UsageError as error:
        return Answer(stepper, visible(str(error)), "warning")
    after = replace(stepper, turns=(*stepper.turns, Turn(event, verdict, situation)))
    if isinstance(verdict, Ok):
        return Answer(after, f"{_shown(event)} is ok", "good")
    return Answer(after, visible(verdict.explain()), "error")
