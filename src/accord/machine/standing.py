"""Where a session stands with its protocol.

A `Standing` is the set of configurations a session can be in: one, unless interleaved parts could take the same
message. Standings are shared by all sessions of a protocol and remember where plain steps lead, those that nothing but
the label decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.language.labels import print_word
from accord.machine import clocks
from accord.machine.collection import Collection as Values
from accord.machine.configurations import TooManyConfigurationsError, enter, is_complete, moves, offers, weight
from accord.machine.guards import UNBOUND, Check, Registers, compile_check
from accord.machine.tables import END_STATE, Symbol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from accord.language.tree import Direction
    from accord.limits import Limits
    from accord.machine.clocks import Time
    from accord.machine.configurations import Configuration, Origin
    from accord.machine.tables import Machine

__all__ = [
    "OpenStanding",
    "Standing",
    "Standings",
    "TimedStanding",
    "check_partners",
]


class Standing:
    """A set of configurations. Made by `Standings` only."""

    __slots__ = ("_allowed", "_following", "_symbols", "complete", "configurations", "shared", "standings")

    def __init__(self, standings: Standings, configurations: tuple[Configuration, ...]) -> None:
        self.standings = standings
        self.configurations = configurations
        self.complete = any(map(self._is_complete, configurations))
        self.shared = False
        """Whether all sessions that come here meet this very object."""
        self._following: dict[tuple[Direction, str], Standing] = {}
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

    def after(self, at: Time = 0) -> dict[Symbol, frozenset[Configuration]]:
        """For each symbol that can happen now, the configurations it can lead to, whatever the data."""
        machine = self.standings.machine
        found: dict[int, set[Configuration]] = {}
        for configuration in self.configurations:
            for symbol, following, _ in self.moves(configuration, None, at):
                found.setdefault(symbol, set()).update(following)
        return {machine.symbols[s]: frozenset(found[s]) for s in sorted(found)}

    def moves(
        self, configuration: Configuration, wanted: Collection[int] | None = None, at: Time = 0
    ) -> Iterator[tuple[int, Sequence[Configuration], Origin]]:
        """What can happen in one of the configurations at this time, with where it leads and which choice it is of."""
        del at
        for symbol, following, origin in moves(self.standings.machine, configuration, wanted):
            yield symbol, (following,), origin

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """What can happen now, whatever the data."""
        if self._symbols is None:
            machine = self.standings.machine
            numbers = {number for c in self.configurations for number in self._offers(c)}
            self._symbols = tuple(machine.symbols[number] for number in sorted(numbers))
        return self._symbols

    def _offers(self, configuration: Configuration) -> Iterator[int]:
        return offers(self.standings.machine, configuration)

    def _is_complete(self, configuration: Configuration) -> bool:
        return is_complete(self.standings.machine, configuration)

    @property
    def allowed(self) -> tuple[str, ...]:
        """The words that the protocol allows now, sorted."""
        if self._allowed is None:
            self._allowed = tuple(sorted(symbol.word for symbol in self.symbols))
        return self._allowed

    def matching(
        self, direction: Direction, label: str, partner: str | None, at: Time = 0
    ) -> dict[Symbol, frozenset[Configuration]]:
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
            for symbol, following, _ in self.moves(configuration, wanted, at):
                found.setdefault(symbol, set()).update(following)
        return {machine.symbols[s]: frozenset(found[s]) for s in sorted(found)}

    def follow(self, direction: Direction, label: str, partner: str | None = None) -> Standing | None:
        """Where the session stands after an event, whatever its data; `None` if there is no such step.

        Raises `UsageError` if the event names no partner and the legal ones differ in theirs, and
        `TooManyConfigurationsError` if the possibilities exceed the limits.
        """
        matching = self.matching(direction, label, partner)
        if not matching:
            return None
        check_partners(direction, label, partner, matching)
        return self.standings.at(frozenset().union(*matching.values()))

    def plain_step(self, direction: Direction, label: str, partner: str | None, at: Time = 0) -> Standing | None:
        """As `follow`, for a step that nothing but the label decides; `None` if it is not like that."""
        known = self._following.get((direction, label)) if partner is None else None
        if known is not None:
            return known
        matching = self.matching(direction, label, partner, at)
        if not matching or not all(symbol.is_plain for symbol in matching):
            return None
        check_partners(direction, label, partner, matching)
        target = self.standings.at(frozenset().union(*matching.values()))
        if partner is None and self.shared and target.shared:  # what is not shared would be kept alive
            self._following[direction, label] = target
        return target


class OpenStanding(Standing):
    """Where a session stands that has no protocol, only rules: everything may happen and the session may end."""

    __slots__ = ()

    def matching(
        self, direction: Direction, label: str, partner: str | None, at: Time = 0
    ) -> dict[Symbol, frozenset[Configuration]]:
        """Anything can be anything."""
        del at
        return {Symbol(direction, label, partner): frozenset(self.configurations)}

    def follow(self, direction: Direction, label: str, partner: str | None = None) -> Standing:
        """Here again."""
        del direction, label, partner
        return self

    def plain_step(self, direction: Direction, label: str, partner: str | None, at: Time = 0) -> Standing:
        """Here again."""
        del direction, label, partner, at
        return self


class TimedStanding(Standing):
    """Where a session of a protocol with deadlines stands; it depends on the time, so it is never shared.

    Two of them are the same if their configurations are: whoever follows several possibilities of one session has to
    see where they have met again.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TimedStanding):
            return NotImplemented
        return self.standings is other.standings and self.configurations == other.configurations

    def __hash__(self) -> int:
        return hash(self.configurations)

    def moves(
        self, configuration: Configuration, wanted: Collection[int] | None = None, at: Time = 0
    ) -> Iterator[tuple[int, Sequence[Configuration], Origin]]:
        """As for any standing."""
        return clocks.moves(self.standings.machine, configuration, at, wanted)

    def _offers(self, configuration: Configuration) -> Iterator[int]:
        return clocks.offers(self.standings.machine, configuration)

    def _is_complete(self, configuration: Configuration) -> bool:
        return clocks.is_complete(self.standings.machine, configuration)

    @property
    def next_due(self) -> Time | None:
        """When the next deadline is due."""
        machine = self.standings.machine
        return min((due for c in self.configurations for due in clocks.dues(machine, c)), default=None)

    @property
    def deadlines(self) -> list[tuple[Time, tuple[Symbol, ...]]]:
        """Every deadline that runs, the next one first: when it is due, and what can happen until then."""
        machine = self.standings.machine
        found = sorted({deadline for c in self.configurations for deadline in clocks.running(machine, c)})
        return [(due, tuple([machine.symbols[symbol] for symbol in machine.offered(state)])) for due, state in found]


