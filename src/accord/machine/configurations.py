"""Where a session can be: configurations of a machine.

A configuration is a nested tuple of state numbers:

- `(state,)`: the session (or part) is in one state;
- `(join, (part, part, …))`: parts run side by side; when all have finished the session goes on in `join`.

Configurations are canonical: finished parts are dropped, the others are sorted, and because the machine is minimal,
equal parts have equal numbers. So a dozen equal parts are a multiset and not a dozen places.

Nesting is bounded by `Limits.interleaving_depth`, so these functions may recurse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from accord.machine.tables import END_STATE, Fork

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.machine.tables import Machine

__all__ = ["Configuration", "Origin", "enter", "is_complete", "may_end", "moves"]

Configuration: TypeAlias = "tuple[int] | tuple[int, tuple[Configuration, ...]]"


def enter(machine: Machine, number: int) -> Configuration:
    """The configuration of a session that has just come to a state."""
    state = machine.states[number]
    # A fork in which the session may pause stays unexpanded until something happens: that it stands at the recursion
    # point, and not somewhere in the round, is what allows it to pause.
    if isinstance(state, Fork) and state.stop is None:
        return _side_by_side(machine, state.join, [enter(machine, part) for part in state.parts])
    return (number,)


def _side_by_side(machine: Machine, join: int, parts: list[Configuration]) -> Configuration:
    running = [part for part in parts if len(part) == 2 or machine.states[part[0]] != END_STATE]
    return (join, tuple(sorted(running))) if running else enter(machine, join)


def _parts(machine: Machine, configuration: Configuration) -> tuple[int, tuple[Configuration, ...]] | None:
    """Join and parts of an interleaving that has begun, or is about to; `None` for a plain state."""
    if len(configuration) == 2:
        return configuration
    state = machine.states[configuration[0]]
    if isinstance(state, Fork):
        return state.join, tuple(enter(machine, part) for part in state.parts)
    return None


Origin: TypeAlias = "tuple[int, ...]"


def moves(
    machine: Machine, configuration: Configuration, origin: Origin = ()
) -> Iterator[tuple[int, Configuration, Origin]]:
    """Every symbol that can happen, with the configuration after it; a symbol can come more than once.

    The origin tells which part moves: moves of one origin are alternatives of one choice.
    """
    interleaved = _parts(machine, configuration)
    if interleaved is None:
        state = machine.states[configuration[0]]
        assert not isinstance(state, Fork)  # noqa: S101 - for the type checker
        for symbol, target in state.edges:
            yield symbol, enter(machine, target), origin
        return
    join, parts = interleaved
    previous = None
    for index, part in enumerate(parts):
        if part == previous:
            continue  # equal parts move alike
        previous = part
        others = [*parts[:index], *parts[index + 1 :]]
        for symbol, after, inside in moves(machine, part, (*origin, index)):
            yield symbol, _side_by_side(machine, join, [*others, after]), inside
    if all(may_end(machine, part) for part in parts):
        yield from moves(machine, enter(machine, join), (*origin, len(parts)))


def may_end(machine: Machine, configuration: Configuration) -> bool:
    """Whether the session or part can be over here."""
    interleaved = _parts(machine, configuration)
    if interleaved is None:
        return machine.states[configuration[0]].stop == "end"
    join, parts = interleaved
    return all(may_end(machine, part) for part in parts) and may_end(machine, enter(machine, join))


def is_complete(machine: Machine, configuration: Configuration) -> bool:
    """Whether nothing is owed here: the session may end, or pauses where no end can be reached."""
    if len(configuration) == 1:
        return machine.states[configuration[0]].stop is not None
    join, parts = configuration
    if all(may_end(machine, part) for part in parts):
        return is_complete(machine, enter(machine, join))
    return all(is_complete(machine, part) for part in parts)
