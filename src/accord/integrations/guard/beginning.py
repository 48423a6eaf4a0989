"""Where a session begins, and how its guard decides: worked out once for all guards of a contract that are set alike.

A server makes a guard for each conversation, all of one contract. INVARIANT: nothing in here changes but for what is
remembered of the contract; what a guard does stands in its own state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.calls.nodes import nodes_of
from accord.integrations.guard.options import make_policy
from accord.integrations.guard.state import Desk, State
from accord.monitor.step import begin
from accord.projection.projection import projection_of

if TYPE_CHECKING:
    from accord.calls.nodes import Nodes
    from accord.integrations.guard.options import Options
    from accord.integrations.guard.policy import Policy
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract

__all__ = ["Beginning", "beginning_of"]

_KEPT = "beginnings", ""
_MOST_KEPT = 256


class Beginning(NamedTuple):
    """`state` is where a session begins without a clock; `clean` are sets of tools that suit the contract."""

    policy: Policy
    state: State | None
    nodes: Nodes
    clean: set[frozenset[str]]

    def at(self, at: Time | None) -> State:
        """Where a session begins that begins then."""
        if at is None and self.state is not None:
            return self.state
        return State(begin(self.policy.contract, self.policy.protocol, at), desk=Desk(now=at))


def beginning_of(contract: Contract, protocol: str | None, options: Options) -> Beginning:
    """How sessions of a contract begin under guards that are set like this; `UsageError` if they cannot be."""
    key = _key(protocol, options)
    if key is None:
        return _begin(contract, protocol, options)
    known: dict[object, Beginning] = contract.kept.setdefault(_KEPT, {})  # type: ignore[assignment] # only we keep it
    found = known.get(key)
    if found is None:
        found = _begin(contract, protocol, options)
        if len(known) < _MOST_KEPT:  # protocols and bounds on patience may come from anywhere
            known[key] = found
    return found


def _key(protocol: str | None, options: Options) -> object:
    """What tells guards apart that can share anything; `None` for those that are set in other ways."""
    violation, labels, patience, escalate, lasts, when_over, events = options
    if (
        labels
        or lasts is not None
        or type(events) is not tuple
        or events
        or type(violation) is not str
        or type(patience) is not int  # `True` would be found under 1
        or type(escalate) is not str
        or type(when_over) is not str
    ):
        return None
    return protocol, violation, patience, escalate, when_over


def _begin(contract: Contract, protocol: str | None, options: Options) -> Beginning:
    policy = make_policy(contract, protocol, options)
    state = None if policy.is_timed else State(begin(contract, protocol, None))
    return Beginning(policy, state, nodes_of(projection_of(contract, protocol)), set())
