"""Where a session is with its protocol and all of its rules, and the steps on from there, remembered.

A `Stage` is a standing together with one node for each rule. Stages are shared by all sessions of a protocol and linked
to each other: `sends` and `receives` map a label to the word for the trace and the next stage. A link is made the first
time it is needed. From then on a step is one dictionary look-up, whatever the protocol and however many rules; that is
the whole secret of the monitor's speed.

Only steps that the label alone decides are linked there. A protocol with clauses or gates has its links in
`careful_sends` and `careful_receives` instead, as the options among which the data chooses. Everything else is computed
each time: rules that look at data, partners that are named, sessions that hold several possibilities.

Stages are made when a session comes to them; the product of protocol and rules is never built. When
`Limits.remembered_standings` of them have been met, all are forgotten and the memory begins anew, so that what a
service met long ago does not stand in the way of what it meets now.

INVARIANT: links are accepted steps, and entries never change once made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from accord.errors import UsageError
from accord.language.labels import print_word
from accord.machine.events import Event
from accord.machine.slices import SlicedRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accord.language.events import Events
    from accord.language.tree import Direction
    from accord.machine.guards import Check, Registers
    from accord.machine.rulebook import RuleBook, RuleNodes
    from accord.machine.slices import SlicedProtocol
    from accord.machine.standing import Standing, Standings
    from accord.machine.tables import Symbol

__all__ = ["CarefulLinks", "Links", "Options", "Stage", "Stages"]

Links = dict[str, tuple[tuple[str], "Stage"]]
Options = tuple[tuple["Check", "Stage"], ...]
CarefulLink: TypeAlias = "tuple[tuple[str], Check | None, Stage, Options]"
"""The word, the first option (with no check if the label alone decides), and the other options."""
CarefulLinks = dict[str, "CarefulLink"]

# What stages begin with, so that one without links costs no dictionaries. Nothing is ever put in here.
_NO_LINKS: Links = {}
_NO_CAREFUL_LINKS: CarefulLinks = {}


def _nothing_known(_payload: Mapping[str, object], _by: str | None, _registers: Registers) -> Registers | None:
    """The check of an event that has to be looked at each time anew."""
    return None


class Stage:
    """A standing and the nodes of all rules. Made by `Stages` only."""

    __slots__ = (
        "_allowed",
        "careful_receives",
        "careful_sends",
        "receives",
        "rules",
        "sends",
        "shared",
        "stages",
        "standing",
    )

    def __init__(self, stages: Stages, standing: Standing, rules: RuleNodes) -> None:
        self.stages = stages
        self.standing = standing
        self.rules = rules
        self.shared = False
        self.sends = self.receives = _NO_LINKS
        self.careful_sends = self.careful_receives = _NO_CAREFUL_LINKS
        self._allowed: tuple[str, ...] | None = None

    def __eq__(self, other: object) -> bool:
        # One that is shared is the only one of its kind; others are the same if they say the same.
        if self is other or not isinstance(other, Stage) or (self.shared and other.shared):
            return self is other
        return self.stages is other.stages and self.standing == other.standing and self.rules == other.rules

    def __hash__(self) -> int:
        return hash((self.standing, self.rules))

    def __reduce__(self) -> tuple[object, ...]:
        raise UsageError("where a session is cannot be pickled; use `Monitor.snapshot()`")

    @property
    def complete(self) -> bool:
        """Whether the session may end here: the protocol allows it and no rule owes anything."""
        return self.standing.complete and not any(node.owes for node in self.rules)

    @property
    def allowed(self) -> tuple[str, ...]:
        """The words that are legal now, sorted: what the protocol allows and no rule is certain to refuse."""
        if self._allowed is None:
            self._allowed = self.allowed_of(self.standing.symbols)
        return self._allowed

    def allowed_of(self, symbols: Iterable[Symbol]) -> tuple[str, ...]:
        """The words of those symbols that no rule is certain to refuse, sorted."""
        return tuple(sorted(symbol.word for symbol in self.open_of(symbols)))

    def open_of(self, symbols: Iterable[Symbol]) -> list[Symbol]:
        """Those symbols that no rule is certain to refuse."""
        imagine = self.stages.book.imagine
        return [symbol for symbol in symbols if not isinstance(imagine(self.rules, symbol, helpful=False), int)]

    def remember(self, direction: Direction, label: str, target: Stage) -> None:
        """Link a step that the label alone decided."""
        if not (self.shared and target.shared and self.stages.book.is_plain(direction, label)):
            return  # a session that is wide never comes here
        if self.standing.standings.machine.passes(direction, label):
            self.stages.take_room(1)  # labels can be anything there
        word = (print_word(direction, label),)
        if self.stages.looks_at_data:
            self._careful_links(direction)[label] = word, None, target, ()
        elif direction == "!":
            if self.sends is _NO_LINKS:
                self.sends = {}
            self.sends[label] = word, target
        else:
            if self.receives is _NO_LINKS:
                self.receives = {}
            self.receives[label] = word, target

    def remember_options(self, direction: Direction, label: str) -> None:
        """Remember what data can choose between, or that it is not that simple."""
        if not self.shared:
            return
        links = self._careful_links(direction)
        if label not in links:
            (check, target), *others = self._options(direction, label) or ((_nothing_known, self),)
            links[label] = (print_word(direction, label),), check, target, tuple(others)

    def _careful_links(self, direction: Direction) -> CarefulLinks:
        if direction == "!":
            if self.careful_sends is _NO_CAREFUL_LINKS:
                self.careful_sends = {}
            return self.careful_sends
        if self.careful_receives is _NO_CAREFUL_LINKS:
            self.careful_receives = {}
        return self.careful_receives

    def forget(self) -> None:
        """Let go of all links, so that this stage keeps no others alive."""
        self.shared = False
        self.sends = self.receives = _NO_LINKS
        self.careful_sends = self.careful_receives = _NO_CAREFUL_LINKS

    def _options(self, direction: Direction, label: str) -> Options | None:
        """It is simple for a session in one plain state, if the label alone tells what the rules make of it."""
        standings, book = self.standing.standings, self.stages.book
        matching = self.standing.matching(direction, label, None)
        named = {symbol.partner for symbol in matching if symbol.partner}
        single = len(self.standing.configurations) == 1 and len(self.standing.configurations[0]) == 1
        if not single or len(named) > 1 or not book.is_plain(direction, label):
            return None
        rules = book.advance(self.rules, Event(direction, label))
        if isinstance(rules, int):
            return None
        options = []
        for symbol, following in matching.items():
            target = self.stages.at(standings.at(following), rules)
            check = standings.checks[symbol]
            if len(following) > 1 or check is None or not target.shared:
                return None
            options.append((check, target))
        return tuple(options)


class Stages:
    """All stages of one protocol that sessions have come to so far; safe to share between threads."""

    __slots__ = (
        "_known",
        "_most",
        "_room",
        "_weight",
        "book",
        "events",
        "is_timed",
        "is_wide",
        "looks_at_data",
        "machine",
        "name",
        "registers",
        "sliced",
        "sliced_rules",
        "standings",
        "start",
    )

    def __init__(
        self,
        standings: Standings,
        book: RuleBook,
        sliced: SlicedProtocol | None = None,
        *,
        events: Events | None = None,
    ) -> None:
        self.standings = standings
        self.book = book
        self.events = events
        """What the contract's labels stand for; steps do not look at it, sentences about them do."""
        self.sliced = sliced
        """The protocol if it is sliced; all that happens is then fine as far as `standings` go."""
        most = standings.limits.instances
        machines = [book.machines[index] for index in book.sliced]
        self.sliced_rules = tuple(SlicedRule(machine, machine.each or (), most) for machine in machines)
        self.machine = standings.machine if sliced is None else sliced.standings.machine
        """The protocol, sliced or not; where there is none, one that everything passes."""
        self.is_timed = self.machine.is_timed or book.is_timed
        self.is_wide = self.is_timed or sliced is not None or bool(machines)
        """Whether sessions hold an `Extent`."""
        self.name = standings.machine.name
        self.registers = standings.registers
        self.looks_at_data = any(standings.checks.values())
        """Whether some step of the protocol is decided by more than its label."""
        self._known: dict[tuple[Standing, RuleNodes], Stage] = {}
        # One stage for each state is no more than the protocol takes itself.
        self._most = self._room = max(standings.limits.remembered_standings, len(standings.machine.states))
        self._weight = 1 + len(book.start) // 8
        self.start = self.at(standings.start, book.start)

    def at(self, standing: Standing, rules: RuleNodes) -> Stage:
        """The stage of this standing and these nodes."""
        if not standing.shared:
            return Stage(self, standing, rules)  # still right, only not remembered: memory stays bounded
        key = (standing, rules)
        known = self._known.get(key)
        if known is not None:
            return known
        fresh = Stage(self, standing, rules)
        if not all(node.shared for node in rules):
            return fresh  # the same
        self.take_room(self._weight)
        fresh.shared = True
        return self._known.setdefault(key, fresh)

    def take_room(self, weight: int) -> None:
        """Make room for one thing more, if need be by forgetting everything."""
        self._room -= weight
        if self._room < 0:
            self._room = self._most
            forgotten, self._known = self._known, {}
            for stage in list(forgotten.values()):
                stage.forget()
            self.start.shared = True  # every new session begins there
            self._known[self.start.standing, self.start.rules] = self.start
