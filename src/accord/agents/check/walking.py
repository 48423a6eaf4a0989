"""Walks every way through the methods of an agent, in every world that is possible there.

A place is a node of a method's graph in a world. Places are visited once each, those that take fewer steps to come to
first, so that what is found has a shortest path. A method that is called is walked in the world of its call; what it
can come back with is remembered, and where methods call each other in circles they are walked until nothing new comes
back. Since worlds are finite, that ends.
"""

from __future__ import annotations

import ast
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from accord.agents.check import conversing
from accord.agents.check.building import TooLargeError, build
from accord.agents.check.exceptions import PARTNER_CRASHED, names_in
from accord.agents.check.graph import (
    Bind,
    Case,
    Help,
    Leave,
    Pass,
    Receive,
    Risk,
    Round,
    Rounds,
    Send,
    Test,
    Unseen,
)
from accord.agents.check.knowing import Knowledge
from accord.agents.check.messages import labels_in
from accord.agents.check.rules.not_analysed import not_analysed
from accord.agents.check.worlds import GONE, RESULT, Known, World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.agents.check.building import Graph
    from accord.agents.check.contracts import Script
    from accord.agents.check.declarations import AgentClass, Method
    from accord.agents.check.graph import Node, Operation
    from accord.agents.check.missteps import Misstep
    from accord.agents.check.modules import Module
    from accord.agents.check.names import Program
    from accord.agents.check.targets import Targets

__all__ = ["Exit", "Finding", "Step", "Trap", "Walker"]

_MOST_PLACES = 200_000


class Step(NamedTuple):
    """One step of a path, as it is shown."""

    module: Module
    tree: ast.AST
    text: str


class Exit(NamedTuple):
    """A way out of a method: how, in which world, and where."""

    kind: str
    raised: str
    world: World
    tree: ast.AST | None


@dataclass(frozen=True)
class Finding:
    """Something wrong at a place in the code, and the path that leads there."""

    misstep: Misstep
    module: Module
    tree: ast.AST
    path: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Trap:
    """Places from which no way leads out: a loop, the worlds it is in, and whom it speaks to."""

    method: Method
    tree: ast.AST
    worlds: frozenset[World]
    partners: frozenset[tuple[int, str]]
    path: tuple[Step, ...]


class _Place(NamedTuple):
    node: Node
    world: World


@dataclass
class _Summary:
    """What a call of a method in a world can come to."""

    exits: dict[Exit, tuple[Step, ...]] = field(default_factory=dict)
    in_progress: bool = False
    done: bool = False


@dataclass
class Walker:
    """Walks the methods of one agent."""

    agent: AgentClass
    scripts: Sequence[Script]
    program: Program
    targets: Targets
    effectful: frozenset[str]
    handles: bool = True
    """Whether what is walked is a handler: then there is somebody to reply to."""
    findings: dict[tuple[str, str, int, int], Finding] = field(default_factory=dict)
    traps: list[Trap] = field(default_factory=list)
    dropped: bool = False
    """Whether some path was given up, so that what lies behind it was not seen."""
    reached: set[str] = field(default_factory=set)
    constructed: dict[tuple[str, int], tuple[Module, ast.Call, str]] = field(default_factory=dict)
    """Messages that are made where they are sent: file and place, call, label."""
    _graphs: dict[Method, Graph | None] = field(default_factory=dict)
    _summaries: dict[tuple[Method, World, bool], _Summary] = field(default_factory=dict)
    _places: int = 0
    _circular: bool = False
    _grew: bool = False

    def walk(
        self, method: Method, world: World, *, handles: bool, prefix: tuple[Step, ...]
    ) -> dict[Exit, tuple[Step, ...]]:
        """Every way out of a handler or of `on_start`, with a path to each."""
        self.handles = handles
        while True:
            self._circular = self._grew = False
            summary = self._call(method, world, prefix)
            if not self._circular or not self._grew:
                return summary.exits
            for known in self._summaries.values():
                known.done = False

    def _call(self, method: Method, world: World, prefix: tuple[Step, ...]) -> _Summary:
        key = (method, world, self.handles)
        summary = self._summaries.setdefault(key, _Summary())
        if summary.in_progress:
            self._circular = True
            return summary
        if not summary.done:
            self.reached.add(method.name)
            summary.in_progress = True
            try:
                self._explore(method, world, prefix, summary)
            finally:
                summary.in_progress = False
            summary.done = True
        return summary

    def _graph(self, method: Method) -> Graph | None:
        if method not in self._graphs:
            try:
                self._graphs[method] = build(method, self.effectful, self.agent)
            except (TooLargeError, RecursionError):
                self._graphs[method] = None
        return self._graphs[method]

    def report(self, misstep: Misstep, module: Module, tree: ast.AST, path: tuple[Step, ...]) -> None:
        """Something was found; once for each place in the code."""
        line, column = getattr(tree, "lineno", 0), getattr(tree, "col_offset", 0)
        self.findings.setdefault((misstep.code, module.source.name, line, column), Finding(misstep, module, tree, path))

    def unseen(self, why: str, module: Module, tree: ast.AST, path: tuple[Step, ...]) -> None:
        """Something could not be analysed."""
        self.dropped = True
        self.report(not_analysed(why), module, tree, path)

    def _explore(self, method: Method, world: World, prefix: tuple[Step, ...], summary: _Summary) -> None:
        graph = self._graph(method)
        if graph is None:
            self.unseen(f"`{method.name}` is too large to be followed", method.module, method.node, prefix)
            return
        visit = _Visit(self, method, prefix, summary)
        visit.run(_Place(graph.start, world))

    def count(self) -> bool:
        """Whether one more place may be visited."""
        self._places += 1
        return self._places <= _MOST_PLACES

    def call(self, method: Method, world: World, prefix: tuple[Step, ...]) -> _Summary:
        """What a method that is called can come back with."""
        return self._call(method, world, prefix)

    def grew(self) -> None:
        """A new way out of a method was found."""
        self._grew = True


