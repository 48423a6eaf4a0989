"""Where a session stands, with the steps that lead on from there remembered.

A `Standing` is the set of configurations a session can be in: one, unless interleaved parts could take the same
message. Standings are shared by all sessions of a protocol and linked to each other: `sends` and `receives` map a label
to the word for the trace and the next standing. A link is made the first time it is needed. From then on a step is one
dictionary look-up, whatever the protocol; that is the whole secret of the monitor's speed.

Only steps that the label alone decides are linked there. Those that rules look at as well are in `watched_sends` and
`watched_receives`, with the numbers of the rules. Those that clauses or a gate decide are in `guarded_sends` and
`guarded_receives`, as the options among which the data chooses.

INVARIANT: links are accepted steps, and entries never change once made.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from accord.errors import AccordError, UsageError
from accord.language.labels import print_word
from accord.machine.collection import Collection
from accord.machine.configurations import enter, is_complete, moves, offers, weight
from accord.machine.guards import UNBOUND, Check, Registers, compile_check
from accord.machine.tables import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accord.language.tree import Direction
    from accord.limits import Limits
    from accord.machine.configurations import Configuration
    from accord.machine.tables import Machine

__all__ = [
    "GuardedLinks",
    "Links",
    "OpenStanding",
    "Standing",
    "Standings",
    "TooManyConfigurationsError",
    "WatchedLinks",
    "check_partners",
]

Links = dict[str, tuple[tuple[str], "Standing"]]
WatchedLinks = dict[str, tuple[tuple[str], "Standing", tuple[int, ...]]]
GuardedLinks = dict[str, tuple[tuple[str], tuple[tuple[Check, "Standing"], ...]]]


class TooManyConfigurationsError(AccordError):
    """A session would have to follow more possibilities than `Limits.configurations` allows."""


class Standing:
    """A set of configurations. Made by `Standings` only."""

    __slots__ = (
        "_allowed",
        "_symbols",
        "complete",
        "configurations",
        "guarded_receives",
        "guarded_sends",
        "receives",
        "sends",
        "standings",
        "watched_receives",
        "watched_sends",
    )

    def __init__(self, standings: Standings, configurations: tuple[Configuration, ...]) -> None:
        self.standings = standings
        self.configurations = configurations
        self.complete = any(is_complete(standings.machine, c) for c in configurations)
        self.sends: Links = {}
        self.receives: Links = {}
        self.watched_sends: WatchedLinks = {}
        self.watched_receives: WatchedLinks = {}
        self.guarded_sends: GuardedLinks = {}
        self.guarded_receives: GuardedLinks = {}
        self._symbols: tuple[Symbol, ...] | None = None
        self._allowed: tuple[str, ...] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        raise UsageError("a session's standing cannot be pickled; use `Monitor.snapshot()`")

    @property
    def number(self) -> int | str:
        """The state's number, or a text such as `(1 | 4) then 6` where parts run side by side."""
        if len(self.configurations) == 1 and len(self.configurations[0]) == 1:
            return self.configurations[0][0]
        return " or ".join(map(_describe, self.configurations))

    @property
    def after(self) -> dict[Symbol, frozenset[Configuration]]:
        """For each symbol that can happen now, the configurations it can lead to, whatever the data."""
        machine = self.standings.machine
        found: dict[int, set[Configuration]] = {}
        for configuration in self.configurations:
            for symbol, following, _ in moves(machine, configuration):
                found.setdefault(symbol, set()).add(following)
        return {machine.symbols[s]: frozenset(found[s]) for s in sorted(found)}

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """What can happen now, whatever the data."""
        if self._symbols is None:
            machine = self.standings.machine
            numbers = {number for c in self.configurations for number in offers(machine, c)}
            self._symbols = tuple(machine.symbols[number] for number in sorted(numbers))
        return self._symbols

    @property
    def allowed(self) -> tuple[str, ...]:
        """The words that the protocol allows now, sorted."""
        if self._allowed is None:
            self._allowed = tuple(sorted(symbol.word for symbol in self.symbols))
        return self._allowed

    def matching(self, direction: Direction, label: str, partner: str | None) -> dict[Symbol, frozenset[Configuration]]:
        """The symbols that an event can be, its data left aside, and where each leads."""
        machine = self.standings.machine
        wanted = [
            number
            for number in machine.by_event.get((direction, label), ())
            if partner is None or machine.symbols[number].partner in {None, partner}
        ]
        if not wanted:
            return {}
        found: dict[int, set[Configuration]] = {}
        for configuration in self.configurations:
            for symbol, following, _ in moves(machine, configuration, wanted):
                found.setdefault(symbol, set()).add(following)
        return {machine.symbols[s]: frozenset(found[s]) for s in sorted(found)}

    def follow(self, direction: Direction, label: str, partner: str | None = None) -> Standing | None:
        """Where the session stands after an event, whatever its data; `None` if there is no such step.

        Raises `UsageError` if the event names no partner and the legal ones differ in theirs, and
        `TooManyConfigurationsError` if the possibilities exceed the limits.
        """
        links = self.sends if direction == "!" else self.receives
        if partner is None and label in links:
            return links[label][1]
        matching = self.matching(direction, label, partner)
        if not matching:
            return None
        check_partners(direction, label, partner, matching)
        following = frozenset().union(*matching.values())
        target = self.standings.at(following)
        # INVARIANT: what a guard or a gate decides is never linked.
        plain = all(symbol.is_plain for symbol in matching)
        if plain and partner is None and self.standings.may_link(self, target):
            self._link(direction, label, target)
        return target

    def _link(self, direction: Direction, label: str, target: Standing) -> None:
        word = (print_word(direction, label),)
        watching = self.standings.watchers.get((direction, label))
        if watching is None:
            links = self.sends if direction == "!" else self.receives
            links.setdefault(label, (word, target))
        elif watching:
            watched = self.watched_sends if direction == "!" else self.watched_receives
            watched.setdefault(label, (word, target, watching))

    def options(self, direction: Direction, label: str) -> tuple[tuple[Check, Standing], ...] | None:
        """What data can choose between, for an event without a partner; `None` where it is not that simple.

        It is simple for a session in one plain state that no rule watches with this event.
        """
        guarded = self.guarded_sends if direction == "!" else self.guarded_receives
        if label in guarded:
            return guarded[label][1]
        standings = self.standings
        matching = self.matching(direction, label, None)
        named = {symbol.partner for symbol in matching if symbol.partner}
        single = len(self.configurations) == 1 and len(self.configurations[0]) == 1
        if not single or len(named) > 1 or (direction, label) in standings.watchers:
            return None
        options = []
        for symbol in matching:
            target = standings.at(matching[symbol])
            check = standings.checks[symbol]
            if len(target.configurations) > 1 or check is None or not standings.may_link(self, target):
                return None
            options.append((check, target))
        if options:
            guarded.setdefault(label, ((print_word(direction, label),), tuple(options)))
        return tuple(options)


