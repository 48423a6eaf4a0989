"""What a monitor answers: `Ok`, `Violation`, `Blocked`, `Unrecognized`.

Verdicts are frozen, hashable and compare by what happened: `Violation(expected=['?Pong'], got='!Pong')` equals every
violation with the same two facts, wherever it happened.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from accord.monitor.refusals import Refusal

__all__ = [
    "CLOSING",
    "OK",
    "TICKING",
    "UNRECOGNIZED",
    "Blocked",
    "Ok",
    "Unrecognized",
    "Verdict",
    "Violation",
]

UNRECOGNIZED = "Unrecognized"
"""The label that says: what happened could not be told. See `Unrecognized`."""

CLOSING = "end"
"""What a violation has got when a session was closed too early."""

TICKING = "tick"
"""What a violation has got when only time has passed."""


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
class _Stated:
    """What a violation says of itself if no monitor found it; the same as a `Refusal` tells."""

    expected: tuple[str, ...]
    got: str
    contract: str
    clause: str
    role: str | None
    state: int | str | None
    explanation: str
    reasons: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    advice: str = ""
    clause_number: int = 0


_Facts: TypeAlias = "_Stated | Refusal"


def _plainly(expected: tuple[str, ...], got: str) -> str:
    from accord.monitor.explain import list_words  # noqa: PLC0415 - loaded when somebody asks

    return f"{list_words([got])} is not allowed now; allowed is {list_words(expected) or 'nothing'}."


@dataclass(frozen=True, slots=True, init=False, repr=False, eq=False)
class Violation:
    """The event is not legal here.

    `expected` lists the words that were legal, `got` is what happened instead (`end` if the session was closed too
    early). `contract` names the text, `clause` what in it refused, `state` where the session stood, `position` the
    place of the event in the trace, counted from 0. `role` is the role that broke the contract, where the contract
    has roles.
    """

    _facts: _Facts
    position: int | None

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
    ) -> None:
        words = tuple(expected)
        facts = _Stated(words, got, contract, clause, role, state, _plainly(words, got))
        object.__setattr__(self, "_facts", facts)
        object.__setattr__(self, "position", position)

    @classmethod
    def of(cls, facts: _Facts, position: int | None) -> Violation:
        """The violation with these facts, at that place of the trace."""
        violation = cls.__new__(cls)
        object.__setattr__(violation, "_facts", facts)
        object.__setattr__(violation, "position", position)
        return violation

    @classmethod
    def blaming(
        cls,
        suspects: Iterable[str],
        expected: Iterable[str],
        got: str,
        explanation: str,
        *,
        contract: str,
        clause: str = "protocol",
        state: str | None = None,
        reasons: tuple[str, ...] = (),
    ) -> Violation:
        """The violation of a protocol between roles: who may have broken it, and what they could have done."""
        blamed = tuple(sorted(suspects))
        role = blamed[0] if len(blamed) == 1 else None
        words = tuple(sorted(expected))
        return cls.of(_Stated(words, got, contract, clause, role, state, explanation, reasons, blamed), None)

    @property
    def expected(self) -> list[str]:
        """The words that were legal, sorted; a list of your own."""
        return list(self._facts.expected)

    @property
    def got(self) -> str:
        """What happened; `end` if the session was closed too early."""
        return self._facts.got

    @property
    def contract(self) -> str:
        """The name of the protocol, empty if it has none."""
        return self._facts.contract

    @property
    def clause(self) -> str:
        """What in the contract refused."""
        return self._facts.clause

    @property
    def clause_number(self) -> int:
        """Where that clause stands: 0 is the protocol, and rules are counted from 1."""
        return self._facts.clause_number

    @property
    def role(self) -> str | None:
        """The role that broke the contract, where the contract has roles."""
        return self._facts.role

    @property
    def suspects(self) -> tuple[str, ...]:
        """The roles that may have broken the contract, sorted; one, if it is certain which."""
        if isinstance(self._facts, _Stated) and self._facts.suspects:
            return self._facts.suspects
        return () if self.role is None else (self.role,)

    @property
    def state(self) -> int | str | None:
        """Where the session stood."""
        return self._facts.state

    @property
    def about_data(self) -> bool:
        """Whether the step was open and what it carried was refused."""
        return bool(self._facts.reasons)

    def __repr__(self) -> str:
        return f"Violation(expected={self.expected!r}, got={self.got!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Violation):
            return NotImplemented
        return (self._facts.expected, self.got) == (other._facts.expected, other.got)

    def __hash__(self) -> int:
        return hash((self._facts.expected, self.got))

    def __reduce__(self) -> tuple[object, ...]:
        facts = self._facts
        stated = _Stated(
            facts.expected,
            facts.got,
            facts.contract,
            facts.clause,
            facts.role,
            facts.state,
            facts.explanation,
            facts.reasons,
            self.suspects,
            facts.advice,
            facts.clause_number,
        )
        return Violation.of, (stated, self.position)

    def at_position(self, position: int) -> Violation:
        """The same violation at that place of the trace."""
        return Violation.of(self._facts, position)

    def naming(self, tools: Mapping[str, tuple[str, ...]]) -> Violation:
        """The same violation; its sentences call labels by these tools, which somebody has given the labels."""
        if not tools or isinstance(self._facts, _Stated):
            return self
        return Violation.of(replace(self._facts, tools=tools), self.position)

    def explain(self) -> str:
        """A sentence fit to be read back to a model: what is wrong and the shortest way to do it right."""
        return self._facts.explanation

    def advise(self) -> str:
        """What may happen now, and nothing of what was refused; empty if there is nothing to say."""
        return self._facts.advice

    def to_dict(self) -> dict[str, object]:
        """Everything it knows, as plain values."""
        blamed = {"suspects": list(self.suspects)} if self.suspects else {}
        return {
            **blamed,
            "expected": self.expected,
            "got": self.got,
            "contract": self.contract,
            "clause": self.clause,
            "role": self.role,
            "state": self.state,
            "position": self.position,
            "explanation": self.explain(),
        }


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
