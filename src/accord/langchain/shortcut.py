"""The short way of a step: one call is asked for, and returns, while nothing else is out and nothing was refused.

That is what most steps of most agents are, and then very little has to be looked at: where the session goes is known
from its stage, as soon as some session has been there before. INVARIANT: what is made here is what the long way (the
functions of `guard.reserving`) makes of the same state; where that is not certain, the answer is `None`, and whoever
asks takes the long way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.calls.entries import Out
from accord.calls.footprint import located
from accord.integrations.guard.ending import remember_done
from accord.integrations.guard.reviewing import digest_of
from accord.integrations.guard.state import State
from accord.monitor.quick import quick_step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.integrations.batch import Claim
    from accord.integrations.guard.policy import Policy
    from accord.monitor.step import Situation

__all__ = ["reserve_one", "settle_one"]


def reserve_one(policy: Policy, state: State, claim: Claim) -> State | None:
    """The state in which one call is out."""
    settled, log, desk = state
    ticket, arguments = claim.call.id, claim.arguments
    if log or desk.refusals or desk.idle or desk.reviews or desk.stopped is not None or desk.now is not None:
        return None
    if claim.fault is not None or arguments is None or not ticket or ticket in [done.ticket for done in desk.done]:
        return None
    name, tools = claim.call.name, policy.tools
    event = tools.call(name, arguments, None).event
    if event is None or quick_step(settled, event) is None:
        return None
    failure = tools.failure(name, event.label)
    digest, ends = digest_of(tools.label(name), arguments), tools.ends(name, failure)
    out = Out(ticket, name, arguments, digest, (event,), started=False, failure=failure, ends=ends)
    return State(settled, (located(settled.stage.stages, out),), desk)


def settle_one(policy: Policy, state: State, ticket: str, result: Mapping[str, object]) -> State | None:
    """The state in which the one call that is out has returned."""
    settled, log, desk = state
    if len(log) != 1 or desk.now is not None:
        return None
    (out,) = log
    if type(out) is not Out or out.ticket != ticket or len(out.events) != 1:
        return None
    event = out.events[0]
    after: Situation | None = quick_step(settled, event)
    end = None if after is None else policy.tools.end(out, result, failed=False, at=None)
    if after is not None and end is not None:
        after = quick_step(after, end)
    return None if after is None else State(after, (), remember_done(desk, out))
