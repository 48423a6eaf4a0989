"""Closing too early, in words: what is owed, and to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.monitor.explain_now import list_options
from accord.monitor.explain_time import due_text, until
from accord.monitor.owing import owing_rules, unfinished
from accord.monitor.wording import MOST_LISTED, list_keys, name_rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.language.clauses import Path
    from accord.language.values import Frozen
    from accord.machine.slices import Course
    from accord.machine.tables import Symbol
    from accord.monitor.owing import OwingRule
    from accord.monitor.refusals import Refusal

__all__ = ["explain_closing"]


def explain_closing(refusal: Refusal) -> str:
    """Why a session cannot end here."""
    sliced, course = refusal.stage.stages.sliced, refusal.extent.course if refusal.extent else None
    if refusal.rule is not None:
        return _rules(refusal)
    if sliced is not None and course is not None and course.owing:
        return _instances(refusal, course, sliced.path)
    stage = refusal.stage
    symbols = stage.open_of(stage.standing.symbols)
    due = until(refusal.vocabulary, stage.standing, refusal.now, symbols)
    return f"The session cannot end here: still owed is {_owed(refusal, symbols) or 'something'}{due}."


def _owed(refusal: Refusal, symbols: Iterable[Symbol]) -> str:
    return list_options(refusal.vocabulary.option(symbol) for symbol in sorted(symbols, key=lambda one: one.word))


def _instances(refusal: Refusal, course: Course, path: Path) -> str:
    by_words: dict[str, list[Frozen]] = {}
    keys = unfinished(course)
    for key in keys:
        symbols = refusal.stage.open_of(course.instances[key][0].symbols)
        by_words.setdefault(_owed(refusal, symbols) or "something", []).append(key)
    owed = [f"{words} for {list_keys(path, of_words, len(of_words))}" for words, of_words in by_words.items()]
    count = "1 instance is" if course.owing == 1 else f"{course.owing} instances are"
    more = f"; and so on for {course.owing - len(keys)} more" if course.owing > len(keys) else ""
    return f"The session cannot end here: {count} not finished. Still owed is {'; '.join(owed)}{more}."


def _rules(refusal: Refusal) -> str:
    owing = owing_rules(refusal.stage, refusal.extent)
    shown = [_rule(refusal, rule) for rule in owing[:MOST_LISTED]]
    if len(owing) > len(shown):
        shown.append(f"{len(owing) - len(shown)} more")
    return f"The session cannot end here: still owed by {'; '.join(shown)}."


def _rule(refusal: Refusal, rule: OwingRule) -> str:
    path = rule.machine.each
    instances = "" if path is None else f" for {list_keys(path, rule.keys, rule.count)}"
    due = "" if rule.due is None else f", due until {due_text(rule.due, refusal.now)}"
    return f"{name_rule(rule.machine)}{instances}{due}"
