"""Conditions of rules, compiled: whether one holds, and how far it is from holding.

A condition counts messages. Counts only grow, so how many messages are missing at the least can be told from the
counts: that is what lets a search for the people whom a call needs go straight to them (`calls.ways`).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from accord.language.rules import Count, Happened, Not

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from accord.language.rules import Condition
    from accord.machine.rules import RuleMachine

__all__ = ["Atom", "Compiled", "Outcome", "compile_condition", "counts_as"]

Outcome = bool | None
"""Whether a message fits a pattern; `None` where its guards cannot be decided."""


class Atom(NamedTuple):
    """A message in a condition: which pattern, whether undecided ones count, and how far to count."""

    pattern: int
    negative: bool
    most: int


def counts_as(outcome: Outcome, negative: bool) -> bool:
    """Whether a message counts as having happened."""
    return outcome is True or (outcome is None and negative)


class Compiled(NamedTuple):
    """A compiled condition.

    `holds` says whether it holds with these counts. `lacks` says how many messages at the least have to happen, of
    those that the atoms in a collection count, before it holds (`True`) or no longer does (`False`); `inf` if they
    never change that. `labels` are those of its messages.

    INVARIANT: one message more makes what is lacking smaller by one at the most.
    """

    holds: Callable[[tuple[int, ...]], bool]
    lacks: Callable[[tuple[int, ...], Collection[int], bool], float]
    labels: frozenset[str]


def compile_condition(machine: RuleMachine, condition: Condition, *, negative: bool = False) -> Compiled:
    """The condition as functions of the counts; `negative` says that it stands under an odd number of `not`."""
    if isinstance(condition, Happened | Count):
        return _compile_count(machine, condition, negative=negative)
    if isinstance(condition, Not):
        holds, lacks, labels = compile_condition(machine, condition.condition, negative=not negative)
        return Compiled(
            lambda counts: not holds(counts),
            lambda counts, growing, wanted: lacks(counts, growing, not wanted),
            labels,
        )
    parts = [compile_condition(machine, part, negative=negative) for part in condition.conditions]
    needed = {"and": len(parts), "all": len(parts), "or": 1, "any": 1}.get(condition.kind, condition.number)
    tests = [part.holds for part in parts]
    labels = frozenset[str]().union(*(part.labels for part in parts))
    apart = sum(len(part.labels) for part in parts) == len(labels)  # else one message may count for several of them

    def lacks_of_some(counts: tuple[int, ...], growing: Collection[int], wanted: bool) -> float:
        number = needed if wanted else len(parts) - needed + 1
        least = sorted(part.lacks(counts, growing, wanted) for part in parts)[:number]
        return sum(least) if apart else max(least, default=0)

    return Compiled(lambda counts: sum(holds(counts) for holds in tests) >= needed, lacks_of_some, labels)


def _compile_count(machine: RuleMachine, condition: Happened | Count, *, negative: bool) -> Compiled:
    number = 1 if isinstance(condition, Happened) else condition.number
    at_most = isinstance(condition, Count) and condition.bound == "at most"
    place, enough = len(machine.atoms), number + at_most
    pattern = machine.add_pattern(condition.pattern)
    machine.atoms.append(Atom(pattern, negative != at_most, enough))

    def lacks(counts: tuple[int, ...], growing: Collection[int], wanted: bool) -> float:
        missing = max(0, enough - counts[place])
        if wanted == at_most:  # it is not to be reached
            return 0 if missing else inf
        return missing if place in growing or not missing else inf

    holds = (lambda counts: counts[place] <= number) if at_most else (lambda counts: counts[place] >= number)
    return Compiled(holds, lacks, frozenset({condition.pattern.label}))
