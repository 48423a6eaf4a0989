"""What a guard knows of its session, as one immutable value.

A call that may run is *out* until its tool has returned. Nobody knows yet whether it will count: if the tool fails, the
call is taken back as if it had never been made. So a session under guard is where it would be if every call that is out
failed (`settled`), and a log of what has happened since the first of them. What is certain moves from the log into
`settled` as soon as nothing uncertain stands before it, so a session is as large as what is under way, however long it
has run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from accord.calls.entries import Out
from accord.calls.state import Calls
from accord.projection.plain import plainly

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.calls.entries import Logged
    from accord.canonical import Json
    from accord.machine.clocks import Time
    from accord.monitor.step import Situation

__all__ = ["EMPTY_DESK", "RECOGNISED", "REMEMBERED", "Desk", "Done", "Review", "ReviewState", "State"]

ReviewState = Literal["open", "allowed", "denied", "used"]

REMEMBERED = 64
"""Calls that have run are known by their id until so many others have."""
RECOGNISED = 8
"""So much of a call's digest is remembered, in order to say whether its id was used for another one since."""


class Done(NamedTuple):
    """A call that has run, and what it was: how its digest begins."""

    ticket: str
    digest: str


class Review(NamedTuple):
    """A question to a person: may this action happen, with exactly this payload?

    `name` is the tool, `label` what the contract calls it. `gate` is the label of the step a person makes by allowing
    it. A review without a gate asks what became of a lost call, whose ticket `call` is, or whether an agent that tries
    the same refused call over and over may go on.
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
    call: str | None = None

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

    `refusals` counts, for each label, the turns in which it was refused since it last went on; `idle` counts the turns
    in a row in which something was refused and nothing went on. `stopped` says why nothing runs any more. `numbered` is
    the number of reviews and of calls without an id so far. `heard` are the last messages of a conversation that the
    session knows, by digests of their ids. `now` is the time of the session, and `ahead` by how much that is later than
    its clock (see `timing`). `seen` is the last call that had run when a person last answered.
    """

    done: tuple[Done, ...] = ()
    refusals: tuple[tuple[str, int], ...] = ()
    reviews: tuple[Review, ...] = ()
    stopped: str | None = None
    numbered: int = 0
    now: Time | None = None
    heard: tuple[str, ...] = ()
    ahead: Time = 0
    idle: int = 0
    seen: str | None = None

    def answered(self) -> Desk:
        """The desk after a person has answered: what has run until then was there to be seen."""
        return self._replace(seen=self.done[-1].ticket) if self.done else self


EMPTY_DESK = Desk()


class State(NamedTuple):
    """Everything a guard knows."""

    settled: Situation
    log: tuple[Logged, ...] = ()
    desk: Desk = EMPTY_DESK

    @property
    def calls(self) -> Calls:
        """The session, without what the guard keeps beside it."""
        return Calls(self.settled, self.log)

    def at(self, calls: Calls) -> State:
        """The state with the session as it is then."""
        return State(calls.settled, calls.log, self.desk)

    def out(self, ticket: str) -> Out | None:
        """The call with that ticket, if it is out."""
        return self.calls.out(ticket)

    def running(self) -> list[Out]:
        """The calls that may run, or are running, in the order in which they went out."""
        return [logged for logged in self.log if type(logged) is Out and logged.lost is None]

    def lost(self) -> list[Out]:
        """The calls of which nobody knows whether they have happened."""
        return [logged for logged in self.log if type(logged) is Out and logged.lost is not None]

    def worlds(self) -> list[Situation] | None:
        """Where the session may be; `None` if that is too much to look at."""
        return self.calls.worlds()