class _Visit:
    """One walk through a method from one world."""

    def __init__(self, walker: Walker, method: Method, prefix: tuple[Step, ...], summary: _Summary) -> None:
        self.walker = walker
        self.method = method
        self.prefix = prefix
        self.summary = summary
        labels = frozenset(label for script in walker.scripts for label, _ in script.sent | script.received)
        self.knowledge = Knowledge(method, walker.agent, walker.program, labels, walker.effectful)
        self.before: dict[_Place, tuple[_Place, tuple[Step, ...]] | None] = {}
        self.after: dict[_Place, list[_Place]] = {}
        self.speaks: dict[_Place, set[tuple[int, str]]] = {}
        self.ends: set[_Place] = set()
        self.queue: deque[_Place] = deque()

    def run(self, start: _Place) -> None:
        walker = self.walker
        self.before[start] = None
        self.queue.append(start)
        while self.queue:
            place = self.queue.popleft()
            if not walker.count():
                walker.unseen("there are too many ways to follow", self.method.module, self.method.node, self.prefix)
                return
            self.after[place] = []
            operation = place.node.operation
            getattr(self, f"at_{type(operation).__name__}")(operation, place)
        self.find_traps()

    def path(self, place: _Place) -> tuple[Step, ...]:
        steps: list[tuple[Step, ...]] = []
        at = self.before[place]
        while at is not None:
            steps.append(at[1])
            at = self.before[at[0]]
        return self.prefix + tuple(step for part in reversed(steps) for step in part)

    def go(self, place: _Place, node: Node, world: World, steps: tuple[Step, ...] = ()) -> None:
        target = _Place(node, world)
        self.after[place].append(target)
        if target not in self.before:
            self.before[target] = (place, steps)
            self.queue.append(target)

    def note(self, tree: ast.AST | None, text: str) -> tuple[Step, ...]:
        return (Step(self.method.module, tree, text),) if tree is not None and text else ()

    def raise_from(self, place: _Place) -> None:
        """What if it raises an exception before it has done anything?"""
        is_speaking = isinstance(place.node.operation, Send | Receive)
        for target in place.node.throws.targets(None):
            names = _only_for(target)
            if names == (PARTNER_CRASHED,):
                if is_speaking:
                    self.partner_crashes(place, target)
                continue
            self.go(place, target, place.world, self.note(place.node.tree, "raises an exception"))

    def partner_crashes(self, place: _Place, target: Node) -> None:
        """A conversation is over because a partner has crashed: any of them."""
        world = place.world
        steps = self.note(place.node.tree, "a partner has crashed")
        if world.last is not None and world.last.state != GONE:
            self.go(place, target, world._replace(last=world.last._replace(state=GONE)), steps)
        for conversation, _ in world.others:
            for rest in world.without_other(conversation):
                self.go(place, target, rest, steps)

    def give_up(self, place: _Place) -> None:
        self.walker.dropped = True
        self.ends.add(place)

    # -- one method for each kind of node ------------------------------------------------------------------------------

    def at_Pass(self, operation: Pass, place: _Place) -> None:  # noqa: N802 - by the name of the operation
        for node in place.node.next:
            self.go(place, node, place.world, self.note(place.node.tree, operation.note))

    def at_Risk(self, operation: Risk, place: _Place) -> None:  # noqa: N802, ARG002
        self.go(place, place.node.next[0], place.world)
        self.raise_from(place)

    def at_Unseen(self, operation: Unseen, place: _Place) -> None:  # noqa: N802
        tree = place.node.tree or self.method.node
        self.walker.unseen(operation.why, self.method.module, tree, self.path(place))
        self.ends.add(place)

    def at_Bind(self, operation: Bind, place: _Place) -> None:  # noqa: N802
        known = self.knowledge.value(operation.value, place.world)
        self.go(place, place.node.next[0], place.world.bind(RESULT, None).bind(operation.name, known))

    def at_Test(self, operation: Test, place: _Place) -> None:  # noqa: N802
        answer = self.knowledge.truth(operation.condition, place.world)
        condition = operation.condition
        for outcome, node in zip((True, False), place.node.next, strict=True):
            if answer is (not outcome):
                continue
            world = place.world
            if answer is None and isinstance(condition, ast.Name) and world.knows(condition.id) is None:
                world = world.bind(condition.id, Known("truth", outcome))
            told = "" if answer is not None else f"{'if' if outcome else 'unless'} this holds"
            self.go(place, node, world, self.note(condition, told))

    def at_Case(self, operation: Case, place: _Place) -> None:  # noqa: N802
        known = self.knowledge.value(operation.subject, place.world)
        yes, no = self.knowledge.fits(operation.pattern, known, place.world)
        told = "" if known is not None else "if this fits"
        for world in yes:
            self.go(place, place.node.next[0], world, self.note(place.node.tree, told))
        told = "" if known is not None else "if this does not fit"
        for world in no:
            self.go(place, place.node.next[1], world, self.note(place.node.tree, told))

    def at_Rounds(self, operation: Rounds, place: _Place) -> None:  # noqa: N802
        self.go(place, place.node.next[0], place.world.bind(operation.key, Known("text", "0")))

    def at_Round(self, operation: Round, place: _Place) -> None:  # noqa: N802
        tree = getattr(place.node.tree, "target", place.node.tree)
        again, over = place.node.next
        if operation.elements is None:
            world = place.world if operation.name is None else place.world.bind(operation.name, None)
            self.go(place, again, world, self.note(tree, "another round"))
            self.go(place, over, place.world.bind(operation.key, None), self.note(tree, "no more rounds"))
            self.raise_from(place)
            return
        counted = place.world.knows(operation.key)
        number = int(counted.value) if counted is not None else 0
        if number >= len(operation.elements):
            self.go(place, over, place.world.bind(operation.key, None))
            return
        world = place.world.bind(operation.key, Known("text", str(number + 1)))
        if operation.name is not None:
            world = world.bind(operation.name, self.knowledge.value(operation.elements[number], world))
        self.go(place, again, world)

    def at_Leave(self, operation: Leave, place: _Place) -> None:  # noqa: N802
        self.ends.add(place)
        returned = place.world.knows("return") if operation.kind == "return" else None
        path = self.path(place)
        tree = self.left_by(ast.Return if operation.kind == "return" else ast.Raise, path)
        exit_ = Exit(operation.kind, operation.raised, place.world.forget().bind("return", returned), tree)
        if exit_ not in self.summary.exits:
            self.summary.exits[exit_] = path
            self.walker.grew()

    def left_by(self, kind: type[ast.stmt], path: tuple[Step, ...]) -> ast.AST | None:
        """The statement of this method by which it was left; a `finally` may stand behind it."""
        node = self.method.node
        for step in reversed(path):
            is_here = step.module is self.method.module and isinstance(step.tree, kind)
            if is_here and node.lineno <= step.tree.lineno <= (node.end_lineno or node.lineno):  # type: ignore[attr-defined]
                return step.tree
        return None

    def at_Help(self, operation: Help, place: _Place) -> None:  # noqa: N802
        inner = self.entering(operation, place.world)
        called = self.path(place) + self.note(operation.call, f"calls `{operation.method.name}`")
        summary = self.walker.call(operation.method, inner, called)
        length = len(called)
        for exit_, steps in list(summary.exits.items()):
            returned = exit_.world.knows("return")
            world = exit_.world._replace(names=place.world.names).bind(RESULT, returned)
            told = self.note(operation.call, f"calls `{operation.method.name}`") + steps[length:]
            if exit_.kind == "return":
                self.go(place, place.node.next[0], world, told)
                continue
            for target in place.node.throws.targets(exit_.raised or None):
                if _only_for(target) != (PARTNER_CRASHED,) or exit_.raised == PARTNER_CRASHED:
                    self.go(place, target, world, told)

    def entering(self, operation: Help, world: World) -> World:
        """The world in which a method begins: what is known of its arguments."""
        method = operation.method
        inner = world.forget()
        parameters = method.parameters[1:] if method.self_name is not None else method.parameters
        given: dict[str, ast.expr] = dict(zip([p.arg for p in parameters], operation.call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in operation.call.keywords if keyword.arg is not None}
        for parameter in [*parameters, *method.node.args.kwonlyargs]:
            inner = inner.bind(parameter.arg, self.knowledge.value(given.get(parameter.arg), world))
        return inner

    def at_Send(self, operation: Send, place: _Place) -> None:  # noqa: N802
        world = place.world
        known = self.knowledge.value(operation.message, world)
        if known is None or known.kind != "message":
            shown = ast.unparse(operation.message)[:60] if operation.message is not None else "nothing"
            why = f"which message `{shown}` is cannot be seen"
            self.walker.unseen(why, self.method.module, operation.call, self.path(place))
            self.ends.add(place)
            return
        label = str(known.value)
        if isinstance(operation.message, ast.Call):
            key = (self.method.module.source.name, self.method.module.span(operation.message).start)
            self.walker.constructed.setdefault(key, (self.method.module, operation.message, label))
        protocol = self.protocol(operation.protocol, operation.call, place)
        if protocol == "":
            return
        if operation.is_reply:
            outcome = conversing.reply(self.walker.scripts, world, label, protocol, handles=self.walker.handles)
        else:
            addressee = self.walker.targets.addressee(operation.target, self.knowledge, world)
            if isinstance(addressee, str):
                self.walker.unseen(addressee, self.method.module, operation.call, self.path(place))
                self.ends.add(place)
                return
            outcome = conversing.send(self.walker.scripts, world, label, addressee, protocol)
        self.spoken(outcome, place, operation)

    def at_Receive(self, operation: Receive, place: _Place) -> None:  # noqa: N802
        labels = labels_in(operation.types, self.method.scope, self.walker.program)
        if labels is None:
            shown = ast.unparse(operation.types)[:60] if operation.types is not None else "nothing"
            why = f"which messages `{shown}` are cannot be seen"
            self.walker.unseen(why, self.method.module, operation.call, self.path(place))
            self.ends.add(place)
            return
        protocol = self.protocol(operation.protocol, operation.call, place)
        if protocol != "":
            outcome = conversing.receive(self.walker.scripts, place.world, labels, protocol)
            self.spoken(outcome, place, operation)

    def protocol(self, given: ast.expr | None, call: ast.Call, place: _Place) -> str | None:
        """The protocol that `protocol=` names; empty if that cannot be seen."""
        if given is None:
            return None
        known = self.knowledge.value(given, place.world)
        if known is None or known.kind != "text":
            why = f"which protocol `{ast.unparse(given)[:60]}` is cannot be seen"
            self.walker.unseen(why, self.method.module, call, self.path(place))
            self.ends.add(place)
            return ""
        return str(known.value)

    def spoken(self, outcome: conversing.Outcome, place: _Place, operation: Operation) -> None:
        """What comes after a message was sent or received."""
        tree = place.node.tree or self.method.node
        if outcome.misstep is not None:
            self.walker.report(outcome.misstep, self.method.module, tree, self.path(place))
            if not outcome.worlds:
                self.give_up(place)
                return
        partners = self.speaks.setdefault(place, set())
        for world in outcome.worlds:
            if isinstance(operation, Receive):
                told = world.knows(RESULT)
                partners.add((world.last.part, world.sender) if world.last is not None else (0, ""))
                text = f"receives `{told.value}`" if told is not None else ""
                self.go(place, place.node.next[0], world, self.note(tree, text))
            else:
                self.go(place, place.node.next[0], world)
        if outcome.partner is not None:
            partners.add(outcome.partner)
        self.raise_from(place)

    # -- loops without a way out ---------------------------------------------------------------------------------------

    def find_traps(self) -> None:
        """The places from which no end can be reached, unless something fails."""
        ends = [p for p in self.ends if not (isinstance(p.node.operation, Leave) and p.node.operation.kind == "fail")]
        back: dict[_Place, list[_Place]] = {}
        for place, nexts in self.after.items():
            for target in nexts:
                back.setdefault(target, []).append(place)
        free = set(ends)
        while ends:
            for place in back.get(ends.pop(), ()):
                if place not in free:
                    free.add(place)
                    ends.append(place)
        trapped = [p for p in self.after if p not in free and p.node.operation != Leave("fail")]
        loops = [p for p in trapped if isinstance(p.node.operation, Pass) and p.node.operation.loop]
        if not loops:
            return
        loop = min(loops, key=lambda p: p.node.tree.lineno if isinstance(p.node.tree, ast.stmt) else 0)
        partners = frozenset(partner for p in trapped for partner in self.speaks.get(p, ()))
        worlds = frozenset(p.world.forget() for p in loops)
        self.walker.traps.append(
            Trap(self.method, loop.node.tree or self.method.node, worlds, partners, self.path(loop))
        )


def _only_for(node: Node) -> tuple[str, ...] | None:
    """What an `except` takes, if the node is the beginning of one."""
    return names_in(node.tree.type) if isinstance(node.tree, ast.ExceptHandler) else None
