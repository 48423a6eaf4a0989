"""What stands in parentheses behind a label: guards on a message's payload, and registers that keep parts of it.

`path as r` binds a register, `path into s` adds to a set, everything else compares a field with a literal or a
register. Clauses are read from left to right: a guard sees what an earlier clause of the same step has bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from accord.diagnostics import Span

__all__ = ["OPERATORS", "Bind", "Clause", "Collect", "Guard", "Operator", "Path", "Register", "Scalar", "Value"]

Path: TypeAlias = tuple[str, ...]
Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in", "matches"]
OPERATORS: tuple[Operator, ...] = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "matches")

Scalar: TypeAlias = "str | int | float | bool | tuple[Scalar, ...] | None"

NOWHERE = Span(0, 0)


def _shape(scalar: Scalar) -> object:
    """The scalar with its types, so that `1`, `1.0` and `true` are different literals."""
    if isinstance(scalar, tuple):
        return tuple(map(_shape, scalar))
    return (type(scalar).__name__, scalar)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A literal: a string, a number, `true`, `false`, `null` or a list of literals (a tuple)."""

    scalar: Scalar

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and _shape(self.scalar) == _shape(other.scalar)

    def __hash__(self) -> int:
        return hash(_shape(self.scalar))


@dataclass(frozen=True, slots=True)
class Register:
    """The name of a register."""

    name: str


@dataclass(frozen=True, slots=True)
class Bind:
    """`path as register`: keep the field, replacing what the register held."""

    path: Path
    register: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Collect:
    """`path into register`: add the elements of a list, or one value, to a set."""

    path: Path
    register: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Guard:
    """`path operator operand`: a condition on the field."""

    path: Path
    operator: Operator
    operand: Value | Register
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Clause: TypeAlias = Bind | Collect | Guard
