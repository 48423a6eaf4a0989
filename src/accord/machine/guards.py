"""Clauses compiled to functions: what a step asks of a payload, and what it keeps of it.

A session's registers are a tuple with one place per register of the machine. A place holds a frozen value, `UNBOUND`,
or for a set a `Collection`. `Check` decides one symbol; it returns the registers after the step, or the reason why not.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from accord.diagnostics.visible import clip
from accord.language.clauses import Bind, Collect, Guard, Register
from accord.language.details import print_clause
from accord.language.patterns import compile_pattern
from accord.language.values import MISSING, Missing, freeze, holds, lookup, thaw
from accord.machine.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.language.clauses import Clause
    from accord.language.values import Frozen
    from accord.machine.tables import Symbol

__all__ = [
    "UNBOUND",
    "Check",
    "Failure",
    "Held",
    "Registers",
    "compile_check",
    "compile_guard",
    "describe_failure",
]


class _Unbound:
    __slots__ = ()

    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND = _Unbound()

Held: TypeAlias = "Frozen | _Unbound | Collection"
Registers: TypeAlias = "tuple[Held, ...]"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a step does not take a payload, in words."""

    reason: str


Check: TypeAlias = "Callable[[Mapping[str, object], str | None, Registers], Registers | Failure]"

NOT_BY_A_PERSON = Failure("only a person can make this step, and nobody is named")


def compile_check(symbol: Symbol, places: dict[str, int], most: int) -> Check:
    """What decides whether an event is this symbol; `places` says where each register is kept."""
    steps = [_compile_clause(clause, places, most) for clause in symbol.clauses]
    if symbol.gated:
        steps.insert(0, _gate)
    if len(steps) == 1:
        return steps[0]

    def check(payload: Mapping[str, object], by: str | None, registers: Registers) -> Registers | Failure:
        for step in steps:
            after = step(payload, by, registers)
            if after.__class__ is Failure:
                return after
            registers = after  # type: ignore[assignment] # not a failure
        return registers

    return check


def _gate(_payload: Mapping[str, object], by: str | None, registers: Registers) -> Registers | Failure:
    return NOT_BY_A_PERSON if by is None else registers


def _compile_clause(clause: Clause, places: dict[str, int], most: int) -> Check:
    if isinstance(clause, Bind):
        return _binding(clause, places[clause.register])
    if isinstance(clause, Collect):
        return _collecting(clause, places[clause.register], most)
    if isinstance(clause.operand, Register):
        # A register that nothing writes is unbound wherever it is read.
        return _against_register(clause, places.get(clause.operand.name))
    decide = compile_guard(clause)

    def check(payload: Mapping[str, object], _by: str | None, registers: Registers) -> Registers | Failure:
        return registers if decide(payload) else _why(clause, payload, None)

    return check


def _reader(path: tuple[str, ...]) -> Callable[[Mapping[str, object]], object]:
    if len(path) > 1:
        return lambda payload: lookup(payload, path)
    name = path[0]
    return lambda payload: payload.get(name, MISSING)


def compile_guard(guard: Guard) -> Callable[[Mapping[str, object]], bool | None]:
    """Whether a guard with a literal holds; `None` where that cannot be decided."""
    read = _reader(guard.path)
    operator = guard.operator
    assert not isinstance(guard.operand, Register)  # noqa: S101 - registers are compiled elsewhere
    if operator == "matches":
        found = compile_pattern(str(guard.operand.scalar))

        def match(payload: Mapping[str, object]) -> bool | None:
            value = read(payload)
            return found(value) if isinstance(value, str) else None

        return match
    literal = freeze(guard.operand.scalar)

    def compare(payload: Mapping[str, object]) -> bool | None:
        value = read(payload)
        return None if value is MISSING else holds(freeze(value), operator, literal)

    return compare


def _against_register(guard: Guard, place: int | None) -> Check:
    read = _reader(guard.path)
    operator = guard.operator
    equal = operator == "=="

    def check(payload: Mapping[str, object], _by: str | None, registers: Registers) -> Registers | Failure:
        value = read(payload)
        held: Held = UNBOUND if place is None else registers[place]
        if equal and value.__class__ is str and value == held:  # by far the most frequent case
            return registers
        if value is MISSING or held is UNBOUND:
            return _why(guard, payload, held)
        if held.__class__ is Collection:
            inside = freeze(value) in held
            fits: bool | None = inside == (operator == "in")
        else:
            fits = holds(freeze(value), operator, held)  # type: ignore[arg-type] # a frozen value
        return registers if fits else _why(guard, payload, held)

    return check


def _binding(bind: Bind, place: int) -> Check:
    read = _reader(bind.path)

    def keep(payload: Mapping[str, object], _by: str | None, registers: Registers) -> Registers | Failure:
        value = read(payload)
        if value is MISSING:
            return _why(bind, payload, None)
        kept: Held = value if value.__class__ is str else freeze(value)
        return (kept,) if len(registers) == 1 else (*registers[:place], kept, *registers[place + 1 :])

    return keep


def _collecting(collect: Collect, place: int, most: int) -> Check:
    read = _reader(collect.path)

    def add(payload: Mapping[str, object], _by: str | None, registers: Registers) -> Registers | Failure:
        value = read(payload)
        if value is MISSING:
            return _why(collect, payload, None)
        frozen = freeze(value)
        elements = frozen[1] if isinstance(frozen, tuple) and frozen[0] == "list" else (frozen,)
        held = registers[place]
        assert isinstance(held, Collection)  # noqa: S101 - sets start empty
        grown = held.with_elements(elements)  # type: ignore[arg-type] # a tuple of frozen values
        if len(grown) > most:
            return Failure(f"the set `{collect.register}` would hold more than {most} values")
        return (*registers[:place], grown, *registers[place + 1 :])

    return add


def _why(clause: Clause, payload: Mapping[str, object], held: Held | None) -> Failure:
    """The clause that refused, with what it found. Payload text may be hostile, so it is clipped and made visible."""
    value = lookup(payload, clause.path)
    text = print_clause(clause)
    if isinstance(value, Missing):
        return Failure(f"`{clip(text)}` needs the field `{clip('.'.join(clause.path))}`, which is missing")
    if held is UNBOUND:
        return Failure(f"`{clip(text)}` reads a register that nothing has bound in this session")
    found = f"`{clip('.'.join(clause.path))}` is {_show(value)}"
    if held is not None and not isinstance(held, Collection | _Unbound):
        found += f" and the register holds {_show(thaw(held))}"
    return Failure(f"`{clip(text)}` does not hold: {found}")


def describe_failure(clause: Clause, payload: Mapping[str, object]) -> str:
    """Why a clause does not hold for a payload, in words."""
    return _why(clause, payload, None).reason


def _show(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 1000:
        return "a huge number"
    plain = isinstance(value, str | int | float | bool) or value is None
    return clip(json.dumps(value, ensure_ascii=False) if plain else _outline(value), 60)


def _outline(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return f"an object of {len(value)} fields" if hasattr(value, "__len__") else "a value"
