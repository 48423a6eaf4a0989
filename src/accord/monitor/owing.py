"""What is still owed when a session is to end: by its protocol, by instances of it, by rules.

Both the explanation of a refused closing and the command line tell it from here. Instances are named in the order of
their keys: the trie that holds them has an order of its own, which differs from process to process.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING

from accord.language.values import order_of
from accord.monitor.wording import MOST_LISTED

if TYPE_CHECKING:
    from accord.language.values import Frozen
    from accord.machine.clocks import Time
    from accord.machine.extent import Extent
    from accord.machine.rules import RuleMachine
    from accord.machine.slices import Course
    from accord.machine.stages import Stage

__all__ = ["OwingRule", "owing_rules", "unfinished"]


@dataclass(frozen=True, slots=True)
class OwingRule:
    """A rule to which something is owed, and until when; if it is sliced, to how many instances, and the first keys."""

    machine: RuleMachine
    due: Time | None = None
    count: int = 0
    keys: tuple[Frozen, ...] = ()


def unfinished(course: Course) -> tuple[Frozen, ...]:
    """The first keys of instances in which something is owed; `course.owing` is how many there are."""
    if not course.owing:
        return ()
    keys = (key for key, (standing, _) in course.instances.items() if not standing.complete)
    return tuple(nsmallest(MOST_LISTED, keys, key=order_of))


def owing_rules(stage: Stage, extent: Extent | None) -> list[OwingRule]:
    """Every rule to which something is owed, in the order of the contract."""
    found = []
    sliced = stage.stages.book.sliced
    for number, node in enumerate(stage.rules):
        if number not in sliced or extent is None:
            if node.owes:
                found.append(OwingRule(node.machine, node.state.due))
            continue
        held = extent.slices[sliced.index(number)]
        if held.owing:
            owing = {key: instance.state.due for key, instance in held.instances.items() if instance.owes}
            dues = [due for due in owing.values() if due is not None]
            keys = tuple(nsmallest(MOST_LISTED, owing, key=order_of))
            found.append(OwingRule(node.machine, min(dues, default=None), held.owing, keys))
    return found
