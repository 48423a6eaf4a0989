"""Which tools a model should see: those it may call now, or may call once a person has agreed.

This is a kindness to the model and no protection: what is hidden is refused all the same. So where it cannot be told
whether a tool may be called, it is shown.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from accord.machine.tables import Symbol
from accord.monitor.step import is_over

if TYPE_CHECKING:
    from accord.machine.stages import Stage
    from accord.machine.standing import Standing
    from accord.monitor.step import Situation

__all__ = ["may_be_called"]


def may_be_called(world: Situation, label: str, gates: tuple[str, ...]) -> bool:
    """Whether a call may be legal in a world with some arguments, now or after steps that people make.

    Protocol and rules are asked each for itself, so it may say yes where they cannot agree.
    """
    if is_over(world.place):
        return False
    stage = world.stage
    machine = stage.stages.machine
    if stage.stages.sliced is not None:  # it may be, in some instance or in a new one
        return machine.is_open or ("!", label) in machine.by_event
    if machine.passes("!", label):
        return _rules_may_allow(stage, Symbol("!", label), gates)
    reached = _after_gates(stage.standing, gates)
    if reached is None:
        return True
    symbols = {
        each for standing in reached for each in standing.symbols if (each.direction, each.label) == ("!", label)
    }
    return any(_rules_may_allow(stage, symbol, gates) for symbol in symbols)


def _after_gates(standing: Standing, gates: tuple[str, ...]) -> list[Standing] | None:
    """Where people can lead the protocol, and where it is; `None` if that is too much to look at."""
    standings = standing.standings
    found, known = [standing], {standing.configurations}
    for here in found:
        for gate in gates:
            for configurations in here.matching("?", gate, None).values():
                after = standings.at(configurations)
                if after.configurations not in known:
                    known.add(after.configurations)
                    found.append(after)
        if len(found) > standings.limits.search:
            return None
    return found


def _rules_may_allow(stage: Stage, call: Symbol, gates: tuple[str, ...]) -> bool:
    """Whether every rule may let a call happen, as far as people can see to that."""
    for number in stage.stages.book.watchers.get(("!", call.label), ()):
        node = stage.rules[number]
        machine, state = node.machine, node.state
        outcomes = machine.imagined(state, call, helpful=False)
        if machine.advance(node, "!", call.label, outcomes) is None:
            steps = [Symbol("?", gate, None, (), gated=True) for gate in gates]
            growing = machine.growing(machine.imagined(state, step, helpful=True) for step in steps)
            if machine.form.lacks(state, outcomes, growing) == inf:
                return False
    return True
