"""How a session stands: its status, what it still owes, and what is due next; for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from accord.language.values import thaw
from accord.machine.extent import Extent
from accord.monitor.explain_time import due_text
from accord.monitor.owing import owing_rules, unfinished
from accord.monitor.step import is_over, status
from accord.monitor.wording import key_text, path_text
from accord.stepping.wording import join_words, rule_title

if TYPE_CHECKING:
    from accord.language.clauses import Path
    from accord.language.values import Frozen
    from accord.machine.clocks import Time
    from accord.machine.tables import Symbol
    from accord.monitor.owing import OwingRule
    from accord.monitor.step import Situation, Status

__all__ = ["Outcome", "next_due", "outcome_of"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`words` are owed by the protocol; if it is sliced, by `count` instances, the first of which are `keys`."""

    status: Status
    words: tuple[str, ...] = ()
    rules: tuple[OwingRule, ...] = ()
    each: Path | None = None
    count: int = 0
    keys: tuple[Frozen, ...] = ()
    now: Time = 0
    due: Time | None = None

    def text(self) -> str:
        """What is owed and what is due, to stand behind the status."""
        parts = []
        if self.words:
            parts.append(f"still owed: {join_words(self.words)}")
        if self.each is not None and self.count:
            shown = ", ".join(map(key_text, self.keys))
            more = f" and {self.count - len(self.keys)} more" if self.count > len(self.keys) else ""
            parts.append(f"not finished: {path_text(self.each)} {shown}{more}")
        if self.rules:
            parts.append(f"still owed by {', '.join(map(_rule_text, self.rules))}")
        if self.due is not None:
            parts.append(f"next due: {due_text(self.due, self.now)}")
        return "".join(f"; {part}" for part in parts)

    def facts(self) -> dict[str, object]:
        """The same for programs."""
        found: dict[str, object] = {
            "owed": self.words,
            "owed_by_rules": [rule.machine.rule.name for rule in self.rules],
            "next_due": self.due,
        }
        if self.each is not None:
            found["unfinished"] = {"count": self.count, "keys": [thaw(key) for key in self.keys]}
        return found


def _rule_text(rule: OwingRule) -> str:
    instances = f" ({rule.count} instance{'' if rule.count == 1 else 's'})" if rule.count else ""
    return f"{rule_title(rule.machine.rule.name)}{instances}"


def next_due(situation: Situation) -> Time | None:
    """When the next deadline is due."""
    from accord.monitor import wide  # noqa: PLC0415 - most contracts have neither slices nor deadlines

    return wide.next_due(situation) if isinstance(situation.holding, Extent) else None


def outcome_of(situation: Situation) -> Outcome:
    """How a session stands."""
    reached = status(situation)
    stage, held = situation.stage, situation.holding
    extent = held if isinstance(held, Extent) else None
    sliced, course = stage.stages.sliced, extent.course if extent else None
    each = None if sliced is None else sliced.path
    now = 0 if extent is None or extent.now is None else extent.now
    due = None if is_over(situation.place) else next_due(situation)
    if reached not in {"running", "incomplete"}:
        return Outcome(reached, each=each, now=now, due=due)
    rules = tuple(owing_rules(stage, extent))
    if course is None:
        words = () if stage.standing.complete else stage.allowed
        return Outcome(reached, words, rules, now=now, due=due)
    owed: set[Symbol] = set()
    for standing, _ in course.instances.values():
        if not standing.complete:
            owed.update(standing.symbols)
    return Outcome(reached, stage.allowed_of(owed), rules, each, course.owing, unfinished(course), now, due)
