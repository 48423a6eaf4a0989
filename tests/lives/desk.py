"""The desk at which people are asked, as it is documented: who was asked what, and what an answer is good for."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Arguments = dict[str, Any]

MOST_OPEN = 32
"""Questions that are open at a time."""
MOST_UNUSED = 64
"""Answers that were not used and are remembered."""
MOST_OVER = 32
"""Questions that are over and are remembered."""


def action(tool: str, arguments: Arguments) -> str:
    """What is asked about: a tool with exactly these arguments."""
    return json.dumps([tool, arguments], sort_keys=True)


@dataclass
class Question:
    """What a person is asked: for a step (`gate`), `about` a lost call, or whether an agent may go on."""

    number: int
    tool: str
    arguments: Arguments
    gate: str | None
    about: str | None
    expires: float | None
    state: str = "open"
    other: Arguments | None = None

    def is_over(self, now: float) -> bool:
        return self.expires is not None and now >= self.expires

    @property
    def good_for(self) -> str:
        return action(self.tool, self.arguments if self.other is None else self.other)


@dataclass
class Answer:
    """What people have said about a call: the questions it rests on, or what is to be asked first."""

    denied: bool
    arguments: Arguments
    granted: tuple[int, ...]
    lacking: tuple[str, ...]


@dataclass
class Desk:
    """All that people were asked and that is not forgotten."""

    lasts: float | None
    questions: dict[int, Question] = field(default_factory=dict)

    def open_ones(self, now: float) -> list[Question]:
        return [each for each in self.questions.values() if each.state == "open" and not each.is_over(now)]

    def is_stuck(self, now: float) -> bool:
        """Whether a person is asked if the agent may go on; until then it may not."""
        return any(each.gate is None and each.about is None for each in self.open_ones(now))

    def has_room(self, now: float, more: int = 1) -> bool:
        return len(self.open_ones(now)) + more <= MOST_OPEN

    def add(self, question: Question, now: float, in_use: set[int]) -> None:
        """Somebody is asked. Of what is over, and of what was not used, only the last are remembered."""
        left = [each for each in self.questions.values() if each.number not in in_use]
        over = [each for each in left if self._is_over(each, now)]
        unused = [each for each in left if each.state == "allowed" and not self._is_over(each, now)]
        for each in [*over[:-MOST_OVER], *unused[:-MOST_UNUSED]]:
            del self.questions[each.number]
        self.questions[question.number] = question

    def _is_over(self, question: Question, now: float) -> bool:
        settled = question.gate is None and question.state != "open"
        return settled or question.state in {"denied", "used"} or question.is_over(now)

    def instead(self, tool: str, arguments: Arguments, now: float) -> Question | None:
        """The last answer by which a person has put something else in the place of a call."""
        asked = action(tool, arguments)
        changed = None
        for each in self._living(now):
            if each.other is not None and each.state == "allowed" and action(each.tool, each.arguments) == asked:
                changed = each
        return changed

    def answer(
        self, tool: str, arguments: Arguments, gates: tuple[str, ...], now: float, changed: Question | None
    ) -> Answer:
        """What people have said about a call that needs these steps, the last answer for each.

        Whoever has `changed` it has answered for that, and that answer is used up in any case.
        """
        granted, lacking, denied = [], [], False
        if changed is not None and changed.gate not in gates:
            granted.append(changed.number)
        for gate in gates:
            if changed is not None and gate == changed.gate:
                granted.append(changed.number)
                continue
            asked = [
                each
                for each in self._living(now)
                if (each.gate, each.good_for) == (gate, action(tool, arguments)) and each.state != "used"
            ]
            if not asked:
                lacking.append(gate)
            elif asked[-1].state == "denied":
                denied = True
            elif asked[-1].state == "allowed":
                granted.append(asked[-1].number)
        return Answer(denied, arguments, tuple(granted), tuple(lacking))

    def _living(self, now: float) -> list[Question]:
        return [each for each in self.questions.values() if each.gate is not None and not each.is_over(now)]

    def mark(self, numbers: tuple[int, ...], state: str) -> None:
        for number in numbers:
            if number in self.questions:
                self.questions[number].state = state

    def known(self, ticket: str) -> None:
        """It is known what became of a call, so nobody is asked any more."""
        for each in self.questions.values():
            if each.about == ticket and each.state == "open":
                each.state = "used"
