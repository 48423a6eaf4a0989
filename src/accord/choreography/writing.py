"""A role's machine as a local protocol: the tree that prints, parses and compiles to the same machine.

A machine is a graph, a protocol is nested. Along the way from the first state every state becomes a step; one that is
met again on the way to itself becomes `rec`, a choice is followed by the state in which most of its branches come
together, and branches that never come there end by themselves. What a role does side by side becomes an interleaving
again (see `interleaving`). Protocols that people write come out about as they went
in. Where a graph cannot be nested some of it is written twice, within a bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from accord.choreography.interleaving import side_by_side
from accord.errors import UsageError
from accord.language.tree import Action, Choice, End, Interleaving, Recursion, Sequence, Variable, sequence

if TYPE_CHECKING:
    from accord.choreography.interleaving import PartsOf
    from accord.language.tree import Protocol
    from accord.machine.tables import Machine, Plain, Stop

__all__ = ["local_protocol", "stops_of"]

_WRITTEN_TWICE = 100_000  # steps beyond what a machine of its size takes: a few seconds, and more than anybody reads
_DEEPEST = 150
_NESTED_LOOPS = 20
_NAMES = ("X", "Y", "Z")

Written: TypeAlias = "tuple[list[Protocol], bool]"
"""Steps, and whether some way leads past them."""


def local_protocol(machine: Machine, parts: PartsOf | None = None) -> Protocol:
    """The protocol of a machine without forks and deadlines.

    `parts` says for each symbol in which parts of which `par` of the whole protocol it stands.

    Raises `UsageError` if it would have to be written too long or too deep.
    """
    return _Writer(machine, parts or {}).protocol()


def stops_of(machine: Machine) -> tuple[Stop, ...]:
    """Where a role may stop: at its ends, and where no end can be reached, where its loops begin."""
    states: list[Plain] = list(machine.states)  # type: ignore[arg-type] # projections have no forks
    heads, _ = _heads(states)
    before: list[list[int]] = [[] for _ in states]
    for number, state in enumerate(states):
        for _, target in state.edges:
            before[target].append(number)
    todo = [number for number, state in enumerate(states) if state.stop == "end"]
    can_end = set(todo)
    while todo:
        found = [number for number in before[todo.pop()] if number not in can_end]
        can_end.update(found)
        todo += found
    return tuple(
        [
            state.stop or ("pause" if number in heads and number not in can_end else None)
            for number, state in enumerate(states)
        ]
    )


class _Writer:
    def __init__(self, machine: Machine, parts: PartsOf) -> None:
        self.machine = machine
        self.states: list[Plain] = list(machine.states)  # type: ignore[arg-type] # projections have no forks
        self.actions = [Action(s.direction, s.label, s.partner) for s in machine.symbols]
        self.parts = parts
        self.heads, self.order = _heads(self.states)
        self.room = _WRITTEN_TWICE + 16 * len(self.states)

    def protocol(self) -> Protocol:
        return sequence(self.write(0, None, {}, 0)[0])

    def write(self, state: int, follow: int | None, loops: dict[int, str], depth: int) -> Written:
        """The steps from a state up to the one that follows, or to where it ends or jumps."""
        steps: list[Protocol] = []
        here: int | None = state
        while here is not None and here != follow:
            self.spend(1, depth)
            if here in loops:
                return [*steps, Variable(loops[here])], False
            if not self.states[here].edges:
                return [*steps, End()], False
            if here in self.heads:
                name = _name(len(loops))
                inside = {**loops, here: name}
                # A loop reaches to the end, unless that would nest too many of them.
                after = follow if depth < _NESTED_LOOPS else self.exit(here, follow)
                body, passes = self.turn(here, after, inside, depth + 1)
                steps.append(Recursion(name, sequence(body)))
                if after == follow or not passes:
                    return steps, passes
                here = after
                continue
            more, here = self.advance(here, follow, loops, depth)
            steps += more
        return steps, here is not None

    def turn(self, head: int, follow: int | None, loops: dict[int, str], depth: int) -> Written:
        """The body of a loop."""
        steps, here = self.advance(head, follow, loops, depth)
        if here is None:
            return steps, False
        rest, passes = self.write(here, follow, loops, depth)
        return steps + rest, passes

    def advance(
        self, state: int, follow: int | None, loops: dict[int, str], depth: int
    ) -> tuple[list[Protocol], int | None]:
        """What is written for one state, and where it goes on; nowhere if every branch has ended by itself."""
        here = self.states[state]
        if len(here.edges) == 1 and here.stop != "end":
            symbol, target = here.edges[0]
            return [self.actions[symbol]], target
        side = side_by_side(self.machine, state, self.parts) if self.parts else None
        if side is not None:
            inside = [_without_end(_Writer(part, self.parts).protocol()) for part in side.parts]
            return [Interleaving(tuple(inside))], side.join
        merge = self.merge([target for _, target in here.edges], follow, loops, depth)
        branches: list[Protocol] = []
        together = False
        for symbol, target in here.edges:
            rest, passes = self.write(target, merge, loops, depth + 1)
            branches.append(sequence([self.actions[symbol], *rest]))
            together |= passes
        if here.stop == "end":
            branches.append(End())
        return [Choice(tuple(branches))], merge if together else None

    def spend(self, work: int, depth: int) -> None:
        self.room -= work
        if self.room < 0 or depth > _DEEPEST:
            raise UsageError("the projection is too tangled to be written as a protocol; `accord show` draws it")

    def merge(self, targets: list[int], follow: int | None, loops: dict[int, str], depth: int) -> int | None:
        """Where most branches come together first; without such a state, the longest branch goes on by itself."""
        if len(set(targets)) == 1 and targets[0] not in loops and self.states[targets[0]].edges:
            return targets[0]
        most = 64
        while True:  # near first: mostly branches are short
            found = [self.reached(target, follow, loops, most) for target in targets]
            self.spend(sum(map(len, found)) // 16, depth)
            counts: dict[int, int] = {}
            for reached in found:
                for state in reached:
                    counts[state] = counts.get(state, 0) + 1
            going_on = sum(1 for reached in found if reached)
            best = max(counts.values(), default=0)
            if all(len(reached) < most for reached in found) or (best > 1 and best == going_on):
                break
            most *= 8
        shared = [state for state, count in counts.items() if count > 1]
        if shared:
            return min(shared, key=lambda state: (-counts[state], self.order[state]))
        if follow in counts:
            return follow
        longest = max(range(len(targets)), key=lambda index: len(found[index]))
        return targets[longest] if found[longest] else follow

    def reached(self, target: int, follow: int | None, loops: dict[int, str], most: int) -> set[int]:
        """Some states behind a branch, the nearest, up to where it jumps, ends, or comes to what follows."""
        seen: set[int] = set()
        queue = [target]
        for state in queue:  # it grows while it is walked
            if len(seen) >= most:
                break
            if state in seen or state in loops or (not self.states[state].edges and state != follow):
                continue
            seen.add(state)
            if state != follow:
                queue += [after for _, after in self.states[state].edges]
        return seen

    def exit(self, head: int, follow: int | None) -> int | None:
        """The first state behind a loop, from which nothing comes back to its head."""
        ahead = self.reached(head, follow, {}, len(self.states) + 1)
        self.spend(len(ahead), 0)
        before: dict[int, list[int]] = {}
        for state in ahead:
            for _, after in self.states[state].edges:
                before.setdefault(after, []).append(state)
        returning, todo = {head}, [head]
        while todo:
            for state in before.get(todo.pop(), ()):
                if state not in returning:
                    returning.add(state)
                    todo.append(state)
        return min(ahead - returning, key=lambda state: self.order[state], default=follow)


def _without_end(part: Protocol) -> Protocol:
    """A part that just stops, where it would say `end` last."""
    if isinstance(part, Sequence) and isinstance(part.steps[-1], End):
        return sequence(part.steps[:-1])
    return part


def _name(number: int) -> str:
    return _NAMES[number] if number < len(_NAMES) else f"X{number}"


def _heads(states: list[Plain]) -> tuple[set[int], list[int]]:
    """The states to which a walk comes back on the way from them, and the place of each in an order along the edges."""
    heads: set[int] = set()
    finished: list[int] = []
    open_: dict[int, int] = {0: 0}  # how many edges were followed
    seen = {0}
    while open_:
        state = next(reversed(open_))
        edges = states[state].edges
        if open_[state] == len(edges):
            del open_[state]
            finished.append(state)
            continue
        target = edges[open_[state]][1]
        open_[state] += 1
        if target in open_:
            heads.add(target)
        elif target not in seen:
            seen.add(target)
            open_[target] = 0
    order = [0] * len(states)
    for place, state in enumerate(reversed(finished)):
        order[state] = place
    return heads, order
