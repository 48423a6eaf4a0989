"""Canonical numbers for the states of a minimal machine, so that equal machines have equal tables.

A walk from the first state, breadth first and along sorted symbols, meets the states of a deterministic machine in
an order that depends on its behaviour alone. Only the parts of a fork have no symbols to sort them by; they are
compared by walking through both at the same time until they differ.
"""

from __future__ import annotations

from collections import deque
from functools import cmp_to_key
from typing import TYPE_CHECKING

from accord.machine.tables import Fork, Machine, Plain

if TYPE_CHECKING:
    from accord.machine.tables import State

__all__ = ["number_canonically"]


def number_canonically(machine: Machine, class_of: dict[int, int]) -> Machine:
    """The machine with one state per class of equal states, in canonical order and with nothing unused."""
    order = sorted(range(len(machine.symbols)), key=lambda s: machine.symbols[s].sort_key)
    rank = {symbol: position for position, symbol in enumerate(order)}
    walk = _Walk(machine, class_of, rank)
    first = class_of[0]
    number_of = {first: 0}
    queue = deque([first])
    while queue:
        for target in walk.targets(queue.popleft()):
            if target not in number_of:
                number_of[target] = len(number_of)
                queue.append(target)
    used = sorted({symbol for state in number_of for symbol, _ in walk.edges(state)})
    position = {symbol: at for at, symbol in enumerate(used)}
    states: list[State] = []
    for number in number_of:
        state = walk.state(number)
        if isinstance(state, Fork):
            parts = tuple(sorted([number_of[class_of[part]] for part in state.parts]))
            states.append(Fork(parts, number_of[class_of[state.join]], state.stop))
        else:
            edges = [(position[symbol], number_of[target]) for symbol, target in walk.edges(number)]
            late = state.late and state.late._replace(target=number_of[class_of[state.late.target]])
            states.append(Plain(tuple(edges), state.stop, late))
    symbols = tuple([machine.symbols[order[symbol]] for symbol in used])
    return Machine(symbols, tuple(states), machine.name, machine.each, machine.is_open)


class _Walk:
    """The classes of a machine's states, with their successors in canonical order."""

    def __init__(self, machine: Machine, class_of: dict[int, int], rank: dict[int, int]) -> None:
        self.machine = machine
        self.class_of = class_of
        self.member = {block: number for number, block in class_of.items()}
        self.rank = rank
        self.known_edges: dict[int, list[tuple[int, int]]] = {}
        self.known_parts: dict[int, list[int]] = {}

    def state(self, number: int) -> State:
        return self.machine.states[self.member[number]]

    def edges(self, number: int) -> list[tuple[int, int]]:
        """The edges of a state by the rank of their symbols; a fork has none."""
        edges = self.known_edges.get(number)
        if edges is None:
            state = self.state(number)
            plain = state.edges if isinstance(state, Plain) else ()
            edges = [(self.rank[symbol], self.class_of[target]) for symbol, target in plain]
            edges.sort()
            self.known_edges[number] = edges
        return edges

    def targets(self, number: int) -> list[int]:
        state = self.state(number)
        if isinstance(state, Fork):
            return [*self.parts(number, state), self.class_of[state.join]]
        late = [] if state.late is None else [self.class_of[state.late.target]]
        return [target for _, target in self.edges(number)] + late

    def parts(self, number: int, fork: Fork) -> list[int]:
        """The parts of a fork in canonical order; this recurses, as deep as the limits let interleavings be nested."""
        if number not in self.known_parts:
            parts = [self.class_of[part] for part in fork.parts]
            self.known_parts[number] = sorted(parts, key=cmp_to_key(self.compare))
        return self.known_parts[number]

    def compare(self, left: int, right: int) -> int:
        """Which of two states behaves like the lesser one: negative for the left, 0 if they behave alike."""
        seen = {(left, right)}
        queue = deque(seen)
        while queue:
            here, there = queue.popleft()
            if here == there:
                continue
            mine, theirs = self.shape(here), self.shape(there)
            if mine != theirs:
                return -1 if mine < theirs else 1
            for pair in zip(self.targets(here), self.targets(there), strict=True):
                if pair not in seen:
                    seen.add(pair)
                    queue.append(pair)
        return 0

    def shape(self, number: int) -> tuple[str, str, list[int], int, int]:
        """What can be seen of a state without going on."""
        state = self.state(number)
        parts = len(state.parts) if isinstance(state, Fork) else 0
        late = state.late.milliseconds if isinstance(state, Plain) and state.late else 0
        return (type(state).__name__, state.stop or "", [symbol for symbol, _ in self.edges(number)], parts, late)