def check_partners(direction: Direction, label: str, partner: str | None, matching: Iterable[Symbol]) -> None:
    """Raise `UsageError` if an event leaves open which of several partners it is with."""
    named = sorted({symbol.partner for symbol in matching if symbol.partner})
    if partner is None and len(named) > 1:
        partners = " or ".join(f"`{name}`" for name in named)
        keyword = "to" if direction == "!" else "sender"
        raise UsageError(f"`{print_word(direction, label)}` could be with {partners}; say `{keyword}=`")


class Standings:
    """All standings of one machine that sessions have come to so far; safe to share between threads."""

    __slots__ = ("_known", "_room", "checks", "limits", "machine", "places", "registers", "start")

    def __init__(self, machine: Machine, limits: Limits) -> None:
        self.machine = machine
        self.limits = limits
        self.places = {name: index for index, name in enumerate(machine.registers)}
        self.checks: dict[Symbol, Check | None] = {
            symbol: None if symbol.is_plain else compile_check(symbol, self.places, limits.set_members)
            for symbol in machine.symbols
        }
        self.registers: Registers = tuple(Values() if name in machine.sets else UNBOUND for name in machine.registers)
        self._known: dict[tuple[Configuration, ...], Standing] = {}
        self._room = limits.remembered_standings
        if machine.is_open and not machine.symbols and machine.states == (END_STATE,):
            anywhere = self._known[(0,),] = OpenStanding(self, ((0,),))
            anywhere.shared = True
        self.start = self.begin(0)

    def begin(self, at: Time) -> Standing:
        """Where a session stands that begins at this time."""
        if self.machine.is_timed:
            return self.at(frozenset(clocks.enter(self.machine, 0, at)))
        return self.at(frozenset({enter(self.machine, 0)}))

    def at(self, configurations: frozenset[Configuration]) -> Standing:
        """The standing of these configurations."""
        if len(configurations) > self.limits.configurations:
            raise TooManyConfigurationsError(
                f"more than {self.limits.configurations} possibilities would have to be followed"
            )
        key = tuple(sorted(configurations))
        if self.machine.is_timed:
            return TimedStanding(self, key)
        known = self._known.get(key)
        if known is not None:
            return known
        fresh = Standing(self, key)
        room = self._room - sum(map(weight, key))
        if room < 0:
            return fresh  # still right, only not shared: memory stays bounded
        self._room = room
        fresh.shared = True
        return self._known.setdefault(key, fresh)


def _describe(configuration: Configuration) -> str:
    if len(configuration) == 1:
        return str(configuration[0])
    if len(configuration) == 3:
        number, parts, due = configuration
        return (
            f"({' | '.join(map(_describe, parts))}) at {number}"
            if parts
            else f"{number} until {clocks.print_time(due)}"
        )
    join, parts = configuration
    return f"({' | '.join(map(_describe, parts))}) then {join}"
