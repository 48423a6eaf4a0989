"""What can still happen: for each state of a machine everything that some way from there leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accord.machine.tables import Machine, Symbol

__all__ = ["ahead"]


def ahead(machine: Machine) -> tuple[frozenset[Symbol], ...]:
    """For each state the symbols that can still happen, now or later."""
    states = range(len(machine.states))
    found = [frozenset(machine.symbols[symbol] for symbol in machine.offered(state)) for state in states]
    before: list[list[int]] = [[] for _ in states]
    for number in states:
        for target in machine.states[number].targets:
            before[target].append(number)
    todo = list(states)
    while todo:
        number = todo.pop()
        for earlier in before[number]:
            if not found[number] <= found[earlier]:
                found[earlier] |= found[number]
                todo.append(earlier)
    return tuple(found)
