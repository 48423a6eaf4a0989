"""What has to be known before an action can be tried, asked field by field.

An action with clauses needs a payload, one with a gate needs a person, and one of a sliced protocol the field that says
which instance it is about. So do the rules: what their guards read of the action is asked too. Where the contract uses
time, everything needs a time. `Asking` is a value, as the stepper is: each answer makes a new one, the last what
happens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip
from accord.language.clauses import Bind, Collect, Guard, Register
from accord.language.details import print_scalar
from accord.language.values import order_of
from accord.machine.tables import Symbol
from accord.monitor.events import make_event
from accord.monitor.wording import key_text
from accord.stepping.events import decode_json
from accord.stepping.happenings import uses_time
from accord.stepping.holdings import registers_of
from accord.stepping.instances import course_of, rules_of
from accord.stepping.moments import moment_hints, read_moment
from accord.stepping.wording import rule_title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.clauses import Clause, Path
    from accord.machine.clocks import Time
    from accord.monitor.step import Situation
    from accord.stepping.happenings import Happening

__all__ = ["Asking", "Question", "questions_about", "read_value", "time_question"]

_WIDEST_HINT = 60
_HINTS_SHOWN = 4
_KEYS_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for: the field at a path, who decides, or when."""

    path: Path | None
    hints: tuple[str, ...]
    asks_time: bool = False

    @property
    def prompt(self) -> str:
        """In a line, with what the contract says about it."""
        person_or_time = "when" if self.asks_time else "by whom"
        name = person_or_time if self.path is None else clip(".".join(self.path), _WIDEST_HINT)
        hints = "; ".join(self.hints[:_HINTS_SHOWN])
        return f"   {name} ({hints}): " if hints else f"   {name}: "


@dataclass(frozen=True, slots=True)
class Asking:
    """An action that is being asked about, and the answers so far; or what happens, of which only the time is asked."""

    subject: Symbol | Happening
    questions: tuple[Question, ...]
    now: Time | None = None
    answers: tuple[tuple[Question, object], ...] = ()
    asked: int = 0

    @property
    def prompt(self) -> str:
        """The question that is open."""
        return self.questions[self.asked].prompt

    def answer(self, text: str) -> Asking | Happening:
        """What is still to be asked, or what happens once everything was; an empty text leaves the answer out.

        Raises `ValueError` if the text was meant as JSON and is not, or is no time.
        """
        question = self.questions[self.asked]
        answers = self.answers
        if question.asks_time:
            answers += ((question, read_moment(text, self.now)),)
        elif text:
            answers += ((question, read_value(text) if question.path is not None else _name(text)),)
        if self.asked + 1 < len(self.questions):
            return replace(self, answers=answers, asked=self.asked + 1)
        payload: dict[str, object] = {}
        by = at = None
        for about, value in answers:
            if about.asks_time:
                at = value
            elif about.path is None:
                by = value
            else:
                _put(payload, about.path, value)
        subject = self.subject
        if not isinstance(subject, Symbol):
            return subject._replace(at=at)  # type: ignore[arg-type] # a time, as it was asked for
        return make_event(subject.direction, subject.label, payload, subject.partner, by, at)


def time_question(situation: Situation) -> tuple[Question, ...]:
    """When it happens, if the contract uses time."""
    return (Question(None, moment_hints(situation), asks_time=True),) if uses_time(situation) else ()


def questions_about(situation: Situation, symbol: Symbol) -> tuple[Question, ...]:
    """What an event needs to be this action, in the order of the contract; nothing if its word says it all."""
    hints: dict[Path, list[str]] = {}
    held: dict[str, str | None] = {}
    sliced = course_of(situation)
    if sliced is None:
        held = dict(registers_of(situation))
    elif not situation.stage.stages.machine.passes(symbol.direction, symbol.label):
        hints[sliced[0].path] = [_known(situation, symbol)]
    for clause in symbol.clauses:
        hints.setdefault(clause.path, []).append(clip(_hint(clause, held), _WIDEST_HINT))
        if not isinstance(clause, Guard):
            held.pop(clause.register, None)  # from here on it is what will be answered
    people = ["only a person can make this step"] if symbol.gated else []
    for machine, called in rules_of(situation):
        title = rule_title(machine.rule.name)
        for pattern in machine.patterns:
            if pattern.label != symbol.label or not machine.applies(called, pattern, symbol.direction):
                continue
            asked = [(guard.path, f"{title} asks: {clip(_hint(guard, {}), _WIDEST_HINT)}") for guard in pattern.guards]
            if machine.each is not None:
                asked.append((machine.each, f"{title} goes by it"))
            for path, hint in asked:
                if hint not in hints.setdefault(path, []):
                    hints[path].append(hint)
            if pattern.gated and symbol.direction == "?" and not people:
                people.append(f"the {title} wants a person")
    # An object is put together from its fields, where these are asked for.
    inner = {path[:length] for path in hints for length in range(1, len(path))}
    fields = [Question(path, tuple(about)) for path, about in hints.items() if path not in inner]
    return (*fields, *([Question(None, tuple(people))] if people else []), *time_question(situation))


def _known(situation: Situation, symbol: Symbol) -> str:
    """Of which instances it can be an action."""
    sliced = course_of(situation)
    if sliced is None:
        return ""
    protocol, course = sliced
    able = [key for key, (standing, _) in course.instances.items() if symbol in standing.symbols]
    names = [key_text(key) for key in sorted(able, key=order_of)[:_KEYS_SHOWN]]
    if len(able) > len(names):
        names.append(f"{len(able) - len(names)} more")
    if symbol in protocol.standings.start.symbols:
        names.append("a new one")
    return " or ".join(names)


def _hint(clause: Clause, held: Mapping[str, str | None]) -> str:
    if isinstance(clause, Bind):
        return f"kept as {clause.register}"
    if isinstance(clause, Collect):
        return f"added to {clause.register}"
    if not isinstance(clause.operand, Register):
        return f"{clause.operator} {print_scalar(clause.operand.scalar)}"
    name = clause.operand.name
    value = f", which is {held[name] or 'not bound'}" if name in held else ""
    return f"{clause.operator} {name}{value}"


def read_value(text: str) -> object:
    """A JSON value; what does not look like one is a string."""
    try:
        return decode_json(text)
    except ValueError as error:
        if text[0] in '{["':
            raise ValueError(f"`{clip(text, _WIDEST_HINT)}` is no JSON: {error}") from None
        return text


def _name(text: str) -> object:
    return read_value(text) if text.startswith('"') else text


def _put(payload: dict[str, object], path: Path, value: object) -> None:
    *outer, last = path
    inside = payload
    for segment in outer:
        following = inside.setdefault(segment, {})
        assert isinstance(following, dict)  # noqa: S101 - no path that is asked for leads through another
        inside = following
    inside[last] = value
