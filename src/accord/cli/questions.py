"""What has to be known before an action can be tried, asked field by field.

An action with clauses needs a payload, and one with a gate needs a person. So do the rules: what their guards read of
the action is asked too. `Asking` is a value, as the stepper is: each answer makes a new one, the last an event.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from accord.cli.events import decode_json
from accord.cli.holdings import registers_of
from accord.cli.verdict_lines import rule_title
from accord.diagnostics.visible import clip
from accord.language.clauses import Bind, Collect, Guard, Register
from accord.language.details import print_scalar
from accord.monitor.events import make_event

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.clauses import Clause, Path
    from accord.machine.events import Event
    from accord.machine.tables import Symbol
    from accord.monitor.step import Situation

__all__ = ["Asking", "Question", "questions_about"]

_WIDEST_HINT = 60
_HINTS_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for: the field at a path, or who decides."""

    path: Path | None
    hints: tuple[str, ...]

    @property
    def prompt(self) -> str:
        """In a line, with what the contract says about it."""
        name = "by whom" if self.path is None else clip(".".join(self.path), _WIDEST_HINT)
        hints = "; ".join(self.hints[:_HINTS_SHOWN])
        return f"   {name} ({hints}): " if hints else f"   {name}: "


@dataclass(frozen=True, slots=True)
class Asking:
    """An action that is being asked about, and the answers so far."""

    symbol: Symbol
    questions: tuple[Question, ...]
    answers: tuple[tuple[Path | None, object], ...] = ()
    asked: int = 0

    @property
    def prompt(self) -> str:
        """The question that is open."""
        return self.questions[self.asked].prompt

    def answer(self, text: str) -> Asking | Event:
        """What is still to be asked, or the event once everything was; an empty text leaves the answer out.

        Raises `ValueError` if the text was meant as JSON and is not.
        """
        question = self.questions[self.asked]
        answers = self.answers
        if text:
            answers += ((question.path, _value(text) if question.path is not None else _name(text)),)
        if self.asked + 1 < len(self.questions):
            return replace(self, answers=answers, asked=self.asked + 1)
        payload: dict[str, object] = {}
        by = None
        for path, value in answers:
            if path is None:
                by = value
            else:
                _put(payload, path, value)
        return make_event(self.symbol.direction, self.symbol.label, payload, self.symbol.partner, by)


def questions_about(situation: Situation, symbol: Symbol) -> tuple[Question, ...]:
    """What an event needs to be this action, in the order of the contract; nothing if its word says it all."""
    hints: dict[Path, list[str]] = {}
    held: dict[str, str | None] = dict(registers_of(situation))
    for clause in symbol.clauses:
        hints.setdefault(clause.path, []).append(clip(_hint(clause, held), _WIDEST_HINT))
        if not isinstance(clause, Guard):
            held.pop(clause.register, None)  # from here on it is what will be answered
    people = ["only a person can make this step"] if symbol.gated else []
    for node in situation.rules:
        for pattern in node.machine.patterns:
            if pattern.label != symbol.label or not node.machine.applies(node.state.called, pattern, symbol.direction):
                continue
            title = rule_title(node.machine.rule.name)
            for guard in pattern.guards:
                hint = f"{title} asks: {clip(_hint(guard, {}), _WIDEST_HINT)}"
                if hint not in hints.setdefault(guard.path, []):
                    hints[guard.path].append(hint)
            if pattern.gated and symbol.direction == "?" and not people:
                people.append(f"the {title} wants a person")
    # An object is put together from its fields, where these are asked for.
    inner = {path[:length] for path in hints for length in range(1, len(path))}
    fields = [Question(path, tuple(about)) for path, about in hints.items() if path not in inner]
    return (*fields, *([Question(None, tuple(people))] if people else []))


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


def _value(text: str) -> object:
    """A JSON value; what does not look like one is a string."""
    try:
        return decode_json(text)
    except ValueError as error:
        if text[0] in '{["':
            raise ValueError(f"`{clip(text, _WIDEST_HINT)}` is no JSON: {error}") from None
        return text


def _name(text: str) -> object:
    return _value(text) if text.startswith('"') else text


def _put(payload: dict[str, object], path: Path, value: object) -> None:
    *outer, last = path
    inside = payload
    for segment in outer:
        following = inside.setdefault(segment, {})
        assert isinstance(following, dict)  # noqa: S101 - no path that is asked for leads through another
        inside = following
    inside[last] = value
