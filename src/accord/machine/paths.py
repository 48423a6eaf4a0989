"""The shortest way to make a refused action legal: breadth-first over protocol and rules together, within the limits.

The search knows labels, not payloads: it takes it that a payload can be chosen which fits the guards on the way. Where
there are slices it stays with one key: all steps belong to the instances that the refused action belongs to.

Time stands still on the way, as long as there is a way. Where there is none, letting deadlines pass is a step too.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from accord.machine.clocks import late
from accord.machine.configurations import TooManyConfigurationsError, weight
from accord.machine.rule_forms import RuleState
from accord.machine.standing import TimedStanding
from accord.machine.tables import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.machine.clocks import Time
    from accord.machine.conditions import Outcome
    from accord.machine.configurations import Configuration
    from accord.machine.rulebook import RuleNodes
    from accord.machine.standing import Standing

__all__ = ["NOT_DECIDED", "Fits", "Wait", "Way", "shortest_way"]

NOT_DECIDED: Literal["not decided"] = "not decided"

# Where more possibilities than this would have to be followed at once, the search does not go on.
_MOST_AT_ONCE = 200

Fits = dict[int, "tuple[Outcome, ...]"]
"""For rules by their number: which of their patterns an event fits."""


class Wait(NamedTuple):
    """A deadline that passes: how long that takes from the step before, and what does not happen meanwhile."""

    seconds: Time
    timed: tuple[Symbol, ...]


Way: TypeAlias = "tuple[Symbol | Wait, ...]"


class _Place(NamedTuple):
    standing: Standing
    rules: RuleNodes
    now: Time
    begun: bool


def shortest_way(
    standing: Standing,
    rules: RuleNodes,
    wanted: Symbol,
    fits: Fits | None = None,
    now: Time = 0,
    *,
    begun: bool = True,
    to_rules: bool = False,
) -> Way | Literal["not decided"] | None:
    """The fewest steps after which an action like `wanted` is legal; `None` if it never can be.

    `rules` has the nodes of instances for sliced rules. `fits` tells which patterns of each rule the refused event
    fitted, where that is known. An instance that has not `begun` has no clocks that run. The answer is `NOT_DECIDED`
    where the search met a limit before it found a way. With `to_rules` the protocol is not asked about `wanted` itself.
    """
    start = _Place(standing, rules, now, begun)
    if not to_rules and not _is_possible(standing, wanted):
        return None
    way = _search(start, wanted, fits, waiting=False, to_rules=to_rules)
    if way is None and isinstance(standing, TimedStanding):
        way = _search(start, wanted, fits, waiting=True, to_rules=to_rules)
    return way


def _search(
    start: _Place, wanted: Symbol, fits: Fits | None, *, waiting: bool, to_rules: bool
) -> Way | Literal["not decided"] | None:
    came_from: dict[object, tuple[_Place, Symbol | Wait] | None] = {_key(start): None}
    queue = deque([start])
    room = start.standing.standings.limits.search
    cut_short = False
    while queue:
        here = queue.popleft()
        if _is_legal(here, wanted, fits, to_rules=to_rules):
            return _retrace(here, came_from)
        try:
            following = [*_steps(here), *(_waits(here) if waiting else ())]
        except TooManyConfigurationsError:
            cut_short = True
            continue
        room -= sum(weight(configuration) for _, there in following for configuration in there.standing.configurations)
        if room < 0:
            return NOT_DECIDED
        for step, there in following:
            key = _key(there)
            if key in came_from:
                continue
            came_from[key] = (here, step)
            queue.append(there)
    return NOT_DECIDED if cut_short else None


def _is_possible(standing: Standing, wanted: Symbol) -> bool:
    """Whether the protocol has such a message at all; if not, there is nothing to search for."""
    machine = standing.standings.machine
    numbers = machine.by_event.get((wanted.direction, wanted.label), ())
    partners = {machine.symbols[number].partner for number in numbers}
    fits = wanted.partner is None or bool(partners & {None, wanted.partner})
    return machine.passes(wanted.direction, wanted.label) or (bool(numbers) and fits)


def _key(place: _Place) -> object:
    """Two places are one if they differ in nothing but the hour and what is owed.

    What is owed can be counted without end; the search would go on counting until it met its limit.
    """
    standing, rules, now, begun = place
    states = tuple([RuleState(node.state.called) if node.machine.form.only_owes else node.state for node in rules])
    if isinstance(standing, TimedStanding):
        configurations = tuple([_relative(configuration, now) for configuration in standing.configurations])
        return begun, configurations, tuple([state._replace(due=_remaining(state.due, now)) for state in states])
    return standing.configurations, states


def _relative(configuration: Configuration, now: Time) -> Configuration:
    if len(configuration) == 1:
        return configuration
    inside = tuple([_relative(part, now) for part in configuration[1]])
    if len(configuration) == 2:
        return configuration[0], inside
    return configuration[0], inside, 0 if inside else round(configuration[2] - now, 6)


def _remaining(due: Time | None, now: Time) -> Time | None:
    return None if due is None else round(due - now, 6)


def _steps(place: _Place) -> Iterator[tuple[Symbol, _Place]]:
    standing, rules, now, begun = place
    options: list[tuple[Symbol, Standing]] = []
    for symbol, configurations in standing.after(now).items():
        if len(configurations) > _MOST_AT_ONCE:
            raise TooManyConfigurationsError("too many to search through")
        options.append((symbol, standing.standings.at(configurations)))
    passes = standing.standings.machine.passes
    options += [(symbol, standing) for symbol in _named(rules) if passes(symbol.direction, symbol.label)]
    # What anybody may make happen, a rule may want to be made by a person.
    people = {pattern.label for node in rules for pattern in node.machine.patterns if pattern.gated}
    options += [
        (symbol._replace(gated=True), target)
        for symbol, target in options
        if symbol.label in people and symbol.direction == "?" and not symbol.gated
    ]
    for symbol, target in options:
        after: RuleNodes | int = rules
        if rules:
            after = rules[0].machine.book.imagine(rules, symbol, helpful=True, instances=True, at=now)
        if not isinstance(after, int):
            yield symbol, _Place(target, after, now, begun or target is not standing)


def _waits(place: _Place) -> Iterator[tuple[Wait, _Place]]:
    """The next deadline passes, if no rule is late by then."""
    standing, rules, now, begun = place
    if not isinstance(standing, TimedStanding) or not standing.deadlines or not begun:
        return
    due, timed = standing.deadlines[0]
    if any(node.state.due is not None and node.state.due <= due for node in rules):
        return
    machine = standing.standings.machine
    reached = frozenset(after for here in standing.configurations for after in late(machine, here, due))
    yield Wait(due - now, timed), _Place(standing.standings.at(reached), rules, due, begun)


def _named(rules: RuleNodes) -> list[Symbol]:
    """What the rules name, as events: all there is to try where no protocol says what can happen.

    A bare label is tried as one that arrives. It is tried as one that is sent where what arrives would be the result of
    a call, or where some rule makes a difference between the two.
    """
    symbols: dict[Symbol, None] = {}
    sent: dict[Symbol, None] = {}  # tried last: to send something is more than to wait for it
    for node in rules:
        for pattern in node.machine.patterns:
            arrives = pattern.gated or node.machine.applies(node.state.called, pattern, "?")
            symbols[Symbol("?" if arrives else "!", pattern.label, None, pattern.guards, pattern.gated)] = None
            is_bare = not pattern.direction and not pattern.gated
            if arrives and is_bare and not node.machine.book.is_either(pattern.label):
                sent[Symbol("!", pattern.label, None, pattern.guards)] = None
    return [*symbols, *sent]


def _is_legal(place: _Place, wanted: Symbol, fits: Fits | None, *, to_rules: bool) -> bool:
    standing, rules, now, _ = place
    passes = to_rules or standing.standings.machine.passes(wanted.direction, wanted.label)
    if not passes and not standing.matching(wanted.direction, wanted.label, wanted.partner, now):
        return False
    if not rules:
        return True
    if fits is None:
        book = rules[0].machine.book
        return not isinstance(book.imagine(rules, wanted, helpful=False, instances=True, at=now), int)
    for index, outcomes in fits.items():
        node, machine = rules[index], rules[index].machine
        # What arrives is the result of a call, once the way has led through the call.
        later = machine.outcomes_later(node.state.called, wanted.direction, outcomes)
        if machine.advance(node, wanted.direction, wanted.label, later, now) is None:
            return False
    return True


def _retrace(place: _Place, came_from: dict[object, tuple[_Place, Symbol | Wait] | None]) -> Way:
    way: list[Symbol | Wait] = []
    step = came_from[_key(place)]
    while step is not None:
        place, symbol = step
        way.append(symbol)
        step = came_from[_key(place)]
    return tuple(reversed(way))
