"""A protocol that is over begins again, while everything beside it stays as it is.

A session lives as long as its key, and its protocol may be shorter than that. Beginning again moves the protocol back
to its first state, with empty registers. Rules, their instances and the instances of a sliced protocol stay: what was
counted, owed or finished once is so for the whole session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.machine.extent import Extent
from accord.machine.standing import OpenStanding, TimedStanding
from accord.machine.taking import spread
from accord.monitor.step import Aside, Situation, is_over

if TYPE_CHECKING:
    from accord.machine.clocks import Time

__all__ = ["is_done", "restart"]


def is_done(situation: Situation) -> bool:
    """Whether the protocol has come to its end: it is complete, and nothing more can happen in it.

    Rules alone and a sliced protocol have no end: another instance can always begin. One that was closed is done if it
    was complete then.
    """
    place, standing = situation.place, situation.standing
    if isinstance(place, Aside) and is_over(place):
        return place.phase == "complete"
    if isinstance(standing, OpenStanding) or standing.symbols or not standing.complete:
        return False
    return not isinstance(standing, TimedStanding) or standing.next_due is None


def restart(situation: Situation, at: Time | None = None) -> Situation:
    """The session with its protocol at the beginning; deadlines run from `at`, or from the last time it was told."""
    stage, held = situation.stage, situation.holding
    stages = stage.stages
    if not isinstance(held, Extent):
        return Situation(stages.at(stages.start.standing, stage.rules), stages.registers)
    if stages.sliced is not None or held.now is None:
        return Situation(stage, held)
    now = held.now if at is None or not stages.is_timed else max(at, held.now)
    standing = stages.standings.begin(now)
    registers = spread(standing, stages.registers)
    return Situation(stages.at(standing, stage.rules), held._replace(registers=registers, now=now))
