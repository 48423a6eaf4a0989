"""All states a protocol between roles can come to, parts that run side by side multiplied out.

A configuration is a state of the draft, or a fork with one configuration for each of its parts. Parts of one `par`
that are all over become the state behind it. A choice can do what any of its branches can, and is left with the first
message: until then it is one state, whatever its branches begin with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from accord.choreography.tables import Move

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.machine.tables import Stop

__all__ = ["Draft", "Fork", "multiply"]

Fork: TypeAlias = tuple[int, tuple[tuple[int, int], ...], int]
"""The number of a `par`, the first and the last state of each part, and the state behind it."""

Configuration: TypeAlias = "int | tuple[int, tuple[Configuration, ...]]"
"""A state, or the state of a fork and where its parts are."""


class Draft(NamedTuple):
    """What the compiler makes of a protocol, by state."""

    moves: list[tuple[Move, ...]]
    forks: dict[int, Fork]
    branches: dict[int, tuple[int, ...]]
    """Where the branches of a choice begin."""
    points: set[int]
    """Where loops begin."""


_END = 1  # the state in which the protocol is over, as the compiler makes it


def multiply(draft: Draft, first: int, most: int) -> tuple[tuple[tuple[Move, ...], ...], tuple[Stop, ...]] | None:
    """Moves and stops of all states that can be reached, in the order in which a walk meets them.

    `None` if there are more than `most`, where parts are multiplied; without parts there is no limit.
    """
    walk = _Walk(draft)
    start, _ = walk.enter(first)
    number_of: dict[Configuration, int] = {start: 0}
    queue: list[Configuration] = [start]
    table: list[tuple[Move, ...]] = []
    for configuration in queue:  # it grows while it is walked
        row = []
        for move, after, joins in walk.steps(configuration):
            number = number_of.get(after)
            if number is None:
                number = number_of[after] = len(queue)
                queue.append(after)
            row.append(Move(move.message, number, move.node, joins))
        table.append(tuple(row))
        if draft.forks and len(queue) > most:
            return None
    return tuple(table), _stops(table, queue, walk)


def _stops(table: list[tuple[Move, ...]], queue: list[Configuration], walk: _Walk) -> tuple[Stop, ...]:
    """Where a session may stop: at the end; where no end can be reached, when every part rests at a loop's start."""
    before: list[list[int]] = [[] for _ in table]
    for number, row in enumerate(table):
        for move in row:
            before[move.target].append(number)
    ends = [number for number, configuration in enumerate(queue) if configuration == _END]
    can_end = set(ends)
    while ends:
        for number in before[ends.pop()]:
            if number not in can_end:
                can_end.add(number)
                ends.append(number)
    return tuple(
        [
            "end" if c == _END else "pause" if number not in can_end and walk.rests(c) else None
            for number, c in enumerate(queue)
        ]
    )


class _Walk:
    def __init__(self, draft: Draft) -> None:
        self.moves, self.forks, self.branches, self.points = draft

    def enter(self, state: int) -> tuple[Configuration, frozenset[int]]:
        """The configuration of a protocol that has come to a state, and which `par` were over in passing."""
        if state not in self.forks:
            return state, frozenset()
        _, parts, _ = self.forks[state]
        return self.settle(state, tuple([self.enter(start)[0] for start, _ in parts]))

    def settle(self, state: int, parts: tuple[Configuration, ...]) -> tuple[Configuration, frozenset[int]]:
        """The fork with these parts, or what is behind it if all are over."""
        number, ends, exit_ = self.forks[state]
        if any(part != end for part, (_, end) in zip(parts, ends, strict=True)):
            return (state, parts), frozenset()
        after, joins = self.enter(exit_)
        return after, joins | {number}

    def steps(self, configuration: Configuration) -> Iterator[tuple[Move, Configuration, frozenset[int]]]:
        """What can happen in a configuration, what comes of it, and which `par` are over with it."""
        if isinstance(configuration, int):
            for move in self.moves[configuration]:
                yield (move, *self.enter(move.target))
            for start in self.branches.get(
                configuration, ()
            ):  # their order gives states the numbers that snapshots hold
                yield from self.steps(self.enter(start)[0])
            return
        state, parts = configuration
        for index, part in enumerate(parts):
            for move, after, joins in self.steps(part):
                moved, more = self.settle(state, (*parts[:index], after, *parts[index + 1 :]))
                yield move, moved, joins | more

    def rests(self, configuration: Configuration) -> bool:
        if isinstance(configuration, int):
            return configuration in self.points
        state, parts = configuration
        ends = [end for _, end in self.forks[state][1]]
        return all(part == end or self.rests(part) for part, end in zip(parts, ends, strict=True))
