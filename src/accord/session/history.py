"""The rules of a contract over the messages of a whole session.

In a session a message happens when it is sent: a bare label in a rule means that, `?label` (and `label by human`) that
it was received. So the rules run as those of any monitor, over a contract that has nothing but them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from accord.choreography.compiling import compile_contract
from accord.language.rules import (
    After,
    AfterForbid,
    AtMost,
    Before,
    Combination,
    Count,
    ForbidSequence,
    Happened,
    Not,
    Within,
)
from accord.language.tree import Document
from accord.machine.contract import Contract

if TYPE_CHECKING:
    from accord.language.rules import Condition, Pattern, RuleBody

__all__ = ["rules_of"]


def rules_of(contract: Contract) -> Contract | None:
    """The contract of the rules alone, made once; `None` if there are none."""
    if not contract.document.rules:
        return None
    known = contract.kept.get(("rules", ""))
    if not isinstance(known, Contract):
        rules = tuple(replace(rule, body=_sent(rule.body)) for rule in contract.document.rules)
        known = compile_contract(Document(rules), limits=contract.limits)
        contract.kept["rules", ""] = known
    return known


def _sent(body: RuleBody) -> RuleBody:
    if isinstance(body, Before | After | Within):
        return replace(body, trigger=_message(body.trigger), condition=_condition(body.condition))
    if isinstance(body, AfterForbid):
        return replace(body, trigger=_message(body.trigger), forbidden=_message(body.forbidden))
    if isinstance(body, AtMost):
        return replace(body, pattern=_message(body.pattern))
    assert isinstance(body, ForbidSequence)  # noqa: S101 - for the type checker
    return replace(body, patterns=tuple(map(_message, body.patterns)))


def _message(pattern: Pattern) -> Pattern:
    # Only what reaches somebody can be a person's step.
    return pattern if pattern.direction else replace(pattern, direction="?" if pattern.gated else "!")


def _condition(condition: Condition) -> Condition:
    if isinstance(condition, Happened | Count):
        return replace(condition, pattern=_message(condition.pattern))
    if isinstance(condition, Not):
        return replace(condition, condition=_condition(condition.condition))
    assert isinstance(condition, Combination)  # noqa: S101 - for the type checker
    return replace(condition, conditions=tuple(map(_condition, condition.conditions)))
