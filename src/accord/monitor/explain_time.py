"""Time in words: what is due until when, and what was late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.language.labels import parse_word
from accord.machine.paths import Wait
from accord.machine.standing import TimedStanding
from accord.monitor.verdicts import CLOSING, TICKING
from accord.monitor.wording import (
    MOST_LISTED,
    begin_sentence,
    list_quoted,
    name_instance,
    name_rule,
    quote_text,
    span_text,
    time_text,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from accord.machine.clocks import Time
    from accord.machine.extent import Missed
    from accord.machine.standing import Standing
    from accord.machine.tables import Symbol
    from accord.monitor.refusals import Refusal
    from accord.monitor.vocabulary import Vocabulary

__all__ = ["deadline_of", "due_text", "explain_late", "explain_overdue", "until"]

# Besides the first, which is told in full.
_MOST_LATE = 4


def due_text(due: Time, now: Time) -> str:
    """Until when something is in time, and how long that is."""
    return f"{time_text(due)} (in {span_text(due - now)})" if due > now else f"{time_text(due)} (now)"


def until(vocabulary: Vocabulary, standing: Standing, now: Time, listed: Collection[Symbol]) -> str:
    """The next deadline of a protocol, behind a list of what can happen; it may be about some of that only."""
    if not isinstance(standing, TimedStanding) or not standing.deadlines:
        return ""
    due, timed = standing.deadlines[0]
    meant = [symbol for symbol in listed if symbol in timed]
    if not meant:
        return f"; the next deadline is {due_text(due, now)}"
    names = sorted({vocabulary.name(symbol.direction, symbol.label, symbol.partner) for symbol in meant})
    some = "," if len(meant) == len(listed) else f"; {list_quoted(names[:MOST_LISTED], 'or')} only"
    return f"{some} until {due_text(due, now)}"


def deadline_of(standing: Standing, now: Time, step: Symbol | Wait) -> str:
    """Until when a step is in time that a session is told to take next, as a sentence with a space before it."""
    if not isinstance(standing, TimedStanding) or not standing.deadlines or isinstance(step, Wait):
        return ""
    due, timed = standing.deadlines[0]
    return f" {'It is due until' if step in timed else 'The next deadline is'} {due_text(due, now)}."


def explain_late(due: Time, now: Time) -> str:
    """That something would have been in time."""
    return f"it was due until {time_text(due)}, and it is {time_text(now)}, {span_text(now - due)} later"


def explain_overdue(refusal: Refusal) -> str:
    """What rules required until now and did not get; whatever let the time pass hears of it."""
    first, *others = refusal.missed
    machine = refusal.stage.rules[first.rule].machine
    instance = _instance(refusal, first)
    late = f"{explain_late(first.due, refusal.now)}; {machine.form.awaited(first.state)}.{_late_too(refusal, others)}"
    overdue = f"the rule {name_rule(machine)} is overdue{instance}: {late}"
    if refusal.instead == TICKING:
        return f"T{overdue[1:]}"
    if refusal.instead == CLOSING:
        return f"The session cannot end here: {overdue}"
    got = refusal.vocabulary.name(*parse_word(refusal.instead))
    return begin_sentence(f"{got} is not taken, and was not judged: {overdue}")


def _late_too(refusal: Refusal, others: list[Missed]) -> str:
    shown = []
    for missed in others[:_MOST_LATE]:
        name = quote_text(refusal.stage.rules[missed.rule].machine.rule.name, 40)
        shown.append(f"{name}{_instance(refusal, missed)}, due until {time_text(missed.due)}")
    if len(others) > len(shown):
        shown.append(f"{len(others) - len(shown)} more")
    return f" Late too: {'; '.join(shown)}." if shown else ""


def _instance(refusal: Refusal, missed: Missed) -> str:
    path = refusal.stage.rules[missed.rule].machine.each
    return f" for {name_instance(path, missed.keys[0])}" if path is not None and missed.keys else ""
