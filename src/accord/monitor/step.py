"""One step of a session, as a pure function: where it was and what happens, to where it is and the verdict.

A session's `Situation` is its place and what it holds (registers). The place is a `Stage` if it is simply running; else
it is `Aside`: halted, closed, waiting for a word that can be recognised, or holding several possibilities. Both kinds
of place offer `sends` and `receives`, so the monitor's fast path need not know which it has: what must be looked at
more closely is not in there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from accord.machine import extent
from accord.machine.configurations import TooManyConfigurationsError
from accord.machine.extent import Extent
from accord.machine.stages import Stage
from accord.machine.standing import OpenStanding
from accord.machine.taking import Possibilities, Refused, Taken, take
from accord.monitor.refusals import Refusal
from accord.monitor.verdicts import OK, UNRECOGNIZED, Blocked, Unrecognized, Violation

if TYPE_CHECKING:
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.machine.events import Event
    from accord.machine.rulebook import RuleNodes
    from accord.machine.stages import CarefulLinks, Links
    from accord.machine.standing import Standing
    from accord.machine.taking import Holding
    from accord.monitor.verdicts import Verdict

__all__ = [
    "Aside",
    "Mode",
    "Phase",
    "Place",
    "Situation",
    "Status",
    "begin",
    "close",
    "is_over",
    "place_at",
    "refuse",
    "refused_for_good",
    "status",
    "step",
    "take_within_limits",
    "tick",
]

Mode = Literal["halt", "refuse"]
Status = Literal["running", "complete", "violated", "incomplete", "unrecognised"]
Phase = Literal["running", "puzzled", "violated", "complete", "incomplete", "unrecognised"]

HALTED = Blocked("monitor halted after a previous violation")
CLOSED = Blocked("the session is closed")


@dataclass(frozen=True, slots=True)
class Aside:
    """A place that is not simply a stage.

    `running`: each event must be looked at, so there are no links. `puzzled`: the last word was not recognised.
    `violated`: halted. `complete`, `incomplete`, `unrecognised`: closed, with that outcome.
    """

    stage: Stage
    phase: Phase
    sends: Links = field(default_factory=dict)
    receives: Links = field(default_factory=dict)
    careful_sends: CarefulLinks = field(default_factory=dict)
    careful_receives: CarefulLinks = field(default_factory=dict)


Place = Stage | Aside


class Situation(NamedTuple):
    """Everything there is to know about a session. It holds an `Extent` if its contract has slices or deadlines."""

    place: Place
    holding: Holding | Extent

    @property
    def stage(self) -> Stage:
        """Where it is with protocol and rules, whatever else is the matter."""
        return self.place if isinstance(self.place, Stage) else self.place.stage

    @property
    def standing(self) -> Standing:
        """Where it stands with its protocol."""
        return self.stage.standing

    @property
    def rules(self) -> RuleNodes:
        """The state of each rule; those of a sliced one are elsewhere."""
        return self.stage.rules

    @property
    def state(self) -> int | str:
        """Where it stands, as a number or in words."""
        if isinstance(self.holding, Extent) and self.holding.course is not None:
            count = len(self.holding.course.instances)
            return "1 instance" if count == 1 else f"{count} instances"
        return self.standing.number

    @property
    def complete(self) -> bool:
        """Whether the session may end here: protocol, rules and all instances allow it."""
        return self.stage.complete and not (isinstance(self.holding, Extent) and self.holding.owes)

    @property
    def allowed(self) -> tuple[str, ...]:
        """The words that are legal now, sorted; of a sliced protocol, those of any instance and of a new one."""
        stage, held = self.stage, self.holding
        if isinstance(held, Extent) and held.course is not None and stage.stages.sliced is not None:
            return stage.allowed_of(stage.stages.sliced.symbols(held.course))
        return stage.allowed


def begin(contract: Contract, protocol: str | None, at: Time | None = None) -> Situation:
    """A session that has just begun; if its contract uses time, then or at the first time it is told."""
    stages = contract.stages(protocol)
    if not stages.is_wide:
        return Situation(stages.start, stages.registers)
    return Situation(*extent.begin(stages, at if stages.is_timed else 0))


def place_at(stage: Stage, holding: Holding | Extent, *, puzzled: bool = False) -> Place:
    """The place of a running session.

    INVARIANT: a link leads to a stage and leaves what is held alone. So a session that holds several possibilities has
    none: each of them moves by itself.
    """
    phase: Phase = "puzzled" if puzzled else "running"
    if isinstance(holding, Possibilities):
        return Aside(stage, phase)
    return Aside(stage, phase, stage.sends, stage.receives) if puzzled else stage


def is_over(place: Place) -> bool:
    """Whether the session accepts nothing any more."""
    return isinstance(place, Aside) and place.phase not in {"running", "puzzled"}


def status(situation: Situation) -> Status:
    """The session's status."""
    place = situation.place
    if isinstance(place, Aside) and is_over(place):
        return place.phase  # type: ignore[return-value] # the two others are excluded
    return "complete" if situation.complete else "running"


