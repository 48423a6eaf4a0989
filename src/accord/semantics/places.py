"""Places: what is left to do, and which events may come next.

The package docstring has the theory. Two functions say everything: `settle`, which goes on as far as one comes without
an event, and `choices`, which says what the events are. All else here follows them. Neither knows of data: whether an
action is *enabled*, given what an event carries and what the registers hold, is asked at the end.

The tree is taken to be checked: variables are bound, labels are in Unicode normal form C.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from accord.language.clauses import Collect
from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    Direction,
    End,
    Interleaving,
    Protocol,
    Recursion,
    Sequence,
    Variable,
    first_step,
)
from accord.semantics.data import EMPTY_SET, Registers, accept, happening

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from accord.semantics.data import Event, Time

__all__ = [
    "AT_HEAD",
    "OVER",
    "AtHead",
    "Beside",
    "Frame",
    "Inside",
    "Misuse",
    "Place",
    "Possibility",
    "State",
    "Timed",
    "advance",
    "bare",
    "choices",
    "jump",
    "may_end",
    "moves",
    "settle",
    "side_by_side",
    "start",
    "step",
]


class Misuse(ValueError):  # noqa: N818 - it is the caller's mistake and no verdict
    """The question cannot be answered, and asking it has changed nothing."""


@dataclass(frozen=True, slots=True)
class Inside:
    """Whatever lies above on the stack belongs to the body of this loop."""

    loop: Recursion


@dataclass(frozen=True, slots=True)
class Timed:
    """A deadline whose clock runs: `due` is the last moment at which its step is in time."""

    deadline: Deadline
    due: Time


@dataclass(frozen=True, slots=True)
class Beside:
    """An interleaving under way: the place each part has reached. It goes on inside before it is left."""

    parts: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class AtHead:
    """A mark on top of the stack: a loop has been entered or jumped to, and nothing has happened since."""


Frame: TypeAlias = Protocol | Inside | Timed | Beside | AtHead
Place: TypeAlias = tuple[Frame, ...]
Possibility: TypeAlias = tuple[Place, Registers]
State: TypeAlias = frozenset[Possibility]

# The way down to an action: the number of the part in each interleaving it is in.
Point: TypeAlias = tuple[int, ...]

OVER: Place = ()
AT_HEAD = AtHead()


# --- without an event -----------------------------------------------------------------------------


def settle(place: Place, at: Time, seen: frozenset[Place] = frozenset()) -> frozenset[Place]:
    """Where one comes to at once at this time: the place itself, if something has to happen there first.

    There is more than one only where an interleaving may be over but could also go on. Going round
    for ever without an event, which the checks would have refused, leads nowhere; so the places
    that were seen on the way are kept.
    """
    head = False
    while place != OVER and place not in seen:
        seen |= {place}
        now, rest = place[0], place[1:]
        match now:
            case Sequence(steps=steps):
                place = (*steps, *rest)
            case Recursion(body=body):
                place, head = (body, Inside(now), *rest), True
            case Inside():
                place = rest
            case Variable(name=name):
                place = jump(name, rest)
            case End():
                place = OVER
            case Deadline(milliseconds=milliseconds):
                place = (Timed(now, at + milliseconds / 1000), *rest)
            case Interleaving(parts=parts):
                ways = product(*(settle((part,), at) for part in parts))
                return marked({found for way in ways for found in side_by_side(way, rest, at, seen)}, head=head)
            case _:
                break
    return marked({place}, head=head)


def side_by_side(
    parts: Iterable[Place], rest: Place, at: Time, seen: frozenset[Place] = frozenset()
) -> frozenset[Place]:
    """Parts that have settled, run side by side before the rest.

    If all of them may end, the rest may have begun. If one of them can go on, it may not have.

    The order of the parts means nothing. Any fixed one will do to make equal situations equal
    values. Parts whose hashes collide may keep two orders; that costs a place more in the state and
    changes no answer.
    """
    parts = tuple(sorted(parts, key=hash))
    found: set[Place] = set()
    if any(part != OVER for part in parts):
        found.add((Beside(parts), *rest))
    if all(may_end(part) for part in parts):
        found |= settle(rest, at, seen)
    return frozenset(found)


def marked(places: Iterable[Place], *, head: bool) -> frozenset[Place]:
    """The places, with the mark if they stand at the head of a loop."""
    return frozenset((AT_HEAD, *bare(place)) if head and place != OVER else place for place in places)


def bare(place: Place) -> Place:
    """The place without the mark."""
    return place[1:] if place and place[0] == AT_HEAD else place


def jump(name: str, stack: Place) -> Place:
    """The head of the innermost loop called `name`, with what followed that loop beneath it."""
    for depth, frame in enumerate(stack):
        if isinstance(frame, Inside) and frame.loop.variable == name:
            return (frame.loop, *stack[depth + 1 :])
    raise ValueError(f"unbound variable `{name}`")


def may_end(place: Place) -> bool:
    """Whether the session, or the part whose place this is, may end here, where it has settled."""
    if place == OVER:
        return True
    step = open_step(place)
    return isinstance(step, Choice) and any(isinstance(first_step(branch), End) for branch in step.branches)


def open_step(place: Place) -> Frame:
    """What is next at a place that is not over; of a timed step, the step."""
    now = bare(place)[0]
    return now.deadline.body if isinstance(now, Timed) else now


# --- events ---------------------------------------------------------------------------------------


def choices(place: Place, at: Time = 0) -> Iterator[tuple[Point, Action, frozenset[Place]]]:
    """The actions that can be next, whatever they carry: at which point, and the places each leads to at this time.

    A stack leads to one choice at most, so the way down to the stack tells the point: actions with
    the same way are branches of one choice.
    """
    if place == OVER:
        return
    rest = bare(place)[1:]
    match open_step(place):
        case Action() as action:
            yield (), action, settle(rest, at)
        case Choice(branches=branches):
            for branch in branches:
                first, *more = branch.steps if isinstance(branch, Sequence) else (branch,)
                if isinstance(first, Action):
                    yield (), first, settle((*more, *rest), at)
        case Beside(parts=parts):
            for i, part in enumerate(parts):
                for point, action, ways in choices(part, at):
                    others = (*parts[:i], *parts[i + 1 :])
                    after = frozenset(found for way in ways for found in side_by_side((*others, way), rest, at))
                    yield (i, *point), action, after


# --- states ---------------------------------------------------------------------------------------


def start(protocol: Protocol, at: Time = 0) -> State:
    """The state before the first event: sets are empty, all other registers are unbound."""
    sets: set[str] = set()
    todo = [protocol]
    while todo:
        node = todo.pop()
        todo.extend(node.children())
        if isinstance(node, Action):
            sets.update(clause.register for clause in node.clauses if isinstance(clause, Collect))
    registers = frozenset((name, EMPTY_SET) for name in sets)
    return frozenset((place, registers) for place in settle((protocol,), at))


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
    """All possibilities after an event; none if it is refused."""
    return advance(state, happening(direction, label, partner, payload, by))


def advance(state: State, event: Event) -> State:
    """All possibilities after an event; none if it is refused.

    A step that names no partner matches any, and so does an event that names none, unless that
    leaves open which of several named partners is meant: then it is a `Misuse`. An event that two
    branches of one choice could take is refused.
    """
    ways = [list(enabled(possibility, event)) for possibility in state]
    partners = {action.partner for way in ways for _, action, _ in way} - {None}
    if event.partner is None and len(partners) > 1:
        raise Misuse(f"`{event.direction}{event.label}` could be with any of {sorted(map(str, partners))}")
    for way in ways:
        points = [point for point, _, _ in way]
        if len(points) > len(set(points)):
            return frozenset()
    return frozenset(after for way in ways for _, _, afters in way for after in afters)


def enabled(possibility: Possibility, event: Event) -> Iterator[tuple[Point, Action, State]]:
    """The actions that can take this event, each with the possibilities it leads to."""
    place, registers = possibility
    for point, action, after in choices(place, event.at):
        if (action.direction, action.label) != (event.direction, event.label):
            continue
        if event.partner is not None and action.partner not in {None, event.partner}:
            continue
        if action.gated and event.by is None:
            continue
        kept = accept(action.clauses, event.payload, registers)
        if kept is not None:
            yield point, action, frozenset((found, kept) for found in after)
