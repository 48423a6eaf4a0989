"""One step of a session whose contract has slices or deadlines, as a pure function.

Time passes first, whatever then becomes of the attempt: deadlines that are over expire, which moves a protocol on and
is a violation of a rule. Then the event is judged by the protocol, or by its instance of a sliced one, and by all
rules.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from accord.errors import UsageError
from accord.machine import extent as extents
from accord.machine.configurations import TooManyConfigurationsError
from accord.machine.extent import Extent, pass_time
from accord.machine.slices import NO_KEY, Course, NoKey, RuleSlice, key_of
from accord.machine.standing import OpenStanding, TimedStanding
from accord.machine.taking import Refused
from accord.monitor.refusals import NOWHERE, Refusal, belonging
from accord.monitor.step import HALTED, Aside, Situation, is_over, refuse, refused_for_good, take_within_limits
from accord.monitor.verdicts import CLOSING, OK, TICKING, UNRECOGNIZED, Unrecognized, Violation

if TYPE_CHECKING:
    from accord.language.values import Frozen
    from accord.machine.clocks import Time
    from accord.machine.events import Event
    from accord.machine.extent import Missed
    from accord.machine.rulebook import RuleNodes
    from accord.machine.standing import Standing
    from accord.machine.tables import Symbol
    from accord.machine.taking import Holding
    from accord.monitor.refusals import Belonging
    from accord.monitor.step import Mode
    from accord.monitor.verdicts import Verdict

__all__ = ["by_protocol", "check_time", "close", "next_due", "step", "tick"]


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
    if not situation.stage.stages.is_timed:
        return situation, []
    stage, held, missed = pass_time(situation.stage, _extent(situation), at)
    place = situation.place
    return Situation(Aside(stage, place.phase) if isinstance(place, Aside) else stage, held), missed


def step(situation: Situation, event: Event, mode: Mode, position: int | None) -> tuple[Situation, Verdict]:
    """Where a session is after an event, and the verdict on it."""
    at = check_time(situation, event.at)
    if at != event.at:
        event = event._replace(at=at)
    if is_over(situation.place):
        return situation, refused_for_good(situation)
    try:
        here, missed = _later(situation, event.time)
    except TooManyConfigurationsError as error:
        refusal = Refusal(situation.stage, event.bare, (str(error),), extent=_extent(situation))
        return refuse(situation, refusal, mode, position)
    stage, held = here.stage, _extent(here)
    if missed:
        return refuse(here, _overdue(here, event.word, missed, belonging(stage, event)), mode, position)
    if event.label == UNRECOGNIZED and not _is_named(here, event):
        told: Literal["send", "receive"] = "send" if event.direction == "!" else "receive"
        return here._replace(place=Aside(stage, "puzzled")), Unrecognized(here.allowed, told)
    after = by_protocol(here, event)
    if isinstance(after, Refusal):
        return refuse(here, replace(after, lapsed=_lapsed(situation, event)), mode, position)
    standing, registers, course = after
    rules = _by_rules(here, event)
    if isinstance(rules, Refusal):
        return refuse(here, rules, mode, position)
    nodes, slices = rules
    return Situation(stage.stages.at(standing, nodes), Extent(registers, held.now, course, slices)), OK


def by_protocol(here: Situation, event: Event) -> tuple[Standing, Holding, Course | None] | Refusal:
    """Standing and what is held after the protocol has taken the event."""
    stage, held = here.stage, _extent(here)
    sliced = stage.stages.sliced
    if event.to_rules:
        return stage.standing, held.registers, held.course
    if sliced is None or held.course is None:
        taken = take_within_limits(stage.standing, held.registers, event)
        if isinstance(taken, Refused):
            return Refusal(stage, event.bare, taken.reasons, extent=held, belongs=belonging(stage, event))
        return taken.standing, taken.holding, None
    if stage.stages.machine.passes(event.direction, event.label):
        return stage.standing, held.registers, held.course
    key = key_of(sliced.path, event.direction, event.payload)
    try:
        course = sliced.react(held.course, key, event)
    except TooManyConfigurationsError as error:
        course = Refused((str(error),))
    if isinstance(course, Course):
        return stage.standing, held.registers, course
    return Refusal(stage, event.bare, course.reasons, extent=held, belongs=belonging(stage, event))


def _lapsed(before: Situation, event: Event) -> Time | None:
    """Until when an event would have been in time, if it was this attempt that let the time pass."""
    stage, held = before.stage, _extent(before)
    standing: Standing | None = stage.standing
    sliced, key = stage.stages.sliced, _key(before, event)
    if sliced is not None and held.course is not None:
        known = None if isinstance(key, NoKey) else held.course.instances.get(key)
        standing = None if known is None else known[0]
    if not isinstance(standing, TimedStanding):
        return None
    for due, timed in standing.deadlines:
        if due < event.time and any(_could_be(symbol, event) for symbol in timed):
            return due
    return None


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
            return _by_rule(here, book.sliced[place], event, after.reasons)
        slices[place] = after
    if isinstance(nodes, int):
        return _by_rule(here, nodes, event, ())
    return nodes, tuple(slices)


def _by_rule(here: Situation, number: int, event: Event, reasons: tuple[str, ...]) -> Refusal:
    """The refusal of an event by a rule, or by its instance of one."""
    stage, held = here.stage, _extent(here)
    book = stage.stages.book
    fits = book.fits(stage.rules, event)
    for place, rule in enumerate(stage.stages.sliced_rules):
        if event.label in rule.machine.by_label:
            fits[book.sliced[place]] = rule.machine.outcomes(held.slices[place].called, event)
    refusal = Refusal(stage, event.bare, reasons, None, fits, held, belonging(stage, event))
    node = refusal.nodes[number]
    return replace(refusal, rule=node, reasons=reasons or node.machine.why_undecided(fits[number], event.payload))


def _key(here: Situation, event: Event) -> Frozen | NoKey:
    sliced = here.stage.stages.sliced
    return NO_KEY if sliced is None else key_of(sliced.path, event.direction, event.payload)


def _is_named(here: Situation, event: Event) -> bool:
    """Whether a branch that is open now, or a rule, has a message of this label."""
    stage, held = here.stage, _extent(here)
    if event.label in stage.stages.book.labels:
        return True
    if event.to_rules:
        return False
    sliced = stage.stages.sliced
    if sliced is not None and held.course is not None:
        symbols = sliced.symbols(held.course, _key(here, event))
    elif isinstance(stage.standing, OpenStanding):
        return False
    else:
        symbols = frozenset(stage.standing.symbols)
    return any(_could_be(symbol, event) for symbol in symbols)


def _could_be(symbol: Symbol, event: Event) -> bool:
    """Whether an event, its data left aside, can be this symbol."""
    same = (symbol.direction, symbol.label) == (event.direction, event.label)
    return same and (event.partner is None or symbol.partner in {None, event.partner})


def _overdue(here: Situation, got: str, missed: list[Missed], belongs: Belonging = NOWHERE) -> Refusal:
    rule = here.stage.rules[missed[0].rule]
    held = _extent(here)
    return Refusal(here.stage, None, rule=rule, extent=held, belongs=belongs, missed=tuple(missed), instead=got)


def tick(situation: Situation, mode: Mode, position: int | None, at: Time | None) -> tuple[Situation, Verdict]:
    """A session in which time passes and nothing happens."""
    at = check_time(situation, at)
    if is_over(situation.place):
        return situation, refused_for_good(situation)
    try:
        here, missed = _later(situation, at)
    except TooManyConfigurationsError as error:
        return refuse(situation, _too_much(situation, TICKING, error), mode, position)
    if missed:
        return refuse(here, _overdue(here, TICKING, missed), mode, position)
    return here, OK


def _too_much(situation: Situation, instead: str, error: TooManyConfigurationsError) -> Refusal:
    return Refusal(situation.stage, None, (str(error),), extent=_extent(situation), instead=instead)


def close(situation: Situation, position: int | None, at: Time | None) -> tuple[Situation, Verdict]:
    """A session that is told that nothing more will come."""
    at = check_time(situation, at)
    place, held = situation.place, _extent(situation)
    if isinstance(place, Aside) and place.phase == "violated":
        return situation, HALTED
    if is_over(place) and held.now is not None:
        at = held.now  # closing again gives the same answer
    # What was late is dropped, so asking again would find nothing: only the time is kept.
    late = Situation(Aside(situation.stage, "incomplete"), held._replace(now=at))
    try:
        here, missed = _later(situation, at)
    except TooManyConfigurationsError as error:
        return late, Violation.of(_too_much(situation, CLOSING, error), position)
    if missed:
        return late, Violation.of(_overdue(here, CLOSING, missed), position)
    if isinstance(place, Aside) and place.phase in {"puzzled", "unrecognised"}:
        return here._replace(place=Aside(here.stage, "unrecognised")), Unrecognized(here.allowed, "receive")
    if here.complete:
        return here._replace(place=Aside(here.stage, "complete")), OK
    return here._replace(place=Aside(here.stage, "incomplete")), Violation.of(_owed(here), position)


def _owed(here: Situation) -> Refusal:
    """What does not let the session end: the protocol, or the first rule that owes something."""
    stage, held = here.stage, _extent(here)
    if not stage.standing.complete or (held.course is not None and held.course.owing):
        return Refusal(stage, None, extent=held)
    sliced = stage.stages.book.sliced
    for number, node in enumerate(stage.rules):
        if held.slices[sliced.index(number)].owing if number in sliced else node.owes:
            return Refusal(stage, None, rule=node, extent=held)
    raise AssertionError("a session that is not complete owes something")


def next_due(situation: Situation) -> Time | None:
    """When the next deadline is due; `None` if nothing is, or nothing can happen any more."""
    return None if is_over(situation.place) else extents.next_due(situation.stage, _extent(situation))
