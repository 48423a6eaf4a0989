"""A recorded run as every reader gives it: messages in the order in which they happened, and what is known about it.

Bodies stay as they were recorded, bytes of JSON where that is what they are, until `text` or `payload` is read. A
contract looks at few of them, and decoding the others is most of what reading a run would cost. So a message may hold
on to the bytes of its whole file: take what is to be kept out of it, and let it go.

What a message carries (`payload`):

- text: `{"text": …}`;
- a call: its arguments, which may be recorded as an object, as JSON in a string (once or twice encoded) or as nothing;
  what is none of these is `{"text": …}`, so a guard on a field fails instead of seeing nothing wrong;
- a result or an error: the JSON object that the tool returned, else `{"text": …}`, and on top of it `call` (the
  arguments of the call it answers) and `call_id`, which nothing that a tool returned can replace;
- an event: what was recorded with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from accord.sources.bodies import Body, as_object, as_text, as_value, decoded
from accord.sources.moments import Moment, as_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from accord.canonical import Json

__all__ = ["KINDS", "Broken", "Kind", "Message", "Run"]

Kind: TypeAlias = Literal["user", "agent", "call", "user call", "result", "error", "event"]
KINDS: tuple[Kind, ...] = ("user", "agent", "call", "user call", "result", "error", "event")


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
    def payload(self) -> dict[str, object]:
        """What guards and registers see; see above. A new value at each reading."""
        kind = self.kind
        if kind in {"user", "agent"}:
            return {"text": as_text(self.body)}
        payload = as_object(self.body)
        if kind in {"result", "error"}:
            if not payload and not isinstance(decoded(as_value(self.body)), dict):
                payload["text"] = as_text(self.body)
            payload.pop("call", None)
            payload.pop("call_id", None)
            if self.answers is not None:
                payload["call"] = as_object(self.answers.body)
            if self.call_id is not None:
                payload["call_id"] = self.call_id
        return payload


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
