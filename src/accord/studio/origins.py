"""Which step of the text an arrow of a picture stands for, and which places of the text a state is.

A machine is minimal, so one arrow may stand for several steps and one state for several places. They are found by
walking the tree along the machine: what a node is entered in is known, and a step leads to the one state that its
symbol leads to. Only which part of a fork is which part of the text must be guessed from what each can begin with.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip
from accord.language.tree import Action, Choice, Deadline, End, Interleaving, Protocol, Recursion, Sequence, Variable
from accord.machine.tables import Fork, Symbol

if TYPE_CHECKING:
    from collections.abc import Generator

    from accord.diagnostics import Source
    from accord.machine.tables import Machine
    from accord.studio.trees import Spot

__all__ = ["Origins", "add_origins", "origins_of", "symbol_of"]

_LOOKED_AHEAD = 64
_NOWHERE = -1  # where a node leads that is not left: a generator cannot be sent nothing


@dataclass(frozen=True, slots=True)
class Origins:
    """Where a machine comes from; nodes are numbered as in `trees`."""

    steps: dict[tuple[int, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    """By state and symbol, the steps."""
    late: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By state, what is waited for until its time is over."""
    entered: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By state, the nodes that begin there."""
    last: dict[int, int] = field(default_factory=dict)
    """The state in which the text runs out, and the number of the whole."""


def add_origins(graph: dict[str, object], machine: Machine, spots: list[Spot], root: int, source: Source) -> None:
    """Say of every arrow which steps of the text it stands for, and of every state which places it is."""
    origins = origins_of(machine, spots, root)
    symbols = {symbol.word: index for index, symbol in enumerate(machine.symbols)}
    edges, nodes = graph["edges"], graph["nodes"]
    assert isinstance(edges, list) and isinstance(nodes, list)  # noqa: S101, PT018 - for the type checker
    for edge in edges:
        if "word" in edge:
            edge["steps"] = origins.steps.get((edge["from"], symbols[edge["word"]]), [])
        elif edge["kind"] == "late":
            edge["steps"] = [_first_step(spots, number) for number in origins.late.get(edge["from"], [])]
    for node in nodes:
        state = node["id"]
        here = set(origins.entered.get(state, []))
        numbers = [n for n in sorted(here) if _is_outermost(spots[n], here)]
        node["places"] = [{"at": n, "change": "before", "text": _place_text(spots[n], source)} for n in numbers]
        if state in origins.last:
            node["places"].append({"at": origins.last[state], "change": "after", "text": "at the end"})


def _first_step(spots: list[Spot], number: int) -> int:
    """The step, or the first of those, that a deadline is about."""
    while not isinstance(spots[number].node, Action):
        number += 1
    return number


def _is_outermost(spot: Spot, here: set[int]) -> bool:
    """Whether a node is a place of its own: what begins together with something around it is the same place.

    But for loops: in front of one and inside of one are two.
    """
    if isinstance(spot.node, Sequence):
        return False
    around = spot.parent
    if around is not None and isinstance(around.node, Sequence):
        if spot.index:
            return True
        around = around.parent
    return around is None or around.number not in here or isinstance(around.node, Recursion)


def _place_text(spot: Spot, source: Source) -> str:
    node = spot.node
    line = source.line_and_column(node.span.start)[0]
    if isinstance(node, Recursion):
        return f"before the loop {node.variable}, line {line}"
    if isinstance(node, Variable):
        return f"before going back to {node.name}, line {line}"
    if isinstance(node, End):
        return f"before the end, line {line}"
    first = _first_action(node)
    what = "what ends at once" if first is None else clip(symbol_of(first).word, 40)
    text = f"before {what}, line {line}"
    around = spot.parent if spot.parent is None or not isinstance(spot.parent.node, Sequence) else spot.parent.parent
    if around is not None and isinstance(around.node, Recursion) and not (spot.parent is not around and spot.index):
        text = f"at the start of the loop {around.node.variable}, {text}"
    return text


def _first_action(node: Protocol) -> Action | None:
    """The step that stands first in the text, if any does: parts and branches may be empty."""
    stack = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, Action):
            return here
        stack += reversed(here.children())
    return None


def symbol_of(action: Action) -> Symbol:
    """What a step is in a machine."""
    return Symbol(action.direction, action.label, action.partner, action.clauses, action.gated)


def origins_of(machine: Machine, spots: list[Spot], root: int) -> Origins:
    """The origins of a machine in the body whose number is `root`."""
    walker = _Walker(machine, spots)
    last = walker.walk(root, 0, len(spots))
    if last is not None:
        walker.found.last[last] = root
    return walker.found


class _Walker:
    def __init__(self, machine: Machine, spots: list[Spot]) -> None:
        self.machine = machine
        self.spots = spots
        self.symbols = {symbol: index for index, symbol in enumerate(machine.symbols)}
        self.found = Origins()
        self.missed = False
        self.children: dict[int, list[int]] = defaultdict(list)
        for spot in spots:
            if spot.parent is not None:
                self.children[spot.parent.number].append(spot.number)

    def walk(self, root: int, state: int, most: int) -> int | None:
        """Enter a node in a state; the state in which it is left, if it is. Generators stand in for recursion."""
        stack = [self.enter(root, state)]
        answer: int | None = None
        while stack:
            try:
                asked = stack[-1].send(answer) if answer is not None else next(stack[-1])
            except StopIteration as done:
                stack.pop()
                answer = done.value
                if answer is None and stack:
                    answer = _NOWHERE
                continue
            answer = None
            most -= 1
            if most < 0:
                return None
            stack.append(self.enter(*asked))
        return None if answer == _NOWHERE else answer

    def enter(self, number: int, state: int) -> Generator[tuple[int, int], int, int | None]:  # noqa: C901, PLR0911, PLR0912 - one short branch for each kind of node
        node = self.spots[number].node
        children = self.children[number]
        self.found.entered[state].append(number)
        here = self.machine.states[state]
        if isinstance(node, Action):
            symbol = self.symbols.get(symbol_of(node))
            if symbol is not None and not isinstance(here, Fork):
                for index, target in here.edges:
                    if index == symbol:
                        self.found.steps[state, symbol].append(number)
                        return target
            self.missed = True
            return None
        if isinstance(node, Sequence):
            at: int | None = state
            for child in children:
                at = yield child, at  # type: ignore[misc] # never nothing here
                if at == _NOWHERE:
                    return None
            return at
        if isinstance(node, Choice):
            left = None
            for child in children:
                at = yield child, state
                left = left if at == _NOWHERE else at
            return left
        if isinstance(node, Deadline):
            if isinstance(here, Fork) or here.late is None:
                self.missed = True
                return None
            self.found.late[state].append(number)
            left = yield children[0], state
            late = yield children[1], here.late.target
            return late if left == _NOWHERE else left
        if isinstance(node, Interleaving):
            if not isinstance(here, Fork):
                self.missed = True
                return None
            starts = [*here.parts]
            for child in children:
                start = self.part(child, starts)
                if start is not None:
                    starts.remove(start)
                    yield child, start
            return here.join
        if isinstance(node, Recursion):
            at = yield children[0], state
            return None if at == _NOWHERE else at
        return None  # a jump, or the end

    def part(self, child: int, starts: list[int]) -> int | None:
        """The state that a part of the text begins in: by what it can begin with, else by how it goes on."""
        firsts = _firsts(self.spots[child].node)
        fitting = [start for start in dict.fromkeys(starts) if self.offered(start) == firsts]
        for start in fitting[:-1]:
            ahead = _Walker(self.machine, [])
            ahead.spots, ahead.children = self.spots, self.children
            end = ahead.walk(child, start, _LOOKED_AHEAD)
            if not ahead.missed and (end is None or self.machine.states[end].stop == "end"):
                return start
        return fitting[-1] if fitting else None

    def offered(self, number: int) -> frozenset[Symbol] | None:
        state = self.machine.states[number]
        return None if isinstance(state, Fork) else frozenset(self.machine.symbols[s] for s, _ in state.edges)


def _firsts(node: Protocol) -> frozenset[Symbol] | None:
    """What a protocol can begin with; nothing if it begins with a fork."""
    found: set[Symbol] = set()
    todo = [node]
    while todo:
        here = todo.pop()
        if isinstance(here, Action):
            found.add(symbol_of(here))
        elif isinstance(here, Interleaving):
            return None
        elif isinstance(here, Choice):
            todo += here.branches
        elif not isinstance(here, Variable | End):
            todo.append(here.children()[0])
    return frozenset(found)
