"""Which messages can reach a role while it waits.

From a state on, the role is held back, and so is whoever needs something of a role that is held back. What the others
still send to it can be the first thing it finds, unless an earlier message from the same sender is in front of it:
channels are first in, first out. (`avail` in Li, Stutz, Wies and Zufferey, CAV 2023.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from accord.choreography.tables import GlobalMachine

__all__ = ["Availability", "Available"]


class Available(NamedTuple):
    """A message that can be there: its node, and those `par` of the beginning that are not over before it."""

    node: int
    alive: frozenset[int]


class Availability:
    """What can reach one role, from any state; each answer is computed once."""

    def __init__(self, machine: GlobalMachine, role: str, most: int) -> None:
        self.machine = machine
        self.bit_of = {name: 1 << index for index, name in enumerate(machine.roles)}
        self.me = self.bit_of[role]
        self.ends = [(self.bit_of[s], self.bit_of[r]) for s, r, _ in machine.messages]
        self.known: dict[tuple[int, frozenset[int]], frozenset[Available]] = {}
        self.room = most
        """How many places may still be looked at; below zero nothing is known any more."""

    def at(self, state: int, alive: frozenset[int] = frozenset()) -> frozenset[Available]:
        """What can be first in a channel to the role if it waits from this state on."""
        known = self.known.get((state, alive))
        if known is None:
            known = self.known[state, alive] = frozenset(node for node, _, _ in self._search(state, alive, None))
        return known

    def way_to(self, state: int, message: int) -> list[int]:
        """The nodes of a shortest run from a state to where the message is sent, the message included."""
        for found, _, run in self._search(state, frozenset(), message):
            if self.machine.nodes[found.node].message == message:
                return run
        return []

    def _search(self, state: int, alive: frozenset[int], wanted: int | None) -> list[tuple[Available, int, list[int]]]:
        """Everything that is found, breadth first; runs are kept only if a message is wanted."""
        moves, me = self.machine.moves, self.me
        everybody = (1 << len(self.machine.roles)) - 1
        found: list[tuple[Available, int, list[int]]] = []
        start = (state, me, 0, alive)
        seen = {start}
        queue: list[tuple[tuple[int, int, int, frozenset[int]], list[int]]] = [(start, [])]
        for (here, held, hidden, living), run in queue:  # it grows while it is walked
            for message, target, node, joins in moves[here]:
                sender, receiver = self.ends[message]
                still_held, still_hidden = held, hidden
                if sender & held:
                    still_held = held | receiver
                elif receiver == me:
                    if not sender & hidden:
                        longer = [*run, node] if wanted is not None else run
                        found.append((Available(node, living), message, longer))
                        if message == wanted:
                            return found
                    still_hidden = hidden | sender
                after = (target, still_held, still_hidden, living - joins if living else living)
                if still_held != everybody and after not in seen:
                    seen.add(after)
                    queue.append((after, [*run, node] if wanted is not None else run))
            self.room -= 1
            if self.room < 0:
                break
        return found
