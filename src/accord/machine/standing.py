"""Where a session stands with its protocol.

A `Standing` is the set of configurations a session can be in: one, unless interleaved parts could take the same
message. Standings are shared by all sessions of a protocol and remember where plain steps lead, those that nothing but
the label decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import AccordError, UsageError
from accord.language.labels import print_word
from accord.machine.collection import Collection
from accord.machine.configurations import enter, is_complete, moves, offers, weight
from accord.machine.guards import UNBOUND, Check, Registers, compile_check
from accord.machine.tables import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.language.tree import Direction
    from accord.limits import Limits
    from accord.machine.configurations import Configuration
    from accord.machine.tables import Machine

__all__ = ["OpenStanding", "Standing", "Standings", "TooManyConfigurationsError", "check_partners"]


class TooManyConfigurationsError(AccordError):
    """A session would have to follow more possibilities than `Limits.configurations` allows."""


class Standing:
    """A set of configurations. Made by `Standings` only."""

    __slots__ = ("_allowed", "_following", "_symbols", "complete", "configurations", "shared", "standings")

    def __init__(self, standings: Standings, configurations: tuple[Configuration, ...]) -> None:
        self.standings = standings
        self.configurations = configurations
        self.complete = any(is_complete(standings.machine, c) for c in configurations)
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
        matching = self.matching(direction, label, partner)
        if not matching:
            return None
        check_partners(direction, label, partner, matching)
        return self.standings.at(frozenset().union(*matching.values()))

    def plain_step(self, direction: Direction, label: str, partner: str | None) -> Standing | None:
        """As `follow`, for a step that nothing but the label decides; `None` if it is not like that."""
        known = self._following.get((direction, label)) if partner is None else None
        if known is not None:
            return known
        matching = self.matching(direction, label, partner)
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

    def matching(self, direction: Direction, label: str, partner: str | None) -> dict[Symbol, frozenset[Configuration]]:
        """Anything can be anything."""
        return {Symbol(direction, label, partner): frozenset(self.configurations)}

    def follow(self, direction: Direction, label: str, partner: str | None = None) -> Standing:
        """Here again."""
        del direction, label, partner
        return self

    def plain_step(self, direction: Direction, label: str, partner: str | None) -> Standing:
        """Here again."""
        del direction, label, partner
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

    `is_open` is for contracts without a protocol.
    """

    __slots__ = ("_known", "_room", "checks", "limits", "machine", "places", "registers", "start")

    def __init__(self, machine: Machine, limits: Limits, *, is_open: bool = False) -> None:
        self.machine = machine
        self.limits = limits
        self.places = {name: index for index, name in enumerate(machine.registers)}
        self.checks: dict[Symbol, Check | None] = {
            symbol: None if symbol.is_plain else compile_check(symbol, self.places, limits.set_members)
            for symbol in machine.symbols
        }
        self.registers: Registers = tuple(
            Collection() if name in machine.sets else UNBOUND for name in machine.registers
        )
        self._known: dict[tuple[Configuration, ...], Standing] = {}
        self._room = limits.remembered_standings
        if is_open:
            anywhere = self._known[(0,),] = OpenStanding(self, ((0,),))
            anywhere.shared = True
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
        fresh.shared = True
        return self._known.setdefault(key, fresh)


def _describe(configuration: Configuration) -> str:
    if len(configuration) == 1:
        return str(configuration[0])
    join, parts = configuration
    return f"({' | '.join(map(_describe, parts))}) then {join}"
