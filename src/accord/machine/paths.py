"""The shortest way to make a refused action legal: breadth-first over protocol and rules together, within the limits.

The search knows labels, not payloads: it takes it that a payload can be chosen which fits the guards on the way.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Literal

from accord.machine.configurations import TooManyConfigurationsError, weight
from accord.machine.standing import OpenStanding
from accord.machine.tables import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.machine.rule_forms import Outcome
    from accord.machine.rulebook import RuleNodes
    from accord.machine.standing import Standing

__all__ = ["NOT_DECIDED", "Fits", "shortest_way"]

NOT_DECIDED: Literal["not decided"] = "not decided"

# Where more possibilities than this would have to be followed at once, the search does not go on.
_MOST_AT_ONCE = 200

_Place = tuple["Standing", "RuleNodes"]
Fits = dict[int, "tuple[Outcome, ...]"]
"""For rules by their number: which of their patterns an event fits."""


def shortest_way(
    standing: Standing, rules: RuleNodes, wanted: Symbol, fits: Fits | None = None
) -> tuple[Symbol, ...] | Literal["not decided"] | None:
    """The fewest events after which an action like `wanted` is legal; `None` if it never can be.

    `fits` tells which patterns of each rule the refused event fitted, where that is known.

    The answer is `NOT_DECIDED` where the search met a limit before it found a way.
    """
    if not _is_possible(standing, wanted):
        return None
    start = (standing, rules)
    came_from: dict[object, tuple[_Place, Symbol] | None] = {_key(start): None}
    queue = deque([start])
    room = standing.standings.limits.search
    cut_short = False
    while queue:
        here = queue.popleft()
        if _is_legal(here, wanted, fits):
            return _retrace(here, came_from)
        try:
            following = list(_steps(here))
        except TooManyConfigurationsError:
            cut_short = True
            continue
        room -= sum(weight(configuration) for _, (there, _) in following for configuration in there.configurations)
        if room < 0:
            return NOT_DECIDED
        for symbol, there in following:
            key = _key(there)
            if key in came_from:
                continue
            came_from[key] = (here, symbol)
            queue.append(there)
    return NOT_DECIDED if cut_short else None


def _is_possible(standing: Standing, wanted: Symbol) -> bool:
    """Whether the protocol has such a message at all; if not, there is nothing to search for."""
    machine = standing.standings.machine
    numbers = machine.by_event.get((wanted.direction, wanted.label), ())
    partners = {machine.symbols[number].partner for number in numbers}
    fits = wanted.partner is None or bool(partners & {None, wanted.partner})
    return isinstance(standing, OpenStanding) or (bool(numbers) and fits)


def _key(place: _Place) -> object:
    standing, rules = place
    return (standing.configurations, tuple([node.state for node in rules]))


def _steps(place: _Place) -> Iterator[tuple[Symbol, _Place]]:
    standing, rules = place
    if isinstance(standing, OpenStanding):
        options: list[tuple[Symbol, Standing]] = [(symbol, standing) for symbol in _named(rules)]
    else:
        options = []
        for symbol, configurations in standing.after.items():
            if len(configurations) > _MOST_AT_ONCE:
                raise TooManyConfigurationsError("too many to search through")
            options.append((symbol, standing.standings.at(configurations)))
    for symbol, target in options:
        after = rules[0].machine.book.imagine(rules, symbol, helpful=True) if rules else rules
        if not isinstance(after, int):
            yield symbol, (target, after)


def _named(rules: RuleNodes) -> list[Symbol]:
    """What the rules name, as events: all there is to try where no protocol says what can happen."""
    symbols: dict[Symbol, None] = {}
    for node in rules:
        for pattern in node.machine.patterns:
            symbols[Symbol(pattern.direction or "?", pattern.label, None, pattern.guards, pattern.gated)] = None
    return list(symbols)


def _is_legal(place: _Place, wanted: Symbol, fits: Fits | None) -> bool:
    standing, rules = place
    if not standing.matching(wanted.direction, wanted.label, wanted.partner):
        return False
    if not rules:
        return True
    if fits is None:
        return not isinstance(rules[0].machine.book.imagine(rules, wanted, helpful=False), int)
    return all(
        node.machine.advance(node, wanted.direction, wanted.label, fits[index]) is not None
        for index, node in enumerate(rules)
        if index in fits
    )


def _retrace(place: _Place, came_from: dict[object, tuple[_Place, Symbol] | None]) -> tuple[Symbol, ...]:
    way: list[Symbol] = []
    step = came_from[_key(place)]
    while step is not None:
        place, symbol = step
        way.append(symbol)
        step = came_from[_key(place)]
    return tuple(reversed(way))
