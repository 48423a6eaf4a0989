"""Changes that make a step optional, repeat it, or lead back from it, where the language can say so.

What a person may do instead of a step is told by its first message. So a step can be left out or repeated only where
what follows begins with a message too, and a way back leaves no text behind that can never be reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Span
from accord.errors import UsageError
from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    End,
    Interleaving,
    Protocol,
    Recursion,
    Sequence,
    Variable,
    sequence,
)
from accord.studio.trees import exchanged, exchanged_at, node_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.studio.edited_places import Place
    from accord.studio.trees import Spot

__all__ = ["LOOP_CHANGES"]


def _optional(place: Place) -> Protocol:
    """With it or without it, what follows follows: a choice between both."""
    action = place.action
    if place.spot.branch:
        raise UsageError(f"{place.name} begins a branch, so other things can happen instead of it already")
    return _around(place, lambda following: (sequence([action, *following[:1]]), *_branches(following)))


def _repeat(place: Place) -> Protocol:
    """Any number of times, then what follows."""
    action = place.action
    if place.spot.branch:
        raise UsageError(f"{place.name} begins a branch; say where it goes back to instead")
    name = place.fresh()
    again = Variable(name, _behind(action))
    return _around(place, lambda following: (sequence([action, again]), *_branches(following)), name)


def _around(
    place: Place, branches: Callable[[list[Protocol]], tuple[Protocol, ...]], loop: str | None = None
) -> Protocol:
    """A choice in place of a step and of what follows it, which is written in one of its branches."""
    spot = place.spot.timed
    if spot is not place.spot:
        raise UsageError(f"{place.name} has a deadline; take it off first")
    if spot.parent is not None and isinstance(spot.parent.node, Deadline):
        raise UsageError(f"{place.name} is what happens when the time is over; change the deadline instead")
    within = spot.parent if spot.parent is not None and isinstance(spot.parent.node, Sequence) else None
    steps = [*within.node.children()] if within is not None else [spot.node]
    index = spot.index if within is not None else 0
    following = steps[index + 1 :]
    if not following and not _is_last(spot if within is None else within):
        raise UsageError(
            f"what follows {place.name} stands behind the choice that it is in; "
            "only there could the choice between both be made"
        )
    made: Protocol = Choice(branches(following), spot.node.span)
    rest = following[1:]
    if loop is not None:
        made, rest = Recursion(loop, sequence([made, *rest]), spot.node.span), []
    new = sequence([*steps[:index], made, *rest])
    return exchanged(within or spot, new)


def _branches(following: list[Protocol]) -> tuple[Protocol, ...]:
    """What follows, as branches; at the end of a protocol, its end."""
    if not following:
        return (End(),)
    first = following[0]
    if isinstance(first, Choice):
        return first.branches
    if not isinstance(first, Action | End):
        raise UsageError(
            "what follows does not begin with a message, so there is nothing by which to tell the two apart"
        )
    return (first,)


def _is_last(spot: Spot) -> bool:
    """Whether nothing follows in the protocol, or in the part of an interleaving."""
    while spot.parent is not None:
        parent = spot.parent
        if isinstance(parent.node, Interleaving):
            return True
        if isinstance(parent.node, Sequence) and spot.index < len(parent.node.steps) - 1:
            return False
        if isinstance(parent.node, Choice | Deadline):
            return False
        spot = parent
    return True


def _behind(node: Protocol) -> Span:
    return Span(node.span.end, node.span.end)


def _back(place: Place) -> Protocol:
    """After a step, back to where another one, or the choice that it begins, is waited for."""
    if place.edit.to is None or not 0 <= place.edit.to < len(place.spots):
        raise UsageError("say which step it goes back to")
    target = place.spots[place.edit.to]
    branch = target.branch
    if branch is not None and branch.parent is not None:
        target = branch.parent
    target = target.timed
    if not isinstance(place.follower(), End | None):
        raise UsageError(f"what follows {place.name} could never happen any more; add an alternative first")
    loop = target.parent
    if loop is not None and isinstance(loop.node, Sequence) and target.index == 0:
        loop = loop.parent
    if loop is not None and isinstance(loop.node, Recursion):
        name = loop.node.variable
        if not place.spot.is_inside(loop) or _is_shadowed(place.spot, loop, name):
            raise UsageError(f"{place.name} cannot go back there: it is outside of what would be repeated")
        return _jumping(place, name)
    return _new_loop(place, target)


def _jumping(place: Place, name: str) -> Protocol:
    spot = place.spot.timed
    jump = Variable(name, _behind(spot.node))
    if isinstance(place.follower(), End) and spot.parent is not None and isinstance(spot.parent.node, Sequence):
        steps = [*spot.parent.node.steps]
        steps[spot.index + 1] = jump
        return exchanged(spot.parent, sequence(steps))
    return exchanged(spot, sequence([spot.node, jump]))


def _new_loop(place: Place, target: Spot) -> Protocol:
    """The jump is made first; then everything from the target on becomes the body of a loop."""
    name = place.fresh()
    frame = target.parent if target.parent is not None and isinstance(target.parent.node, Sequence) else None
    inside = frame or target
    if not place.spot.is_inside(inside) or place.spot.number < target.number or target.item != place.spot.item:
        raise UsageError(f"{place.name} cannot go back there: it is outside of what would be repeated")
    jumped = _jumping(place, name)
    whole = node_at(jumped, inside.path)
    steps = [*whole.steps] if isinstance(whole, Sequence) else [whole]
    at = target.index if frame is not None else 0
    start = target.node.span.start
    loop = Recursion(name, sequence(steps[at:]), Span(start, start))
    return exchanged_at(jumped, inside.path, sequence([*steps[:at], loop]))


def _is_shadowed(spot: Spot, loop: Spot, name: str) -> bool:
    here = spot.parent
    while here is not None and here is not loop:
        if isinstance(here.node, Recursion) and here.node.variable == name:
            return True
        here = here.parent
    return False


LOOP_CHANGES: dict[str, Callable[[Place], Protocol]] = {"optional": _optional, "repeat": _repeat, "back": _back}
"""Every change, by the name that the page asks for it by."""
