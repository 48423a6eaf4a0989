"""What a monitor answers: `Ok`, `Violation`, `Blocked`, `Unrecognized`.

Verdicts are frozen, hashable and compare by what happened: `Violation(expected=['?Pong'], got='!Pong')` equals every
violation with the same two facts, wherever it happened.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.machine.paths import Fits
    from accord.machine.rules import RuleNode
    from accord.monitor.events import Event
    from accord.monitor.step import Situation

__all__ = [
    "CLOSING",
    "OK",
    "UNRECOGNIZED",
    "Blocked",
    "Ok",
    "Refusal",
    "Unrecognized",
    "Verdict",
    "Violation",
]

UNRECOGNIZED = "Unrecognized"
"""The label that says: what happened could not be told. See `Unrecognized`."""

CLOSING = "end"
"""What a violation has got when a session was closed too early."""


@dataclass(frozen=True, slots=True)
class Ok:
    """The event was accepted."""


OK = Ok()


@dataclass(frozen=True, slots=True, repr=False)
class Blocked:
    """Nothing is accepted any more; `reason` says why."""

    reason: str

    def __repr__(self) -> str:
        return f"Blocked({self.reason!r})"

    def explain(self) -> str:
        """A sentence fit to be read back to a model."""
        return f"Nothing more is accepted: {self.reason}."


@dataclass(frozen=True, slots=True)
class Refusal:
    """Where and why an event was refused: what a violation explains itself from.

    `event` is `None` for closing; `rule` is the rule that refused, `None` if the protocol did; `reasons` say why, where
    the label was right and the data was not; `fits` says which patterns of the rules the event fitted.
    """

    situation: Situation
    event: Event | None
    reasons: tuple[str, ...] = ()
    rule: RuleNode | None = None
    fits: Fits | None = None


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Violation:
    """The event is not legal here.

    `expected` lists the words that were legal, `got` is what happened instead (`end` if the session was closed too
    early). `contract` names the text, `clause` what in it refused, `state` where the session stood, `position` the
    place of the event in the trace, counted from 0. `role` is the role that broke the contract, where the contract
    has roles.
    """

    _expected: tuple[str, ...]
    got: str
    contract: str
    clause: str
    role: str | None
    state: int | str | None
    position: int | None
    _refusal: Refusal | str | None = field(default=None)

    def __init__(
        self,
        expected: Iterable[str],
        got: str,
        *,
        contract: str = "",
        clause: str = "",
        role: str | None = None,
        state: int | str | None = None,
        position: int | None = None,
        _refusal: Refusal | str | None = None,
    ) -> None:
        write = object.__setattr__
        write(self, "_expected", tuple(expected))
        write(self, "got", got)
        write(self, "contract", contract)
        write(self, "clause", clause)
        write(self, "role", role)
        write(self, "state", state)
        write(self, "position", position)
        write(self, "_refusal", _refusal)

    @property
    def expected(self) -> list[str]:
        """The words that were legal, sorted; a list of your own."""
        return list(self._expected)

    def __repr__(self) -> str:
        return f"Violation(expected={self.expected!r}, got={self.got!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Violation):
            return NotImplemented
        return (self._expected, self.got) == (other._expected, other.got)

    def __hash__(self) -> int:
        return hash((self._expected, self.got))

    def __reduce__(self) -> tuple[object, ...]:
        facts = (self.contract, self.clause, self.role, self.state, self.position)
        return _rebuild, (self._expected, self.got, facts, self.explain())

    def at_position(self, position: int) -> Violation:
        """The same violation at that place of the trace."""
        return Violation(
            self._expected,
            self.got,
            contract=self.contract,
            clause=self.clause,
            role=self.role,
            state=self.state,
            position=position,
            _refusal=self._refusal,
        )

    def explain(self) -> str:
        """A sentence fit to be read back to a model: what is wrong and the shortest way to do it right."""
        from accord.monitor.explain import explain, list_words  # noqa: PLC0415 - loaded when somebody asks

        refusal = self._refusal
        if refusal is None:
            return f"{list_words([self.got])} is not allowed now; allowed is {list_words(self._expected) or 'nothing'}."
        return refusal if isinstance(refusal, str) else explain(refusal)

    def to_dict(self) -> dict[str, object]:
        """Everything it knows, as plain values."""
        return {
            "expected": self.expected,
            "got": self.got,
            "contract": self.contract,
            "clause": self.clause,
            "role": self.role,
            "state": self.state,
            "position": self.position,
            "explanation": self.explain(),
        }


def _rebuild(
    expected: tuple[str, ...],
    got: str,
    facts: tuple[str, str, str | None, int | str | None, int | None],
    explanation: str,
) -> Violation:
    contract, clause, role, state, position = facts
    return Violation(
        expected,
        got,
        contract=contract,
        clause=clause,
        role=role,
        state=state,
        position=position,
        _refusal=explanation,
    )


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Unrecognized:
    """Nobody could tell what happened, so nothing was decided: the session neither advanced nor halted."""

    _expected: tuple[str, ...]
    direction: Literal["send", "receive"]

    def __init__(self, expected: Iterable[str], direction: Literal["send", "receive"]) -> None:
        object.__setattr__(self, "_expected", tuple(expected))
        object.__setattr__(self, "direction", direction)

    @property
    def expected(self) -> list[str]:
        """The words that are legal, sorted; a list of your own."""
        return list(self._expected)

    def __repr__(self) -> str:
        return f"Unrecognized(expected={self.expected!r}, direction={self.direction!r})"

    def explain(self) -> str:
        """A sentence fit to be read back to a model."""
        from accord.monitor.explain import list_words  # noqa: PLC0415 - loaded when somebody asks

        expected = list_words(self._expected) or "nothing"
        return f"It could not be told what happened; ask for clarification. Expected is {expected}."


Verdict = Ok | Violation | Blocked | Unrecognized
