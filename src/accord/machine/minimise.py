"""The smallest machine with the same behaviour, in O(m log n).

Partition refinement for deterministic machines with partial transition functions, after Valmari and Lehtinen (2008):
blocks of states are split by the edges that lead into a splitter, always going on with the smaller half. A fork takes
part as a state whose edges are `part 0`, `part 1`, … and `join`, so equal parts of interleavings end up as the same
states; that is what makes configurations canonical.

The order in which parts were written means nothing. So once it is known which parts are equal, every fork puts them in
one order, and the refinement runs again, until nothing more falls together: once per level of nested interleavings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.machine.numbering import number_canonically
from accord.machine.tables import Fork, Machine

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["minimise"]


def minimise(machine: Machine) -> Machine:
    """The minimal machine, without unused states and symbols, numbered canonically."""
    reachable = _reachable(machine)
    block_of = _equivalent(machine, reachable)
    while machine.has_forks:
        machine = _with_sorted_parts(machine, block_of)
        coarser = _equivalent(machine, reachable)
        if len(set(coarser.values())) == len(set(block_of.values())):
            break
        block_of = coarser
    return number_canonically(machine, block_of)


def _with_sorted_parts(machine: Machine, block_of: dict[int, int]) -> Machine:
    states = [
        Fork(tuple(sorted(state.parts, key=lambda part: block_of[part])), state.join, state.stop)
        if isinstance(state, Fork) and number in block_of
        else state
        for number, state in enumerate(machine.states)
    ]
    return Machine(machine.symbols, tuple(states), machine.name, machine.each, machine.is_open)


def _reachable(machine: Machine) -> list[int]:
    seen = {0}
    todo = [0]
    while todo:
        for target in machine.states[todo.pop()].targets:
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
            kinds.append(("plain", state.stop, state.late and state.late.milliseconds))
            out = list(state.edges)
            if state.late is not None:
                out.append((("late", None), state.late.target))
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
