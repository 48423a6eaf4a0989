"""Clocks: how time moves a protocol on.

A deadline that has passed is no event. It puts what stands behind `else` in the place of the timed step, as if one had
come there at the very moment the deadline passed; if that is timed too, its own clock starts at that moment.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from accord.semantics.places import OVER, Beside, Timed, bare, settle, side_by_side

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.semantics.data import Time
    from accord.semantics.places import Place, State

__all__ = ["age", "next_due"]


def next_due(state: State) -> Time | None:
    """The earliest moment at which a deadline is due."""
    return min((due for place, _ in state for due in dues(place)), default=None)


def dues(place: Place) -> Iterator[Time]:
    """When the deadlines that run at a place are due."""
    if place == OVER:
        return
    match bare(place)[0]:
        case Timed(due=due):
            yield due
        case Beside(parts=parts):
            for part in parts:
                yield from dues(part)


def age(state: State, at: Time) -> State:
    """The state at this time, if nothing happens until then. At the moment a deadline is due it has not passed."""
    due = next_due(state)
    while due is not None and due < at:
        state = frozenset((after, registers) for place, registers in state for after in late(place, due))
        due = next_due(state)
    return state


def late(place: Place, due: Time) -> frozenset[Place]:
    """The place after what is due at this moment has passed."""
    if due not in dues(place):
        return frozenset({place})
    now, *rest = bare(place)
    match now:
        case Timed(deadline):
            return settle((deadline.otherwise, *rest), due)
        case Beside(parts=parts):
            ways = product(*(late(part, due) for part in parts))
            return frozenset(found for way in ways for found in side_by_side(way, tuple(rest), due))
    raise TypeError(f"nothing is timed here: {now!r}")
