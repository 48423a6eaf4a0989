"""Closing: where a session may stop.

It may stop where `end` is possible. A protocol that runs forever by design never gets there, so
where no end can be reached any more the session may also stop *between rounds*: at the head of a
loop, with nothing consumed since it was entered or jumped to.

The parts of an interleaving are judged one by one by the same two sentences, "end" meaning the
end of the part. If all of them may end, what follows the interleaving is judged instead. If some
may end and the others stand between rounds, what follows will never be reached, and the whole
stands between rounds.

What can be reached is a question about the text alone: guards and gates are taken to be passable,
and every deadline can be kept or missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    End,
    Interleaving,
    Recursion,
    Sequence,
    Variable,
)
from accord.semantics.places import AT_HEAD, OVER, AtHead, Beside, Inside, Timed, bare, jump, may_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.semantics.places import Frame, Place, State

__all__ = ["is_complete"]


def is_complete(state: State) -> bool:
    """Whether the session may be closed here."""
    return any(may_stop(place) for place, _ in state)


def may_stop(place: Place) -> bool:
    """Whether the session, or the part whose place this is, may stop here."""
    return may_end(place) or (between_rounds(place) and not can_end(place))


def between_rounds(place: Place) -> bool:
    """Whether control stands at the head of a loop, or does so in some parts while the others may end.

    An interleaving whose parts may all end says nothing by itself: what follows it is another
    possibility.
    """
    now = bare(place)[0]
    return place[0] == AT_HEAD or (
        isinstance(now, Beside)
        and all(may_stop(part) for part in now.parts)
        and not all(may_end(part) for part in now.parts)
    )


def can_end(place: Place) -> bool:
    """Whether any run from here, however long, comes to the end."""
    seen: set[Place] = set()
    todo = [place]
    while todo:
        here = todo.pop()
        if here == OVER:
            return True
        if here not in seen:
            seen.add(here)
            todo.extend(beyond(here[0], here[1:]))
    return False


def beyond(now: Frame, rest: Place) -> Iterator[Place]:
    """Where `now` can lead, with `rest` beneath it, whatever happens.

    Parts do not hinder one another, so an interleaving is passed if each part alone can end.
    """
    match now:
        case Action() | Inside() | AtHead():
            yield rest
        case Sequence(steps=steps):
            yield (*steps, *rest)
        case Choice(branches=branches):
            yield from ((branch, *rest) for branch in branches)
        case Timed(deadline=deadline):
            yield (deadline, *rest)
        case Deadline(body=body, otherwise=otherwise):
            yield from ((body, *rest), (otherwise, *rest))
        case Recursion(body=body):
            yield (body, Inside(now), *rest)
        case Variable(name=name):
            yield jump(name, rest)
        case End():
            yield OVER
        case Interleaving() | Beside():
            parts = now.parts if isinstance(now, Beside) else tuple((part,) for part in now.parts)
            if all(map(can_end, parts)):
                yield rest
