"""How a guard decides: the contract, and what its owner has chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from accord.machine.standing import OpenStanding

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.machine.clocks import Time
    from accord.machine.contract import Contract

__all__ = ["Escalation", "Policy", "gates_of", "listens_for"]

Escalation = Literal["stop", "review"]


class Policy(NamedTuple):
    """What does not change while a guard lives.

    `results` are the labels whose results are events of the contract, `gates` those of steps that people make. `unfit`
    says why a tool would not be called with exactly these arguments, `None` if it would. `tools` are those that were
    given labels of their own, by these.
    """

    contract: Contract
    protocol: str | None
    label: Callable[[str], str]
    unfit: Callable[[str, Mapping[str, object]], str | None]
    results: frozenset[str]
    gates: tuple[str, ...]
    patience: int
    escalate: Escalation
    keep_failed: bool
    review_lasts: Time | None
    observes: bool
    is_timed: bool
    tools: Mapping[str, tuple[str, ...]]


def listens_for(contract: Contract, protocol: str | None) -> frozenset[str]:
    """The labels whose results the contract speaks of: in its protocol or, where it has none, in its rules.

    A protocol refuses what it does not name, so the result of a tool whose answers it leaves out is no event.
    """
    stages = contract.stages(protocol)
    machine = (stages.standings if stages.sliced is None else stages.sliced.standings).machine
    if contract.machines:
        return frozenset(symbol.label for symbol in machine.symbols if symbol.direction == "?" and not symbol.gated)
    watched = (event for rule in stages.book.machines for event in rule.watched)
    assert isinstance(stages.start.standing, OpenStanding)  # noqa: S101 - rules alone
    return frozenset(label for direction, label in watched if direction == "?")


def gates_of(contract: Contract, protocol: str | None) -> tuple[str, ...]:
    """The labels of all steps that a person makes, sorted."""
    stages = contract.stages(protocol)
    machine = (stages.standings if stages.sliced is None else stages.sliced.standings).machine
    found = {symbol.label for symbol in machine.symbols if symbol.gated}
    found.update(pattern.label for rule in stages.book.machines for pattern in rule.patterns if pattern.gated)
    return tuple(sorted(found))
