"""Places that are come to: from where, by which steps, and what follows if something raises there."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from accord.agents.check.exceptions import PARTNER_CRASHED
from accord.agents.check.graph import Except, Receive, Send
from accord.agents.check.knowing import Knowledge
from accord.agents.check.paths import Place, Step
from accord.agents.check.worlds import GONE

if TYPE_CHECKING:
    import ast

    from accord.agents.check.graph import Node
    from accord.agents.check.methods import Method
    from accord.agents.check.paths import Summary
    from accord.agents.check.walking import Walker
    from accord.agents.check.worlds import World

__all__ = ["Exploring", "taken_by"]


class Exploring:
    """The places that a walk through a method has come to, and how."""

    def __init__(self, walker: Walker, method: Method, prefix: tuple[Step, ...], summary: Summary) -> None:
        self.walker = walker
        self.method = method
        self.prefix = prefix
        self.summary = summary
        self.knowledge = Knowledge(method, walker.agent, walker.program, walker.kinds, walker.effectful)
        self.before: dict[Place, tuple[Place, tuple[Step, ...]] | None] = {}
        self.after: dict[Place, list[Place]] = {}
        self.speaks: dict[Place, set[tuple[int, str]]] = {}
        self.ends: set[Place] = set()
        self.queue: deque[Place] = deque()

    def path(self, place: Place) -> tuple[Step, ...]:
        """How a place was come to first."""
        steps: list[tuple[Step, ...]] = []
        at = self.before[place]
        while at is not None:
            steps.append(at[1])
            at = self.before[at[0]]
        return self.prefix + tuple(step for part in reversed(steps) for step in part)

    def go(self, place: Place, node: Node, world: World, steps: tuple[Step, ...] = ()) -> None:
        """A place can be followed by another one."""
        target = Place(node, world)
        self.after[place].append(target)
        if target not in self.before:
            self.before[target] = (place, steps)
            self.queue.append(target)

    def note(self, tree: ast.AST | None, text: str) -> tuple[Step, ...]:
        """A step of a path, if there is something to say."""
        return (Step(self.method.module, tree, text),) if tree is not None and text else ()

    def raise_from(self, place: Place) -> None:
        """What if it raises an exception before it has done anything?"""
        is_speaking = isinstance(place.node.operation, Send | Receive)
        for target in place.node.throws.targets(None):
            names = taken_by(target)
            if PARTNER_CRASHED in names and is_speaking:
                self.partner_crashes(place, target)
            if names != (PARTNER_CRASHED,):
                self.go(place, target, place.world, self.note(place.node.tree, "raises an exception"))

    def run_out_of_time(self, place: Place, world: World) -> None:
        """What if time is up when it has been done, and before it was told so?"""
        for target in place.node.throws.targets(None):
            if taken_by(target) != (PARTNER_CRASHED,):
                self.go(place, target, world, self.note(place.node.tree, "is done when time is up"))

    def partner_crashes(self, place: Place, target: Node) -> None:
        """A conversation is over because a partner has crashed: any of them."""
        world = place.world
        steps = self.note(place.node.tree, "a partner has crashed")
        if world.last is not None and world.last.state != GONE:
            self.go(place, target, world._replace(last=world.last._replace(state=GONE)), steps)
        for conversation, _ in world.others:
            for rest in world.without_other(conversation):
                self.go(place, target, rest, steps)

    def give_up(self, place: Place) -> None:
        """What lies behind is not looked at."""
        self.walker.dropped = True
        self.ends.add(place)


def taken_by(node: Node) -> tuple[str, ...]:
    """The exceptions that are named by the `except` that a node begins, if it begins one."""
    return node.operation.names or () if isinstance(node.operation, Except) else ()
