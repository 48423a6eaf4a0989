"""A checked protocol between roles to its machine.

As for local protocols every block lies between two states that exist before it is compiled, so what follows a choice
is compiled once. Each branch begins in a state of its own, which the choice offers beside the others: a loop at its
head comes back to that state and not to the choice, and a `par` there stands beside the other branches and not in
front of them. What `do` does is written out, with its roles replaced. A crash is a message like any other: the role
that fails "sends" `crash` to the one that notices, which is the first to send in that branch.

`par` becomes a fork here; `product` multiplies its parts out afterwards, and gives a choice what its branches offer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from accord.choreography.product import Draft, multiply
from accord.choreography.tables import GlobalMachine, Message, Move, Node, Thread
from accord.diagnostics import Diagnostic
from accord.errors import ContractError, InternalError
from accord.language.global_tree import (
    CRASH,
    Call,
    Continue,
    Exchange,
    GlobalChoice,
    GlobalLoop,
    Parallel,
)

if TYPE_CHECKING:
    from accord.choreography.product import Fork
    from accord.diagnostics import Span
    from accord.language.global_firsts import Shapes
    from accord.language.global_tree import Block, GlobalProtocol
    from accord.language.tree import Document
    from accord.limits import Limits

__all__ = ["compile_global"]


def compile_global(protocol: GlobalProtocol, document: Document, shapes: Shapes, limits: Limits) -> GlobalMachine:
    """The machine of a checked protocol.

    Raises `ContractError` (E028) if it would have more steps than the limits allow, E038 if its `par` has more states.
    """
    if shapes.sizes[protocol.name] > limits.exchanges:
        message = f"with what it does written out, the protocol has more than {limits.exchanges} steps"
        help_ = "split it, or pass `Limits(exchanges=…)` to allow more"
        finding = Diagnostic("E028", message, document.source, protocol.name_span, help=help_)
        raise ContractError((finding,))
    draft = _Draft(protocol, shapes)
    draft.compile()
    machine = draft.finish(limits.configurations)
    if machine is None:
        message = f"`{protocol.name}` is not decided: its `par` have more than {limits.configurations} states together"
        help_ = "fewer or shorter parts, or `Limits(configurations=…)`, allow it to be decided"
        finding = Diagnostic("E038", message, document.source, protocol.name_span, help=help_)
        raise ContractError((finding,))
    return machine


class _Task(NamedTuple):
    """A block between its two states."""

    block: Block
    entry: int
    exit: int
    scope: dict[str, int]
    roles: dict[str, str] | None  # who plays the roles of a protocol that is done
    thread: Thread
    repeated: bool = False  # whether a loop stands around it


@dataclass
class _Draft:
    protocol: GlobalProtocol
    shapes: Shapes
    edges: list[list[tuple[int, int, int]]] = field(default_factory=list)  # message, target, node
    forks: dict[int, Fork] = field(default_factory=dict)
    branches: dict[int, tuple[int, ...]] = field(default_factory=dict)  # of a choice: where each of them begins
    alias: dict[int, int] = field(default_factory=dict)
    points: set[int] = field(default_factory=set)
    messages: dict[Message, int] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    pars: int = 0
    repeated: set[int] = field(default_factory=set)

    def state(self) -> int:
        self.edges.append([])
        return len(self.edges) - 1

    def exchange(self, entry: int, message: Message, target: int, span: Span, thread: Thread) -> None:
        number = self.messages.setdefault(message, len(self.messages))
        self.edges[entry].append((number, target, len(self.nodes)))
        self.nodes.append(Node(number, span, thread))

    def compile(self) -> None:
        first, last = self.state(), self.state()
        todo = [_Task(self.protocol.body, first, last, {}, None, ())]
        while todo:
            task = todo.pop()
            here = task.entry
            for index, step in enumerate(task.block):
                there = task.exit if index == len(task.block) - 1 else self.state()
                self.step(step, task._replace(entry=here, exit=there), todo)
                here = there

    def step(self, step: object, task: _Task, todo: list[_Task]) -> None:
        entry, exit_, roles = task.entry, task.exit, task.roles
        if isinstance(step, Exchange):
            sender, receiver = step.sender, step.receiver
            if roles is not None:
                sender, receiver = roles[sender], roles[receiver]
            self.exchange(entry, (sender, receiver, step.label), exit_, step.span, task.thread)
        elif isinstance(step, GlobalChoice):
            starts = tuple([self.state() for _ in step.branches])
            self.branches[entry] = starts[::-1]  # last first, as they are compiled
            todo += [task._replace(block=b, entry=start) for b, start in zip(step.branches, starts, strict=True)]
            if step.crash is not None:
                notices = self.shapes.firsts(step.crash)[0]
                crashed, noticing = step.decider, notices.sender
                if roles is not None:
                    crashed, noticing = roles[crashed], roles[noticing]
                start = self.state()
                self.exchange(entry, (crashed, noticing, CRASH), start, notices.span, task.thread)
                todo.append(task._replace(block=step.crash, entry=start))
        elif isinstance(step, GlobalLoop):
            self.points.add(entry)
            todo.append(task._replace(block=step.body, scope={**task.scope, step.variable: entry}, repeated=True))
        elif isinstance(step, Continue):
            self.alias[entry] = task.scope[step.variable]
        elif isinstance(step, Call):
            actual = {formal: given if roles is None else roles[given] for formal, given in step.arguments}
            called = self.shapes.protocols[step.protocol]
            todo.append(task._replace(block=called.body, scope={}, roles=actual))
        elif isinstance(step, Parallel):
            self.fork(step, task, todo)

    def fork(self, step: Parallel, task: _Task, todo: list[_Task]) -> None:
        number, self.pars = self.pars, self.pars + 1
        if task.repeated:
            self.repeated.add(number)
        parts = []
        for index, block in enumerate(step.parts):
            start, end = self.state(), self.state()
            parts.append((start, end))
            todo.append(task._replace(block=block, entry=start, exit=end, thread=(*task.thread, (number, index))))
        self.forks[task.entry] = (number, tuple(parts), task.exit)

    def resolve(self, state: int) -> int:
        """The state an alias stands for."""
        passed = 0
        while state in self.alias:
            state = self.alias[state]
            passed += 1
            if passed > len(self.alias):
                raise InternalError("a loop without messages reached the compiler")
        return state

    def finish(self, most: int) -> GlobalMachine | None:
        """The tables, without what cannot be reached; `None` if the parts are too many to multiply."""
        resolve = self.resolve
        moves = [tuple([Move(m, resolve(t), n) for m, t, n in edges]) for edges in self.edges]
        forks = {
            state: (number, tuple([(resolve(start), end) for start, end in parts]), resolve(exit_))
            for state, (number, parts, exit_) in self.forks.items()
        }
        points = {resolve(point) for point in self.points}
        tables = multiply(Draft(moves, forks, self.branches, points), resolve(0), most)
        if tables is None:
            return None
        return GlobalMachine(
            self.protocol.name,
            self.protocol.roles,
            tuple(self.messages),
            *tables,
            tuple(self.nodes),
            frozenset(self.repeated),
        )
