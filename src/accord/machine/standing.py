"""Where a session stands, with the steps that lead on from there remembered.

A `Standing` is the set of configurations a session can be in: one, unless interleaved parts could take the same
message. Standings are shared by all sessions of a protocol and linked to each other: `sends` and `receives` map a
label to the word for the trace and the next standing. A link is made the first time it is needed. From then on a step
is one dictionary look-up, whatever the protocol; that is the whole secret of the monitor's speed.

INVARIANT: `sends` and `receives` hold accepted steps only, and entries never change once made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import AccordError, UsageError
from accord.language.labels import print_word
from accord.machine.configurations import enter, is_complete, moves

if TYPE_CHECKING:
    from accord.language.tree import Direction
    from accord.limits import Limits
    from accord.machine.configurations import Configuration
    from accord.machine.tables import Machine, Symbol

__all__ = ["Standing", "Standings", "TooManyConfigurationsError"]


class TooManyConfigurationsError(AccordError):
    """A session would have to follow more possibilities than `Limits.configurations` allows."""


class Standing:
    """A set of configurations. Made by `Standings` only."""

    __slots__ = ("_after", "_allowed", "complete", "configurations", "receives", "sends", "standings")

    def __init__(self, standings: Standings, configurations: tuple[Configuration, ...]) -> None:
        self.standings = standings
        self.configurations = configurations
        self.complete = any(is_complete(standings.machine, c) for c in configurations)
        self.sends: dict[str, tuple[tuple[str], Standing]] = {}
        self.receives: dict[str, tuple[tuple[str], Standing]] = {}
        self._after: dict[Symbol, frozenset[Configuration]] | None = None
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
        """For each symbol that can happen now, the configurations it can lead to."""
        if self._after is None:
            machine = self.standings.machine
            found: dict[int, set[Configuration]] = {}
            for configuration in self.configurations:
                for symbol, following in moves(machine, configuration):
                    found.setdefault(symbol, set()).add(following)
            self._after = {machine.symbols[s]: frozenset(found[s]) for s in sorted(found)}
        return self._after

    @property
    def allowed(self) -> tuple[str, ...]:
        """The words that are legal now, sorted."""
        if self._allowed is None:
            self._allowed = tuple(sorted(symbol.word for symbol in self.after))
        return self._allowed

    def follow(self, direction: Direction, label: str, partner: str | None = None) -> Standing | None:
        """Where the session stands after an event, or `None` if it is not legal here.

        Raises `UsageError` if the event names no partner and the legal ones differ in theirs, and
        `TooManyConfigurationsError` if the possibilities exceed the limits.
        """
        links = self.sends if direction == "!" else self.receives
        if partner is None and label in links:
            return links[label][1]
        matching = [
            symbol
            for symbol in self.after
            if symbol.direction == direction
            and symbol.label == label
            and (partner is None or symbol.partner is None or symbol.partner == partner)
        ]
        if not matching:
            return None
        named = [symbol.partner for symbol in matching if symbol.partner]
        if partner is None and len(named) > 1:
            partners = " or ".join(f"`{name}`" for name in named)
            keyword = "to" if direction == "!" else "sender"
            raise UsageError(f"`{print_word(direction, label)}` could be with {partners}; say `{keyword}=`")
        following = frozenset().union(*(self.after[symbol] for symbol in matching))
        target = self.standings.at(following)
        if partner is None and self.standings.remembers(self):
            links.setdefault(label, ((print_word(direction, label),), target))
        return target


class Standings:
    """All standings of one machine that sessions have come to so far; safe to share between threads."""

    __slots__ = ("_known", "limits", "machine", "start")

    def __init__(self, machine: Machine, limits: Limits) -> None:
        self.machine = machine
        self.limits = limits
        self._known: dict[tuple[Configuration, ...], Standing] = {}
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
        if len(self._known) >= self.limits.remembered_standings:
            return fresh  # still right, only not shared: memory stays bounded
        return self._known.setdefault(key, fresh)

    def remembers(self, standing: Standing) -> bool:
        """Whether links from this standing may be kept: links from an unshared one would keep others alive."""
        return self._known.get(standing.configurations) is standing


def _describe(configuration: Configuration) -> str:
    if len(configuration) == 1:
        return str(configuration[0])
    join, parts = configuration
    return f"({' | '.join(map(_describe, parts))}) then {join}"
