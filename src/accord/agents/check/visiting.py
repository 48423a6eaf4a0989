"""One walk through a method from one world: every node in every world that can be there, once."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from accord.agents.check import conversing
from accord.agents.check.exceptions import PARTNER_CRASHED
from accord.agents.check.exploring import Exploring, taken_by
from accord.agents.check.graph import (
    Bind,
    Case,
    Except,
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
from accord.agents.check.messages import labels_in
from accord.agents.check.modules import Class
from accord.agents.check.paths import Exit, Place, Step
from accord.agents.check.trapping import find_trap
from accord.agents.check.worlds import RESULT, Known, World

if TYPE_CHECKING:
    from accord.agents.check.graph import Operation

__all__ = ["Visit"]

_MOST_WORLDS = 16  # in which one call begins


class Visit(Exploring):
    """One walk through a method from one world."""

    def run(self, start: Place) -> None:
        """Visit everything that can be come to."""
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
        trap = find_trap(self.method, self.after, self.ends, self.speaks, self.path)
        if trap is not None:
            walker.traps.append(trap)

    # -- one method for each kind of node ------------------------------------------------------------------------------

    def at_Pass(self, operation: Pass, place: Place) -> None:  # noqa: N802 - by the name of the operation
        """All that is behind."""
        for node in place.node.next:
            self.go(place, node, place.world, self.note(place.node.tree, operation.note))

    def at_Except(self, operation: Except, place: Place) -> None:  # noqa: N802
        """What is done about an exception."""
        self.go(place, place.node.next[0], place.world, self.note(place.node.tree, operation.note))

    def at_Risk(self, operation: Risk, place: Place) -> None:  # noqa: N802, ARG002
        """It goes well, or it raises."""
        self.go(place, place.node.next[0], place.world)
        self.raise_from(place)

    def at_Unseen(self, operation: Unseen, place: Place) -> None:  # noqa: N802
        """Said, and not gone past."""
        tree = place.node.tree or self.method.node
        self.walker.unseen(operation.why, self.method.module, tree, self.path(place))
        self.ends.add(place)

    def at_Bind(self, operation: Bind, place: Place) -> None:  # noqa: N802
        """A name holds something else."""
        for known in self.knowledge.values(operation.value, place.world):
            held = None if operation.name in self.method.shared else known
            self.go(place, place.node.next[0], place.world.bind(RESULT, None).bind(operation.name, held))

    def at_Test(self, operation: Test, place: Place) -> None:  # noqa: N802
        """Both ways, or the only one if it is known; what was found out is remembered."""
        answer = self.knowledge.truth(operation.condition, place.world)
        condition = operation.condition
        for outcome, node in zip((True, False), place.node.next, strict=True):
            if answer is (not outcome):
                continue
            world = place.world
            if answer is None and isinstance(condition, ast.Name) and condition.id in self.method.steady:
                world = world.bind(condition.id, Known("truth", outcome))
            told = "" if answer is not None else f"{'if' if outcome else 'unless'} this holds"
            self.go(place, node, world, self.note(condition, told))

    def at_Case(self, operation: Case, place: Place) -> None:  # noqa: N802
        """The same for a pattern."""
        known = self.knowledge.value(operation.subject, place.world)
        yes, no = self.knowledge.fits(operation.pattern, known, place.world)
        told = "" if known is not None else "if this fits"
        for world in yes:
            self.go(place, place.node.next[0], world, self.note(place.node.tree, told))
        told = "" if known is not None else "if this does not fit"
        for world in no:
            self.go(place, place.node.next[1], world, self.note(place.node.tree, told))

    def at_Rounds(self, operation: Rounds, place: Place) -> None:  # noqa: N802
        """No round so far."""
        self.go(place, place.node.next[0], place.world.bind(operation.key, Known("text", "0")))

    def at_Round(self, operation: Round, place: Place) -> None:  # noqa: N802
        """Another round, or none; where rounds are counted, as many as there are."""
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

    def at_Leave(self, operation: Leave, place: Place) -> None:  # noqa: N802
        """A way out."""
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

    def at_Help(self, operation: Help, place: Place) -> None:  # noqa: N802
        """Whatever the method can come back with."""
        for inner in self.entering(operation, place.world):
            self.help(operation, place, inner)

    def help(self, operation: Help, place: Place, inner: World) -> None:
        """The same, for what is known of its arguments."""
        called = self.path(place) + self.note(operation.call, f"calls `{operation.method.name}`")
        summary = self.walker.call(operation.method, inner, called)
        length = len(called)
        for exit_, steps in list(summary.exits.items()):
            returned = exit_.world.knows("return")
            world = exit_.world._replace(names=place.world.names).bind(RESULT, returned)
            told = self.note(operation.call, f"calls `{operation.method.name}`") + steps[length:]
            if exit_.kind == "return":
                self.go(place, place.node.next[0], world, told)
                if operation.is_timed:
                    self.run_out_of_time(place, world)
                continue
            is_crash = exit_.raised is not None and PARTNER_CRASHED in exit_.raised.kinds
            for target in place.node.throws.targets(exit_.raised):
                if taken_by(target) != (PARTNER_CRASHED,) or is_crash:
                    self.go(place, target, world, told)

    def entering(self, operation: Help, world: World) -> list[World]:
        """The worlds in which a method begins: what is known of its arguments."""
        method = operation.method
        parameters = method.parameters[1:] if method.self_name is not None else method.parameters
        given: dict[str, ast.expr] = dict(zip([p.arg for p in parameters], operation.call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in operation.call.keywords if keyword.arg is not None}
        inner = [world.forget()]
        for parameter in [*parameters, *method.node.args.kwonlyargs]:
            values = self.knowledge.values(given.get(parameter.arg), world)
            if len(values) * len(inner) > _MOST_WORLDS:
                values = [None]
            inner = [one.bind(parameter.arg, known) for one in inner for known in values]
        return inner

    def at_Send(self, operation: Send, place: Place) -> None:  # noqa: N802
        """A message is sent, if it is seen which and to whom."""
        values = self.knowledge.values(operation.message, place.world)
        labels = [str(known.value) for known in values if known is not None and known.kind == "message"]
        if len(labels) < len(values):
            shown = ast.unparse(operation.message)[:60] if operation.message is not None else "nothing"
            why = f"which message `{shown}` is cannot be seen"
            if isinstance(operation.message, ast.Name) and self.is_class(operation.message):
                why = f"`{shown}` is a class, and a message is made of it: `{shown}(…)`"
            self.walker.unseen(why, self.method.module, operation.call, self.path(place))
            self.ends.add(place)
            return
        protocol = self.protocol(operation.protocol, operation.call, place)
        if protocol == "":
            return
        for label in labels:
            self.walker.spoken.add(label)
            self.send(label, protocol, operation, place)

    def send(self, label: str, protocol: str | None, operation: Send, place: Place) -> None:
        """A message of a label is sent."""
        scripts, world = self.walker.scripts, place.world
        if operation.is_reply:
            outcome = conversing.reply(scripts, world, label, protocol, handles=self.walker.handles)
        else:
            addressee = self.walker.targets.addressee(operation.target, self.knowledge, world)
            if isinstance(addressee, str):
                self.walker.unseen(addressee, self.method.module, operation.call, self.path(place))
                self.ends.add(place)
                return
            outcome = conversing.send(scripts, world, label, addressee, protocol)
        self.spoken(outcome, place, operation)

    def is_class(self, name: ast.Name) -> bool:
        """Whether a name is that of a class in the files."""
        return isinstance(self.walker.program.resolve(name, self.method.scope), Class)

    def at_Receive(self, operation: Receive, place: Place) -> None:  # noqa: N802
        """One of some messages is received."""
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

    def protocol(self, given: ast.expr | None, call: ast.Call, place: Place) -> str | None:
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

    def spoken(self, outcome: conversing.Outcome, place: Place, operation: Operation) -> None:
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
                if isinstance(operation, Send) and operation.is_timed:
                    self.run_out_of_time(place, world)
        if outcome.partner is not None:
            partners.add(outcome.partner)
        self.raise_from(place)
