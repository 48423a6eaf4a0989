"""What may happen now in a session, and in which states it is: what a person who steps by hand looks at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.machine.tables import Symbol
from accord.monitor.step import is_over
from accord.stepping.instances import course_of, rules_of, symbols_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from accord.machine.configurations import Configuration
    from accord.monitor.step import Situation

__all__ = ["actions", "occupied"]


def actions(situation: Situation) -> tuple[Symbol, ...]:
    """What may happen now, in the order in which it is numbered; of what the protocol lets pass, what the rules name.

    Of a sliced protocol it is what can happen in any instance and in a new one.
    """
    if is_over(situation.place):
        return ()
    standing = situation.standing
    of_instances = symbols_of(situation)
    allowed = frozenset(situation.allowed)
    symbols: set[Symbol] = {symbol for symbol in of_instances or standing.symbols if symbol.word in allowed}
    passes = situation.stage.stages.machine.passes
    symbols |= {symbol for symbol in _named(situation) if passes(symbol.direction, symbol.label)}
    return tuple(sorted(symbols, key=lambda symbol: symbol.word))


def _named(situation: Situation) -> set[Symbol]:
    """The messages that rules name and none is certain to refuse.

    A bare label stands for one that is sent, which always fits it. If that is refused it stands for one that arrives,
    unless that would be the result of a call.
    """
    if not situation.rules:
        return set()
    imagine = situation.stage.stages.book.imagine
    symbols: set[Symbol] = set()
    for machine, called in rules_of(situation):
        for pattern in machine.patterns:
            named = [Symbol(pattern.direction or ("?" if pattern.gated else "!"), pattern.label)]
            if pattern.direction is None and machine.applies(called, pattern, "?"):
                named.append(Symbol("?", pattern.label))
            legal = [one for one in named if not isinstance(imagine(situation.rules, one, helpful=False), int)]
            symbols.update(legal[:1])
    return symbols


def occupied(situation: Situation) -> frozenset[int]:
    """The states the session is in: several where parts run side by side or where more than one reading is possible.

    Of a sliced protocol they are those of all instances that are not finished.
    """
    sliced = course_of(situation)
    standings = [situation.standing]
    if sliced is not None:
        standings = [standing for standing, _ in sliced[1].instances.values() if standing.symbols]
    return frozenset(number for standing in standings for c in standing.configurations for number in _states(c))


def _states(configuration: Configuration) -> Iterator[int]:
    if len(configuration) == 1 or not configuration[1]:
        yield configuration[0]
    else:
        for part in configuration[1]:
            yield from _states(part)
