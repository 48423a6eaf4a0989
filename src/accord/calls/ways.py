"""The shortest way to a call through steps that people can make.

A call that is refused may be legal after such steps: in a row, side by side, any two of seventeen, for a protocol and
for rules together. The search is best first over where the session can be, in all of its worlds at once: it remembers
where it has been, and how many messages the rules that refuse the call still lack tells it where to go, so it does not
count through all sets of people. Of ways that are equally short it finds the one whose steps come first.

Whether the protocol alone can be led to the call is looked at before: where no step helps, nothing else need be tried.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from accord.calls.entries import Passing
from accord.calls.worlds import judge, take
from accord.machine.extent import Extent
from accord.machine.slices import NoKey, key_of
from accord.machine.taking import Refused
from accord.monitor.refusals import Refusal
from accord.monitor.step import Situation, is_over, take_within_limits
from accord.monitor.verdicts import Ok, Violation
from accord.monitor.wide import by_protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from accord.language.clauses import Path
    from accord.language.values import Frozen
    from accord.machine.conditions import Outcome
    from accord.machine.events import Event
    from accord.machine.rulebook import RuleNodes
    from accord.machine.rules import RuleMachine, RuleNode

__all__ = ["Search", "shortest_way"]

Worlds: TypeAlias = "tuple[Situation, ...]"


class Search(NamedTuple):
    """What was found: the numbers of the steps on the way, `None` if there is none.

    Then `flaw` is what is wrong with the data of the call even after steps, and `cut_short` says that there may be a
    way: `Limits.search` situations were looked at.
    """

    way: tuple[int, ...] | None = None
    flaw: Violation | None = None
    cut_short: bool = False


def shortest_way(here: Sequence[Situation], steps: Sequence[Event], call: Event) -> Search:
    """The fewest of these steps, at least one, after which a call is legal in all of these situations."""
    start = _now(here, call)
    if start is None or not steps:
        return Search()
    protocol = _Search(steps, call)
    found = protocol.through_protocol(start)
    if found is None:
        return Search(None, protocol.flaw, protocol.cut_short)
    if protocol.flaw is None:
        verdict = judge(_moved(start, [steps[number] for number in found]), [call])[0]
        protocol.flaw = verdict if isinstance(verdict, Violation) and verdict.about_data else None
    everything = _Search(steps, call)
    way = everything.through_everything(start)
    return Search(way, None if way else protocol.flaw, everything.cut_short)


def _now(here: Sequence[Situation], call: Event) -> Worlds | None:
    """The situations at the time of the call; `None` if something else is due first, or all is over."""
    if any(is_over(world.place) for world in here):
        return None
    if call.at is None or not here[0].stage.stages.is_timed:
        return tuple(here)
    passed = [take(world, Passing(call.at)) for world in here]
    return tuple([world for world, _ in passed]) if all(type(verdict) is Ok for _, verdict in passed) else None


class _Search:
    """One search. `flaw` and `cut_short` are known when it is over; see `Search`."""

    def __init__(self, steps: Sequence[Event], call: Event) -> None:
        self.steps = steps
        self.call = call
        self.flaw: Violation | None = None
        self.cut_short = False
        self._open = list(range(len(steps)))
        self._fits: dict[tuple[RuleMachine, int, str], tuple[tuple[Outcome, ...], frozenset[int]]] = {}
        self._missed: dict[tuple[RuleNode | None, int, str], float] = {}
        self._keys: dict[Path, list[Frozen]] = {}

    def through_protocol(self, start: Worlds) -> tuple[int, ...] | None:
        """The way if there were no rules."""
        return self._search(start, rules=False)

    def through_everything(self, start: Worlds) -> tuple[int, ...] | None:
        """The way through protocol and rules."""
        return self._search(start, rules=True)

    def _search(self, start: Worlds, *, rules: bool) -> tuple[int, ...] | None:
        room = start[0].stage.stages.standings.limits.search
        # INVARIANT: what is nearest in all comes first, then the way whose steps come first. `_lacking` never says more
        # than there is and falls by one with a step at the most, so a place is first come to on the best way to it.
        waiting: list[tuple[float, tuple[int, ...], Worlds]] = [(0, (), start)]
        closed = set()
        if rules:  # what a rule refuses for ever is not tried, and counts for nobody
            self._open = [number for number in self._open if self._lacking(start, self.steps[number]) < inf]
            self._fits.clear()
            self._missed.clear()
        while waiting:
            _, way, worlds = heappop(waiting)
            if way:  # the first step may lead back to where it began, and is a step all the same
                place = self._place(worlds)
                if place in closed:
                    continue
                closed.add(place)
                if self._is_there(worlds, rules=rules):
                    return way
            for number in self._open:
                room -= len(worlds)
                if room < 0:
                    self.cut_short = True
                    return None
                after = _after(worlds, self.steps[number], rules=rules)
                lacking = inf if after is None else self._lacking(after, self.call) if rules else 0
                if after is not None and lacking < inf:
                    heappush(waiting, (len(way) + 1 + lacking, (*way, number), after))
        return None

    def _is_there(self, worlds: Worlds, *, rules: bool) -> bool:
        """Whether the call is legal in all of these worlds; if not because of its data, that is kept."""
        if rules:
            return type(judge(worlds, [self.call])[0]) is Ok
        after = [_through_protocol(world, self.call) for world in worlds]
        if self.flaw is None and any(isinstance(each, Refused) and each.reasons for each in after):
            verdict = judge(worlds, [self.call])[0]
            self.flaw = verdict if isinstance(verdict, Violation) and verdict.about_data else None
        return all(isinstance(each, Situation) for each in after)

    def _lacking(self, worlds: Worlds, event: Event) -> float:
        """So many steps, at the least, are missing before the rules let an event happen; `inf` if they never do."""
        watching = (each for world in worlds for each in _watching(world, event))
        return max((self._missing(node, called, event) for node, called in watching), default=0)

    def _missing(self, node: RuleNode | None, called: int, event: Event) -> float:
        key = node, called, event.label
        missing = self._missed.get(key)
        if missing is None:
            missing = self._missed[key] = inf if node is None else self._measure(node, called, event)
        return missing

    def _measure(self, node: RuleNode, called: int, event: Event) -> float:
        machine = node.machine
        known = self._fits.get((machine, called, event.label))
        if known is None:
            growing = machine.growing(machine.outcomes(called, self.steps[number]) for number in self._open)
            known = self._fits[machine, called, event.label] = machine.outcomes(called, event), growing
        outcomes, growing = known
        if machine.advance(node, event.direction, event.label, outcomes, event.time) is not None:
            return 0
        return machine.form.lacks(node.state, outcomes, growing)

    def _place(self, worlds: Worlds) -> object:
        """Where the worlds stand, as far as steps and call can change it or look at it.

        What is only owed does not count: that can be counted without end, and refuses nothing.
        """
        return tuple([(world.standing, _refusing(world.rules), *self._held(world)) for world in worlds])

    def _held(self, world: Situation) -> Iterator[object]:
        held, stages = world.holding, world.stage.stages
        if not isinstance(held, Extent):
            yield held
            return
        yield held.registers
        if stages.sliced is not None and held.course is not None:
            yield from [held.course.instances.get(key) for key in self._keys_at(stages.sliced.path)]
        for rule, slices in zip(stages.sliced_rules, held.slices, strict=True):
            if not rule.machine.form.only_owes:
                yield from [slices.instances.get(key) for key in self._keys_at(rule.path)]

    def _keys_at(self, path: Path) -> list[Frozen]:
        """The instances that steps and call belong to."""
        known = self._keys.get(path)
        if known is None:
            keys = [key_of(path, event.direction, event.payload) for event in (self.call, *self.steps)]
            known = self._keys[path] = [*dict.fromkeys(key for key in keys if not isinstance(key, NoKey))]
        return known


def _after(worlds: Worlds, step: Event, *, rules: bool) -> Worlds | None:
    """The worlds after a step; `None` if it is not legal in all of them."""
    after = []
    for world in worlds:
        if rules:
            there, verdict = take(world, step)
            if type(verdict) is not Ok:
                return None
        else:
            reached = _through_protocol(world, step)
            if isinstance(reached, Refused):
                return None
            there = reached
        after.append(there)
    return tuple(after)


def _refusing(rules: RuleNodes) -> RuleNodes:
    return tuple([node for node in rules if not node.machine.form.only_owes])


def _watching(world: Situation, event: Event) -> Iterator[tuple[RuleNode | None, int]]:
    """The rules that look at an event, and which labels each knows to have been called.

    Of sliced ones their instances; `None` if the event does not say which that is, so that they refuse it for ever.
    """
    stages = world.stage.stages
    for number in stages.book.watchers.get((event.direction, event.label), ()):
        yield world.stage.rules[number], world.stage.rules[number].state.called
    if isinstance(world.holding, Extent):
        for rule, held in zip(stages.sliced_rules, world.holding.slices, strict=True):
            if (event.direction, event.label) in rule.machine.watched:
                key = key_of(rule.path, event.direction, event.payload)
                yield None if isinstance(key, NoKey) else held.instances.get(key, rule.machine.start), held.called


def _moved(worlds: Worlds, steps: Sequence[Event]) -> Worlds:
    for step in steps:
        worlds = _after(worlds, step, rules=False) or worlds
    return worlds


def _through_protocol(world: Situation, event: Event) -> Situation | Refused:
    """The session after its protocol alone has taken an event."""
    stage, held = world.stage, world.holding
    if isinstance(held, Extent):
        taken = by_protocol(world, event)
        if isinstance(taken, Refusal):
            return Refused(taken.reasons)
        standing, registers, course = taken
        return Situation(stage.stages.at(standing, stage.rules), held._replace(registers=registers, course=course))
    after = take_within_limits(stage.standing, held, event)
    if isinstance(after, Refused):
        return after
    return Situation(stage.stages.at(after.standing, stage.rules), after.holding)
