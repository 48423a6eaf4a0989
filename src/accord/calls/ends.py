"""Where a call may lead if it ends in any way: nothing is known of what will come back.

A protocol may take any end that it offers, whatever the guards, and what the end would bind is unbound from then on. A
rule may or may not count an end that it looks at with guards. An end that would be refused changes nothing.
"""

from __future__ import annotations

from itertools import product, zip_longest
from typing import TYPE_CHECKING, Any

from accord.calls.footprint import end_of
from accord.machine.extent import Extent
from accord.machine.slices import NoKey, key_of
from accord.machine.standing import OpenStanding
from accord.machine.taking import Refused, take_any
from accord.monitor.step import Situation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from accord.calls.entries import End
    from accord.machine.conditions import Outcome
    from accord.machine.events import Event
    from accord.machine.rules import RuleMachine, RuleNode
    from accord.machine.slices import Course, RuleSlice
    from accord.machine.standing import Standing
    from accord.machine.taking import Holding

__all__ = ["after_any_end", "after_every_end"]

_MOST_GUARDED = 4
"""Patterns of one rule that an end may or may not fit; of more, each is tried for itself."""


def after_any_end(world: Situation, arguments: Mapping[str, object], ends: tuple[End, ...]) -> list[Situation]:
    """Where a session may be after a call has ended in some way; every part of it stands there in every possible way.

    Parts are independent of each other, so they are not combined in all ways: see `worlds`.
    """
    return [after for end in ends for _, after in _after(world, end_of(arguments, end), every=False)]


def after_every_end(
    world: Situation, arguments: Mapping[str, object], ends: tuple[End, ...]
) -> list[tuple[object, Situation]]:
    """As `after_any_end`, with the ways in which rules look at the end told apart, even if they lead to one place.

    Each with what is supposed in it: which patterns the end fits, undecided ones too, and which rules refuse it.
    """
    return [way for end in ends for way in _after(world, end_of(arguments, end), every=True)]


def _after(world: Situation, end: Event, *, every: bool) -> Iterator[tuple[object, Situation]]:
    stage, held = world.stage, world.holding
    stages = stage.stages
    at = (held.now or 0) if isinstance(held, Extent) else 0
    protocols: list[tuple[object, Any]] = [(None, one) for one in _protocols(world, end, at)]
    rules: list[list[tuple[object, Any]]] = [
        _nodes(stages.book.machines[number], node, end, at, node.state.called, every=every)
        if number in stages.book.watchers.get(("?", end.label), ())
        else [(None, node)]
        for number, node in enumerate(stage.rules)
    ]
    slices = [_slices(world, place, end, at, every=every) for place in range(len(stages.sliced_rules))]
    options: list[Sequence[tuple[object, Any]]] = [protocols, *rules, *slices]
    for row in zip_longest(*options):
        ways = [some[0] if one is None else one for one, some in zip(row, options, strict=True)]
        supposed, chosen = zip(*ways, strict=True)
        standing, registers, course = chosen[0]
        nodes = tuple(chosen[1 : 1 + len(rules)])
        after = stages.at(standing, nodes)
        if isinstance(held, Extent):
            yield supposed, Situation(after, Extent(registers, held.now, course, tuple(chosen[1 + len(rules) :])))
        else:
            yield supposed, Situation(after, registers)


def _protocols(world: Situation, end: Event, at: float) -> list[tuple[Standing, Holding, Course | None]]:
    stage, held = world.stage, world.holding
    sliced = stage.stages.sliced
    registers = held.registers if isinstance(held, Extent) else held
    course = held.course if isinstance(held, Extent) else None
    as_it_is = [(stage.standing, registers, course)]
    if end.to_rules:
        return as_it_is
    if sliced is None or course is None:
        if isinstance(stage.standing, OpenStanding):
            return as_it_is
        found = take_any(stage.standing, registers, end._replace(at=at))
        return [(taken.standing, taken.holding, course) for taken in found] or as_it_is
    key = key_of(sliced.path, "?", end.payload)
    if isinstance(key, NoKey) or key not in course.instances:
        return as_it_is
    found = take_any(*sliced.instance(course, key, at), end._replace(at=at))
    return [(stage.standing, registers, sliced.moved(course, key, taken)) for taken in found] or as_it_is


def _nodes(
    machine: RuleMachine, node: RuleNode, end: Event, at: float, called: int, *, every: bool
) -> list[tuple[object, RuleNode]]:
    """Where a rule, or an instance of it, may be after the end; `every` way of looking at it, or every place."""
    ways: list[tuple[object, RuleNode]] = []
    places: list[tuple[object, RuleNode]] = []
    for outcomes in _outcomes(machine, end.label, called, (True, False, None) if every else (True, False)):
        after = machine.advance(node, "?", end.label, outcomes, at)
        ways.append(((outcomes, after is None), after or node))
        if after is not None and all(after != known for _, known in places):
            places.append((None, after))
    return ways if every else places or [(None, node)]


def _outcomes(
    machine: RuleMachine, label: str, called: int, fates: tuple[Outcome, ...]
) -> Iterator[tuple[Outcome, ...]]:
    """Every way in which an end can fit the patterns of a rule."""
    certain: list[Outcome] = [False] * len(machine.patterns)
    guarded: list[int] = []
    for index in machine.by_label.get(label, ()):
        pattern = machine.patterns[index]
        if machine.applies(called, pattern, "?") and not pattern.gated:
            if pattern.guards:
                guarded.append(index)
            else:
                certain[index] = True
    ways: Iterable[tuple[Outcome, ...]]
    if len(guarded) <= _MOST_GUARDED:
        ways = product(fates, repeat=len(guarded))
    else:
        alone = [tuple([place == only for place in range(len(guarded))]) for only in range(len(guarded))]
        ways = [(True,) * len(guarded), (False,) * len(guarded), *alone]
    for fits in ways:
        outcomes = list(certain)
        for index, fit in zip(guarded, fits, strict=True):
            outcomes[index] = fit
        yield tuple(outcomes)


def _slices(world: Situation, place: int, end: Event, at: float, *, every: bool) -> list[tuple[object, RuleSlice]]:
    """What may be held of a sliced rule after the end."""
    assert isinstance(world.holding, Extent)  # noqa: S101 - a session with slices holds one
    rule, held = world.stage.stages.sliced_rules[place], world.holding.slices[place]
    key = key_of(rule.path, "?", end.payload)
    if isinstance(key, NoKey) or end.label not in rule.machine.by_label:
        return [(None, held)]
    before = held.instances.get(key, rule.machine.start)
    found = [
        (supposed, rule.moved(held, key, before, after))
        for supposed, after in _nodes(rule.machine, before, end, at, held.called, every=every)
    ]
    return [(supposed, after) for supposed, after in found if not isinstance(after, Refused)] or [(None, held)]
