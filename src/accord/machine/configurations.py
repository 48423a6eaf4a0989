"""Where a session can be: configurations of a machine.

A configuration is a nested tuple of state numbers:

- `(state,)`: the session (or part) is in one state;
- `(join, (part, part, …))`: parts run side by side; when all have finished the session goes on in `join`.

Configurations are canonical: finished parts are dropped, the others are sorted, and because the machine is minimal,
equal parts have equal numbers. So a dozen equal parts are a multiset and not a dozen places.

Nesting is bounded by `Limits.interleaving_depth`, so these functions may recurse into parts. Along a row of
interleavings they loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from accord.errors import AccordError
from accord.machine.tables import END_STATE, Fork

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from accord.machine.tables import Machine

__all__ = [
    "Configuration",
    "Origin",
    "TooManyConfigurationsError",
    "enter",
    "is_complete",
    "may_end",
    "moves",
    "offers",
    "weight",
]

Configuration: TypeAlias = (
    "tuple[int] | tuple[int, tuple[Configuration, ...]] | tuple[int, tuple[Configuration, ...], int | float]"
)
"""The third form is for protocols with deadlines; see `clocks`."""


class TooManyConfigurationsError(AccordError):
    """A session would have to follow more possibilities than `Limits.configurations` allows."""


def enter(machine: Machine, number: int) -> Configuration:
    """The configuration of a session that has just come to a state."""
    state = machine.states[number]
    # A fork in which the session may pause stays unexpanded until something happens: that it stands at the recursion
    # point, and not somewhere in the round, is what allows it to pause.
    while isinstance(state, Fork) and state.stop is None:
        running = _running(machine, [enter(machine, part) for part in state.parts])
        if running:
            return (state.join, running)
        number = state.join  # an interleaving in which there is nothing to do
        state = machine.states[number]
    return (number,)


def _running(machine: Machine, parts: list[Configuration]) -> tuple[Configuration, ...]:
    """The parts that have not finished, in canonical order."""
    return tuple(sorted(part for part in parts if len(part) == 2 or machine.states[part[0]] != END_STATE))


def _parts(machine: Machine, configuration: Configuration) -> tuple[int, tuple[Configuration, ...]] | None:
    """Join and parts of an interleaving that has begun, or is about to; `None` for a plain state."""
    if len(configuration) == 2:
        return configuration
    state = machine.states[configuration[0]]
    if isinstance(state, Fork):
        return state.join, tuple(sorted(enter(machine, part) for part in state.parts))
    return None


Origin: TypeAlias = "tuple[int, ...]"


def moves(
    machine: Machine, configuration: Configuration, wanted: Collection[int] | None = None, origin: Origin = ()
) -> Iterator[tuple[int, Configuration, Origin]]:
    """Every symbol that can happen (or every wanted one), with the configuration after it.

    A symbol can come more than once. The origin tells which part moves: moves of one origin are alternatives of one
    choice.
    """
    behind = 0  # how many interleavings that may be over already lie behind
    while (interleaved := _parts(machine, configuration)) is not None:
        join, parts = interleaved
        for index, part in enumerate(parts):
            if index and part == parts[index - 1]:
                continue  # equal parts move alike
            others = None
            for symbol, after, inside in moves(machine, part, wanted, (*origin, behind, index)):
                others = [*parts[:index], *parts[index + 1 :]] if others is None else others
                running = _running(machine, [*others, after])
                yield symbol, (join, running) if running else enter(machine, join), inside
        if not all(may_end(machine, part) for part in parts):
            return
        configuration = enter(machine, join)
        behind += 1
    for symbol, target in machine.states[configuration[0]].edges:  # type: ignore[union-attr] # a plain state
        if wanted is None or symbol in wanted:
            yield symbol, enter(machine, target), (*origin, behind)


def offers(machine: Machine, configuration: Configuration) -> Iterator[int]:
    """Every symbol that can happen; much cheaper than `moves`, because nothing moves."""
    while (interleaved := _parts(machine, configuration)) is not None:
        join, parts = interleaved
        for index, part in enumerate(parts):
            if not index or part != parts[index - 1]:
                yield from offers(machine, part)
        if not all(may_end(machine, part) for part in parts):
            return
        configuration = enter(machine, join)
    for symbol, _ in machine.states[configuration[0]].edges:  # type: ignore[union-attr] # a plain state
        yield symbol


def may_end(machine: Machine, configuration: Configuration) -> bool:
    """Whether the session or part can be over here."""
    while (interleaved := _parts(machine, configuration)) is not None:
        join, parts = interleaved
        if not all(may_end(machine, part) for part in parts):
            return False
        configuration = enter(machine, join)
    return machine.states[configuration[0]].stop == "end"


def is_complete(machine: Machine, configuration: Configuration) -> bool:
    """Whether nothing is owed here: the session may end, or pauses where no end can be reached."""
    while len(configuration) == 2:
        join, parts = configuration
        if not all(may_end(machine, part) for part in parts):
            return all(is_complete(machine, part) for part in parts)
        configuration = enter(machine, join)
    return machine.states[configuration[0]].stop is not None


def weight(configuration: Configuration) -> int:
    """How many places a configuration is made of."""
    return 1 if len(configuration) == 1 else 1 + sum(map(weight, configuration[1]))
