"""Two runs that look the same to a role and ask different things of it: the proof that it cannot know.

The shortest pair is found by walking two copies of the protocol at the same time. What the role does not see moves one
copy alone, what it sees moves both.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from accord.choreography.availability import Availability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.choreography.implementability import Doubt
    from accord.choreography.tables import GlobalMachine
    from accord.choreography.views import View

__all__ = ["Witness", "witness_of"]

Pair = tuple[int, int]
Nodes = tuple[int, ...]


class Witness(NamedTuple):
    """The nodes of two runs. Up to `seen_left` and `seen_right` they look alike to the role."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    seen_left: int
    seen_right: int


def witness_of(doubts: Sequence[Doubt], view: View, machine: GlobalMachine, most: int) -> tuple[Doubt, Witness] | None:
    """The doubt that shows first, with the two shortest runs behind it.

    `None` if more than `most` pairs of states would have to be looked at.
    """
    pair, before = _walk(doubts, view, machine, most)
    if pair is None:
        return None
    doubt = next(doubt for doubt in doubts if pair[0] in doubt.left and pair[1] in doubt.right)
    left: list[int] = []
    right: list[int] = []
    at = pair
    while (step := before[at]) is not None:
        at = step[0]
        left[:0] = step[1]
        right[:0] = step[2]
    seen = len(left), len(right)
    left.append(next(move.node for move in machine.moves[pair[0]] if move.message == doubt.message))
    if doubt.other is not None:
        moved = next(move for move in machine.moves[pair[1]] if move.message == doubt.other)
        right.append(moved.node)
        if doubt.kind == "receive":
            right += Availability(machine, view.role, most).way_to(moved.target, doubt.message)
    return doubt, Witness(tuple(left), tuple(right), *seen)


def _walk(
    doubts: Sequence[Doubt], view: View, machine: GlobalMachine, most: int
) -> tuple[Pair | None, dict[Pair, tuple[Pair, tuple[int, ...], tuple[int, ...]] | None]]:
    before: dict[Pair, tuple[Pair, tuple[int, ...], tuple[int, ...]] | None] = {(0, 0): None}
    reached = {(0, 0): 0}
    queue: list[tuple[int, Pair]] = [(0, (0, 0))]
    own, moves = view.own, machine.moves
    while queue:
        length, pair = heappop(queue)
        if length > reached[pair]:
            continue
        mine, theirs = pair
        if any(mine in doubt.left and theirs in doubt.right for doubt in doubts):
            return pair, before
        steps: list[tuple[Pair, Nodes, Nodes, int]]
        steps = [((m.target, theirs), (m.node,), (), 1) for m in moves[mine] if m.message not in own]
        steps += [((mine, m.target), (), (m.node,), 1) for m in moves[theirs] if m.message not in own]
        seen = {m.message: m for m in moves[theirs] if m.message in own}
        for m in moves[mine]:
            if m.message in seen:
                other = seen[m.message]
                steps.append(((m.target, other.target), (m.node,), (other.node,), 2))
        for after, left, right, cost in steps:
            if length + cost < reached.get(after, length + cost + 1):
                reached[after] = length + cost
                before[after] = (pair, left, right)
                heappush(queue, (length + cost, after))
        if len(reached) > most:
            break
    return None, before
