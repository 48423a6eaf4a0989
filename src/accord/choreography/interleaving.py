"""Finding again, in the machine of a role, what it does side by side.

Projection multiplies the parts of a `par` out. From a state at which a role can act in several parts, each part is
walked alone; then the product of the parts is laid over the machine, and only if it fits exactly, state by state, is it
an interleaving.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from accord.machine.minimise import minimise
from accord.machine.tables import Machine, Plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.machine.tables import Symbol

__all__ = ["PartsOf", "Side", "side_by_side"]

PartsOf: TypeAlias = "Mapping[Symbol, frozenset[tuple[int, int]]]"
"""For each symbol, in which parts of which `par` it stands."""

_MOST = 10_000


class Side(NamedTuple):
    """The machines of parts that run side by side, and the state behind them; `None` if one of them never ends."""

    parts: tuple[Machine, ...]
    join: int | None


def side_by_side(machine: Machine, state: int, parts_of: PartsOf) -> Side | None:
    """The interleaving that begins in a state, if there is one."""
    edges = _edges(machine, state)
    found = {par for symbol in edges for par, _ in parts_of.get(machine.symbols[symbol], ())}
    for par in sorted(found):
        part_of = {
            number: part
            for number, symbol in enumerate(machine.symbols)
            for other, part in parts_of.get(symbol, ())
            if other == par
        }
        groups = sorted({part_of[symbol] for symbol in edges if symbol in part_of})
        if len(groups) < 2:
            continue
        walks = [_walk(machine, state, {n for n, part in part_of.items() if part == group}) for group in groups]
        joins = _laid_over(machine, state, walks)
        if joins is not None and len(joins) < 2:
            return Side(tuple(_part(machine, state, walk) for walk in walks), min(joins, default=None))
    return None


def _edges(machine: Machine, state: int) -> dict[int, int]:
    here = machine.states[state]
    return dict(here.edges) if isinstance(here, Plain) else {}


def _walk(machine: Machine, state: int, symbols: set[int]) -> dict[int, dict[int, int]]:
    """What can be done from a state with these symbols alone, by state."""
    walk: dict[int, dict[int, int]] = {}
    todo = [state]
    while todo:
        here = todo.pop()
        if here not in walk:
            walk[here] = {symbol: target for symbol, target in _edges(machine, here).items() if symbol in symbols}
            todo += walk[here].values()
    return walk


def _laid_over(machine: Machine, state: int, walks: list[dict[int, dict[int, int]]]) -> set[int] | None:
    """The states behind the parts, if their product is what the machine does from a state on."""
    start = (state,) * len(walks)
    place: dict[tuple[int, ...], int] = {start: state}
    queue = [start]
    joins: set[int] = set()
    for parts in queue:  # it grows while it is walked
        here = place[parts]
        steps = [(n, symbol, target) for n, part in enumerate(parts) for symbol, target in walks[n][part].items()]
        if not steps:
            joins.add(here)
            continue
        edges = _edges(machine, here)
        if len(queue) > _MOST or machine.states[here].stop is not None or edges.keys() != {s for _, s, _ in steps}:
            return None
        for number, symbol, target in steps:
            after = (*parts[:number], target, *parts[number + 1 :])
            if after not in place:
                place[after] = edges[symbol]
                queue.append(after)
            elif place[after] != edges[symbol]:
                return None
    return joins


def _part(machine: Machine, state: int, walk: dict[int, dict[int, int]]) -> Machine:
    number_of = {state: 0}
    for here in walk:
        number_of.setdefault(here, len(number_of))
    states = [
        Plain(
            tuple((symbol, number_of[target]) for symbol, target in walk[here].items()), None if walk[here] else "end"
        )
        for here in number_of
    ]
    return minimise(Machine(machine.symbols, tuple(states)))
