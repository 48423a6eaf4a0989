"""Slices: one instance of a rule or of a protocol for every value of a payload field.

What a session holds of a slice is immutable, and shares nearly everything with what it held before: instances are in a
hash trie, so an event costs the same however many there are. A refused attempt, a lost race and a step that is taken
back see nothing of each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from immutables import Map

from accord.diagnostics.visible import clip
from accord.language.values import MISSING, freeze, lookup
from accord.machine.dues import NOTHING_DUE, Dues
from accord.machine.standing import TimedStanding
from accord.machine.taking import Refused, Taken, spread, take, wait

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.clauses import Path
    from accord.language.tree import Direction
    from accord.language.values import Frozen
    from accord.machine.clocks import Time
    from accord.machine.events import Event
    from accord.machine.rule_forms import RuleState
    from accord.machine.rules import RuleMachine, RuleNode
    from accord.machine.standing import Standing, Standings
    from accord.machine.tables import Symbol
    from accord.machine.taking import Holding

__all__ = ["NO_KEY", "Course", "Instance", "NoKey", "RuleSlice", "SlicedProtocol", "SlicedRule", "is_key", "key_of"]


class NoKey:
    """The type of `NO_KEY`."""

    __slots__ = ()


NO_KEY = NoKey()
"""What an event has that belongs to no instance."""


def key_of(path: Path, direction: Direction, payload: Mapping[str, object]) -> Frozen | NoKey:
    """To which instance an event belongs: by its field.

    What was received belongs where the call belonged that it answers, whatever it says of itself.
    """
    value = lookup(payload, _field(path, direction, payload))
    if value is MISSING:
        return NO_KEY
    key = freeze(value)
    return key if is_key(key) else NO_KEY


def _field(path: Path, direction: Direction, payload: Mapping[str, object]) -> Path:
    """Where the key of an event stands."""
    of_call = ("call", *path)
    return of_call if direction == "?" and lookup(payload, of_call) is not MISSING else path


def is_key(key: Frozen) -> bool:
    """Whether there is no NaN in it; tuples and their like compare by identity first, so they do not tell."""
    if not isinstance(key, tuple):
        return key == key  # noqa: PLR0124 - NaN is unlike itself
    tag, inside = key
    if tag == "list":
        return all(map(is_key, cast("tuple[Frozen, ...]", inside)))
    if tag == "map":
        return all(is_key(value) for _, value in cast("tuple[tuple[str, Frozen], ...]", inside))
    return True


def _lacks(path: Path, direction: Direction, payload: Mapping[str, object]) -> str:
    """Why an event has no key, in words."""
    found = _field(path, direction, payload)
    field = clip(".".join(found)).replace("`", "'")
    if lookup(payload, found) is MISSING:
        return f"the field `{field}`, which says what it is about, is missing"
    return f"the field `{field}` says what it is about, and a value with NaN says nothing"


def _too_many(most: int) -> str:
    return f"it would begin one instance more, and the limit of {most} is reached"


# -- rules -------------------------------------------------------------------------------------------------------------


class RuleSlice(NamedTuple):
    """All instances of a rule by their keys.

    How many of them owe something, how many wait for something that is due, and what that is and when. Which bare
    labels have been called is known for all instances together.
    """

    instances: Map[Frozen, RuleNode]
    owing: int = 0
    timed: int = 0
    dues: Dues = NOTHING_DUE
    called: int = 0


def _is_due(instances: Map[Frozen, RuleNode], due: Time, key: Frozen) -> bool:
    """Whether something of that instance is due then."""
    node = instances.get(key)
    return node is not None and node.state.due == due


class SlicedRule:
    """A rule with an instance for every key. An instance in its first state is not kept."""

    __slots__ = ("machine", "most", "path", "start")

    def __init__(self, machine: RuleMachine, path: Path, most: int) -> None:
        self.machine = machine
        self.path = path
        self.most = most
        self.start = RuleSlice(Map())

    def react(self, held: RuleSlice, event: Event) -> RuleSlice | Refused:
        """The instances after an event."""
        machine, direction, label = self.machine, event.direction, event.label
        looks = any(
            machine.applies(held.called, machine.patterns[index], direction)
            for index in machine.by_label.get(label, ())
        )
        if direction == "!" and label in machine.bits and not held.called & machine.bits[label]:
            held = held._replace(called=held.called | machine.bits[label])
        key = key_of(self.path, direction, event.payload)
        if isinstance(key, NoKey):
            return Refused((_lacks(self.path, direction, event.payload),)) if looks else held
        before = held.instances.get(key, machine.start)
        if looks:
            outcomes = machine.outcomes(held.called, event)
            after = machine.advance(before, direction, label, outcomes, event.time)
            if after is None:
                return Refused(machine.why_undecided(outcomes, event.payload))
        elif before.armed(direction):
            nothing = (False,) * len(machine.patterns)
            after = machine.advance(before, direction, "", nothing, event.time) or before
        else:
            return held
        return self.moved(held, key, before, after)

    def moved(self, held: RuleSlice, key: Frozen, before: RuleNode, after: RuleNode) -> RuleSlice | Refused:
        """The instances after one of them has moved."""
        if after is before:
            return held
        instances = held.instances
        if after.state == self.machine.start.state:
            instances = instances.delete(key) if key in instances else instances
        else:
            instances = instances.set(key, after)
            if len(instances) > self.most:
                return Refused((_too_many(self.most),))
        due = after.state.due
        dues = held.dues
        if due is not None and due != before.state.due:
            dues = dues.with_due(due, key)
        timed = held.timed + (due is not None) - (before.state.due is not None)
        dues = dues.tidied(timed, lambda due, key: _is_due(instances, due, key))
        return RuleSlice(instances, held.owing + after.owes - before.owes, timed, dues, held.called)

    def next_due(self, held: RuleSlice) -> Time | None:
        """When the next deadline of an instance is due."""
        first, _ = held.dues.first(lambda due, key: _is_due(held.instances, due, key))
        return None if first is None else first[0]

    def late(self, held: RuleSlice, at: Time) -> tuple[RuleSlice, list[tuple[Time, Frozen, RuleState]]]:
        """The instances if nothing happens until then, and what was due before, with keys and states."""
        missed: list[tuple[Time, Frozen, RuleState]] = []
        while held.dues.may_have(at):
            first, dues = held.dues.first(lambda due, key: _is_due(held.instances, due, key))  # noqa: B023
            held = held._replace(dues=dues)
            if first is None or first[0] >= at:
                break
            before = held.instances[first[1]]
            missed.append((*first, before.state))
            after = self.moved(held, first[1], before, self.machine.late(before))
            assert isinstance(after, RuleSlice)  # noqa: S101 - there are not more instances than before
            held = after
        return held, missed


# -- protocols ---------------------------------------------------------------------------------------------------------

Instance: TypeAlias = "tuple[Standing, Holding]"


class Course(NamedTuple):
    """All instances of a protocol by their keys, finished ones too.

    As for a rule; `offers` counts instances by what can happen in them.
    """

    instances: Map[Frozen, Instance]
    owing: int = 0
    timed: int = 0
    dues: Dues = NOTHING_DUE
    offers: Map[tuple[Symbol, ...], int] = Map()


def _due(instance: Instance | None) -> Time | None:
    return instance[0].next_due if instance is not None and isinstance(instance[0], TimedStanding) else None


class SlicedProtocol:
    """A protocol with an instance for every key."""

    __slots__ = ("path", "standings", "start")

    def __init__(self, standings: Standings, path: Path) -> None:
        self.standings = standings
        self.path = path
        self.start = Course(Map())

    def instance(self, course: Course, key: Frozen, at: Time) -> Instance:
        """The instance of a key, which begins at this time if there is none."""
        known = course.instances.get(key)
        if known is not None:
            return known
        standing = self.standings.begin(at)
        return standing, spread(standing, self.standings.registers)

    def react(self, course: Course, key: Frozen | NoKey, event: Event) -> Course | Refused:
        """The instances after an event that the protocol does not let pass."""
        if (event.direction, event.label) not in self.standings.machine.by_event:
            return Refused()
        if isinstance(key, NoKey):
            return Refused((_lacks(self.path, event.direction, event.payload),))
        taken = take(*self.instance(course, key, event.time), event)
        if isinstance(taken, Refused):
            return taken
        if key not in course.instances and len(course.instances) >= self.standings.limits.instances:
            return Refused((f"{_too_many(self.standings.limits.instances)}, finished ones included",))
        return self.moved(course, key, taken)

    def moved(self, course: Course, key: Frozen, taken: Taken) -> Course:
        """The instances after one of them has moved."""
        before = course.instances.get(key)
        finished = not taken.standing.symbols and not _due((taken.standing, ()))
        after: Instance = (taken.standing, self.standings.registers if finished else taken.holding)
        instances = course.instances.set(key, after)
        offers = course.offers
        if before is not None:
            count = offers[before[0].symbols]
            offers = offers.set(before[0].symbols, count - 1) if count > 1 else offers.delete(before[0].symbols)
        offers = offers.set(after[0].symbols, offers.get(after[0].symbols, 0) + 1)
        owed = before is not None and not before[0].complete
        due, was_due = _due(after), _due(before)
        dues = course.dues.with_due(due, key) if due is not None and due != was_due else course.dues
        timed = course.timed + (due is not None) - (was_due is not None)
        dues = dues.tidied(timed, lambda due, key: _due(instances.get(key)) == due)
        return Course(instances, course.owing + (not after[0].complete) - owed, timed, dues, offers)

    def course_of(self, instances: Map[Frozen, Instance]) -> Course:
        """The course with these instances."""
        course = self.start
        for key, (standing, holding) in instances.items():
            course = self.moved(course, key, Taken(standing, holding))
        return course

    def next_due(self, course: Course) -> Time | None:
        """When the next deadline of an instance is due."""
        first, _ = course.dues.first(lambda due, key: _due(course.instances.get(key)) == due)
        return None if first is None else first[0]

    def wait(self, course: Course, at: Time) -> Course:
        """The instances if nothing happens until then."""
        while course.dues.may_have(at):
            first, dues = course.dues.first(lambda due, key: _due(course.instances.get(key)) == due)  # noqa: B023
            course = course._replace(dues=dues)
            if first is None or first[0] >= at:
                break
            key = first[1]
            course = self.moved(course, key, Taken(*wait(*course.instances[key], at)))
        return course

    def symbols(self, course: Course, key: Frozen | NoKey = NO_KEY) -> frozenset[Symbol]:
        """What can happen in the instance of a key; without one, in any instance and in a new one."""
        if not isinstance(key, NoKey):
            return frozenset(self.instance(course, key, 0)[0].symbols)
        return frozenset(self.standings.start.symbols) | self.under_way(course)

    def under_way(self, course: Course) -> frozenset[Symbol]:
        """What can happen in instances that have begun."""
        return frozenset(symbol for offered in course.offers for symbol in offered)
