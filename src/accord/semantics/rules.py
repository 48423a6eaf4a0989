"""Rules: what must hold over the whole history of accepted events.

Nothing is counted along the way. Every question goes back to the first event and is answered as the language reference
words it. A history is a tuple of events; "before event i" is its first i events.

A sliced rule is asked about one instance at a time: about the events that have its key, as if there were no others.
Only whether a label had been called is a question about the whole session; an event brings the answer with it.

Whether a message is the one a pattern means has three answers: yes, no, and `None`, "that cannot be decided". What
is made of the third depends on who asks. A trigger: the event is refused. A condition: the message does not help.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from accord.language.clauses import Value
from accord.language.rules import (
    After,
    AfterForbid,
    AtMost,
    Before,
    Combination,
    Count,
    ForbidSequence,
    Happened,
    Not,
    Within,
)
from accord.language.tree import SEND
from accord.semantics.data import Event, compare, freeze, happening, look_up
from accord.semantics.slices import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.language.clauses import Guard, Path
    from accord.language.rules import Condition, Pattern, Rule, RuleBody
    from accord.language.tree import Action
    from accord.semantics.data import Datum, Time

__all__ = ["deadlines", "in_context", "matches", "names", "owes", "refuses", "surely_refuses"]

History: TypeAlias = tuple[Event, ...]


# --- patterns -------------------------------------------------------------------------------------


def in_context(event: Event, history: History) -> Event:
    """The event with the knowledge whether its label had been called when it happened."""
    called = any(earlier.direction == SEND and earlier.label == event.label for earlier in history)
    return replace(event, called=called)


def looks_at(pattern: Pattern, event: Event) -> bool:
    """Whether direction and label are those of the pattern. A bare one does not mean the result of a call."""
    if pattern.direction is None:
        return pattern.label == event.label and (event.direction == SEND or not event.called)
    return (pattern.direction, pattern.label) == (event.direction, event.label)


def matches(pattern: Pattern, event: Event) -> bool | None:
    """Whether this is a message the pattern means; `None` if that cannot be decided."""
    if not looks_at(pattern, event):
        return False
    if pattern.gated and event.by is None:
        return False
    answers = [decide(guard, event) for guard in pattern.guards]
    if False in answers:
        return False
    return None if None in answers else True


def decide(guard: Guard, event: Event) -> bool | None:
    """Whether the guard holds; `None` if its field is missing or there is no such comparison."""
    if not isinstance(guard.operand, Value):
        raise TypeError("a rule has no registers")
    field = look_up(event.payload, guard.path)
    return None if field is None else compare(field, guard.operator, freeze(guard.operand.scalar))


def where(pattern: Pattern, history: History, *, undecided: bool = False) -> list[int]:
    """The positions of the events that match; with `undecided`, also of those that may."""
    wanted = (True, None) if undecided else (True,)
    return [i for i, event in enumerate(history) if matches(pattern, event) in wanted]


# --- conditions -----------------------------------------------------------------------------------


def met(condition: Condition, history: History, since: int = 0, *, positive: bool = True) -> bool:
    """Whether the condition holds over the events from position `since` on.

    An undecided message never helps. Where it would help by having happened (`positive`) it has not, and where it would
    help by not having happened it has. `not` and `at most` turn the one into the other.
    """

    def how_many(pattern: Pattern, *, undecided: bool) -> int:
        return sum(i >= since for i in where(pattern, history, undecided=undecided))

    match condition:
        case Happened(pattern):
            return how_many(pattern, undecided=not positive) >= 1
        case Count("at least", number, pattern):
            return how_many(pattern, undecided=not positive) >= number
        case Count("at most", number, pattern):
            return how_many(pattern, undecided=positive) <= number
        case Not(inner):
            return not met(inner, history, since, positive=not positive)
        case Combination(kind, conditions, number):
            holding = sum(met(one, history, since, positive=positive) for one in conditions)
            needed = {"and": len(conditions), "all": len(conditions), "or": 1, "any": 1, "some": number}
            return holding >= needed[kind]
    raise TypeError(f"no condition: {condition!r}")


# --- what a rule refuses --------------------------------------------------------------------------


def refuses(rule: Rule, history: History, event: Event) -> bool:
    """Whether the rule forbids the event, or cannot decide about it or about the instance it belongs to."""
    if rule.each is not None:
        key = key_of(event, rule.each)
        if key is None:
            return any(looks_at(pattern, event) for pattern in patterns(rule))
        history = instance(history, rule.each, key)
    return forbids(rule.body, history, event) is not False


def surely_refuses(rule: Rule, history: History, action: Action) -> bool:
    """Whether the rule forbids the action whatever it carries and, unless it is gated, whoever makes it.

    Asked of an event that carries nothing, every guard is undecided. Of a sliced rule nothing is
    sure, for the action may choose another key.
    """
    event = happening(action.direction, action.label, by="somebody" if action.gated else None)
    return rule.each is None and forbids(rule.body, history, in_context(event, history)) is True


def forbids(body: RuleBody, history: History, event: Event) -> bool | None:
    """Whether the event must not come next; `None` if that hangs on a trigger that cannot be decided."""
    if is_wrong(body, history, event):
        return True
    undecided = any(matches(pattern, event) is None for pattern in triggers(body))
    return None if undecided else False


def triggers(body: RuleBody) -> tuple[Pattern, ...]:
    """Everything that the rule restricts or counts."""
    match body:
        case Before(trigger=trigger) | After(trigger=trigger) | Within(trigger=trigger):
            return (trigger,)
        case AfterForbid(trigger, forbidden):
            return (trigger, forbidden)
        case AtMost(pattern=pattern):
            return (pattern,)
        case ForbidSequence(patterns=patterns):
            return patterns


def is_wrong(body: RuleBody, history: History, event: Event) -> bool:
    """Whether the event is one the rule restricts, for certain, and not permitted now."""

    def is_now(pattern: Pattern) -> bool:
        return matches(pattern, event) is True

    match body:
        case Before(trigger, condition, each):
            earlier = where(trigger, history)
            since = earlier[-1] + 1 if each and earlier else 0
            return is_now(trigger) and not met(condition, history, since)
        case After() | Within():
            return False
        case AfterForbid(trigger, forbidden):
            return is_now(forbidden) and where(trigger, history) != []
        case AtMost(number, pattern):
            return is_now(pattern) and len(where(pattern, history)) >= number
        case ForbidSequence():
            return ends_chain(body, len(body.patterns) - 1, (*history, event), len(history))


def ends_chain(body: ForbidSequence, last: int, history: History, at: int) -> bool:
    """Whether the event at this position matches pattern `last`, and events before it the patterns before that."""
    if matches(body.patterns[last], history[at]) is not True:
        return False
    if last == 0:
        return True
    return any(
        ends_chain(body, last - 1, history, earlier)
        for earlier in range(at)
        if not body.adjacent[last - 1] or are_neighbours(history, earlier, at)
    )


def are_neighbours(history: History, earlier: int, later: int) -> bool:
    """Whether the one came at once after the other among the events of their direction, which is the same."""
    direction = history[later].direction
    same = [i for i, event in enumerate(history) if event.direction == direction]
    return (earlier, later) in pairwise(same)


# --- what a rule still requires -------------------------------------------------------------------


def owes(rule: Rule, history: History, now: Time) -> bool:
    """Whether something that the rule requires is missing if the session closes now."""
    return any(requires(rule.body, part, now) for part in instances(rule, history))


def requires(body: RuleBody, history: History, now: Time) -> bool:
    """Whether something is missing in the history of one instance."""
    match body:
        case Within():
            due = deadline(body, history)
            return due is not None and due >= now
        case After(trigger, condition, each=False):
            triggered = where(trigger, history)
            return triggered != [] and not met(condition, history, triggered[-1] + 1)
        case After(trigger, condition, each=True):
            answers = {i for pattern in alternatives(condition) for i in where(pattern, history)}
            questions = where(trigger, history)
            pending = 0
            for i in range(len(history)):
                if i in answers and pending > 0:
                    pending -= 1
                if i in questions:
                    pending += 1
            return pending > 0
        case _:
            return False


def alternatives(condition: Condition) -> Iterator[Pattern]:
    """The messages any of which answers an `after each`."""
    match condition:
        case Happened(pattern):
            yield pattern
        case Combination("or" | "any", conditions):
            for one in conditions:
                yield from alternatives(one)
        case _:
            raise ValueError("`after each` requires a message, or one of several")


# --- deadlines ------------------------------------------------------------------------------------


def deadlines(rule: Rule, history: History) -> list[Time]:
    """When what the rule requires in time is due, for each instance that waits for something."""
    if not isinstance(rule.body, Within):
        return []
    dues = [deadline(rule.body, part) for part in instances(rule, history)]
    return [due for due in dues if due is not None]


def deadline(body: Within, history: History) -> Time | None:
    """When what is required is due, counted from the first A that is still open; `None` if none is.

    An event that comes after that moment was not the first to hear of it: whatever let the time pass
    was refused for it, and with that the matter was over.
    """
    since = due = None
    for i, event in enumerate(history):
        if due is not None and event.at > due:
            since = due = None
        if since is not None and met(body.condition, history[: i + 1], since):
            since = due = None
        if since is None and matches(body.trigger, event) is True:
            since, due = i + 1, event.at + body.milliseconds / 1000
    return due


# --- instances ------------------------------------------------------------------------------------


def instances(rule: Rule, history: History) -> list[History]:
    """The history of each instance of the rule; of the session, if the rule is not sliced."""
    path = rule.each
    if path is None:
        return [history]
    keys = dict.fromkeys(key_of(event, path) for event in history)
    return [instance(history, path, key) for key in keys if key is not None]


def instance(history: History, path: Path, key: Datum) -> History:
    """The events that have this key."""
    return tuple(event for event in history if key_of(event, path) == key)


# --- which messages a rule names ------------------------------------------------------------------


def names(rule: Rule, label: str) -> bool:
    """Whether a pattern of the rule has this label."""
    return any(pattern.label == label for pattern in patterns(rule))


def patterns(rule: Rule) -> Iterator[Pattern]:
    """All patterns of a rule."""
    yield from triggers(rule.body)
    if isinstance(rule.body, Before | After | Within):
        yield from named_in(rule.body.condition)


def named_in(condition: Condition) -> Iterator[Pattern]:
    """The patterns of a condition."""
    match condition:
        case Happened(pattern) | Count(pattern=pattern):
            yield pattern
        case Not(inner):
            yield from named_in(inner)
        case Combination(conditions=conditions):
            for one in conditions:
                yield from named_in(one)
