"""All rules of a contract, indexed by what they look at, so that an event costs only the rules that name it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.machine.rules import RuleMachine, RuleNode

if TYPE_CHECKING:
    from accord.language.rules import Rule
    from accord.language.tree import Direction
    from accord.limits import Limits
    from accord.machine.clocks import Time
    from accord.machine.conditions import Outcome
    from accord.machine.events import Event
    from accord.machine.tables import Symbol

__all__ = ["RuleBook", "RuleNodes"]

RuleNodes = tuple[RuleNode, ...]


class RuleBook:
    """The compiled rules and who watches what."""

    def __init__(self, rules: tuple[Rule, ...], limits: Limits) -> None:
        self.machines = tuple(RuleMachine(rule, self, limits) for rule in rules)
        self.watchers = self._watchers(instances=False)
        self.all_watchers = self._watchers(instances=True)
        self.labels = frozenset(label for machine in self.machines for _, label in machine.watched)
        self.start: RuleNodes = tuple(machine.start for machine in self.machines)
        # Rules about what comes at once after what must see everything, once they are armed.
        self.adjacent = any(machine.has_adjacency for machine in self.machines)
        # Rules with instances of their own keep their state elsewhere; their nodes here stay as they are.
        self.sliced = tuple(index for index, machine in enumerate(self.machines) if machine.each is not None)
        self.timed = tuple(i for i, machine in enumerate(self.machines) if machine.is_timed and machine.each is None)
        self.is_timed = any(machine.is_timed for machine in self.machines)
        # Labels of which a rule says the direction, or wants a person, who only ever decides what arrives.
        patterns = [pattern for machine in self.machines for pattern in machine.patterns]
        self._directed = frozenset(pattern.label for pattern in patterns if pattern.direction or pattern.gated)
        self._told_by_data = {
            event
            for event, indices in self.watchers.items()
            if any(event[1] not in self.machines[index].plain_labels for index in indices)
        }

    def _watchers(self, *, instances: bool) -> dict[tuple[Direction, str], tuple[int, ...]]:
        watchers: dict[tuple[Direction, str], list[int]] = {}
        for index, machine in enumerate(self.machines):
            for event in machine.watched if instances or machine.each is None else ():
                watchers.setdefault(event, []).append(index)
        return {event: tuple(indices) for event, indices in watchers.items()}

    def is_plain(self, direction: Direction, label: str) -> bool:
        """Whether direction and label alone tell what the rules make of an event."""
        return (direction, label) not in self._told_by_data

    def is_either(self, label: str) -> bool:
        """Whether no rule that names a label says in which direction it goes."""
        return label not in self._directed

    def advance(self, nodes: RuleNodes, event: Event) -> RuleNodes | int:
        """The nodes after an event, or the number of the first rule that refuses it."""
        watching = self.watchers.get((event.direction, event.label), ())
        if not watching and not self.adjacent:
            return nodes
        after = list(nodes)
        for index in watching:
            following = self.machines[index].react(nodes[index], event)
            if following is None:
                return index
            after[index] = following
        self._disarm(after, watching, event.direction)
        return tuple(after)

    def advance_all(self, nodes: RuleNodes, event: Event) -> tuple[RuleNodes, list[int]]:
        """As `advance`, for an event that has happened whatever the rules say.

        Also the numbers of all rules that refuse it; their nodes stay as they were.
        """
        watching = self.watchers.get((event.direction, event.label), ())
        after, refusing = list(nodes), []
        for index in watching:
            following = self.machines[index].react(nodes[index], event)
            if following is None:
                refusing.append(index)
            else:
                after[index] = following
        self._disarm(after, watching, event.direction)
        return tuple(after), refusing

    def _disarm(self, nodes: list[RuleNode], watching: tuple[int, ...], direction: Direction) -> None:
        """Tell the rules that wait for what comes at once that something else came."""
        if not self.adjacent:
            return
        for index, node in enumerate(nodes):
            if index not in watching and node.armed(direction):
                machine = self.machines[index]
                nothing: tuple[Outcome, ...] = (False,) * len(machine.patterns)
                nodes[index] = machine.advance(node, direction, "", nothing) or node

    def late(self, nodes: RuleNodes, at: Time) -> tuple[RuleNodes, list[tuple[Time, int]]]:
        """The nodes if nothing happens until then, and what was due before, with the numbers of the rules."""
        missed: list[tuple[Time, int]] = []
        after = list(nodes)
        for index in self.timed:
            due = nodes[index].state.due
            if due is not None and due < at:
                missed.append((due, index))
                after[index] = self.machines[index].late(nodes[index])
        return (tuple(after), missed) if missed else (nodes, missed)

    def fits(self, nodes: RuleNodes, event: Event) -> dict[int, tuple[Outcome, ...]]:
        """For each rule that watches an event, which of its patterns the event fits."""
        return {
            index: self.machines[index].outcomes(nodes[index].state.called, event)
            for index in self.watchers.get((event.direction, event.label), ())
        }

    def imagine(
        self, nodes: RuleNodes, symbol: Symbol, *, helpful: bool, instances: bool = False, at: Time = 0
    ) -> RuleNodes | int:
        """As `advance`, for an event of which only the symbol is known.

        Patterns with guards do not count as triggers: the payload may not fit them. If `helpful`, what a condition
        waits for counts as there: a payload that fits can be chosen. With `instances` the nodes of sliced rules are
        those of the instances that the event belongs to.
        """
        after = list(nodes)
        watchers = self.all_watchers if instances else self.watchers
        watching = watchers.get((symbol.direction, symbol.label), ())
        for index in watching:
            machine, node = self.machines[index], nodes[index]
            outcomes = machine.imagined(node.state, symbol, helpful=helpful)
            following = machine.advance(node, symbol.direction, symbol.label, outcomes, at)
            if following is None:
                return index
            after[index] = machine.calling(following, symbol)
        self._disarm(after, watching, symbol.direction)
        return tuple(after)
