"""The smallest machine with the same behaviour, in O(m log n).

Partition refinement for deterministic machines with partial transition functions, after Valmari and Lehtinen (2008):
blocks of states are split by the edges that lead into a splitter, always going on with the smaller half. A fork takes
part as a state whose edges are `part 0`, `part 1`, … and `join`, so equal parts of interleavings end up as the same
states; that is what makes configurations canonical.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from accord.machine.tables import Fork, Machine, Plain, State, Symbol

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

__all__ = ["minimise"]


def minimise(machine: Machine) -> Machine:
    """The minimal machine, with unused states and symbols dropped and everything in canonical order."""
    reachable = _reachable(machine)
    block_of = _equivalent(machine, reachable)
    return _renumbered(machine, block_of)


def _targets(state: State) -> Iterable[int]:
    if isinstance(state, Fork):
        return (*state.parts, state.join)
    return (target for _, target in state.edges)


def _reachable(machine: Machine) -> list[int]:
    seen = {0}
    todo = [0]
    while todo:
        for target in _targets(machine.states[todo.pop()]):
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return sorted(seen)


class _Partition:
    """A partition of 0…n-1 in which elements can be marked and marked elements split off, each in constant time."""

    def __init__(self, kinds: Sequence[Hashable]) -> None:
        count = len(kinds)
        groups: dict[Hashable, list[int]] = {}
        for element, kind in enumerate(kinds):
            groups.setdefault(kind, []).append(element)
        self.elements = [element for group in groups.values() for element in group]
        self.place = [0] * count
        for index, element in enumerate(self.elements):
            self.place[element] = index
        self.set_of = [0] * count
        self.first: list[int] = []
        self.past: list[int] = []
        self.marked: list[int] = []
        start = 0
        for number, group in enumerate(groups.values()):
            self.first.append(start)
            start += len(group)
            self.past.append(start)
            self.marked.append(0)
            for element in group:
                self.set_of[element] = number
        self.touched: list[int] = []

    def mark(self, element: int) -> None:
        block = self.set_of[element]
        at = self.place[element]
        goal = self.first[block] + self.marked[block]
        if at < goal:
            return
        other = self.elements[goal]
        self.elements[at], self.elements[goal] = other, element
        self.place[other], self.place[element] = at, goal
        if not self.marked[block]:
            self.touched.append(block)
        self.marked[block] += 1

    def split(self) -> None:
        """Split every touched block; the smaller half becomes the new block."""
        while self.touched:
            block = self.touched.pop()
            middle = self.first[block] + self.marked[block]
            if middle == self.past[block]:
                self.marked[block] = 0
                continue
            new = len(self.first)
            if self.marked[block] <= self.past[block] - middle:
                self.first.append(self.first[block])
                self.past.append(middle)
                self.first[block] = middle
            else:
                self.first.append(middle)
                self.past.append(self.past[block])
                self.past[block] = middle
            self.marked.append(0)
            self.marked[block] = 0
            for index in range(self.first[new], self.past[new]):
                self.set_of[self.elements[index]] = new

    def members(self, block: int) -> list[int]:
        return self.elements[self.first[block] : self.past[block]]


def _equivalent(machine: Machine, reachable: list[int]) -> dict[int, int]:
    """For each reachable state the number of its class of states with equal behaviour."""
    index = {number: position for position, number in enumerate(reachable)}
    kinds: list[Hashable] = []
    tails: list[int] = []
    labels: list[Hashable] = []
    heads: list[int] = []
    for number in reachable:
        state = machine.states[number]
        if isinstance(state, Fork):
            kinds.append(("fork", len(state.parts), state.stop))
            edges: list[tuple[Hashable, int]] = [*enumerate(state.parts), ("join", state.join)]
            out: list[tuple[Hashable, int]] = [(("fork", key), target) for key, target in edges]
        else:
            kinds.append(("plain", state.stop))
            out = list(state.edges)
        for label, target in out:
            tails.append(index[number])
            labels.append(label)
            heads.append(index[target])
    blocks = _Partition(kinds)
    if not labels:
        return {number: blocks.set_of[position] for number, position in index.items()}
    cords = _Partition(labels)
    incoming: list[list[int]] = [[] for _ in reachable]
    for edge, head in enumerate(heads):
        incoming[head].append(edge)
    # Cords are sets of edges with one label into one block. Split blocks by cords and cords by blocks until stable.
    next_block, next_cord = 1, 0
    while next_cord < len(cords.first):
        for edge in cords.members(next_cord):
            blocks.mark(tails[edge])
        blocks.split()
        next_cord += 1
        while next_block < len(blocks.first):
            for state_index in blocks.members(next_block):
                for edge in incoming[state_index]:
                    cords.mark(edge)
            cords.split()
            next_block += 1
    return {number: blocks.set_of[position] for number, position in index.items()}


def _renumbered(machine: Machine, block_of: dict[int, int]) -> Machine:
    """One state per class, numbered in the order a walk along sorted symbols meets them."""
    members: dict[int, int] = {}
    for number, block in block_of.items():
        members.setdefault(block, number)
    order = sorted(range(len(machine.symbols)), key=lambda s: machine.symbols[s].sort_key)
    rank = {symbol: position for position, symbol in enumerate(order)}

    edges_of: dict[int, list[tuple[int, int]]] = {}
    number_of = {block_of[0]: 0}
    queue = deque([block_of[0]])
    used: set[int] = set()
    while queue:
        block = queue.popleft()
        state = machine.states[members[block]]
        if isinstance(state, Fork):
            blocks = [block_of[part] for part in (*state.parts, state.join)]
        else:
            edges = sorted([(rank[symbol], block_of[target]) for symbol, target in state.edges])
            edges_of[block] = edges
            used.update([symbol for symbol, _ in edges])
            blocks = [target for _, target in edges]
        for target in blocks:
            if target not in number_of:
                number_of[target] = len(number_of)
                queue.append(target)
    kept = sorted(used)
    position = {symbol: at for at, symbol in enumerate(kept)}
    symbols: tuple[Symbol, ...] = tuple(machine.symbols[order[symbol]] for symbol in kept)
    states: list[State] = []
    for block in number_of:
        state = machine.states[members[block]]
        if isinstance(state, Fork):
            parts = tuple(sorted(number_of[block_of[part]] for part in state.parts))
            states.append(Fork(parts, number_of[block_of[state.join]], state.stop))
        else:
            renumbered = [(position[s], number_of[target]) for s, target in edges_of[block]]
            states.append(Plain(tuple(renumbered), state.stop))
    return Machine(symbols, tuple(states), machine.name)
