"""The tree of a rule: what must hold over the whole history of a session.

A rule looks only at the messages it names. Its body is one of six forms; conditions are about what has happened so
far.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from accord.diagnostics import Span

if TYPE_CHECKING:
    from accord.language.clauses import Guard, Path
    from accord.language.tree import Direction

__all__ = [
    "After",
    "AfterForbid",
    "AtMost",
    "Before",
    "Combination",
    "CombinationKind",
    "Condition",
    "Count",
    "ForbidSequence",
    "Happened",
    "Not",
    "Pattern",
    "Rule",
    "RuleBody",
    "Within",
]

NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A message a rule looks for: `Pay`, `!Pay`, `?Pay`, with guards and `by human`.

    Without a direction it means the call or message of that name, and never the result of a call.
    """

    label: str
    direction: Direction | None = None
    guards: tuple[Guard, ...] = ()
    gated: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Happened:
    """A message of this pattern has happened."""

    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Count:
    """`at least N L` or `at most N L`."""

    bound: Literal["at least", "at most"]
    number: int
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Not:
    """The condition does not hold."""

    condition: Condition


CombinationKind = Literal["and", "or", "all", "any", "some"]


@dataclass(frozen=True, slots=True)
class Combination:
    """Several conditions: `C and C`, `C or C`, `all of […]`, `any of […]`, or `N of […]` (kind `some`)."""

    kind: CombinationKind
    conditions: tuple[Condition, ...]
    number: int = 0
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Condition: TypeAlias = Happened | Count | Not | Combination


@dataclass(frozen=True, slots=True)
class Before:
    """`before [each] B require C`: each B needs C to hold; with `each`, an accepted B makes the history start anew."""

    trigger: Pattern
    condition: Condition
    each: bool = False


@dataclass(frozen=True, slots=True)
class After:
    """`after [each] A require C`: owed at closing; with `each`, as many as there were As."""

    trigger: Pattern
    condition: Condition
    each: bool = False


@dataclass(frozen=True, slots=True)
class AfterForbid:
    """`after A forbid B`: once A has happened, no B."""

    trigger: Pattern
    forbidden: Pattern


@dataclass(frozen=True, slots=True)
class AtMost:
    """`at most N L`."""

    number: int
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class ForbidSequence:
    """`forbid A then B ... C`: `adjacent[i]` tells whether pattern `i + 1` must follow pattern `i` at once."""

    patterns: tuple[Pattern, ...]
    adjacent: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Within:
    """`within D after A require C`: once A has happened, C must hold before the time is over."""

    milliseconds: int
    trigger: Pattern
    condition: Condition


RuleBody: TypeAlias = Before | After | AfterForbid | AtMost | ForbidSequence | Within


@dataclass(frozen=True, slots=True)
class Rule:
    """`rule "name" { body }`; with `each`, every value at that path of the payloads has an instance of its own."""

    name: str
    body: RuleBody
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)
    body_start: int = field(default=0, compare=False, repr=False)
    each: Path | None = None
