"""What a failed call means where the contract does not say: worked out from its protocols and rules.

A call that a limit counts, or that uses up somebody's approval, may have happened although it failed, and to take it
for undone would let it happen once more than was allowed: it is `unknown`. Any other may simply be tried again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.language.rules import After, AtMost, Before, Combination, Count, Happened, Not, Within
from accord.machine.tables import Fork

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from accord.language.rules import Condition, Pattern, Rule
    from accord.language.tools import Failure, Tools
    from accord.machine.tables import Machine

__all__ = ["COUNTED", "NEEDS_APPROVAL", "FailureMeaning", "meaning_of", "unknown_labels"]

COUNTED = "a limit counts it"
NEEDS_APPROVAL = "it needs an approval"


class FailureMeaning(NamedTuple):
    """What a failed call means. `default` says why, where the contract does not say it; else it is `None`."""

    fails: Failure
    default: str | None = None


def meaning_of(tools: Tools | None, unknown: dict[str, str], tool: str, label: str | None) -> FailureMeaning:
    """What it means if a call of that tool fails, whose event has that label."""
    said = None if tools is None else tools.named.get(tool, tools.otherwise)
    if said is not None:
        return FailureMeaning(said)
    why = None if label is None else unknown.get(label)
    return FailureMeaning("undone", "") if why is None else FailureMeaning("unknown", why)


def unknown_labels(machines: Iterable[Machine], rules: Iterable[Rule]) -> dict[str, str]:
    """The labels of calls that may have happened although they failed, each with the reason."""
    machines, rules = tuple(machines), tuple(rules)
    gates = {symbol.label for machine in machines for symbol in machine.symbols if symbol.gated}
    found = {label: NEEDS_APPROVAL for machine in machines for label in _behind_gates(machine)}
    for rule in rules:
        body = rule.body
        if isinstance(body, Before) and body.trigger.direction != "?":
            required = _patterns(body.condition)
            if any(pattern.gated or (pattern.direction != "!" and pattern.label in gates) for pattern in required):
                found[body.trigger.label] = NEEDS_APPROVAL
    for rule in rules:
        found |= dict.fromkeys(_counted(rule), COUNTED)
    return found


def _patterns(condition: Condition) -> Iterator[Pattern]:
    todo: list[Condition] = [condition]
    while todo:
        part = todo.pop()
        if isinstance(part, Happened | Count):
            yield part.pattern
        else:
            todo += [part.condition] if isinstance(part, Not) else part.conditions


def _counted(rule: Rule) -> Iterator[str]:
    """The labels that an `at most` counts, as a rule or in a condition."""
    body = rule.body
    if isinstance(body, AtMost):
        yield body.pattern.label
    todo: list[Condition] = [body.condition] if isinstance(body, Before | After | Within) else []
    while todo:
        part = todo.pop()
        if isinstance(part, Count) and part.bound == "at most":
            yield part.pattern.label
        elif isinstance(part, Not):
            todo.append(part.condition)
        elif isinstance(part, Combination):
            todo += part.conditions


def _behind_gates(machine: Machine) -> set[str]:
    """The labels that can be sent right after a person's step; what is received in between does not matter.

    A place is a state, the states that go on after the interleavings around it, and whether a person's step was made
    since the last message was sent.
    """
    found: set[str] = set()
    first: tuple[int, tuple[int, ...], bool] = (0, (), False)
    seen, todo = {first}, [first]
    while todo:
        number, joins, approved = todo.pop()
        state = machine.states[number]
        following: list[tuple[int, tuple[int, ...], bool]] = []
        if isinstance(state, Fork):
            following += [(part, (*joins, state.join), approved) for part in state.parts]
        else:
            for index, target in state.edges:
                symbol = machine.symbols[index]
                if symbol.direction == "!" and approved:
                    found.add(symbol.label)
                following.append((target, joins, symbol.gated or (approved and symbol.direction == "?")))
            if state.late is not None:
                following.append((state.late.target, joins, approved))
        if state.stop == "end" and joins:
            following.append((joins[-1], joins[:-1], approved))
        todo += [place for place in following if place not in seen]
        seen.update(following)
    return found
