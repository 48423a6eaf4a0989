"""What a guard knows of its session, as one immutable value.

A call that may run is *out* until its tool has returned. Nobody knows yet whether it will count: if the tool fails, the
call is taken back as if it had never been made. So a session under guard is where it would be if every call that is out
failed (`settled`), and a log of what has happened since the first of them. What is certain moves from the log into
`settled` as soon as nothing uncertain stands before it, so a session is as large as what is under way, however long it
has run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from accord.integrations.guard.plain import plainly
from accord.ledger.represent import own_copy
from accord.machine.events import Event

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.canonical import Json
    from accord.machine.clocks import Time
    from accord.monitor.step import Situation

__all__ = [
    "EMPTY_DESK",
    "Desk",
    "Done",
    "Firm",
    "Logged",
    "Out",
    "Passing",
    "Restart",
    "Review",
    "ReviewState",
    "State",
    "Step",
]

ReviewState = Literal["open", "allowed", "denied", "used"]


class Passing(NamedTuple):
    """Time passes until then."""

    at: Time


class Restart(NamedTuple):
    """The protocol is over and begins again then."""

    at: Time | None


Step = Event | Passing | Restart


class Firm(NamedTuple):
    """Something that has happened for certain."""

    step: Step


class Out(NamedTuple):
    """A call that may run and has not returned.

    `events` are the approvals it uses up and the call itself. `started` says that somebody has begun to run it, so
    nobody else may; `kept` that it counts even if it fails. `reviews` are the numbers of the reviews it uses up.
    """

    ticket: str
    name: str
    digest: str
    events: tuple[Event, ...]
    started: bool
    kept: bool
    reviews: tuple[int, ...] = ()

    def copy(self) -> Out:
        """The same with payloads of its own."""
        copies = [event._replace(payload=own_copy(event.payload)) for event in self.events]  # type: ignore[arg-type] # a mapping
        return self._replace(events=tuple(copies))


Logged = Firm | Out


class Done(NamedTuple):
    """A call that has run, and what it was: how its digest begins."""

    ticket: str
    digest: str


class Review(NamedTuple):
    """A question to a person: may this action happen, with exactly this payload?

    `name` is the tool, `label` what the contract calls it. `gate` is the label of the step a person makes by allowing
    it; a review without a gate asks whether an agent that tries the same refused call over and over may go on.
    `modified` is the payload that a person has put in its place. Its id names its number and, by the digest, action and
    payload, so that it cannot be taken for another one.
    """

    number: int
    name: str
    label: str
    payload: Mapping[str, Json]
    digest: str
    gate: str | None
    opened: Time | None = None
    expires: Time | None = None
    state: ReviewState = "open"
    by: str | None = None
    reason: str | None = None
    decided: Time | None = None
    modified: Mapping[str, Json] | None = None

    @property
    def id(self) -> str:
        """Its name, in its session."""
        return f"{self.number}-{self.digest[:8]}"

    def copy(self) -> Review:
        """The same with payloads of its own: whoever edits them changes what nobody else sees."""
        modified = None if self.modified is None else plainly(self.modified)
        return self._replace(payload=plainly(self.payload), modified=modified)

    def is_over(self, at: Time | None) -> bool:
        """Whether its time is over."""
        return self.expires is not None and at is not None and at >= self.expires


class Desk(NamedTuple):
    """What a guard keeps beside the session itself.

    `refusals` counts, for each label, how often it was refused since it was last accepted. `stopped` says why nothing
    runs any more. `numbered` is the number of reviews and of calls without an
    id so far. `heard` are the last messages of a conversation that the session knows, by digests of their ids.
    """

    done: tuple[Done, ...] = ()
    refusals: tuple[tuple[str, int], ...] = ()
    reviews: tuple[Review, ...] = ()
    stopped: str | None = None
    numbered: int = 0
    now: Time | None = None
    heard: tuple[str, ...] = ()


EMPTY_DESK = Desk()


class State(NamedTuple):
    """Everything a guard knows."""

    settled: Situation
    log: tuple[Logged, ...] = ()
    desk: Desk = EMPTY_DESK

    def out(self, ticket: str) -> Out | None:
        """The call with that ticket, if it is out."""
        for logged in self.log:
            if type(logged) is Out and logged.ticket == ticket:
                return logged
        return None
