"""What the user and the agent say, as events of a contract.

The contract's `events` block says which text is which event. Text that it does not name is none. Text that is named
and not legal now is written down with its verdict and changes nothing: nobody can unsay it, and it blocks nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.errors import UsageError
from accord.integrations.guard.decisions import Change, Noted
from accord.integrations.guard.reserving import happen_then
from accord.language.events import Says
from accord.ledger.attempts import Given
from accord.monitor.events import make_event
from accord.monitor.verdicts import OK, Blocked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.integrations.guard.policy import Policy
    from accord.integrations.guard.state import State
    from accord.language.events import Speaker
    from accord.machine.clocks import Time
    from accord.machine.contract import Contract
    from accord.machine.events import Event
    from accord.monitor import Verdict

__all__ = ["event_of_text", "hears", "labels_said_by_user", "say"]


class _Text(NamedTuple):
    """A text as a labeller looks at it."""

    kind: Speaker
    text: str
    payload: Mapping[str, object]
    name: None = None
    answers: None = None
    labelled: bool = False


def event_of_text(
    contract: Contract, protocol: str | None, kind: Speaker, text: str, by: str | None = None, at: Time | None = None
) -> Event | None:
    """The event that a text is; `None` if the contract does not speak of it.

    If only rules name it, it is for the rules alone.
    """
    text = text.encode("utf-8", "replace").decode()  # halves of surrogate pairs cannot be written down
    payload = {"text": text}
    found = contract.labeller.label(_Text(kind, text, payload))
    if found is None or found.label is None:
        return None
    stages = contract.stages(protocol)
    named = (found.direction, found.label)
    machine = (stages.standings if stages.sliced is None else stages.sliced.standings).machine
    to_rules = named not in machine.by_event
    if to_rules and not any(named in rule.watched for rule in stages.book.machines):
        return None
    event = make_event(found.direction, found.label, payload, None, by or found.by, at)
    return event._replace(to_rules=to_rules)


def hears(contract: Contract, kind: Speaker) -> bool:
    """Whether some text of that speaker can be an event."""
    return any(label.label is not None for _, label in contract.labeller.candidates(kind, None))


def labels_said_by_user(contract: Contract) -> frozenset[str]:
    """The labels of what the user says: nobody else is asked for these steps."""
    lines = contract.labeller.lines or ()
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
