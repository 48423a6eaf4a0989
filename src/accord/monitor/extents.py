"""Time and instances as JSON values and back. Reading checks everything it is given.

Deadlines are kept as the absolute times at which they are due, so a session can rest as long as it likes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from immutables import Map

from accord.canonical import encode
from accord.errors import UsageError
from accord.machine.clocks import time_of
from accord.machine.dues import NOTHING_DUE
from accord.machine.extent import Extent
from accord.machine.rule_forms import RuleState
from accord.machine.slices import Course, RuleSlice, is_key
from accord.monitor.holdings import (
    configuration_from_json,
    configuration_to_json,
    frozen_from_json,
    frozen_to_json,
    holding_from_json,
    holding_to_json,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from accord.canonical import Json
    from accord.language.values import Frozen
    from accord.machine.rules import RuleMachine, RuleNode
    from accord.machine.slices import Instance, SlicedProtocol, SlicedRule
    from accord.machine.stages import Stages
    from accord.machine.standing import Standing

__all__ = ["extent_from_json", "extent_to_json", "rule_from_json", "rule_to_json"]


def _damaged(what: str) -> UsageError:
    return UsageError(f"the snapshot is damaged: {what}")


def extent_to_json(extent: Extent) -> Json:
    """What a session holds beyond its stage."""
    body: dict[str, Json] = {"now": extent.now, "registers": holding_to_json(extent.registers)}
    if extent.course is not None:
        body["course"] = _by_key(
            [frozen_to_json(key), [configuration_to_json(c) for c in standing.configurations], holding_to_json(held)]
            for key, (standing, held) in extent.course.instances.items()
        )
    body["slices"] = [
        [held.called, _by_key([frozen_to_json(key), rule_to_json(n.state)] for key, n in held.instances.items())]
        for held in extent.slices
    ]
    return body


def _by_key(instances: Iterable[list[Json]]) -> list[Json]:
    """Instances in an order that does not depend on the process, so that equal sessions have equal snapshots."""
    return [*sorted(instances, key=lambda instance: encode(instance[0]))]


def extent_from_json(value: object, stages: Stages, standing: Standing) -> Extent:
    """What a session holds whose protocol stands there."""
    fields = {"now", "registers", "slices", *(["course"] if stages.sliced else [])}
    if not isinstance(value, dict) or set(value) != fields:
        raise _damaged("it does not hold what sessions of this contract hold")
    now = time_of(value["now"])
    if now is None and value["now"] is not None:
        raise _damaged("it was taken at no time")
    registers = holding_from_json(value["registers"], standing)
    slices = value["slices"]
    if not isinstance(slices, list) or len(slices) != len(stages.sliced_rules):
        raise _damaged("it has other slices than the contract")
    course = _course(value["course"], stages.sliced) if stages.sliced else None
    rules = tuple(_rule_slice(one, rule) for one, rule in zip(slices, stages.sliced_rules, strict=True))
    return Extent(registers, now, course, rules)


def _entries(value: object, length: int, most: int) -> list[list[object]]:
    if not isinstance(value, list) or len(value) > most:
        raise _damaged("it has no instances, or too many")
    for entry in value:
        if not isinstance(entry, list) or len(entry) != length:
            raise _damaged("it has something that is no instance")
    return value


def _key(value: object, known: Collection[Frozen]) -> Frozen:
    """The key of an instance that is not yet known."""
    key = frozen_from_json(value)
    if not is_key(key) or key in known:
        raise _damaged("an instance has no key, or one that another has")
    return key


def _course(value: object, sliced: SlicedProtocol) -> Course:
    standings = sliced.standings
    limits = standings.limits
    instances: dict[Frozen, Instance] = {}
    for key, configurations, holding in _entries(value, 3, limits.instances):
        if not isinstance(configurations, list) or not 0 < len(configurations) <= limits.configurations:
            raise _damaged("an instance stands nowhere")
        places = frozenset(
            configuration_from_json(c, standings.machine, limits.interleaving_depth) for c in configurations
        )
        standing = standings.at(places)
        instances[_key(key, instances)] = standing, holding_from_json(holding, standing)
    return sliced.course_of(Map(instances))


def _rule_slice(value: object, rule: SlicedRule) -> RuleSlice:
    most_called = 1 << len(rule.machine.bits)
    if not isinstance(value, list) or len(value) != 2 or type(value[0]) is not int or not 0 <= value[0] < most_called:
        raise _damaged("it has other slices than the contract")
    instances: dict[Frozen, RuleNode] = {}
    owing = timed = 0
    dues = NOTHING_DUE
    for key, state in _entries(value[1], 2, rule.most):
        node = rule_from_json(state, rule.machine)
        if node.state == rule.machine.start.state or node.state.called:
            raise _damaged("an instance of a rule has nothing to remember")
        frozen = _key(key, instances)
        instances[frozen] = node
        owing += node.owes
        if node.state.due is not None:
            timed += 1
            dues = dues.with_due(node.state.due, frozen)
    return RuleSlice(Map(instances), owing, timed, dues, value[0])


def rule_to_json(state: RuleState) -> Json:
    """The state of a rule."""
    counts: list[Json] = list(state.counts)
    return [state.called, counts, state.extra, *([] if state.due is None else [state.due])]


def rule_from_json(value: object, machine: RuleMachine) -> RuleNode:
    """The node of a rule in that state."""
    damaged = _damaged(f'rule "{machine.rule.name}" cannot be in that state')
    if not isinstance(value, list) or not 3 <= len(value) <= 4 or not isinstance(value[1], list):
        raise damaged
    called, counts, extra, *due = value
    numbers = [called, extra, *counts]
    if len(counts) != len(machine.atoms) or any(type(number) is not int or number < 0 for number in numbers):
        raise damaged
    time = time_of(due[0]) if due else None
    state = RuleState(called, tuple(counts), extra, time)
    if (due and time is None) or not machine.may_be_in(state):
        raise damaged
    return machine.node(state)
