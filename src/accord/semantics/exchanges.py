"""Protocols between roles: which exchanges can come next, from above and from where each role stands.

A *place* is what is left to do, as a stack, the top first: steps, each with the names under which its roles play; the
marker of a loop, beneath its body; parts that run side by side, each a place of its own. Nothing left is the end.

- A branch falls through, because what follows the choice lies beneath it.
- `continue` drops everything down to the marker of its loop and goes round again.
- `do` puts the steps of the other protocol on top, under other names.
- A role that crashes tells it, in a message `crash`, to whoever sends first in that branch.

The roles are not in step. What each of them has done so far is its *history*. Histories agree with a protocol if there
is a run of it, from above, in which every role does what its history says and perhaps more: no role can tell that
anything else has happened. That is all "the roles follow the protocol" means.

In which order a role does things is told by the run, except for parts that run side by side: what a role does in one
part and what it does in another may come in any order. So each exchange of a run says in which parts it happened, its
*thread*, and a role's history may be out of order where threads are beside each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.language.global_tree import (
    Block,
    Call,
    Continue,
    Exchange,
    GlobalChoice,
    GlobalLoop,
    GlobalProtocol,
    GlobalStep,
    Parallel,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Deed", "Message", "Move", "Place", "Protocols", "TooLongError", "agrees", "begin", "exchanges", "is_over"]

Message = tuple[str, str, str]
"""Sender, receiver, label."""
Deed = tuple[str, str, str]
"""What one role does: `!` or `?`, its partner, the label."""
Protocols = dict[str, GlobalProtocol]
Names = tuple[tuple[str, str], ...]


class Renamed(NamedTuple):
    """A step, and who plays the roles it names; nobody else does if that is empty."""

    step: GlobalStep
    names: Names


class Marker(NamedTuple):
    """Everything above is the body of this loop."""

    loop: Renamed


class Side(NamedTuple):
    """Parts under way side by side, and a number that no other `par` of the same run has."""

    parts: tuple[Place, ...]
    number: int


Place = tuple[Renamed | Marker | Side, ...]
Thread = tuple[tuple[int, int], ...]
"""For each `par` around an exchange, outermost first: its number, and which part."""


class Move(NamedTuple):
    """An exchange that can come next, in which parts it happens, and the place after it."""

    message: Message
    thread: Thread
    after: Place


def begin(protocol: GlobalProtocol) -> Place:
    """Where a protocol begins."""
    return under(protocol.body, ())


def under(block: Block, names: Names) -> Place:
    """The steps of a block, under these names."""
    return tuple(Renamed(step, names) for step in block)


def played(role: str, names: Names) -> str:
    """Who plays a role."""
    return dict(names)[role] if names else role


def is_over(place: Place) -> bool:
    """Whether nothing is left to do."""
    return all(isinstance(item, Marker) or (isinstance(item, Side) and all(map(is_over, item.parts))) for item in place)


def exchanges(place: Place, protocols: Protocols, number: int = 0) -> list[Move]:  # noqa: PLR0911 - one for each kind
    """Every exchange that can come next; parts that are entered get this number."""
    if not place:
        return []
    top, rest = place[0], place[1:]
    if isinstance(top, Marker):
        return exchanges(rest, protocols, number)
    if isinstance(top, Side):
        return side_by_side(top, rest, protocols, number)
    step, names = top
    match step:
        case Exchange(sender, receiver, label):
            return [Move((played(sender, names), played(receiver, names), label), (), rest)]
        case GlobalChoice(decider, branches, crash):
            found = [move for branch in branches for move in exchanges(under(branch, names) + rest, protocols, number)]
            if crash is not None:
                begun = under(crash, names) + rest
                noticing = exchanges(begun, protocols, number)[0].message[0]
                found.append(Move((played(decider, names), noticing, "crash"), (), begun))
            return found
        case GlobalLoop(_, body):
            return exchanges((*under(body, names), Marker(top), *rest), protocols, number)
        case Continue(variable):
            depth = next(n for n, item in enumerate(rest) if isinstance(item, Marker) and turns(item, variable))
            marker = rest[depth]
            assert isinstance(marker, Marker)  # noqa: S101 - for the type checker
            return exchanges((marker.loop, *rest[depth + 1 :]), protocols, number)
        case Call(name, arguments):
            inside = tuple((formal, played(actual, names)) for formal, actual in arguments)
            return exchanges(under(protocols[name].body, inside) + rest, protocols, number)
        case Parallel(parts):
            side = Side(tuple(under(part, names) for part in parts), number)
            return exchanges((side, *rest), protocols, number + 1)
    raise TypeError(f"no step: {step!r}")


def turns(marker: Marker, variable: str) -> bool:
    """Whether it is the marker of the loop of this name."""
    return isinstance(marker.loop.step, GlobalLoop) and marker.loop.step.variable == variable


def side_by_side(side: Side, rest: Place, protocols: Protocols, number: int) -> list[Move]:
    """What any part can do; what follows, once all are over."""
    if all(map(is_over, side.parts)):
        return exchanges(rest, protocols, number)
    found = []
    for index, part in enumerate(side.parts):
        for message, thread, after in exchanges(part, protocols, number):
            parts = (*side.parts[:index], after, *side.parts[index + 1 :])
            found.append(Move(message, ((side.number, index), *thread), (Side(parts, side.number), *rest)))
    return found


def beside(one: Thread, other: Thread) -> bool:
    """Whether two exchanges of a run happened in different parts of the same `par`."""
    parts = dict(other)
    return any(number in parts and parts[number] != part for number, part in one)


# What a role has done and no exchange of the run accounts for yet: each deed with the threads in which the role did
# something that a run puts later. Only a thread beside all of those can still account for it.
Open = tuple[tuple[Deed, frozenset[Thread]], ...]


def accounts(history: Open, deed: Deed, thread: Thread) -> list[Open]:
    """Every way in which a role whose history is open so far can have done its share of an exchange, or not yet."""
    passed = tuple((earlier, threads | {thread}) for earlier, threads in history)
    ways = [passed]  # not yet: so all that is open was done beside it
    for index, (done, threads) in enumerate(history):
        if done[:2] == deed[:2] and all(beside(thread, other) for other in threads):
            if done == deed:
                ways.append((*passed[:index], *history[index + 1 :]))
            break  # a channel is first in, first out
    return ways


def numbers(place: Place) -> set[int]:
    """The numbers of all `par` that are under way."""
    found: set[int] = set()
    for item in place:
        if isinstance(item, Side):
            found |= {item.number}.union(*map(numbers, item.parts))
    return found


def still(histories: tuple[Open, ...], under_way: set[int]) -> tuple[Open, ...]:
    """The histories when only these `par` are under way: of threads, what is over no longer tells anything apart."""
    return tuple(
        tuple(
            (deed, frozenset(tuple(part for part in thread if part[0] in under_way) for thread in threads))
            for deed, threads in history
        )
        for history in histories
    )


def hopeless(histories: tuple[Open, ...]) -> bool:
    """Whether something a role did can no longer be accounted for: no part is left beside what it did later."""
    return any(() in threads for history in histories for _, threads in history)


LONGEST = 5_000


class TooLongError(Exception):
    """The search for a run was given up."""


def agrees(
    protocol: GlobalProtocol, protocols: Protocols, histories: Mapping[str, tuple[Deed, ...]], *, complete: bool = False
) -> bool:
    """Whether a run exists that fits what every role has done; if `complete`, one that is over with exactly that.

    Raises `TooLongError` if that takes more than a very long search, which only loops of parts inside parts do.
    """
    nothing: frozenset[Thread] = frozenset()
    roles = {role: index for index, role in enumerate(histories)}
    start = (begin(protocol), tuple(tuple((deed, nothing) for deed in deeds) for deeds in histories.values()))
    seen = {start}
    todo = [start]
    while todo:
        if len(seen) > LONGEST:
            raise TooLongError
        place, open_ = todo.pop()
        number = 1 + max(numbers(place), default=0)
        if not any(open_) and (not complete or is_over(place)):
            return True
        for (sender, receiver, label), thread, after in exchanges(place, protocols, number):
            under_way = numbers(after)
            for sent in accounts(open_[roles[sender]], ("!", receiver, label), thread):
                for received in accounts(open_[roles[receiver]], ("?", sender, label), thread):
                    if complete and (
                        len(sent) == len(open_[roles[sender]]) or len(received) == len(open_[roles[receiver]])
                    ):
                        continue
                    now = list(open_)
                    now[roles[sender]], now[roles[receiver]] = sent, received
                    further = (after, still(tuple(now), under_way))
                    if further not in seen and not hopeless(further[1]):
                        seen.add(further)
                        todo.append(further)
    return False