def step(situation: Situation, event: Event, mode: Mode, position: int | None = None) -> tuple[Situation, Verdict]:
    """Where a session is after an event, and the verdict on it; `position` is where the event stands in the trace.

    Raises `UsageError` if the event leaves open which partner it is with, or holds what is no payload.
    """
    place, holding = situation
    if isinstance(holding, Extent):
        from accord.monitor import wide  # noqa: PLC0415 - it is made of this module

        return wide.step(situation, event, mode, position)
    if is_over(place):
        return situation, refused_for_good(situation)
    stage = situation.stage
    direction, label, partner = event[:3]
    if label == UNRECOGNIZED and not _is_named(stage, event):
        told: Literal["send", "receive"] = "send" if direction == "!" else "receive"
        return Situation(place_at(stage, holding, puzzled=True), holding), Unrecognized(stage.allowed, told)
    if event.to_rules:
        taken: Taken | Refused = Taken(stage.standing, holding)
    else:
        taken = take_within_limits(stage.standing, holding, event)
    if isinstance(taken, Refused):
        return refuse(situation, Refusal(stage, event.bare, taken.reasons), mode, position)
    book = stage.stages.book
    nodes = book.advance(stage.rules, event)
    if isinstance(nodes, int):
        return refuse(situation, _by_rule(stage, nodes, event), mode, position)
    after = stage.stages.at(taken.standing, nodes)
    if event.to_rules:
        pass  # a link is a step of the protocol
    elif taken.plain and partner is None:
        stage.remember(direction, label, after)
    elif partner is None and not isinstance(holding, Possibilities):
        stage.remember_options(direction, label)
    return Situation(place_at(after, taken.holding), taken.holding), OK


def refused_for_good(situation: Situation) -> Blocked:
    """The answer to everything once a session is over."""
    return HALTED if status(situation) == "violated" else CLOSED


def _by_rule(stage: Stage, number: int, event: Event) -> Refusal:
    """The refusal of an event by a rule."""
    book, rule = stage.stages.book, stage.rules[number]
    fits = book.fits(stage.rules, event)
    return Refusal(stage, event.bare, rule.machine.why_undecided(fits[number], event.payload), rule, fits)


def _is_named(stage: Stage, event: Event) -> bool:
    """Whether a branch that is open now, or a rule, has a message of this label."""
    if event.label in stage.stages.book.labels:
        return True
    if isinstance(stage.standing, OpenStanding):
        return False
    return bool(stage.standing.matching(event.direction, event.label, event.partner))


def take_within_limits(standing: Standing, holding: Holding, event: Event) -> Taken | Refused:
    """As `take`; passing a limit is a refusal like any other."""
    try:
        return take(standing, holding, event)
    except TooManyConfigurationsError as error:
        return Refused((str(error),))


def refuse(situation: Situation, refusal: Refusal, mode: Mode, position: int | None) -> tuple[Situation, Verdict]:
    """The verdict on what is refused, and the session afterwards: as it was, or halted."""
    verdict = Violation.of(refusal, position)
    if mode == "refuse":
        return situation, verdict
    return situation._replace(place=Aside(refusal.stage, "violated")), verdict


def close(situation: Situation, position: int | None = None, at: Time | None = None) -> tuple[Situation, Verdict]:
    """A session that is told that nothing more will come; closing is final in both modes."""
    place, stage = situation.place, situation.stage
    if isinstance(situation.holding, Extent):
        from accord.monitor import wide  # noqa: PLC0415 - it is made of this module

        return wide.close(situation, position, at)
    if isinstance(place, Aside):
        if place.phase == "violated":
            return situation, HALTED
        if place.phase in {"puzzled", "unrecognised"}:
            closed = situation._replace(place=Aside(stage, "unrecognised"))
            return closed, Unrecognized(stage.allowed, "receive")
    if stage.complete:
        return situation._replace(place=Aside(stage, "complete")), OK
    owing = next((node for node in stage.rules if node.owes), None) if stage.standing.complete else None
    verdict = Violation.of(Refusal(stage, None, rule=owing), position)
    return situation._replace(place=Aside(stage, "incomplete")), verdict


def tick(situation: Situation, mode: Mode, position: int | None, at: Time | None) -> tuple[Situation, Verdict]:
    """A session in which time passes and nothing happens."""
    if isinstance(situation.holding, Extent):
        from accord.monitor import wide  # noqa: PLC0415 - it is made of this module

        return wide.tick(situation, mode, position, at)
    return situation, refused_for_good(situation) if is_over(situation.place) else OK
