"""A whole session: a verdict for every event, a status at every moment.

This is the only file of the package with something that changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Literal

from accord.language.rules import Within
from accord.language.tree import RECEIVE, SEND, Deadline
from accord.semantics.data import happening
from accord.semantics.places import Misuse
from accord.semantics.rules import deadlines, in_context, names, owes, refuses, surely_refuses
from accord.semantics.slices import begin
from accord.semantics.words import word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accord.language.clauses import Path
    from accord.language.rules import Rule
    from accord.language.tree import Direction, Protocol
    from accord.semantics.data import Event, Time
    from accord.semantics.rules import History
    from accord.semantics.slices import Course

__all__ = ["Session", "Verdict"]

# "Whoever turned traffic into labels could not decide about this one."
UNRECOGNIZED = "Unrecognized"

# The clause that refused, where it is no rule.
PROTOCOL = "protocol"

# Beyond this not every whole number of seconds is a float, and a duration added to it could lead back.
EXACT = 2**53

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

    A contract that uses time wants to be told it, by `at`, with everything that happens. Time passes
    first, whatever then becomes of the attempt. A session begins at the time it is made with or, if
    none is given, at the first it is told.
    """

    def __init__(
        self,
        protocol: Protocol | None,
        mode: Mode = "halt",
        rules: Iterable[Rule] = (),
        each: Path | None = None,
        at: Time | None = None,
        *,
        is_open: bool = False,
    ) -> None:
        if mode not in {"halt", "refuse"}:
            raise ValueError(f"mode is `halt` or `refuse`, not `{mode}`")
        self._mode = mode
        self._rules = tuple(rules)
        self._timed = uses_time(protocol, self._rules)
        self._clock: Time | None = None  # unknown before the beginning
        self._course = None if protocol is None else begin(protocol, each, 0, is_open=is_open)
        self._history: History = ()  # the accepted events
        self._last_was_unrecognized = False
        self._closing: Verdict | None = None
        self._final: Status | None = None
        if at is not None and self._timed:
            self._clock, self._course = self._told(at), self._aged(at)
        elif at is not None:
            self._told(at)

    def send(
        self, label: str, payload: Mapping[str, object] | None = None, to: str | None = None, at: Time | None = None
    ) -> Verdict:
        """The agent emits `label`."""
        return self._event(SEND, label, payload, to, None, at)

    def receive(
        self,
        label: str,
        payload: Mapping[str, object] | None = None,
        sender: str | None = None,
        by: str | None = None,
        at: Time | None = None,
    ) -> Verdict:
        """`label` reaches the agent; `by` is the person who made it happen."""
        return self._event(RECEIVE, label, payload, sender, by, at)

    # --- time -------------------------------------------------------------------------------------

    def _told(self, at: Time | None) -> Time:
        """The time an attempt is made at; always 0 where the contract does not care."""
        if at is not None and (isinstance(at, bool) or not isinstance(at, int | float) or not is_finite(at)):
            raise Misuse(f"a time is a finite number of seconds, not {at!r}")
        if not self._timed:
            return 0
        if at is None:
            raise Misuse("the contract uses time: say `at`")
        at = float(at) if abs(at) > EXACT else at
        if self._clock is not None and at < self._clock:
            raise Misuse(f"time does not go back from {self._clock} to {at}")
        return at

    def _aged(self, at: Time) -> Course | None:
        """The course of the protocol when time has passed."""
        if self._course is None:
            return None
        if self._clock is None:
            return begin(self._course.protocol, self._course.each, at, is_open=self._course.is_open)
        return self._course.aged(at)

    def _missed(self, at: Time) -> list[str]:
        """The rules of which something is late at this time and was not before, in the order in which it was due."""
        clock = at if self._clock is None else self._clock
        missed = [
            (due, number)
            for number, rule in enumerate(self._rules)
            for due in deadlines(rule, self._history)
            if clock <= due < at
        ]
        return [self._rules[number].name for _, number in sorted(missed)]

    def next_due(self) -> Time | None:
        """The earliest moment after which something will be late; `None` if nothing will."""
        if self._final is not None or self._clock is None:
            return None
        dues = [due for rule in self._rules for due in deadlines(rule, self._history) if due >= self._clock]
        course = None if self._course is None else self._course.next_due()
        return min([*dues, *([] if course is None else [course])], default=None)

    def tick(self, at: Time) -> Verdict:
        """Time passes and nothing happens. It is a violation if a rule is broken by that."""
        at = self._told(at)
        if self._final is not None:
            return Verdict("blocked")
        course, missed = self._aged(at), self._missed(at)
        self._course, self._clock = course, at
        return self._violation(missed[0]) if missed else Verdict("ok")

    # --- events -----------------------------------------------------------------------------------

    def _event(
        self,
        direction: Direction,
        label: str,
        payload: Mapping[str, object] | None,
        partner: str | None,
        by: str | None,
        at: Time | None,
    ) -> Verdict:
        at = self._told(at)
        if self._final is not None:
            return Verdict("blocked")
        event = in_context(happening(direction, label, partner, payload, by, at), self._history)
        course, missed = self._aged(at), self._missed(at)
        after = None if course is None or missed else course.after(event)
        # Nothing has changed so far, so that a misuse changes nothing.
        self._course, self._clock = course, at
        if missed:
            return self._violation(missed[0], event)
        if event.label == UNRECOGNIZED and not self._is_named(event):
            self._last_was_unrecognized = True
            return Verdict("unrecognized", tuple(self.allowed()))
        clauses = [PROTOCOL] if course is not None and after is None else []
        clauses += [rule.name for rule in self._rules if refuses(rule, self._history, event)]
        if clauses:
            return self._violation(clauses[0], event)
        self._course = after
        self._history = (*self._history, event)
        self._last_was_unrecognized = False
        return Verdict("ok")

    def _violation(self, clause: str, event: Event | None = None) -> Verdict:
        expected = tuple(self._words(event))
        if self._mode == "halt":
            self._final = "violated"
        return Verdict("violation", expected, clause)

    def _is_named(self, event: Event) -> bool:
        """Whether `Unrecognized` is a message like any other here: an open branch or a rule names it."""
        branches = () if self._course is None else self._course.moves(event)
        return any(names(rule, UNRECOGNIZED) for rule in self._rules) or any(
            (action.direction, action.label) == (event.direction, UNRECOGNIZED)
            and (event.partner is None or action.partner in {None, event.partner})
            for action in branches
        )

    # --- closing ----------------------------------------------------------------------------------

    def close(self, at: Time | None = None) -> Verdict:
        """Nothing more will come. This is final; to ask again gives the same answer."""
        at = self._told(at)
        if self._final == "violated":
            return Verdict("blocked")
        if self._closing is None:
            course, missed = self._aged(at), self._missed(at)
            self._course, self._clock = course, at
            expected, owing = tuple(self.allowed()), [*missed, *self._owing()]
            if self._last_was_unrecognized and not missed:
                self._closing, self._final = Verdict("unrecognized", expected), "unrecognised"
            elif not owing:
                self._closing, self._final = Verdict("ok"), "complete"
            else:
                self._closing, self._final = Verdict("violation", expected, owing[0]), "incomplete"
        return self._closing

    def _owing(self) -> list[str]:
        """The clauses that do not let the session close now."""
        protocol = [PROTOCOL] if self._course is not None and not self._course.is_complete() else []
        clock = 0 if self._clock is None else self._clock
        return protocol + [rule.name for rule in self._rules if owes(rule, self._history, clock)]

    @property
    def status(self) -> Status:
        """How the session stands, or how it stopped."""
        if self._final is not None:
            return self._final
        return "running" if self._owing() else "complete"

    def allowed(self) -> list[str]:
        """The words that the protocol offers and that no rule is sure to refuse; none once the session has stopped."""
        return self._words(None)

    def _words(self, event: Event | None) -> list[str]:
        """The words that are allowed; for an event with a key, those of its instance."""
        if self._final is not None or self._course is None:
            return []
        offered = {
            action
            for action in self._course.moves(event)
            if not any(surely_refuses(rule, self._history, action) for rule in self._rules)
        }
        return sorted({word(action) for action in offered})


def uses_time(protocol: Protocol | None, rules: Iterable[Rule]) -> bool:
    """Whether anything here has a deadline."""
    todo = [] if protocol is None else [protocol]
    while todo:
        node = todo.pop()
        if isinstance(node, Deadline):
            return True
        todo.extend(node.children())
    return any(isinstance(rule.body, Within) for rule in rules)


def is_finite(number: Time) -> bool:
    """Whether a number has its place on the line; an integer too large for a float has none."""
    try:
        return isfinite(number)
    except OverflowError:
        return False
