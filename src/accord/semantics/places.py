"""Places: what is left to do, and which events may come next.

The package docstring has the theory. Two relations say everything: `unfold`, which needs no event,
and `take`, which consumes one. All else here follows them.

The tree is taken to be checked: variables are bound, labels are in Unicode normal form C.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from accord.language.tree import (
    Action,
    Choice,
    Direction,
    End,
    Interleaving,
    Protocol,
    Recursion,
    Sequence,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "Beside",
    "Inside",
    "Place",
    "State",
    "may_end",
    "moves",
    "start",
    "step",
    "take",
    "unfold",
    "unfolded",
]


@dataclass(frozen=True, slots=True)
class Inside:
    """Whatever lies above on the stack belongs to the body of this loop."""

    loop: Recursion


@dataclass(frozen=True, slots=True)
class Beside:
    """An interleaving under way: the place each part has reached."""

    parts: tuple[Place, ...]


Frame: TypeAlias = Protocol | Inside | Beside
Place: TypeAlias = tuple[Frame, ...]
State: TypeAlias = frozenset[Place]

OVER: Place = ()


# --- the two relations ----------------------------------------------------------------------------


def unfold(now: Frame, rest: Place) -> Iterator[Place]:
    """The places that `now`, with `rest` beneath it, amounts to without any event."""
    match now:
        case Sequence(steps=steps):
            yield (*steps, *rest)
        case Choice(branches=branches):
            yield from ((branch, *rest) for branch in branches)
        case Recursion(body=body):
            yield (body, Inside(now), *rest)
        case Inside():
            yield rest
        case Variable(name=name):
            yield jump(name, rest)
        case End():
            yield OVER
        case Interleaving(parts=parts):
            yield (beside((part,) for part in parts), *rest)
        case Beside(parts=places):
            if all(may_end(place) for place in places):
                yield rest
        case Action():
            return


def take(now: Frame, rest: Place) -> Iterator[tuple[Action, Place]]:
    """The actions that `now` itself can make, each with the place it leads to."""
    match now:
        case Action():
            yield now, rest
        case Beside(parts=parts):
            for i, part in enumerate(parts):
                for action, after in choices(part):
                    yield action, (beside((*parts[:i], after, *parts[i + 1 :])), *rest)
        case _:
            return


def jump(name: str, stack: Place) -> Place:
    """The head of the innermost loop called `name`, with what followed that loop beneath it."""
    for depth, frame in enumerate(stack):
        if isinstance(frame, Inside) and frame.loop.variable == name:
            return (frame.loop, *stack[depth + 1 :])
    raise ValueError(f"unbound variable `{name}`")


def beside(parts: Iterable[Place]) -> Beside:
    """An interleaving of these parts, whose order means nothing.

    Any fixed order will do to make equal situations equal values. Parts whose hashes collide may
    keep two orders; that costs a place more in the state and changes no answer.
    """
    return Beside(tuple(sorted(parts, key=hash)))


# --- what follows from them -----------------------------------------------------------------------


def unfolded(place: Place) -> frozenset[Place]:
    """The place and all it unfolds to."""
    seen: set[Place] = set()
    todo = [place]
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            if here != OVER:
                todo.extend(unfold(here[0], here[1:]))
    return frozenset(seen)


def may_end(place: Place) -> bool:
    """Whether the session, or the part whose place this is, may end here."""
    return OVER in unfolded(place)


def choices(place: Place) -> Iterator[tuple[Action, Place]]:
    """The actions that are legal at a place, each with a place it leads to."""
    for here in unfolded(place):
        if here != OVER:
            yield from take(here[0], here[1:])


# --- states ---------------------------------------------------------------------------------------


def start(protocol: Protocol) -> State:
    """The state before the first event."""
    return frozenset({(protocol,)})


def moves(state: State) -> frozenset[Action]:
    """The actions that are legal now."""
    return frozenset(action for place in state for action, _ in choices(place))


def step(state: State, direction: Direction, label: str, partner: str | None = None) -> State:
    """All possibilities after an event; none if it is refused.

    A step that names no partner matches any, and so does an event that names none, unless that
    leaves open which of several named partners is meant: then it is a `ValueError`.
    """
    label = unicodedata.normalize("NFC", label)
    partner = partner and unicodedata.normalize("NFC", partner)
    taken = [
        (action, after)
        for place in state
        for action, after in choices(place)
        if (action.direction, action.label) == (direction, label)
        and (partner is None or action.partner in {None, partner})
    ]
    partners = {action.partner for action, _ in taken} - {None}
    if partner is None and len(partners) > 1:
        raise ValueError(f"`{direction}{label}` could be with any of {sorted(map(str, partners))}")
    return frozenset(after for _, after in taken)
