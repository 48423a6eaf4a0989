"""A step of a protocol with everything an event can carry: partner, payload, and who is responsible for it.

What a session holds beside its standing is `Registers`, or, where it follows several possibilities and has registers,
`Possibilities`: each configuration with the registers it would have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from accord.machine.clocks import late
from accord.machine.configurations import TooManyConfigurationsError
from accord.machine.guards import Registers, why_not
from accord.machine.standing import TimedStanding, check_partners

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from accord.machine.clocks import Time
    from accord.machine.configurations import Configuration, Origin
    from accord.machine.events import Event
    from accord.machine.standing import Standing, Standings
    from accord.machine.tables import Symbol

__all__ = ["Holding", "Possibilities", "Refused", "Taken", "spread", "take", "wait"]

_AMBIGUOUS = "the guards of two branches hold together, so which one is meant cannot be told"


@dataclass(frozen=True, slots=True)
class Possibilities:
    """Configurations with their registers, where there is more than one."""

    pairs: frozenset[tuple[Configuration, Registers]]


Holding: TypeAlias = "Registers | Possibilities"


@dataclass(frozen=True, slots=True)
class Taken:
    """The step was taken: where the session stands, and what it holds."""

    standing: Standing
    holding: Holding
    plain: bool = False
    """Whether nothing but the label decided it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The step is not legal; `reasons` say why where the label was right and the data was not."""

    reasons: tuple[str, ...] = ()


def take(standing: Standing, holding: Holding, event: Event) -> Taken | Refused:
    """Where an event leads.

    Raises `UsageError` for a partner left open and for payloads that hold no JSON, `TooManyConfigurationsError` if the
    possibilities exceed the limits.
    """
    direction, label, partner = event[:3]
    if not isinstance(holding, Possibilities):
        following = standing.plain_step(direction, label, partner, event.time)
        if following is not None:
            held = spread(following, holding)
            return Taken(following, held, plain=held is holding)
    matching = standing.matching(direction, label, partner, event.time)
    return _take_with_data(standing, holding, matching, event) if matching else Refused()


def spread(following: Standing, holding: Registers) -> Holding:
    """The same registers for each possibility, where there is more than one from now on."""
    if not following.standings.registers or len(following.configurations) == 1:
        return holding
    return Possibilities(frozenset((configuration, holding) for configuration in following.configurations))


def _take_with_data(
    standing: Standing, holding: Holding, matching: Collection[Symbol], event: Event
) -> Taken | Refused:
    direction, label, partner, payload, by = event[:5]
    standings = standing.standings
    machine = standings.machine
    wanted = {n for n in machine.by_event[direction, label] if machine.symbols[n] in matching}
    reached: set[tuple[Configuration, Registers]] = set()
    taken: list[Symbol] = []
    ambiguous = False
    refused: list[tuple[Symbol, Registers]] = []
    for configuration, registers in _pairs(standing, holding):
        enabled: dict[Origin, tuple[Symbol, Sequence[Configuration]]] = {}
        for number, following, origin in standing.moves(configuration, wanted, event.time):
            symbol = machine.symbols[number]
            check = standings.checks[symbol]
            after = registers if check is None else check(payload, by, registers)
            if after is None:
                refused.append((symbol, registers))
                continue
            ambiguous |= enabled.setdefault(origin, (symbol, following)) != (symbol, following)
            taken.append(symbol)
            reached.update((configuration, after) for configuration in following)
    if not reached:
        most = standings.limits.set_members
        reasons = [why_not(symbol, standings.places, most, payload, by, held) for symbol, held in refused]
        return Refused(tuple(dict.fromkeys(reasons)))
    check_partners(direction, label, partner, taken)
    if ambiguous:
        return Refused((_AMBIGUOUS,))
    return _taken(standings, reached)


def _pairs(standing: Standing, holding: Holding) -> Iterable[tuple[Configuration, Registers]]:
    """Each configuration with the registers it has."""
    if isinstance(holding, Possibilities):
        return holding.pairs
    return [(configuration, holding) for configuration in standing.configurations]


def _taken(standings: Standings, reached: set[tuple[Configuration, Registers]]) -> Taken | Refused:
    standing = standings.at(frozenset(configuration for configuration, _ in reached))
    if len(reached) > 1 and standings.registers:
        if len(reached) > standings.limits.configurations:
            return Refused((f"more than {standings.limits.configurations} possibilities would have to be followed",))
        return Taken(standing, Possibilities(frozenset(reached)))
    return Taken(standing, next(iter(reached))[1])


def wait(standing: Standing, holding: Holding, at: Time) -> tuple[Standing, Holding]:
    """Where the session stands if nothing happens until then: deadlines expire one after the other.

    Raises `TooManyConfigurationsError` if the possibilities exceed the limits.
    """
    while isinstance(standing, TimedStanding):
        due = standing.next_due
        if due is None or due >= at:
            break
        machine = standing.standings.machine
        reached = {
            (after, registers)
            for configuration, registers in _pairs(standing, holding)
            for after in late(machine, configuration, due)
        }
        taken = _taken(standing.standings, reached)
        if isinstance(taken, Refused):
            raise TooManyConfigurationsError(taken.reasons[0])
        standing, holding = taken.standing, taken.holding
    return standing, holding
