"""A whole session: a verdict for every event, a status at every moment.

This is the only file of the package with something that changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from accord.language.tree import RECEIVE, SEND
from accord.semantics.closing import is_complete
from accord.semantics.places import moves, start, step
from accord.semantics.words import word

if TYPE_CHECKING:
    from accord.language.tree import Direction, Protocol

__all__ = ["Session", "Verdict"]

# "Whoever turned traffic into labels could not decide about this one."
UNRECOGNIZED = "Unrecognized"

Kind = Literal["ok", "violation", "blocked", "unrecognized"]
Mode = Literal["halt", "refuse"]
Status = Literal["running", "complete", "violated", "incomplete", "unrecognised"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one event; `expected` are the words that would have been right."""

    kind: Kind
    expected: tuple[str, ...] = ()


class Session:
    """One run of a protocol.

    After a violation, mode `halt` blocks everything; mode `refuse` goes on as if the attempt had
    not been made.
    """

    def __init__(self, protocol: Protocol, mode: Mode = "halt") -> None:
        if mode not in {"halt", "refuse"}:
            raise ValueError(f"mode is `halt` or `refuse`, not `{mode}`")
        self._mode = mode
        self._state = start(protocol)
        self._last_was_unrecognized = False
        self._closing: Verdict | None = None
        self._final: Status | None = None

    def send(self, label: str, to: str | None = None) -> Verdict:
        """The agent emits `label`."""
        return self._event(SEND, label, to)

    def receive(self, label: str, sender: str | None = None) -> Verdict:
        """`label` reaches the agent."""
        return self._event(RECEIVE, label, sender)

    def _event(self, direction: Direction, label: str, partner: str | None) -> Verdict:
        if self._final is not None:
            return Verdict("blocked")
        after = step(self._state, direction, label, partner)
        if after:
            self._state = after
            self._last_was_unrecognized = False
            return Verdict("ok")
        expected = tuple(self.allowed())
        if label == UNRECOGNIZED:
            self._last_was_unrecognized = True
            return Verdict("unrecognized", expected)
        if self._mode == "halt":
            self._final = "violated"
        return Verdict("violation", expected)

    def close(self) -> Verdict:
        """Nothing more will come. This is final; to ask again gives the same answer."""
        if self._final == "violated":
            return Verdict("blocked")
        if self._closing is None:
            expected = tuple(self.allowed())
            if self._last_was_unrecognized:
                self._closing, self._final = Verdict("unrecognized", expected), "unrecognised"
            elif is_complete(self._state):
                self._closing, self._final = Verdict("ok"), "complete"
            else:
                self._closing, self._final = Verdict("violation", expected), "incomplete"
        return self._closing

    @property
    def status(self) -> Status:
        """How the session stands, or how it stopped."""
        if self._final is not None:
            return self._final
        return "complete" if is_complete(self._state) else "running"

    def allowed(self) -> list[str]:
        """The words that are legal now; none once the session has stopped."""
        if self._final is not None:
            return []
        return sorted({word(action) for action in moves(self._state)})
