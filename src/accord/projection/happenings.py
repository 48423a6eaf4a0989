"""Happenings: what really took place, before any contract looks at it.

Live agents make `Happening`s; `accord.sources.Message` is one that was recorded. Both are `Happened`, which is all that
a projection looks at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, cast

from accord.language.events import DIRECTIONS, SPEAKERS, MessageKind
from accord.projection import payloads
from accord.projection.bodies import as_object, as_text
from accord.projection.plain import NotPlainError, plain_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.tree import Direction
    from accord.machine.clocks import Time
    from accord.projection.bodies import Body

__all__ = ["ENDS", "KINDS", "Happened", "Happening", "Kind", "Read"]

Kind: TypeAlias = MessageKind
KINDS: tuple[Kind, ...] = tuple(DIRECTIONS)
ENDS: frozenset[Kind] = frozenset({"result", "error"})
"""How a call ends."""


class Happened(Protocol):
    """What a projection looks at."""

    @property
    def kind(self) -> Kind:
        """Who or what it is from."""

    @property
    def name(self) -> str | None:
        """The tool, or the event."""

    @property
    def text(self) -> str:
        """What was said."""

    @property
    def payload(self) -> Mapping[str, object]:
        """What it carries."""

    @property
    def answers(self) -> Happened | None:
        """The call that a result or an error ends, if it is known."""

    @property
    def labelled(self) -> bool:
        """Whether it was recorded as an event already, and not as what took place."""

    @property
    def direction(self) -> Direction | None:
        """Which way an event of the program goes; `None` for what its kind tells."""

    @property
    def by(self) -> str | None:
        """Whose decision it was, if that is known."""

    @property
    def at(self) -> Time | None:
        """When, if that is known."""


class Happening(NamedTuple):
    """Something that takes place now. `value` is what was said, the arguments, the result, the reason, or the payload.

    Example:
        >>> call = Happening("call", "pay", {"amount": 5}, "c1")
        >>> Happening("result", "pay", "done", call=call).payload
        {'text': 'done', 'error': None, 'call': {'amount': 5}, 'call_id': 'c1'}
    """

    kind: Kind
    name: str | None = None
    value: object = None
    id: str | None = None
    """Of a call."""
    call: Happening | None = None
    """The call that this ends."""
    direction: Direction | None = None
    """Of an event of the program: `?` unless it says otherwise."""
    by: str | None = None
    at: Time | None = None

    @property
    def call_id(self) -> str | None:
        """The id of a call, as recordings name it."""
        return self.id

    @property
    def answers(self) -> Happening | None:
        """The call that this ends."""
        return self.call

    @property
    def labelled(self) -> bool:
        """What takes place is no event yet."""
        return False

    @property
    def text(self) -> str:
        """What was said, or the value as text."""
        if type(self.value) is str:
            return self.value
        try:
            return as_text(plain_value(self.value))  # type: ignore[arg-type] # JSON is what bodies are
        except NotPlainError:
            return ""

    @property
    def payload(self) -> dict[str, object]:
        """What guards, registers and rules see, as plain JSON of its own; made anew at each reading."""
        kind = self.kind
        if kind in SPEAKERS:
            return {"text": self.text}
        if kind not in ENDS:
            return payloads.of_arguments(self.value)
        call = self.call
        arguments = None if call is None else payloads.of_arguments(call.value)
        call_id = None if call is None else call.id
        if kind == "error":
            return payloads.of_error(self.value, arguments, call_id)
        return payloads.of_result(self.value, arguments, call_id)


class Read(Happening):
    """A happening whose value was read from JSON and belongs to nobody else, so it need not be looked through."""

    __slots__ = ()

    @property
    def payload(self) -> dict[str, object]:
        """As of a `Happening`."""
        kind, value, call = self.kind, cast("Body", self.value), self.call
        if kind in SPEAKERS:
            return {"text": as_text(value)}
        if kind not in ENDS:
            return as_object(value)
        of_end = payloads.of_recorded_result if kind == "result" else payloads.of_recorded_error
        if call is None:
            return of_end(value, None, None, known=False)
        return of_end(value, cast("Body", call.value), call.id, known=True)
