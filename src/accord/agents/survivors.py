"""Who can still go on in a conversation when others have crashed where the protocol lets somebody notice it.

A role that has crashed does nothing more in its conversation, also where the protocol, behind `or crash`, lets it act
again. So somebody can wait in vain who does not wait for that role alone: for it, or for what a third role would send
only if the crash had not been. That follows from the whole protocol, and from no role's own part of it: a role goes on
if some run in which all of these crash, and do nothing afterwards, has something more for it to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.language.global_tree import CRASH
from accord.machine.tables import Plain, Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.choreography import Choreography

__all__ = ["going_on"]

_Place = tuple[int, int, frozenset[str]]
"""Where the role is, where the whole protocol is, and who has crashed so far."""


def going_on(choreography: Choreography, role: str, crashed: frozenset[str]) -> frozenset[int]:
    """The states of a role in which it can still do something if all of these have crashed."""
    start: _Place = (0, 0, frozenset())
    before: dict[_Place, list[tuple[_Place, bool]]] = {start: []}
    queue = [start]
    for place in queue:  # it grows while it is walked
        for after, own in _steps(choreography, role, crashed, place):
            if after not in before:
                before[after] = []
                queue.append(after)
            before[after].append((place, own))
    todo = [place for place in queue if place[2] == crashed]
    in_such_a_run = set(todo)
    found = set()
    while todo:
        for place, own in before[todo.pop()]:
            if own:
                found.add(place[0])
            if place not in in_such_a_run:
                in_such_a_run.add(place)
                todo.append(place)
    return frozenset(found)


def _steps(
    choreography: Choreography, role: str, crashed: frozenset[str], place: _Place
) -> Iterator[tuple[_Place, bool]]:
    """Every place that a message leads to, and whether it is one of the role's own."""
    machine, own = choreography.machine, choreography.machines[role]
    mine, here, gone = place
    for move in machine.moves[here]:
        sender, receiver, label = machine.messages[move.message]
        if sender in gone:
            continue
        told = gone | {sender} if label == CRASH and sender in crashed else gone
        if role not in (sender, receiver):
            yield (mine, move.target, told), False
            continue
        symbol = Symbol("!", label, receiver) if sender == role else Symbol("?", label, sender)
        state = own.states[mine]
        assert isinstance(state, Plain)  # noqa: S101 - projections have no forks
        after = next(target for number, target in state.edges if own.symbols[number] == symbol)
        yield (after, move.target, told), True
