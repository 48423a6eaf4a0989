"""Whether the parts of a snapshot belong together: what each of them alone cannot tell.

A checksum that fits says that nobody changed a snapshot by accident. It does not say that the session was ever there,
and a session that never was could forget what it owes: one that has not begun begins anew with the next event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.language.rules import Within
from accord.machine import extent as extents
from accord.machine.clocks import running
from accord.machine.standing import TimedStanding
from accord.machine.tables import Plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.machine.clocks import Time
    from accord.machine.extent import Extent
    from accord.machine.stages import Stage
    from accord.machine.standing import Standing
    from accord.monitor.step import Phase

__all__ = ["check_extent"]


def check_extent(stage: Stage, extent: Extent, phase: Phase) -> None:
    """Raise `UsageError` if a session there cannot hold that."""
    stages = stage.stages
    if any(stage.rules[index] is not stages.book.start[index] for index in stages.book.sliced):
        raise _damaged("a sliced rule has no state but those of its instances")
    if extent.now is None or not stages.is_timed:
        begun = stages.is_timed and (phase != "running" or not _is_beginning(stage, extent))
        if begun or (not stages.is_timed and extent.now != 0):
            raise _damaged("it was taken at no time")
        return
    # Rounding never turns two sums around, so what began by now is due by then.
    if any(due > extent.now + milliseconds / 1000 for due, milliseconds in _clocks(stage, extent)):
        raise _damaged("something began after it was taken")
    due = extents.next_due(stage, extent)
    if phase in {"running", "puzzled"} and due is not None and due < extent.now:
        raise _damaged("something was due before it was taken")


def _is_beginning(stage: Stage, extent: Extent) -> bool:
    """Whether nothing has happened yet."""
    first, held = extents.begin(stage.stages, None)
    nothing_known = extent.course is None or not extent.course.instances
    untouched = all(not one.instances and not one.called for one in extent.slices)
    return (
        stage.standing.configurations == first.standing.configurations
        and stage.rules == first.rules
        and extent.registers == held.registers
        and nothing_known
        and untouched
    )


def _clocks(stage: Stage, extent: Extent) -> Iterator[tuple[Time, int]]:
    """The clocks that run: when each is due, and how long it was given."""
    yield from _of_standing(stage.standing)
    for standing, _ in extent.course.instances.values() if extent.course else ():
        yield from _of_standing(standing)
    nodes = [*stage.rules, *(node for held in extent.slices for node in held.instances.values())]
    for node in nodes:
        body = node.machine.rule.body
        if isinstance(body, Within) and node.state.due is not None:
            yield node.state.due, body.milliseconds


def _of_standing(standing: Standing) -> Iterator[tuple[Time, int]]:
    machine = standing.standings.machine
    if isinstance(standing, TimedStanding):
        for configuration in standing.configurations:
            for due, number in running(machine, configuration):
                state = machine.states[number]
                if isinstance(state, Plain) and state.late is not None:
                    yield due, state.late.milliseconds


def _damaged(what: str) -> UsageError:
    return UsageError(f"the snapshot is damaged: {what}")
