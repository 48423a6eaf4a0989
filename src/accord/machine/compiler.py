"""A checked tree to tables, in time and size linear in the text.

Theory of operation: every node of the tree lies between two states, `entry` and `exit`, which exist before it is
compiled. An action becomes an edge from entry to exit. The steps of a sequence get fresh states between them. All
branches of a choice share entry and exit, so what follows a choice is compiled once however many branches fall
through to it. A loop binds its variable to its entry; a jump makes its own entry an alias of that state. `end` marks
its entry as a place to stop. A deadline is kept with the entry of its step. Because all states are there beforehand,
the nodes can be compiled in any order, with a stack instead of recursion.

Afterwards aliases are resolved, unreachable states dropped, places to pause found, and the result is minimised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.diagnostics import Diagnostic, Source, Span
from accord.errors import ContractError, InternalError
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
from accord.machine.minimise import minimise
from accord.machine.tables import Fork, Late, Machine, Plain, State, Stop, Symbol

if TYPE_CHECKING:
    from accord.language.tree import Declaration, Protocol
    from accord.limits import Limits

__all__ = ["compile_declaration"]


def compile_declaration(declaration: Declaration, source: Source, limits: Limits) -> Machine:
    """The minimal machine of a checked declaration.

    Raises `ContractError` (E028) if it would have more states than the limits allow.
    """
    draft = _Draft(limits.states)
    try:
        draft.compile(declaration.body)
    except _TooLargeError:
        message = f"the protocol needs more than {limits.states} states"
        help_ = "split it, or pass `Limits(states=…)` to allow more"
        span = declaration.name_span if declaration.name else Span(0, min(1, len(source.text)))
        raise ContractError((Diagnostic("E028", message, source, span, help=help_),)) from None
    return minimise(draft.finish(declaration))


class _TooLargeError(Exception):
    pass


class _Draft:
    """Tables under construction: parallel lists, one entry per state."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.symbols: dict[Symbol, int] = {}
        self.edges: list[list[tuple[int, int]]] = []
        self.forks: dict[int, tuple[list[int], int]] = {}
        self.late: dict[int, Late] = {}
        self.alias: dict[int, int] = {}
        self.ends: set[int] = set()
        self.recursion_points: set[int] = set()

    def state(self) -> int:
        if len(self.edges) >= self.most:
            raise _TooLargeError
        self.edges.append([])
        return len(self.edges) - 1

    def compile(self, body: Protocol) -> None:  # noqa: C901, PLR0912 - one short branch for each kind of node
        first, last = self.state(), self.state()
        self.ends.add(last)  # running off the text ends the session, as if `.end` were written
        scope: dict[str, int] = {}
        # Either a protocol between its two states, or a name to be restored when its loop has been left.
        todo: list[tuple[Protocol, int, int] | tuple[str, int | None]] = [(body, first, last)]
        while todo:
            task = todo.pop()
            if len(task) == 2:
                name, outer = task
                if outer is None:
                    del scope[name]
                else:
                    scope[name] = outer
                continue
            node, entry, exit_ = task
            if isinstance(node, Action):
                symbol = Symbol(node.direction, node.label, node.partner, node.clauses, node.gated)
                number = self.symbols.setdefault(symbol, len(self.symbols))
                self.edges[entry].append((number, exit_))
            elif isinstance(node, Sequence):
                here = entry
                for step in node.steps[:-1]:
                    there = self.state()
                    todo.append((step, here, there))
                    here = there
                todo.append((node.steps[-1], here, exit_))
            elif isinstance(node, Deadline):
                start = self.state()
                self.late[entry] = Late(node.milliseconds, start)
                todo += [(node.body, entry, exit_), (node.otherwise, start, exit_)]
            elif isinstance(node, Choice):
                todo += [(branch, entry, exit_) for branch in node.branches]
            elif isinstance(node, Recursion):
                todo.append((node.variable, scope.get(node.variable)))
                scope[node.variable] = entry
                self.recursion_points.add(entry)
                todo.append((node.body, entry, exit_))
            elif isinstance(node, Variable):
                self.alias[entry] = scope[node.name]
            elif isinstance(node, End):
                self.ends.add(entry)
            elif isinstance(node, Interleaving):
                starts = [self.state() for _ in node.parts]
                self.forks[entry] = (starts, exit_)
                todo += [(part, start, last) for part, start in zip(node.parts, starts, strict=True)]

    def resolve(self, state: int) -> int:
        """The state an alias stands for."""
        seen = []
        while state in self.alias:
            seen.append(state)
            state = self.alias[state]
            if len(seen) > len(self.alias):
                raise InternalError("a loop without messages reached the compiler")
        for passed in seen:
            self.alias[passed] = state
        return state

    def finish(self, declaration: Declaration) -> Machine:
        """The tables, with aliases resolved and pauses marked; not yet minimal."""
        # A loop whose body starts with a jump outwards is entered where the jump leads.
        points = {self.resolve(point) for point in self.recursion_points}
        can_end = self.states_that_can_end()
        states: list[State] = []
        for number, edges in enumerate(self.edges):
            stop: Stop
            if number in self.ends:
                stop = "end"
            elif number in points and number not in can_end:
                stop = "pause"
            else:
                stop = None
            if number in self.forks:
                parts, join = self.forks[number]
                states.append(Fork(tuple(map(self.resolve, parts)), self.resolve(join), stop))
            else:
                late = self.late.get(number)
                late = late and late._replace(target=self.resolve(late.target))
                states.append(Plain(tuple((s, self.resolve(t)) for s, t in edges), stop, late))
        first = self.resolve(0)
        if first != 0:
            raise InternalError("a protocol that starts with a jump reached the compiler")
        return Machine(tuple(self.symbols), tuple(states), declaration.name, declaration.each, declaration.is_open)

    def states_that_can_end(self) -> set[int]:
        """The states from which the session, or the part they belong to, can still end."""
        before: list[list[int]] = [[] for _ in self.edges]
        for number, edges in enumerate(self.edges):
            for _, target in edges:
                before[self.resolve(target)].append(number)
        for number, late in self.late.items():
            before[self.resolve(late.target)].append(number)
        missing: dict[int, int] = {}  # for a fork: how many of its parts and its join are not yet known to end
        for number, (parts, join) in self.forks.items():
            needs = {self.resolve(state) for state in (*parts, join)}
            missing[number] = len(needs)
            for state in needs:
                before[state].append(number)
        found = set(self.ends)
        todo = list(found)
        while todo:
            for number in before[todo.pop()]:
                if number in missing:
                    missing[number] -= 1
                    if missing[number] > 0:
                        continue
                if number not in found:
                    found.add(number)
                    todo.append(number)
        return found
