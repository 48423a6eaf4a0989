"""What a session holds beyond registers if its contract has slices or deadlines: the time, and all instances.

Such a session is followed event by event, without prepared links: nearly everything in it depends on a key or on the
time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.language.values import order_of
from accord.machine.standing import TimedStanding
from accord.machine.taking import spread, wait

if TYPE_CHECKING:
    from accord.language.values import Frozen
    from accord.machine.clocks import Time
    from accord.machine.rule_forms import RuleState
    from accord.machine.slices import Course, RuleSlice
    from accord.machine.stages import Stage, Stages
    from accord.machine.taking import Holding

__all__ = ["Extent", "Missed", "begin", "next_due", "pass_time"]


class Extent(NamedTuple):
    """`registers` are those of a protocol that is not sliced; `now` is unknown until the session is told a time.

    `slices` has an entry for each sliced rule.
    """

    registers: Holding
    now: Time | None
    course: Course | None
    slices: tuple[RuleSlice, ...]

    @property
    def owes(self) -> bool:
        """Whether an instance owes something."""
        return bool(self.course and self.course.owing) or any(held.owing for held in self.slices)


class Missed(NamedTuple):
    """Something that was due and did not happen: when, by which rule, and in which instance if it is sliced.

    `state` is what the rule had seen until then.
    """

    due: Time
    rule: int
    state: RuleState
    keys: tuple[Frozen, ...] = ()


def begin(stages: Stages, at: Time | None) -> tuple[Stage, Extent]:
    """A session that begins at a time, or at the first that it is told."""
    standing = stages.standings.begin(0 if at is None else at)
    course = stages.sliced.start if stages.sliced else None
    slices = tuple(rule.start for rule in stages.sliced_rules)
    held = spread(standing, stages.registers)
    return stages.at(standing, stages.book.start), Extent(held, at, course, slices)


def pass_time(stage: Stage, extent: Extent, at: Time) -> tuple[Stage, Extent, list[Missed]]:
    """Where a session is if nothing happens until then, and what rules required until then and did not get."""
    stages = stage.stages
    if extent.now is None:
        stage, extent = begin(stages, at)
        return stage, extent, []
    standing, registers = wait(stage.standing, extent.registers, at)
    nodes, late = stages.book.late(stage.rules, at)
    missed = [Missed(due, index, stage.rules[index].state) for due, index in late]
    course = stages.sliced.wait(extent.course, at) if stages.sliced and extent.course else extent.course
    slices = list(extent.slices)
    for place, rule in enumerate(stages.sliced_rules):
        slices[place], overdue = rule.late(slices[place], at)
        missed += [Missed(due, stages.book.sliced[place], state, (key,)) for due, key, state in overdue]
    missed.sort(key=lambda one: (one.due, one.rule, *map(order_of, one.keys)))
    after = Extent(registers, at, course, tuple(slices))
    return stages.at(standing, nodes), after, missed


def next_due(stage: Stage, extent: Extent) -> Time | None:
    """When the next deadline is due, of the protocol, of a rule, or of an instance; `None` if there is none."""
    if extent.now is None:
        return None
    stages = stage.stages
    dues = [stage.rules[index].state.due for index in stages.book.timed]
    if isinstance(stage.standing, TimedStanding):
        dues.append(stage.standing.next_due)
    if stages.sliced and extent.course:
        dues.append(stages.sliced.next_due(extent.course))
    dues += [rule.next_due(held) for rule, held in zip(stages.sliced_rules, extent.slices, strict=True)]
    return min((due for due in dues if due is not None), default=None)
