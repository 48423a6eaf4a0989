"""Events: what is said to happen in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accord.language.labels import is_name, print_word, quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from accord.language.tree import Direction
    from accord.machine.clocks import Time

__all__ = ["NO_PAYLOAD", "Event"]

NO_PAYLOAD: Mapping[str, object] = {}


class Event(NamedTuple):
    """Something that is said to happen: what, with whom, with which payload, by whose decision, and when.

    With `to_rules` the protocol is not asked: it is for the rules alone.
    """

    direction: Direction
    label: str
    partner: str | None = None
    payload: Mapping[str, object] = NO_PAYLOAD
    by: str | None = None
    at: Time | None = None
    to_rules: bool = False

    @property
    def word(self) -> str:
        """As it stands in a trace; who made the step is part of it."""
        word = print_word(self.direction, self.label, self.partner)
        if self.by is None:
            return word
        return f"{word} by {self.by if is_name(self.by) else quote(self.by)}"

    @property
    def bare(self) -> Event:
        """The event without its payload, which belongs to the caller and may change."""
        return self._replace(payload=NO_PAYLOAD)

    @property
    def time(self) -> Time:
        """When it happens; 0 where nobody cares."""
        return 0 if self.at is None else self.at