class OpenStanding(Standing):
    """Where a session stands that has no protocol, only rules: everything may happen and the session may end."""

    __slots__ = ()

    def matching(self, direction: Direction, label: str, partner: str | None) -> dict[Symbol, frozenset[Configuration]]:
        """Anything can be anything."""
        return {Symbol(direction, label, partner): frozenset(self.configurations)}

    def follow(self, direction: Direction, label: str, partner: str | None = None) -> Standing:
        """Here again."""
        # Labels can be anything too; what is not remembered is only slower.
        if partner is None and len(self.sends) + len(self.receives) < self.standings.limits.remembered_standings:
            self._link(direction, label, self)
        return self


def check_partners(direction: Direction, label: str, partner: str | None, matching: Iterable[Symbol]) -> None:
    """Raise `UsageError` if an event leaves open which of several partners it is with."""
    named = sorted({symbol.partner for symbol in matching if symbol.partner})
    if partner is None and len(named) > 1:
        partners = " or ".join(f"`{name}`" for name in named)
        keyword = "to" if direction == "!" else "sender"
        raise UsageError(f"`{print_word(direction, label)}` could be with {partners}; say `{keyword}=`")


class Standings:
    """All standings of one machine that sessions have come to so far; safe to share between threads.

    `watchers` maps the events that rules look at to the numbers of these rules, or to none if the label alone does not
    tell what they make of it; `is_open` is for contracts without a protocol.
    """

    __slots__ = ("_known", "_room", "checks", "limits", "machine", "registers", "start", "watchers")

    def __init__(
        self,
        machine: Machine,
        limits: Limits,
        watchers: Mapping[tuple[Direction, str], tuple[int, ...]] = MappingProxyType({}),
        *,
        is_open: bool = False,
    ) -> None:
        self.machine = machine
        self.limits = limits
        self.watchers = watchers
        places = {name: index for index, name in enumerate(machine.registers)}
        self.checks: dict[Symbol, Check | None] = {
            symbol: None if symbol.is_plain else compile_check(symbol, places, limits.set_members)
            for symbol in machine.symbols
        }
        self.registers: Registers = tuple(
            Collection() if name in machine.sets else UNBOUND for name in machine.registers
        )
        self._known: dict[tuple[Configuration, ...], Standing] = {}
        self._room = limits.remembered_standings
        if is_open:
            self._known[((0,),)] = OpenStanding(self, ((0,),))
        self.start = self.at(frozenset({enter(machine, 0)}))

    def at(self, configurations: frozenset[Configuration]) -> Standing:
        """The standing of these configurations."""
        if len(configurations) > self.limits.configurations:
            raise TooManyConfigurationsError(
                f"more than {self.limits.configurations} possibilities would have to be followed"
            )
        key = tuple(sorted(configurations))
        known = self._known.get(key)
        if known is not None:
            return known
        fresh = Standing(self, key)
        room = self._room - sum(map(weight, key))
        if room < 0:
            return fresh  # still right, only not shared: memory stays bounded
        self._room = room
        return self._known.setdefault(key, fresh)

    def may_link(self, standing: Standing, target: Standing) -> bool:
        """Whether a step may be remembered.

        Links from an unshared standing would keep others alive. And where a session with registers comes to follow
        several possibilities, each of them has registers of its own, so the step is more than a move.
        """
        if self._known.get(standing.configurations) is not standing:
            return False
        return not self.registers or len(standing.configurations) == len(target.configurations) == 1


def _describe(configuration: Configuration) -> str:
    if len(configuration) == 1:
        return str(configuration[0])
    join, parts = configuration
    return f"({' | '.join(map(_describe, parts))}) then {join}"
