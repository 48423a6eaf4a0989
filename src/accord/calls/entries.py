"""What has happened in a session since the first call that is still out: things that are certain, and calls.

A call that is out counts or does not, and may have any end. What its failure means stands in the contract: it is taken
back (`undone`), it has happened (`done`), or nobody knows (`unknown`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from accord.ledger.represent import own_copy
from accord.machine.events import Event

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.calls.footprint import Footprint
    from accord.machine.clocks import Time

__all__ = ["End", "Failure", "Firm", "Logged", "Out", "Passing", "Restart", "Step"]

Failure = Literal["undone", "done", "unknown"]


class Passing(NamedTuple):
    """Time passes until then."""

    at: Time


class Restart(NamedTuple):
    """The protocol is over and begins again then."""

    at: Time | None


Step = Event | Passing | Restart


class End(NamedTuple):
    """An end that a call can have: the label of its event, and whether it is for the rules alone."""

    label: str
    to_rules: bool = False


class Firm(NamedTuple):
    """Something that has happened for certain. `touches` is what it can change; `None` if that may be anything."""

    step: Step
    touches: Footprint | None = None


class Out(NamedTuple):
    """A call that may run, or has run without anybody knowing what became of it.

    `events` are the approvals it uses up and the call itself; there are none if no clause of the contract looks at it.
    `ends` are the ends it can have. `started` says that somebody has begun to run it, so nobody else may. `reviews` are
    the numbers of the reviews it uses up. `lost` says why nobody knows what became of it; `None` while it is running.
    `touches` as above.
    """

    ticket: str
    name: str
    arguments: Mapping[str, Any]
    digest: str
    events: tuple[Event, ...]
    started: bool
    failure: Failure = "undone"
    reviews: tuple[int, ...] = ()
    lost: str | None = None
    ends: tuple[End, ...] = ()
    touches: Footprint | None = None

    @property
    def is_seen(self) -> bool:
        """Whether the contract has a label for it or for its end, so that another call can have to wait for it."""
        return bool(self.events or self.ends)

    def copy(self) -> Out:
        """The same with payloads of its own."""
        copies = [event._replace(payload=own_copy(event.payload)) for event in self.events]  # type: ignore[arg-type] # a mapping
        return self._replace(arguments=own_copy(self.arguments), events=tuple(copies))  # type: ignore[arg-type] # the same


Logged = Firm | Out
