"""What the user and the agent say, as events of a contract.

The contract's `events` block says which text is which event. Text that it does not name is none. Text that is named
and not legal now is written down with its verdict and changes nothing: nobody can unsay it, and it blocks nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.errors import UsageError
from accord.integrations.guard.decisions import Change, Noted
from accord.integrations.guard.reserving import happen_then
from accord.language.events import Says
from accord.ledger.attempts import Given
from accord.monitor.verdicts import OK, Blocked
from accord.projection.happenings import Happening
from accord.projection.labels import labeller_of
from accord.projection.projection import projection_of

if TYPE_CHECKING:
    from accord.integrations.guard.policy import Policy
    from accord.integrations.guard.state import State
    from accord.language.events import Speaker
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.machine.events import Event
    from accord.monitor import Verdict

__all__ = ["event_of_text", "hears", "labels_said_by_user", "say"]


def event_of_text(
    contract: Contract, protocol: str | None, kind: Speaker, text: str, by: str | None = None, at: Time | None = None
) -> Event | None:
    """The event that a text is; `None` if it is none."""
    text = text.encode("utf-8", "replace").decode()  # halves of surrogate pairs cannot be written down
    return projection_of(contract, protocol).event(Happening(kind, value=text, by=by, at=at)).event


def hears(contract: Contract, protocol: str | None, kind: Speaker) -> bool:
    """Whether some text of that speaker can be an event."""
    possible = projection_of(contract, protocol).possible(kind, None)
    return any(projected.event is not None for _, projected in possible)


def labels_said_by_user(contract: Contract) -> frozenset[str]:
    """The labels of what the user says: nobody else is asked for these steps."""
    lines = labeller_of(contract).lines or ()
    said = [line for line in lines if isinstance(line.origin, Says) and line.origin.kind == "user"]
    return frozenset(line.label for line in said if line.label is not None)


def say(
    policy: Policy,
    state: State,
    kind: Speaker,
    text: str,
    by: str | None,
    at: Time | None,
    meta: dict[str, object] | None = None,
) -> Change[Verdict]:
    """Something is said: the session after it, and the verdict; `Ok` if it is no event."""
    event = event_of_text(policy.contract, policy.protocol, kind, text, by, at)
    if event is None:
        return Change(state, (), OK)
    try:
        return happen_then(policy, state, event, meta)
    except UsageError as error:  # a value that cannot be compared
        verdict = Blocked(str(error))
        given = Given(event.direction, event.label, event.payload, None, event.by, at, meta)
        return Change(state, (Noted(given, verdict),), verdict)
