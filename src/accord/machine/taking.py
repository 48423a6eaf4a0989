"""A step of a protocol with everything an event can carry: partner, payload, and who is responsible for it.

What a session holds beside its standing is `Registers`, or, where it follows several possibilities and has registers,
`Possibilities`: each configuration with the registers it would have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from accord.machine.configurations import moves
from accord.machine.guards import Registers, why_not
from accord.machine.standing import check_partners

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from accord.language.tree import Direction
    from accord.machine.configurations import Configuration, Origin
    from accord.machine.standing import Standing
    from accord.machine.tables import Symbol

__all__ = ["Holding", "Possibilities", "Refused", "Taken", "take"]

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


def take(
    standing: Standing,
    holding: Holding,
    direction: Direction,
    label: str,
    partner: str | None,
    payload: Mapping[str, object],
    by: str | None,
) -> Taken | Refused:
    """Where an event leads.

    Raises `UsageError` for a partner left open and for payloads that hold no JSON, `TooManyConfigurationsError` if the
    possibilities exceed the limits.
    """
    if not isinstance(holding, Possibilities):
        following = standing.plain_step(direction, label, partner)
        if following is not None:
            spread = _spread(following, holding)
            return Taken(following, spread, plain=spread is holding)
    matching = standing.matching(direction, label, partner)
    if not matching:
        return Refused()
    return _take_with_data(standing, holding, matching, direction, label, partner, payload, by)


def _spread(following: Standing, holding: Registers) -> Holding:
    """The same registers for each possibility, where there is more than one from now on."""
    if not following.standings.registers or len(following.configurations) == 1:
        return holding
    return Possibilities(frozenset((configuration, holding) for configuration in following.configurations))


def _take_with_data(
    standing: Standing,
    holding: Holding,
    matching: Collection[Symbol],
    direction: Direction,
    label: str,
    partner: str | None,
    payload: Mapping[str, object],
    by: str | None,
) -> Taken | Refused:
    standings = standing.standings
    machine = standings.machine
    wanted = {n for n in machine.by_event[direction, label] if machine.symbols[n] in matching}
    pairs = (
        holding.pairs
        if isinstance(holding, Possibilities)
        else [(configuration, holding) for configuration in standing.configurations]
    )
    reached: set[tuple[Configuration, Registers]] = set()
    taken: list[Symbol] = []
    refused: list[tuple[Symbol, Registers]] = []
    for configuration, registers in pairs:
        enabled: dict[Origin, tuple[Symbol, Configuration]] = {}
        for number, following, origin in moves(machine, configuration, wanted):
            symbol = machine.symbols[number]
            check = standings.checks[symbol]
            after = registers if check is None else check(payload, by, registers)
            if after is None:
                refused.append((symbol, registers))
                continue
            if enabled.setdefault(origin, (symbol, following)) != (symbol, following):
                check_partners(direction, label, partner, [enabled[origin][0], symbol])
                return Refused((_AMBIGUOUS,))
            taken.append(symbol)
            reached.add((following, after))
    if not reached:
        most = standings.limits.set_members
        reasons = [why_not(symbol, standings.places, most, payload, by, held) for symbol, held in refused]
        return Refused(tuple(dict.fromkeys(reasons)))
    check_partners(direction, label, partner, taken)
    following_standing = standings.at(frozenset(configuration for configuration, _ in reached))
    if len(reached) > 1 and standings.registers:
        if len(reached) > standings.limits.configurations:
            return Refused((f"more than {standings.limits.configurations} possibilities would have to be followed",))
        return Taken(following_standing, Possibilities(frozenset(reached)))
    return Taken(following_standing, next(iter(reached))[1])
