"""A whole session: a verdict for every event, a status at every moment.

This is the only file of the package with something that changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from accord.language.tree import RECEIVE, SEND
from accord.semantics.closing import is_complete
from accord.semantics.data import happening
from accord.semantics.places import moves, start, step
from accord.semantics.rules import names, owes, refuses, surely_refuses
from accord.semantics.words import word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accord.language.rules import Rule
    from accord.language.tree import Direction, Protocol
    from accord.semantics.rules import History

__all__ = ["Session", "Verdict"]

# "Whoever turned traffic into labels could not decide about this one."
UNRECOGNIZED = "Unrecognized"

# The clause that refused, where it is no rule.
PROTOCOL = "protocol"

Kind = Literal["ok", "violation", "blocked", "unrecognized"]
Mode = Literal["halt", "refuse"]
Status = Literal["running", "complete", "violated", "incomplete", "unrecognised"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one event.

    `expected` are the words that would have been right. `clause` tells who refused: `protocol`, or the name of a rule.
    """

    kind: Kind
    expected: tuple[str, ...] = ()
    clause: str = ""


class Session:
    """One run of a protocol under rules, or of rules alone.

    After a violation, mode `halt` blocks everything; mode `refuse` goes on as if the attempt had
    not been made.
    """

    def __init__(self, protocol: Protocol | None, mode: Mode = "halt", rules: Iterable[Rule] = ()) -> None:
        if mode not in {"halt", "refuse"}:
            raise ValueError(f"mode is `halt` or `refuse`, not `{mode}`")
        self._mode = mode
        self._rules = tuple(rules)
        self._state = None if protocol is None else start(protocol)
        self._history: History = ()  # the accepted events
        self._last_was_unrecognized = False
        self._closing: Verdict | None = None
        self._final: Status | None = None

    def send(self, label: str, payload: Mapping[str, object] | None = None, to: str | None = None) -> Verdict:
        """The agent emits `label`."""
        return self._event(SEND, label, payload, to, None)

    def receive(
        self,
        label: str,
        payload: Mapping[str, object] | None = None,
        sender: str | None = None,
        by: str | None = None,
    ) -> Verdict:
        """`label` reaches the agent; `by` is the person who made it happen."""
        return self._event(RECEIVE, label, payload, sender, by)

    def _event(
        self,
        direction: Direction,
        label: str,
        payload: Mapping[str, object] | None,
        partner: str | None,
        by: str | None,
    ) -> Verdict:
        if self._final is not None:
            return Verdict("blocked")
        event = happening(direction, label, partner, payload, by)
        after = None if self._state is None else step(self._state, direction, label, partner, payload, by)
        if event.label == UNRECOGNIZED and not self._is_named(direction, partner):
            self._last_was_unrecognized = True
            return Verdict("unrecognized", tuple(self.allowed()))
        clauses = [PROTOCOL] if self._state is not None and not after else []
        clauses += [rule.name for rule in self._rules if refuses(rule, self._history, event)]
        if clauses:
            expected = tuple(self.allowed())
            if self._mode == "halt":
                self._final = "violated"
            return Verdict("violation", expected, clauses[0])
        self._state = after
        self._history = (*self._history, event)
        self._last_was_unrecognized = False
        return Verdict("ok")

    def _is_named(self, direction: Direction, partner: str | None) -> bool:
        """Whether `Unrecognized` is a message like any other here: an open branch or a rule names it."""
        branches = () if self._state is None else moves(self._state)
        return any(names(rule, UNRECOGNIZED) for rule in self._rules) or any(
            (action.direction, action.label) == (direction, UNRECOGNIZED)
            and (partner is None or action.partner in {None, partner})
            for action in branches
        )

    def close(self) -> Verdict:
        """Nothing more will come. This is final; to ask again gives the same answer."""
        if self._final == "violated":
            return Verdict("blocked")
        if self._closing is None:
            expected, owing = tuple(self.allowed()), self._owing()
            if self._last_was_unrecognized:
                self._closing, self._final = Verdict("unrecognized", expected), "unrecognised"
            elif not owing:
                self._closing, self._final = Verdict("ok"), "complete"
            else:
                self._closing, self._final = Verdict("violation", expected, owing[0]), "incomplete"
        return self._closing

    def _owing(self) -> list[str]:
        """The clauses that do not let the session close now."""
        protocol = [PROTOCOL] if self._state is not None and not is_complete(self._state) else []
        return protocol + [rule.name for rule in self._rules if owes(rule, self._history)]

    @property
    def status(self) -> Status:
        """How the session stands, or how it stopped."""
        if self._final is not None:
            return self._final
        return "running" if self._owing() else "complete"

    def allowed(self) -> list[str]:
        """The words that the protocol offers and that no rule is sure to refuse; none once the session has stopped."""
        if self._final is not None or self._state is None:
            return []
        offered = {
            action
            for action in moves(self._state)
            if not any(surely_refuses(rule, self._history, action) for rule in self._rules)
        }
        return sorted({word(action) for action in offered})
