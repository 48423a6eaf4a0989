"""Slices: one instance for every value of a field, and the course that a whole protocol takes.

A protocol that is not sliced is run as one that has a single key, which every event has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from accord.language.tree import RECEIVE, Action
from accord.semantics.clocks import age, next_due
from accord.semantics.closing import is_complete
from accord.semantics.data import Null, equal, look_up
from accord.semantics.places import advance, moves, start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.clauses import Path
    from accord.language.tree import Protocol
    from accord.semantics.data import Datum, Event, Time
    from accord.semantics.places import State

__all__ = ["Course", "begin", "key_of"]

# The only key of a protocol that is not sliced.
WHOLE = Null()


def key_of(event: Event, path: Path) -> Datum | None:
    """The value that says to which instance an event belongs: for what was received that of the call, else its field.

    What does not equal itself, such as NaN, is no key.
    """
    key = look_up(event.payload, ("call", *path)) if event.direction == RECEIVE else None
    if key is None:
        key = look_up(event.payload, path)
    return key if key is not None and equal(key, key) else None


@dataclass(frozen=True, slots=True)
class Course:
    """The state of every instance there is. A finished one stays: its key cannot be used again."""

    protocol: Protocol
    each: Path | None
    is_open: bool
    states: Mapping[Datum, State]

    def key(self, event: Event) -> Datum | None:
        """The instance an event belongs to."""
        return WHOLE if self.each is None else key_of(event, self.each)

    def state(self, key: Datum, at: Time = 0) -> State:
        """The state of an instance, which begins at this time if there is none yet."""
        return self.states[key] if key in self.states else start(self.protocol, at)

    def names(self, event: Event) -> bool:
        """Whether the protocol has such a message anywhere, by direction and label."""
        todo = [self.protocol]
        while todo:
            node = todo.pop()
            if isinstance(node, Action) and (node.direction, node.label) == (event.direction, event.label):
                return True
            todo.extend(node.children())
        return False

    def after(self, event: Event) -> Course | None:
        """The course after an event; `None` if it is refused, which a named event without a key always is.

        What an open protocol does not name is not its business; any other refuses it.
        """
        if not self.names(event):
            return self if self.is_open else None
        key = self.key(event)
        after = advance(self.state(key, event.at), event) if key is not None else frozenset()
        return replace(self, states={**self.states, key: after}) if key is not None and after else None

    def moves(self, event: Event | None = None) -> frozenset[Action]:
        """What can happen in the instance of the event; without one that has a key, in any, and in one that is new."""
        key = self.key(event) if event is not None else None
        if key is not None:
            return moves(self.state(key))
        fresh = frozenset() if self.each is None else moves(start(self.protocol))
        return fresh.union(*map(moves, self.states.values()))

    def is_complete(self) -> bool:
        """Whether every instance may stop."""
        return all(map(is_complete, self.states.values()))

    def aged(self, at: Time) -> Course:
        """The course at this time, if nothing happens until then."""
        return replace(self, states={key: age(state, at) for key, state in self.states.items()})

    def next_due(self) -> Time | None:
        """The earliest moment at which a deadline is due."""
        dues = map(next_due, self.states.values())
        return min((due for due in dues if due is not None), default=None)


def begin(protocol: Protocol, each: Path | None, at: Time, *, is_open: bool = False) -> Course:
    """A course before the first event: instances of a sliced protocol begin with their own first events."""
    return Course(protocol, each, is_open, {WHOLE: start(protocol, at)} if each is None else {})
