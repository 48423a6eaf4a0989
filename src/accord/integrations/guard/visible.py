"""Which tools a model should see: those it may call now, or may call once a person has agreed.

This is a kindness to the model and no protection: what is hidden is refused all the same. So where it cannot be told
whether a tool may be called, it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.machine.tables import Symbol
from accord.monitor.step import is_over

if TYPE_CHECKING:
    from accord.machine.stages import Stage
    from accord.monitor.step import Situation

__all__ = ["may_be_called"]

_DEEPEST = 3


def may_be_called(world: Situation, label: str, gates: tuple[str, ...]) -> bool:
    """Whether a call may be legal in a world with some arguments, now or after steps that people make."""
    if is_over(world.place):
        return False
    stage = world.stage
    if stage.stages.sliced is not None:  # it may be, in some instance or in a new one
        machine = stage.stages.machine
        return machine.is_open or ("!", label) in machine.by_event
    reached = [stage]
    for _ in range(_DEEPEST + 1):
        if any(_offers(each, label) for each in reached):
            return True
        reached = [after for each in reached for after in _after_gates(each, gates)]
    return False


def _offers(stage: Stage, label: str) -> bool:
    standing, book = stage.standing, stage.stages.book
    if stage.stages.machine.passes("!", label):
        symbols = [Symbol("!", label)]
    else:
        symbols = [symbol for symbol in standing.symbols if symbol.direction == "!" and symbol.label == label]
    return any(not isinstance(book.imagine(stage.rules, symbol, helpful=False), int) for symbol in symbols)


def _after_gates(stage: Stage, gates: tuple[str, ...]) -> list[Stage]:
    standing, stages = stage.standing, stage.stages
    after = []
    for gate in gates:
        symbol = Symbol("?", gate, None, (), gated=True)
        rules = stages.book.imagine(stage.rules, symbol, helpful=True)
        if isinstance(rules, int):
            continue
        if stages.machine.passes("?", gate):
            after.append(stages.at(standing, rules))
            continue
        following = standing.matching("?", gate, None).values()
        after.extend(stages.at(standing.standings.at(each), rules) for each in following)
    return after
