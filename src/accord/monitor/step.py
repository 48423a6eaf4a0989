"""One step of a session, as a pure function: where it was and what happens, to where it is and the verdict.

A session's `Situation` is three things: its place, what it holds (registers), and the nodes of its rules. The place is
a `Standing` of its machine if it is simply running; else it is `Aside`: halted, closed, waiting for a word that can be
recognised, or on the alert because a rule must see whatever comes next. Both kinds of place offer `sends` and
`receives`, so the monitor's fast path need not know which it has: what must be looked at more closely is not in there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from accord.machine.standing import OpenStanding, Standing, TooManyConfigurationsError
from accord.machine.taking import Possibilities, Refused, Taken, take
from accord.monitor.events import NO_PAYLOAD
from accord.monitor.verdicts import (
    CLOSING,
    OK,
    UNRECOGNIZED,
    Blocked,
    Refusal,
    Unrecognized,
    Violation,
)

if TYPE_CHECKING:
    from accord.machine.contract import Contract
    from accord.machine.rulebook import RuleNodes
    from accord.machine.standing import GuardedLinks, Links, WatchedLinks
    from accord.machine.taking import Holding
    from accord.monitor.events import Event
    from accord.monitor.verdicts import Verdict

__all__ = [
    "Aside",
    "Mode",
    "Phase",
    "Place",
    "Situation",
    "Status",
    "allowed_words",
    "begin",
    "close",
    "is_over",
    "place_at",
    "standing_of",
    "status",
    "step",
]

Mode = Literal["halt", "refuse"]
Status = Literal["running", "complete", "violated", "incomplete", "unrecognised"]
Phase = Literal["running", "puzzled", "violated", "complete", "incomplete", "unrecognised"]

HALTED = Blocked("monitor halted after a previous violation")
CLOSED = Blocked("the session is closed")


@dataclass(frozen=True, slots=True)
class Aside:
    """A place that is not simply a standing.

    `running`: something must look at the next event, so some links are missing. `puzzled`: the last word was not
    recognised. `violated`: halted. `complete`, `incomplete`, `unrecognised`: closed, with that outcome.
    """

    standing: Standing
    phase: Phase
    sends: Links = field(default_factory=dict)
    receives: Links = field(default_factory=dict)
    watched_sends: WatchedLinks = field(default_factory=dict)
    watched_receives: WatchedLinks = field(default_factory=dict)
    guarded_sends: GuardedLinks = field(default_factory=dict)
    guarded_receives: GuardedLinks = field(default_factory=dict)


Place = Standing | Aside


class Situation(NamedTuple):
    """Everything there is to know about a session."""

    place: Place
    holding: Holding
    rules: RuleNodes


def begin(contract: Contract, protocol: str | None) -> Situation:
    """A session that has just begun."""
    standings = contract.standings(protocol)
    return Situation(standings.start, standings.registers, contract.rules.start)


def standing_of(place: Place) -> Standing:
    """Where the protocol stands, whatever else is the matter."""
    return place if isinstance(place, Standing) else place.standing


def place_at(standing: Standing, holding: Holding, rules: RuleNodes, *, puzzled: bool = False) -> Place:
    """The place of a running session: its standing, or one without links if something has to look at the next event.

    INVARIANT: a link leads to a plain standing. So a session on the alert has no links at all, in neither direction:
    following one would end the alert. A session that holds several possibilities has none either: each of them moves by
    itself.
    """
    phase: Phase = "puzzled" if puzzled else "running"
    if isinstance(holding, Possibilities) or any(node.armed("!") or node.armed("?") for node in rules):
        return Aside(standing, phase)
    return Aside(standing, phase, standing.sends, standing.receives) if puzzled else standing


def is_over(place: Place) -> bool:
    """Whether the session accepts nothing any more."""
    return isinstance(place, Aside) and place.phase not in {"running", "puzzled"}


def status(situation: Situation) -> Status:
    """The session's status."""
    place = situation.place
    if isinstance(place, Aside) and is_over(place):
        return place.phase  # type: ignore[return-value] # the two others are excluded
    return "complete" if _is_complete(situation) else "running"


def _is_complete(situation: Situation) -> bool:
    return standing_of(situation.place).complete and not any(node.owes for node in situation.rules)


