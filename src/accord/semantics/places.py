"""Places: what is left to do, and which events may come next.

The package docstring has the theory. Two relations say everything: `unfold`, which needs no event,
and `take`, which consumes one. All else here follows them. Neither knows of data: whether an action
is *enabled*, given what an event carries and what the registers hold, is asked at the end.

The tree is taken to be checked: variables are bound, labels are in Unicode normal form C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from accord.language.clauses import Collect
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
from accord.semantics.data import EMPTY_SET, Registers, accept, happening

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accord.semantics.data import Event

__all__ = [
    "Beside",
    "Inside",
    "Place",
    "Possibility",
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
Possibility: TypeAlias = tuple[Place, Registers]
State: TypeAlias = frozenset[Possibility]

# The way down to an action: the interleavings it is in, and the number of the part in each.
Point: TypeAlias = tuple[tuple[Place, int], ...]

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


def take(now: Frame, rest: Place) -> Iterator[tuple[Point, Action, Place]]:
    """The actions that `now` itself can make: at which point, and the place each leads to.

    A stack without an event leads to one choice at most, for a branch begins with an action or
    ends. So the way down to the stack tells the point: actions with the same way are branches of
    one choice.
    """
    match now:
        case Action():
            yield (), now, rest
        case Beside(parts=parts):
            for i, part in enumerate(parts):
                for point, action, after in choices(part):
                    way = (((now, *rest), i), *point)
                    yield way, action, (beside((*parts[:i], after, *parts[i + 1 :])), *rest)
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


def choices(place: Place) -> Iterator[tuple[Point, Action, Place]]:
    """The actions that can be next at a place, whatever they carry."""
    for here in unfolded(place):
        if here != OVER:
            yield from take(here[0], here[1:])


# --- states ---------------------------------------------------------------------------------------


def start(protocol: Protocol) -> State:
    """The state before the first event: sets are empty, all other registers are unbound."""
    sets: set[str] = set()
    todo = [protocol]
    while todo:
        node = todo.pop()
        todo.extend(node.children())
        if isinstance(node, Action):
            sets.update(clause.register for clause in node.clauses if isinstance(clause, Collect))
    return frozenset({((protocol,), frozenset((name, EMPTY_SET) for name in sets))})


def moves(state: State) -> frozenset[Action]:
    """The actions that can be next, whatever they carry and whoever makes them."""
    return frozenset(action for place, _ in state for _, action, _ in choices(place))


def step(
    state: State,
    direction: Direction,
    label: str,
    partner: str | None = None,
    payload: Mapping[str, object] | None = None,
    by: str | None = None,
) -> State:
    """All possibilities after an event; none if it is refused.

    A step that names no partner matches any, and so does an event that names none, unless that
    leaves open which of several named partners is meant: then it is a `ValueError`. An event that
    two branches of one choice could take is refused.
    """
    event = happening(direction, label, partner, payload, by)
    ways = [list(enabled(possibility, event)) for possibility in state]
    partners = {action.partner for way in ways for _, action, _ in way} - {None}
    if event.partner is None and len(partners) > 1:
        raise ValueError(f"`{direction}{label}` could be with any of {sorted(map(str, partners))}")
    for way in ways:
        points = [point for point, _, _ in way]
        if len(points) > len(set(points)):
            return frozenset()
    return frozenset(after for way in ways for _, _, after in way)


def enabled(possibility: Possibility, event: Event) -> Iterator[tuple[Point, Action, Possibility]]:
    """The actions that can take this event, each with the possibility it leads to."""
    place, registers = possibility
    for point, action, after in choices(place):
        if (action.direction, action.label) != (event.direction, event.label):
            continue
        if event.partner is not None and action.partner not in {None, event.partner}:
            continue
        if action.gated and event.by is None:
            continue
        kept = accept(action.clauses, event.payload, registers)
        if kept is not None:
            yield point, action, (after, kept)
