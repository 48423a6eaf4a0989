"""A call that goes out: what is known of it before it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from accord.calls.entries import End, Out

if TYPE_CHECKING:
    from accord.machine.events import Event
    from accord.projection.happenings import Happened
    from accord.projection.projection import Projection

__all__ = ["out_of"]


def out_of(projection: Projection, call: Happened, event: Event | None, *, ticket: str, group: str = "") -> Out | None:
    """A call that runs; `None` if neither it nor its end is anybody's business.

    `event` is what it is to the contract. `group` tells apart what was asked for together.
    """
    name = call.name or ""
    failure = projection.contract.failure_of(name, None if event is None else event.label)
    ends = tuple([End(end.label, end.to_rules) for end in projection.ends(name, failure)])
    if event is None and not ends:
        return None
    arguments, events = (call.payload, ()) if event is None else (event.payload, (event,))
    return Out(ticket, name, arguments, group, events, started=True, failure=failure, ends=ends)