def allowed_words(situation: Situation) -> tuple[str, ...]:
    """The words that are legal now, sorted: what the protocol allows and no rule is certain to refuse."""
    standing = standing_of(situation.place)
    if not situation.rules or isinstance(standing, OpenStanding):
        return standing.allowed
    book = situation.rules[0].machine.book
    return tuple(
        sorted(
            symbol.word
            for symbol in standing.symbols
            if not isinstance(book.imagine(situation.rules, symbol, helpful=False), int)
        )
    )


def step(situation: Situation, event: Event, mode: Mode, position: int | None = None) -> tuple[Situation, Verdict]:
    """Where a session is after an event, and the verdict on it; `position` is where the event stands in the trace.

    Raises `UsageError` if the event leaves open which partner it is with, or holds what is no payload.
    """
    place, holding, rules = situation
    if is_over(place):
        return situation, HALTED if status(situation) == "violated" else CLOSED
    standing = standing_of(place)
    if event.label == UNRECOGNIZED and not _is_named(situation, event):
        direction: Literal["send", "receive"] = "send" if event.direction == "!" else "receive"
        puzzled = situation._replace(place=place_at(standing, holding, rules, puzzled=True))
        return puzzled, Unrecognized(allowed_words(situation), direction)
    taken = _take(standing, holding, event)
    if isinstance(taken, Refused):
        return _refuse(situation, Refusal(situation, _bare(event), taken.reasons), mode, position)
    after = rules
    if rules:
        result = rules[0].machine.book.advance(rules, event.direction, event.label, event.payload, event.by)
        if isinstance(result, int):
            fits = rules[0].machine.book.fits(rules, event.direction, event.label, event.payload, event.by)
            reasons = rules[result].machine.why_undecided(fits[result], event.payload)
            refusal = Refusal(situation, _bare(event), reasons, rules[result], fits)
            return _refuse(situation, refusal, mode, position)
        after = result
    return Situation(place_at(taken.standing, taken.holding, after), taken.holding, after), OK


def _is_named(situation: Situation, event: Event) -> bool:
    """Whether a branch that is open now, or a rule, has a message of this label."""
    rules, standing = situation.rules, standing_of(situation.place)
    if rules and event.label in rules[0].machine.book.labels:
        return True
    if isinstance(standing, OpenStanding):
        return False
    return bool(standing.matching(event.direction, event.label, event.partner))


def _bare(event: Event) -> Event:
    """The event without its payload, which belongs to the caller and may change."""
    return event._replace(payload=NO_PAYLOAD)


def _take(standing: Standing, holding: Holding, event: Event) -> Taken | Refused:
    try:
        return take(standing, holding, *event)
    except TooManyConfigurationsError as error:
        return Refused((str(error),))


def _refuse(situation: Situation, refusal: Refusal, mode: Mode, position: int | None) -> tuple[Situation, Verdict]:
    verdict = violation(refusal, position)
    if mode == "refuse":
        return situation, verdict
    return situation._replace(place=Aside(standing_of(situation.place), "violated")), verdict


def close(situation: Situation, position: int | None = None) -> tuple[Situation, Verdict]:
    """A session that is told that nothing more will come; closing is final in both modes."""
    place = situation.place
    standing = standing_of(place)
    if isinstance(place, Aside):
        if place.phase == "violated":
            return situation, HALTED
        if place.phase in {"puzzled", "unrecognised"}:
            closed = situation._replace(place=Aside(standing, "unrecognised"))
            return closed, Unrecognized(allowed_words(situation), "receive")
    if _is_complete(situation):
        return situation._replace(place=Aside(standing, "complete")), OK
    owing = next((node for node in situation.rules if node.owes), None) if standing.complete else None
    verdict = violation(Refusal(situation, None, rule=owing), position)
    return situation._replace(place=Aside(standing, "incomplete")), verdict


def violation(refusal: Refusal, position: int | None) -> Violation:
    """A refusal as the caller sees it."""
    standing = standing_of(refusal.situation.place)
    name = standing.standings.machine.name
    protocol = f"protocol {name}" if name else "protocol"
    return Violation(
        allowed_words(refusal.situation),
        CLOSING if refusal.event is None else refusal.event.word,
        contract=name or "",
        clause=protocol if refusal.rule is None else f'rule "{refusal.rule.machine.rule.name}"',
        state=standing.number,
        position=position,
        _refusal=refusal,
    )
