"""An event that has happened although a part of the session refuses it, as a pure function.

The parts of a session (its protocol, each rule, their instances) look at an event each for itself. A session that is
asked about an event takes it whole or not at all. Where it is only supposed to stand somewhere, and the event is known
to have happened, each part takes it or stays as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.machine.configurations import TooManyConfigurationsError
from accord.machine.extent import Extent, pass_time
from accord.machine.taking import Refused
from accord.monitor.refusals import Refusal
from accord.monitor.step import Situation, is_over, place_at, take_within_limits
from accord.monitor.wide import by_protocol

if TYPE_CHECKING:
    from accord.machine.events import Event

__all__ = ["take_in_parts"]


def take_in_parts(situation: Situation, event: Event) -> Situation:
    """Where a session is after an event that every part takes which does not refuse it."""
    if is_over(situation.place):
        return situation
    if isinstance(situation.holding, Extent):
        return _wide(situation, situation.holding, event)
    stage, standing, holding = situation.stage, situation.standing, situation.holding
    taken = Refused(()) if event.to_rules else take_within_limits(standing, holding, event)
    if not isinstance(taken, Refused):
        standing, holding = taken.standing, taken.holding
    nodes, _ = stage.stages.book.advance_all(stage.rules, event)
    return Situation(place_at(stage.stages.at(standing, nodes), holding), holding)


def _wide(situation: Situation, held: Extent, event: Event) -> Situation:
    stage = situation.stage
    stages = stage.stages
    if stages.is_timed:
        try:
            stage, held, _ = pass_time(stage, held, event.time)
        except TooManyConfigurationsError:
            return situation
    else:
        event = event._replace(at=0)
    standing, registers, course = stage.standing, held.registers, held.course
    after = by_protocol(Situation(stage, held), event)
    if not isinstance(after, Refusal):
        standing, registers, course = after
    nodes, _ = stages.book.advance_all(stage.rules, event)
    reacted = [rule.react(before, event) for before, rule in zip(held.slices, stages.sliced_rules, strict=True)]
    slices = [
        before if isinstance(found, Refused) else found for before, found in zip(held.slices, reacted, strict=True)
    ]
    return Situation(stages.at(standing, nodes), Extent(registers, held.now, course, tuple(slices)))
