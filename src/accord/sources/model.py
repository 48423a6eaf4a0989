"""A recorded run as every reader gives it: messages in the order in which they happened, and what is known about it.

Bodies stay as they were recorded, bytes of JSON where that is what they are, until `text` or `payload` is read. A
contract looks at few of them, and decoding the others is most of what reading a run would cost. So a message may hold
on to the bytes of its whole file: take what is to be kept out of it, and let it go.

A message is a happening that was recorded: what it carries (`payload`) is said in `accord.projection.payloads`, and a
projection makes an event of it as of what a live agent does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from accord.language.events import SPEAKERS
from accord.projection import payloads
from accord.projection.bodies import Body, as_object, as_text
from accord.projection.happenings import ENDS, KINDS, Kind
from accord.sources.moments import Moment, as_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.canonical import Json

__all__ = ["KINDS", "Broken", "Kind", "Message", "Run"]


class Message(msgspec.Struct, gc=False):
    """One thing that was said, called, returned or fired. Treated as frozen.

    A message of the recorded run that holds text and calls is several of these, with the same `index`.
    """

    kind: Kind
    index: int
    """Which message of the recorded run it came from, from 0."""
    body: Body = None
    """Text, arguments or output, as recorded."""
    name: str | None = None
    """The tool, or the event."""
    call_id: str | None = None
    answers: Message | None = None
    """The call that a result or an error answers."""
    moment: Moment = None
    """When, as recorded."""
    labelled: bool = False
    """Whether the recording itself says which event it is, so that it is one whatever the contract speaks of."""

    @property
    def at(self) -> float | None:
        """When, in seconds, if that was recorded and can be read."""
        return as_seconds(self.moment)

    @property
    def text(self) -> str:
        """What was said, or the body as text."""
        body = self.body
        return body if type(body) is str else as_text(body)

    @property
    def direction(self) -> None:
        """Its kind tells which way it went."""

    @property
    def by(self) -> None:
        """Recordings do not say who made a step, but for what the user says."""

    @property
    def payload(self) -> dict[str, object]:
        """What guards, registers and rules see. A new value at each reading."""
        kind, body, answered = self.kind, self.body, self.answers
        if kind in SPEAKERS:
            return {"text": as_text(body)}
        if kind not in ENDS:
            return as_object(body)
        if self.labelled:  # recorded as it was judged; a tool had no say in it
            return {"error": None, **as_object(body)}
        call_id, known = self.call_id, answered is not None
        call = None
        if answered is not None:
            call, call_id = answered.body, call_id or answered.call_id
        of_end = payloads.of_recorded_result if kind == "result" else payloads.of_recorded_error
        return of_end(body, call, call_id, known=known)


class Run(msgspec.Struct, gc=False):
    """One recorded run. Treated as frozen."""

    key: str
    """Unique within its file."""
    file: str
    messages: Sequence[Message]
    line: int | None = None
    """Where it begins, from 1, in files that are read by lines."""
    metadata: dict[str, Json] = {}
    """JSON scalars: outcome labels such as `reward`, and `model`, `task`, `trial` where they were recorded."""


class Broken(msgspec.Struct, frozen=True):
    """A piece of a file that could not be read: kept apart, counted, and no reason to stop."""

    file: str
    line: int | None
    reason: str
