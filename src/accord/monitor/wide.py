"""One step of a session whose contract has slices or deadlines, as a pure function.

Time passes first, whatever then becomes of the attempt: deadlines that are over expire, which moves a protocol on and
is a violation of a rule. Then the event is judged by the protocol, or by its instance of a sliced one, and by all
rules.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

from accord.errors import UsageError
from accord.machine import extent as extents
from accord.machine.configurations import TooManyConfigurationsError
from accord.machine.extent import Extent, pass_time
from accord.machine.slices import NO_KEY, Course, NoKey, RuleSlice, key_of
from accord.machine.standing import OpenStanding
from accord.machine.taking import Refused
from accord.monitor.refusals import Refusal
from accord.monitor.step import HALTED, Aside, Situation, by_rule, is_over, refuse, refused_for_good, take_within_limits
from accord.monitor.verdicts import CLOSING, OK, TICKING, UNRECOGNIZED, Unrecognized, Violation

if TYPE_CHECKING:
    from accord.language.values import Frozen
    from accord.machine.clocks import Time
    from accord.machine.events import Event
    from accord.machine.extent import Missed
    from accord.machine.rulebook import RuleNodes
    from accord.machine.slices import SlicedRule
    from accord.machine.stages import Stage
    from accord.machine.standing import Standing
    from accord.monitor.step import Mode
    from accord.monitor.verdicts import Verdict

__all__ = ["check_time", "close", "next_due", "step", "tick"]

# How many instances a violation names.
_MOST_KEYS = 8


def check_time(situation: Situation, at: Time | None) -> Time:
    """The time an attempt is made at; always 0 if the contract does not use time.

    Raises `UsageError` if it uses time and none is given, or one that lies before the last.
    """
    if not situation.stage.stages.is_timed:
        return 0
    if at is None:
        raise UsageError("the contract uses time, so every call needs `at=`, in seconds")
    now = _extent(situation).now
    if now is not None and at < now:
        raise UsageError(f"time does not go back: `at` is {at}, and {now} was told before")
    return at


def _extent(situation: Situation) -> Extent:
    held = situation.holding
    assert isinstance(held, Extent)  # noqa: S101 - the session of a wide contract
    return held


def _later(situation: Situation, at: Time) -> tuple[Situation, list[Missed]]:
    """The session when time has passed."""
    stage, held, missed = pass_time(situation.stage, _extent(situation), at)
    place = situation.place
    return Situation(Aside(stage, place.phase) if isinstance(place, Aside) else stage, held), missed


def step(situation: Situation, event: Event, mode: Mode, position: int | None) -> tuple[Situation, Verdict]:
    """Where a session is after an event, and the verdict on it."""
    event = event._replace(at=check_time(situation, event.at))
    if is_over(situation.place):
        return situation, refused_for_good(situation)
    try:
        here, missed = _later(situation, event.time)
    except TooManyConfigurationsError as error:
        return refuse(situation, Refusal(situation.stage, event.bare, (str(error),)), mode, position)
    stage, held = here.stage, _extent(here)
    if missed:
        return refuse(here, _overdue(stage, event.word, missed, _words(here, event)), mode, position)
    if event.label == UNRECOGNIZED and not _is_named(here, event):
        told: Literal["send", "receive"] = "send" if event.direction == "!" else "receive"
        return here._replace(place=Aside(stage, "puzzled")), Unrecognized(here.allowed, told)
    after = _by_protocol(here, event)
    if isinstance(after, Refusal):
        return refuse(here, after, mode, position)
    standing, held = after
    rules = _by_rules(here, event)
    if isinstance(rules, Refusal):
        return refuse(here, rules, mode, position)
    nodes, slices = rules
    return Situation(stage.stages.at(standing, nodes), replace(held, slices=slices)), OK


def _by_protocol(here: Situation, event: Event) -> tuple[Standing, Extent] | Refusal:
    """Standing and what is held after the protocol has taken the event."""
    stage, held = here.stage, _extent(here)
    sliced = stage.stages.sliced
    if sliced is None or held.course is None:
        taken = take_within_limits(stage.standing, held.registers, event)
        if isinstance(taken, Refused):
            return Refusal(stage, event.bare, taken.reasons)
        return taken.standing, replace(held, registers=taken.holding)
    if sliced.ignores(event.label):
        return stage.standing, held
    key = key_of(sliced.path, event.direction, event.payload)
    try:
        course = sliced.react(held.course, key, event)
    except TooManyConfigurationsError as error:
        course = Refused((str(error),))
    if isinstance(course, Course):
        return stage.standing, replace(held, course=course)
    instance = None if isinstance(key, NoKey) else sliced.instance(held.course, key, event.time)[0]
    keys = () if isinstance(key, NoKey) else (key,)
    words = _words(here, event)
    return Refusal(stage, event.bare, course.reasons, words=words, instance=instance, keys=keys)


def _by_rules(here: Situation, event: Event) -> tuple[RuleNodes, tuple[RuleSlice, ...]] | Refusal:
    """All rules after the event, or the refusal of the first that does not take it."""
    stage, held = here.stage, _extent(here)
    book = stage.stages.book
    nodes = book.advance(stage.rules, event)
    first = nodes if isinstance(nodes, int) else len(book.machines)
    slices = list(held.slices)
    for place, rule in enumerate(stage.stages.sliced_rules):
        if book.sliced[place] > first:
            break
        after = rule.react(slices[place], event)
        if isinstance(after, Refused):
            return replace(_by_instance(rule, slices[place], stage, event, after), words=_words(here, event))
        slices[place] = after
    if isinstance(nodes, int):
        return replace(by_rule(stage, nodes, event), words=_words(here, event))
    return nodes, tuple(slices)


def _by_instance(rule: SlicedRule, held: RuleSlice, stage: Stage, event: Event, refused: Refused) -> Refusal:
    key = key_of(rule.path, event.direction, event.payload)
    if isinstance(key, NoKey):
        return Refusal(stage, event.bare, refused.reasons, rule.machine.start)
    node = held.instances.get(key, rule.machine.start)
    return Refusal(stage, event.bare, refused.reasons, node, keys=(key,))


def _words(here: Situation, event: Event) -> tuple[str, ...]:
    """The words that are legal: of a sliced protocol those of the instance that the event belongs to."""
    stage, held = here.stage, _extent(here)
    sliced = stage.stages.sliced
    if sliced is None or held.course is None:
        return stage.allowed
    return stage.allowed_of(sliced.symbols(held.course, _key(here, event)))


def _key(here: Situation, event: Event) -> Frozen | NoKey:
    sliced = here.stage.stages.sliced
    return NO_KEY if sliced is None else key_of(sliced.path, event.direction, event.payload)


def _is_named(here: Situation, event: Event) -> bool:
    """Whether a branch that is open now, or a rule, has a message of this label."""
    stage, held = here.stage, _extent(here)
    if event.label in stage.stages.book.labels:
        return True
    sliced = stage.stages.sliced
    if sliced is not None and held.course is not None:
        symbols = sliced.symbols(held.course, _key(here, event))
    elif isinstance(stage.standing, OpenStanding):
        return False
    else:
        symbols = frozenset(stage.standing.symbols)
    return any(
        (symbol.direction, symbol.label) == (event.direction, event.label)
        and (event.partner is None or symbol.partner in {None, event.partner})
        for symbol in symbols
    )


def _overdue(stage: Stage, got: str, missed: list[Missed], words: tuple[str, ...]) -> Refusal:
    rule = stage.rules[missed[0].rule]
    return Refusal(stage, None, rule=rule, words=words, missed=tuple(missed), instead=got)


def _beyond_limits(situation: Situation, error: TooManyConfigurationsError, got: str) -> Refusal:
    """Where time cannot pass within the limits."""
    return Refusal(situation.stage, None, (str(error),), words=situation.allowed, instead=got)


def tick(situation: Situation, mode: Mode, position: int | None, at: Time | None) -> tuple[Situation, Verdict]:
    """A session in which time passes and nothing happens."""
    at = check_time(situation, at)
    if is_over(situation.place):
        return situation, refused_for_good(situation)
    try:
        here, missed = _later(situation, at)
    except TooManyConfigurationsError as error:
        return refuse(situation, _beyond_limits(situation, error, TICKING), mode, position)
    if missed:
        return refuse(here, _overdue(here.stage, TICKING, missed, here.allowed), mode, position)
    return here, OK


def close(situation: Situation, position: int | None, at: Time | None) -> tuple[Situation, Verdict]:
    """A session that is told that nothing more will come."""
    at = check_time(situation, at)
    place, held = situation.place, _extent(situation)
    if isinstance(place, Aside) and place.phase == "violated":
        return situation, HALTED
    if is_over(place) and held.now is not None:
        at = held.now  # closing again gives the same answer
    try:
        here, missed = _later(situation, at)
    except TooManyConfigurationsError as error:
        # Asking again comes to the same time and so to the same answer.
        stuck = Situation(Aside(situation.stage, "incomplete"), replace(held, now=at))
        return stuck, Violation.of(_beyond_limits(situation, error, CLOSING), position)
    if missed:
        # What was late is dropped, so asking again would find nothing: only the time is kept.
        late = Situation(Aside(situation.stage, "incomplete"), replace(held, now=at))
        return late, Violation.of(_overdue(here.stage, CLOSING, missed, here.allowed), position)
    if isinstance(place, Aside) and place.phase in {"puzzled", "unrecognised"}:
        return here._replace(place=Aside(here.stage, "unrecognised")), Unrecognized(here.allowed, "receive")
    if here.complete:
        return here._replace(place=Aside(here.stage, "complete")), OK
    return here._replace(place=Aside(here.stage, "incomplete")), Violation.of(_owed(here), position)


def _owed(here: Situation) -> Refusal:
    """What does not let the session end: the protocol, or the first rule that owes something."""
    stage, held = here.stage, _extent(here)
    if not stage.standing.complete:
        return Refusal(stage, None, words=here.allowed)
    if held.course is not None and held.course.owing:
        unfinished = (key for key, (standing, _) in held.course.instances.items() if not standing.complete)
        return Refusal(stage, None, words=here.allowed, keys=tuple(islice(unfinished, _MOST_KEYS)))
    for number, node in enumerate(stage.rules):
        if number in stage.stages.book.sliced:
            instances = held.slices[stage.stages.book.sliced.index(number)].instances
            keys = tuple(islice((key for key, instance in instances.items() if instance.owes), _MOST_KEYS))
            if keys:
                return Refusal(stage, None, rule=node, words=here.allowed, keys=keys)
        elif node.owes:
            return Refusal(stage, None, rule=node, words=here.allowed)
    raise AssertionError("a session that is not complete owes something")


def next_due(situation: Situation) -> Time | None:
    """When the next deadline is due; `None` if nothing is, or nothing can happen any more."""
    return None if is_over(situation.place) else extents.next_due(situation.stage, _extent(situation))
