"""One step of a session, as a pure function: where it was and what happens, to where it is and the verdict.

A session is either at a `Standing` of its machine, running, or `Aside`: halted, closed, or waiting for a word that
can be recognised. Both offer `sends` and `receives`, so the monitor's fast path need not know which it has: a session
that accepts nothing has empty ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from accord.language.labels import print_word
from accord.machine.standing import Standing, TooManyConfigurationsError
from accord.monitor.verdicts import (
    CLOSING,
    OK,
    UNRECOGNIZED,
    Blocked,
    Refusal,
    Unrecognized,
    Violation,
)

if TYPE_CHECKING:
    from accord.language.tree import Direction
    from accord.monitor.verdicts import Verdict

__all__ = ["Aside", "Event", "Mode", "Phase", "Place", "Status", "close", "status", "step"]

Mode = Literal["halt", "refuse"]
Status = Literal["running", "complete", "violated", "incomplete", "unrecognised"]
Phase = Literal["running", "puzzled", "violated", "complete", "incomplete", "unrecognised"]

HALTED = Blocked("monitor halted after a previous violation")
CLOSED = Blocked("the session is closed")

_Links = dict[str, tuple[tuple[str], Standing]]


class Event(NamedTuple):
    """Something that is said to happen."""

    direction: Direction
    label: str
    partner: str | None = None

    @property
    def word(self) -> str:
        """As it stands in a trace."""
        return print_word(self.direction, self.label, self.partner)


@dataclass(frozen=True, slots=True)
class Aside:
    """A session that is not simply running.

    `puzzled`: the last word was not recognised; everything else is as in `standing`. `violated`: halted. `complete`,
    `incomplete`, `unrecognised`: closed, with that outcome.
    """

    standing: Standing
    phase: Phase
    sends: _Links = field(default_factory=dict)
    receives: _Links = field(default_factory=dict)


Place = Standing | Aside


def puzzled(standing: Standing) -> Aside:
    """The session waits for a word that can be recognised."""
    return Aside(standing, "puzzled", standing.sends, standing.receives)


def standing_of(place: Place) -> Standing:
    """Where the protocol stands, whatever else is the matter."""
    return place if isinstance(place, Standing) else place.standing


def status(place: Place) -> Status:
    """The session's status."""
    if isinstance(place, Aside) and place.phase not in {"running", "puzzled"}:
        return place.phase  # type: ignore[return-value] # the two others are excluded
    return "complete" if standing_of(place).complete else "running"


def step(place: Place, event: Event, mode: Mode, position: int | None = None) -> tuple[Place, Verdict]:
    """Where a session is after an event, and the verdict on it; `position` is where the event stands in the trace.

    Raises `UsageError` if the event leaves open which partner it is with.
    """
    if isinstance(place, Aside) and place.phase != "puzzled":
        return place, HALTED if place.phase == "violated" else CLOSED
    standing = standing_of(place)
    reason = ""
    try:
        after = standing.follow(*event)
    except TooManyConfigurationsError as error:
        after, reason = None, str(error)
    if after is not None:
        return after, OK
    if event.label == UNRECOGNIZED and not reason:
        direction: Literal["send", "receive"] = "send" if event.direction == "!" else "receive"
        return puzzled(standing), Unrecognized(standing.allowed, direction)
    refused = place if mode == "refuse" else Aside(standing, "violated")
    return refused, violation(Refusal(standing, *event, reason), event.word, position)


def close(place: Place, position: int | None = None) -> tuple[Place, Verdict]:
    """A session that is told that nothing more will come; closing is final in both modes."""
    standing = standing_of(place)
    if isinstance(place, Aside):
        if place.phase == "violated":
            return place, HALTED
        if place.phase in {"puzzled", "unrecognised"}:
            return Aside(standing, "unrecognised"), Unrecognized(standing.allowed, "receive")
    if standing.complete:
        return Aside(standing, "complete"), OK
    return Aside(standing, "incomplete"), violation(Refusal(standing, None), CLOSING, position)


def violation(refusal: Refusal, got: str, position: int | None) -> Violation:
    """A refusal as the caller sees it."""
    standing = refusal.standing
    name = standing.standings.machine.name
    return Violation(
        standing.allowed,
        got,
        contract=name or "",
        clause=f"protocol {name}" if name else "protocol",
        state=standing.number,
        position=position,
        _refusal=refusal,
    )
