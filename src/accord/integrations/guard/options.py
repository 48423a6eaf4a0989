"""How a guard is set by its owner: checked, and made a policy. Whoever guards anything goes through here."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.errors import UsageError
from accord.integrations.guard.policy import Policy, gates_of
from accord.integrations.guard.speaking import labels_said_by_user
from accord.integrations.guard.tool_events import tool_events
from accord.language.labels import normalise
from accord.monitor.events import make_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accord.integrations.guard.policy import Escalation, WhenOver
    from accord.integrations.guard.session import OnViolation
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract

__all__ = ["Options", "check_when_over", "duration", "make_policy", "reported"]

_POLICIES = ("block", "raise", "observe")


class Options(NamedTuple):
    """What can be chosen, by the names that `Guard` has for it."""

    on_violation: OnViolation
    labels: Mapping[str, str]
    patience: int
    escalate: Escalation
    review_lasts: Time | None
    when_over: WhenOver = "refuse"
    events: Iterable[str] = ()


def make_policy(contract: Contract, protocol: str | None, options: Options) -> Policy:
    """The policy of a contract under a guard that is set like this; `UsageError` if it cannot be."""
    _check(options)
    stages = contract.stages(protocol)
    names = _labels(options.labels)
    said = labels_said_by_user(contract)
    people = gates_of(contract, protocol)
    return Policy(
        contract=contract,
        protocol=stages.name,
        tools=tool_events(contract, protocol, lambda name: normalise(names.get(name, name))),
        gates=tuple(gate for gate in people if gate not in said),
        patience=options.patience,
        escalate=options.escalate,
        review_lasts=duration("review_lasts", options.review_lasts),
        observes=options.on_violation == "observe",
        is_timed=stages.is_timed,
        when_over=options.when_over,
        aliases=_by_label(names),
        raises=options.on_violation == "raise",
        people=frozenset(people),
        reports=reported(options.events),
    )


def duration(name: str, given: Time | None) -> Time | None:
    """A number of seconds; `None` if none is given."""
    lasts = make_time(given)
    if lasts is not None and not 0 < lasts < float("inf"):
        raise UsageError(f"`{name}` is a number of seconds, got {given!r}")
    return lasts


def check_when_over(given: object) -> WhenOver:
    """What happens when a protocol is over; `UsageError` if that is none of ours."""
    if given not in ("refuse", "restart"):
        raise UsageError(f"`when_over` is `refuse` or `restart`, got {given!r}")
    return given


def reported(events: Iterable[str]) -> frozenset[str]:
    """The labels of what the program reports; `UsageError` if they are no names."""
    given = [] if isinstance(events, str) else list(events)
    if isinstance(events, str) or not all(isinstance(name, str) and name for name in given):
        raise UsageError(f'`events` are the names of events that the program reports, as ["Order"], got {events!r}')
    return frozenset(map(normalise, given))


def _labels(labels: Mapping[str, str]) -> dict[str, str]:
    names = dict(labels)
    for name, label in names.items():
        if type(name) is not str or type(label) is not str or not label:
            raise UsageError(f"`labels` gives each name of a tool a label, got {name!r} and {label!r}")
    return names


def _by_label(names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    tools: dict[str, tuple[str, ...]] = {}
    for name, label in names.items():
        tools[normalise(label)] = (*tools.get(normalise(label), ()), name)
    return tools


def _check(options: Options) -> None:
    given = options.on_violation
    if given not in _POLICIES and not callable(given):
        raise UsageError(f"`on_violation` is `block`, `raise`, `observe` or a function, got {given!r}")
    if type(options.patience) is not int or options.patience < 1:
        raise UsageError(f"`patience` is a number of turns, got {options.patience!r}")
    if options.escalate not in {"stop", "review"}:
        raise UsageError(f"`escalate` is `stop` or `review`, got {options.escalate!r}")
    check_when_over(options.when_over)
