"""Walks every way through the methods of an agent, in every world that is possible there.

A place is a node of a method's graph in a world. Places are visited once each, those that take fewer steps to come to
first, so that what is found has a shortest path. A method that is called is walked in the world of its call; what it
can come back with is remembered, and where methods call each other in circles they are walked until nothing new comes
back. Since worlds are finite, that ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from accord.agents.check.building import build
from accord.agents.check.kinds import MessageKinds
from accord.agents.check.paths import Finding, Place, Summary
from accord.agents.check.placing import TooLargeError
from accord.agents.check.rules.not_analysed import not_analysed
from accord.agents.check.visiting import Visit
from accord.agents.check.vocabulary import vocabulary

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from accord.agents.check.building import Graph
    from accord.agents.check.declarations import AgentClass
    from accord.agents.check.methods import Method
    from accord.agents.check.missteps import Misstep
    from accord.agents.check.modules import Module
    from accord.agents.check.names import Program
    from accord.agents.check.paths import Exit, Step, Trap
    from accord.agents.check.scripts import Script
    from accord.agents.check.targets import Targets
    from accord.agents.check.worlds import World

__all__ = ["Walker"]

_MOST_PLACES = 50_000


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
    spoken: set[str] = field(default_factory=set)
    """The labels of the messages that are sent."""
    _graphs: dict[Method, Graph | None] = field(default_factory=dict)
    _summaries: dict[tuple[Method, World, bool], Summary] = field(default_factory=dict)
    _places: int = 0
    _circular: bool = False
    _grew: bool = False

    @cached_property
    def kinds(self) -> MessageKinds:
        """The messages of its protocols."""
        labels = frozenset(label for script in self.scripts for label, _ in script.sent | script.received)
        return MessageKinds(labels, vocabulary(self.agent, labels, self.program), self.program)

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

    def _call(self, method: Method, world: World, prefix: tuple[Step, ...]) -> Summary:
        key = (method, world, self.handles)
        summary = self._summaries.setdefault(key, Summary())
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
                self._graphs[method] = build(method, self.effectful, self.agent, self.program)
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

    def _explore(self, method: Method, world: World, prefix: tuple[Step, ...], summary: Summary) -> None:
        graph = self._graph(method)
        if graph is None:
            self.unseen(f"`{method.name}` is too large to be followed", method.module, method.node, prefix)
            return
        visit = Visit(self, method, prefix, summary)
        visit.run(Place(graph.start, world))

    def count(self) -> bool:
        """Whether one more place may be visited."""
        self._places += 1
        return self._places <= _MOST_PLACES

    def call(self, method: Method, world: World, prefix: tuple[Step, ...]) -> Summary:
        """What a method that is called can come back with."""
        return self._call(method, world, prefix)

    def grew(self) -> None:
        """A new way out of a method was found."""
        self._grew = True
