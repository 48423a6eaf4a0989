"""The machine of a protocol between roles: literal tables, frozen.

A state's moves are exchanges; state 0 is the first. An exchange is one step here, however long its message travels:
what roles may do out of step with each other follows from the tables (see `implementability`).

Where parts run side by side (`par`) the tables hold their product. A move then remembers the node it came from and
which pairs of parts are over with it, so that it can be told what is concurrent with what.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from accord.diagnostics import Span
    from accord.machine.tables import Stop

__all__ = ["GlobalMachine", "Message", "Move", "Node", "Thread"]

Message = tuple[str, str, str]
"""Sender, receiver, label."""

Thread = tuple[tuple[int, int], ...]
"""The parts of `par` that a node stands in, outermost first: which `par`, which part."""


class Move(NamedTuple):
    """An exchange that can come next: the number of its message, the state after it, and its node."""

    message: int
    target: int
    node: int
    joins: frozenset[int] = frozenset()
    """Those `par` whose last part is over with it."""


class Node(NamedTuple):
    """A place in the text where a message is exchanged; what is done by `do` has nodes of its own."""

    message: int
    span: Span
    thread: Thread = ()


@dataclass(frozen=True)
class GlobalMachine:
    """A compiled protocol between roles."""

    name: str
    roles: tuple[str, ...]
    messages: tuple[Message, ...]
    moves: tuple[tuple[Move, ...], ...]
    stops: tuple[Stop, ...]
    nodes: tuple[Node, ...]
    repeated: frozenset[int] = frozenset()
    """Those `par` that stand inside a loop, so that a part of one round can be beside another part of the next."""

    @cached_property
    def has_parts(self) -> bool:
        """Whether anything runs side by side."""
        return any(node.thread for node in self.nodes)

    @cached_property
    def once(self) -> frozenset[int]:
        """Those `par` that are gone through once at the most."""
        return frozenset(par for node in self.nodes for par, _ in node.thread) - self.repeated

    @cached_property
    def nodes_of(self) -> dict[int, list[int]]:
        """The nodes of each message."""
        found: dict[int, list[int]] = {}
        for number, node in enumerate(self.nodes):
            found.setdefault(node.message, []).append(number)
        return found

    def always_beside(self, message: int, node: int) -> bool:
        """Whether a message is exchanged only in parts beside a node, of a `par` that is gone through once."""
        return bool(self.once) and all(self.parallel(node, other, self.once) for other in self.nodes_of[message])

    def parallel(self, one: int, other: int, alive: frozenset[int] | None = None) -> bool:
        """Whether two nodes stand in different parts of one `par`, of those that are `alive` if that is given."""
        parts = dict(self.nodes[other].thread)
        return any(
            par in parts and parts[par] != part and (alive is None or par in alive)
            for par, part in self.nodes[one].thread
        )
