"""Data: what a message carries, what registers keep of it, and when a guard holds.

Python says `True == 1` and forgets what it was told about lists once somebody changes them. So every value is first
made into a *datum* of a class of its own, which is immutable and a copy. Data of unlike classes are never equal, and
what cannot be compared is not `False` but `None`: a step's guard fails on both, a rule has to tell them apart.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from accord.language.clauses import Bind, Collect, Guard, Register

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from accord.language.clauses import Clause, Operator, Path
    from accord.language.tree import Direction

__all__ = [
    "EMPTY_SET",
    "Datum",
    "Event",
    "Registers",
    "Time",
    "accept",
    "compare",
    "equal",
    "freeze",
    "happening",
    "look_up",
]


# --- values ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Null:
    """`null`."""


@dataclass(frozen=True, slots=True)
class Boolean:
    """`true` or `false`, which are no numbers."""

    truth: bool


@dataclass(frozen=True, slots=True)
class Number:
    """An integer or a float: one kind."""

    size: int | float


@dataclass(frozen=True, slots=True)
class String:
    """A text."""

    text: str


@dataclass(frozen=True, slots=True)
class List:
    """Elements in their order."""

    elements: tuple[Datum, ...]


@dataclass(frozen=True, slots=True)
class Object:
    """A mapping: fields in no order."""

    fields: frozenset[tuple[str, Datum]]


@dataclass(frozen=True, slots=True)
class Collected:
    """What `into` has put together. No payload holds one, so it equals no field."""

    members: frozenset[Datum]


Datum: TypeAlias = Null | Boolean | Number | String | List | Object | Collected

EMPTY_SET = Collected(frozenset())


def freeze(value: object) -> Datum:
    """A JSON value as a datum."""
    match value:
        case None:
            return Null()
        case bool():  # before the numbers, because Python counts it among them
            return Boolean(value)
        case int() | float():
            return Number(value)
        case str():
            return String(value)
        case list() | tuple():
            return List(tuple(map(freeze, value)))
        case Mapping():
            return Object(frozenset((key, freeze(field)) for key, field in value.items()))
        case _:
            raise TypeError(f"no JSON value: {value!r}")


# --- comparisons ----------------------------------------------------------------------------------


def equal(left: Datum, right: Datum) -> bool:
    """Whether two values are the same to the language.

    Python's `==` on data would do but for one thing: it takes a list to be equal to itself even where NaN is in it.
    """
    match left, right:
        case Number(a), Number(b):
            return a == b  # false for NaN
        case List(a), List(b):
            return len(a) == len(b) and all(map(equal, a, b))
        case Object(a), Object(b):
            mine, theirs = dict(a), dict(b)
            return mine.keys() == theirs.keys() and all(equal(mine[key], theirs[key]) for key in mine)
        case _:
            return left == right


ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(left: Datum, by: Operator, right: Datum) -> bool | None:
    """Whether the comparison holds; `None` if there is no such comparison of such values."""
    match by:
        case "==":
            return equal(left, right)
        case "!=":
            return not equal(left, right)
        case "<" | "<=" | ">" | ">=":
            match left, right:
                case (Number(a), Number(b)) | (String(a), String(b)) if a == a and b == b:  # noqa: PLR0124
                    return ORDER[by](a, b)  # NaN, which is unlike itself, is not ordered
        case "in" | "not in":
            match right:
                case List(several) | Collected(several):
                    return any(equal(left, one) for one in several) == (by == "in")
        case "matches":
            match left, right:
                case String(text), String(pattern):
                    return re.search(pattern, text) is not None
    return None


# --- events ---------------------------------------------------------------------------------------


# Seconds, from whatever moment the caller counts.
Time: TypeAlias = int | float


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, when, and the person who did it, if it was one.

    `called` tells whether its label had been called before in the session.
    """

    direction: Direction
    label: str
    partner: str | None
    payload: Datum
    by: str | None
    at: Time = 0
    called: bool = False


def happening(
    direction: Direction,
    label: str,
    partner: str | None = None,
    payload: Mapping[str, object] | None = None,
    by: str | None = None,
    at: Time = 0,
) -> Event:
    """An event with its names in normal form C; no payload is an empty one, and only a name is a person."""
    label = unicodedata.normalize("NFC", label)
    partner = partner and unicodedata.normalize("NFC", partner)
    if payload is not None and not isinstance(payload, Mapping):
        raise TypeError(f"a payload is a mapping, not {payload!r}")
    carried = freeze(payload or {})
    person = by if isinstance(by, str) and by != "" else None
    return Event(direction, label, partner, carried, person, at)


def look_up(payload: Datum, path: Path) -> Datum | None:
    """The field at the end of the path; `None` if the path does not lead there."""
    here: Datum | None = payload
    for segment in path:
        if not isinstance(here, Object):
            return None
        here = dict(here.fields).get(segment)
    return here


# --- clauses --------------------------------------------------------------------------------------

# What is known of each register; one that is unbound is not there.
Registers: TypeAlias = frozenset[tuple[str, Datum]]


def accept(clauses: Iterable[Clause], payload: Datum, registers: Registers) -> Registers | None:
    """The registers after a step with these clauses, which are read from left to right; `None` if one of them fails."""
    held = dict(registers)
    for clause in clauses:
        field = look_up(payload, clause.path)
        if field is None:
            return None
        match clause:
            case Bind(register=name):
                held[name] = field
            case Collect(register=name):
                found = field.elements if isinstance(field, List) else (field,)
                kept = held[name]
                assert isinstance(kept, Collected)  # noqa: S101 - for the type checker
                held[name] = Collected(kept.members.union(found))
            case Guard(operator=by, operand=operand):
                right = held.get(operand.name) if isinstance(operand, Register) else freeze(operand.scalar)
                if right is None or not compare(field, by, right):
                    return None
    return frozenset(held.items())
