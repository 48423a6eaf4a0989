"""Which parts of a contract runs have exercised: the edges of its protocol that were taken, the rules that applied.

A rule that says nothing unless something happens first (`before Pay …`, `after Question …`) is *vacuous so far* if that
never happened: every run keeps it, and that tells nothing about anybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.machine.configurations import enter, may_end
from accord.machine.tables import Fork

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.machine.configurations import Configuration
    from accord.machine.events import Event
    from accord.machine.rulebook import RuleBook, RuleNodes
    from accord.machine.standing import Standing
    from accord.machine.tables import Machine

__all__ = ["applied_rules", "edges_taken"]


def applied_rules(book: RuleBook, nodes: RuleNodes, event: Event) -> list[int]:
    """The numbers of the rules to which an event gives something to say."""
    found = []
    for number in book.all_watchers.get((event.direction, event.label), ()):
        machine, node = book.machines[number], nodes[number]
        outcome = machine.outcomes(node.state.called, event)[machine.form.trigger]
        if outcome is not False:
            found.append(number)
    return found


def edges_taken(standing: Standing, event: Event) -> Iterator[tuple[int, int]]:
    """The edges that an accepted event can have taken, as numbers of a state and a symbol.

    Where parts run side by side, or guards tell branches apart, it may be one of several; each is told once.
    """
    machine = standing.standings.machine
    wanted = machine.by_event.get((event.direction, event.label), ())
    places = {state for configuration in standing.configurations for state in _places(machine, configuration)}
    for state in sorted(places):
        for symbol in machine.offered(state):
            if symbol in wanted:
                yield state, symbol


def _places(machine: Machine, configuration: Configuration) -> Iterator[int]:
    """The plain states in which something can happen."""
    while True:
        number, parts = configuration[0], configuration[1] if len(configuration) > 1 else ()
        state = machine.states[number]
        if isinstance(state, Fork) and (not parts or len(configuration) == 3):
            parts = parts or tuple(enter(machine, part) for part in state.parts)
            number = state.join
        if not parts:
            yield number
            return
        for part in parts:
            yield from _places(machine, part)
        if not all(may_end(machine, part) for part in parts):
            return
        configuration = enter(machine, number)
