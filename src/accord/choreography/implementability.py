"""Whether the roles can follow a protocol, each by what it sees alone.

For protocols in which one role decides each choice by what it sends, and without `par`, these conditions on the
subsets of every role's view hold exactly if the roles together do what the protocol says, never get stuck, and leave
no message behind (Li, Stutz, Wies and Zufferey, "Complete Multiparty Session Type Projection with Automata", CAV 2023):

- *sending*: what a role sends from a subset it can send from every state in it, sooner or later, without seeing more;
- *receiving*: if messages of two senders are expected, the second cannot be there when the first one should come first;
- *not both*: a role does not have to choose between sending and waiting.

With `par` a role may well send in one part and wait in another. Two things that a role does are then allowed to come
in either order if they stand in different parts of one `par` that is not over in between. Parts must not share a
channel: a message that nobody is ready for would stand in the way of the other part. What is not covered by that is
not decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from accord.choreography.availability import Availability

if TYPE_CHECKING:
    from accord.choreography.tables import GlobalMachine
    from accord.choreography.views import View

__all__ = ["Doubt", "doubts_of", "shared_channel"]


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a role cannot know what to do.

    In every state of `left` it can do `message` at once. `send`: in those of `right` it must never. `receive` and
    `both`: in those of `right` it should receive `other` first.
    """

    kind: Literal["send", "receive", "both"]
    role: str
    message: int
    other: int | None
    left: frozenset[int]
    right: frozenset[int]


def shared_channel(machine: GlobalMachine) -> tuple[int, int] | None:
    """Two nodes in different parts of one `par` that use the same channel."""
    users: dict[tuple[str, str], list[int]] = {}
    for number, node in enumerate(machine.nodes):
        if node.thread:
            users.setdefault(machine.messages[node.message][:2], []).append(number)
    for nodes in users.values():
        for index, one in enumerate(nodes):
            for other in nodes[:index]:
                if machine.parallel(one, other):
                    return other, one
    return None


def doubts_of(view: View, machine: GlobalMachine, most: int) -> list[Doubt] | None:
    """Why the role cannot follow the protocol, at most one reason for each subset; none if it can.

    `None` if more than `most` places would have to be looked at, so that it is not decided.
    """
    judge = _Judge(view, machine, most)
    found = [judge.subset(subset, edges) for subset, edges in zip(view.subsets, view.edges, strict=True)]
    return None if judge.available.room < 0 else [doubt for doubt in found if doubt is not None]


class _Judge:
    def __init__(self, view: View, machine: GlobalMachine, most: int) -> None:
        self.view = view
        self.machine = machine
        self.senders = [sender for sender, _, _ in machine.messages]
        self.available = Availability(machine, view.role, most)

    def subset(self, subset: frozenset[int], edges: dict[int, int]) -> Doubt | None:
        if not edges or (len(edges) == 1 and len(subset) == 1):
            return None
        role = self.view.role
        sends = [message for message in edges if self.senders[message] == role]
        receives = [message for message in edges if self.senders[message] != role]
        for message in sends:
            doubt = self.sending(subset, message)
            if doubt is not None:
                return doubt
        if sends and receives:
            doubt = self.both(subset, sends, receives)
            if doubt is not None:
                return doubt
        if len({self.senders[message] for message in receives}) > 1:
            return self.receiving(subset, receives)
        return None

    def doing(self, subset: frozenset[int], message: int) -> frozenset[int]:
        """The states of a subset in which the message can be exchanged at once."""
        moves = self.machine.moves
        return frozenset(state for state in subset for move in moves[state] if move[0] == message)

    def sending(self, subset: frozenset[int], message: int) -> Doubt | None:
        doing = self.doing(subset, message)
        if len(doing) == len(subset):
            return None
        own, moves = self.view.own, self.machine.moves
        before: dict[int, list[int]] = {}
        for state in subset:
            for move in moves[state]:
                if move[0] not in own:
                    before.setdefault(move[1], []).append(state)
        fine = set(doing)
        todo = list(doing)
        while todo:
            for state in before.get(todo.pop(), ()):
                if state not in fine:
                    fine.add(state)
                    todo.append(state)
        if len(fine) == len(subset):
            return None
        return Doubt("send", self.view.role, message, None, doing, subset - fine)

    def both(self, subset: frozenset[int], sends: list[int], receives: list[int]) -> Doubt | None:
        for message in sends:
            for other in receives:
                wrong = frozenset(s for s in self.doing(subset, other) if not self.at_once(s, other, message))
                if wrong:
                    return Doubt("both", self.view.role, message, other, self.doing(subset, message), wrong)
        return None

    def at_once(self, state: int, received: int, sent: int) -> bool:
        """Whether sending is possible in a part beside the one that receives, and never after that `par` is over."""
        own, moves = self.view.own, self.machine.moves
        for message, _, node, _ in moves[state]:
            if message != received or self.machine.always_beside(sent, node):
                continue
            if not self.machine.nodes[node].thread:
                return False
            start = (state, frozenset(par for par, _ in self.machine.nodes[node].thread))
            seen, todo = {start}, [start]
            while todo:
                here, alive = todo.pop()
                for unseen, target, other, joins in moves[here]:
                    if unseen == sent and not self.machine.parallel(node, other, alive):
                        return False
                    after = (target, alive - joins)
                    if unseen not in own and after not in seen:
                        seen.add(after)
                        todo.append(after)
        return True

    def receiving(self, subset: frozenset[int], receives: list[int]) -> Doubt | None:
        for other in receives:
            rivals = {message for message in receives if self.senders[message] != self.senders[other]}
            for state in sorted(self.doing(subset, other)):
                for message in self.early(state, other, rivals):
                    if message in rivals:
                        left = self.doing(subset, message)
                        return Doubt("receive", self.view.role, message, other, left, frozenset((state,)))
        return None

    def early(self, state: int, received: int, rivals: set[int]) -> list[int]:
        """The messages that can be there already when the other one should be received first."""
        machine = self.machine
        found: list[int] = []
        for message, target, node, joins in machine.moves[state]:
            if message != received or all(machine.always_beside(rival, node) for rival in rivals):
                continue
            alive = frozenset(par for par, _ in machine.nodes[node].thread) - joins
            found += [
                machine.nodes[there.node].message
                for there in self.available.at(target, alive)
                if not machine.parallel(node, there.node, there.alive)
            ]
        return sorted(found)
