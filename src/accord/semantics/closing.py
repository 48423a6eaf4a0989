"""Closing: where a session may stop.

It may stop where `end` is possible. A protocol that runs forever by design never gets there, so
where no end can be reached any more the session may also stop *between rounds*: at the head of a
loop, with nothing consumed since it was entered or jumped to.

The parts of an interleaving are judged one by one by the same two sentences, "end" meaning the
end of the part. If all of them may end, what follows the interleaving is judged instead. If some
may end and the others stand between rounds, what follows will never be reached, and the whole
stands between rounds.

What can be reached is a question about the text alone: guards and gates are taken to be passable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.language.tree import Recursion
from accord.semantics.places import OVER, Beside, may_end, take, unfold, unfolded

if TYPE_CHECKING:
    from accord.semantics.places import Place, State

__all__ = ["is_complete"]


def is_complete(state: State) -> bool:
    """Whether the session may be closed here."""
    return any(may_stop(place) for place, _ in state)


def may_stop(place: Place) -> bool:
    """Whether the session, or the part whose place this is, may stop here."""
    return may_end(place) or (between_rounds(place) and not can_end(place))


def between_rounds(place: Place) -> bool:
    """Whether control stands at the head of a loop.

    An unfolded loop is among the places seen here, also when its body begins with an interleaving,
    until the first event. An interleaving whose parts may all end says nothing by itself: what
    follows it is among the places seen as well.
    """
    for now, *_ in unfolded(place) - {OVER}:
        if isinstance(now, Recursion):
            return True
        if (
            isinstance(now, Beside)
            and all(may_stop(part) for part in now.parts)
            and not all(may_end(part) for part in now.parts)
        ):
            return True
    return False


def can_end(place: Place) -> bool:
    """Whether any run from here, however long, comes to the end.

    Parts do not hinder one another, so an interleaving is passed if each part alone can end.
    """
    seen: set[Place] = set()
    todo = [place]
    while todo:
        here = todo.pop()
        if here == OVER:
            return True
        if here in seen:
            continue
        seen.add(here)
        now, rest = here[0], here[1:]
        if isinstance(now, Beside):
            if all(can_end(part) for part in now.parts):
                todo.append(rest)
        else:
            todo.extend(unfold(now, rest))
            todo.extend(after for _, _, after in take(now, rest))
    return False
