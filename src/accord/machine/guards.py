"""Clauses compiled to functions: what a step asks of a payload, and what it keeps of it.

A session's registers are a tuple with one place per register of the machine. A place holds a frozen value, `UNBOUND`,
or for a set a `Collection`. `Check` decides one symbol: it returns the registers after the step, or `None`. Why it
said no is worked out by `why_not`, when somebody wants to know: where guards tell branches apart, most branches say no.
"""

from __future__ import annotations

import json
import operator
from typing import TYPE_CHECKING, Any, TypeAlias

from accord.diagnostics.visible import clip, visible
from accord.language.clauses import Bind, Collect, Guard, Register, Value
from accord.language.details import print_clause
from accord.language.patterns import compile_pattern
from accord.language.values import AT_ONCE, MISSING, Missing, comparison, freeze, lookup, thaw
from accord.machine.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.language.clauses import Clause, Path
    from accord.language.values import Frozen
    from accord.machine.tables import Symbol

__all__ = [
    "UNBOUND",
    "Check",
    "Held",
    "Registers",
    "compile_check",
    "compile_guard",
    "describe_failure",
    "why_not",
]


class _Unbound:
    __slots__ = ()

    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND = _Unbound()

Held: TypeAlias = "Frozen | _Unbound | Collection"
Registers: TypeAlias = "tuple[Held, ...]"
Check: TypeAlias = "Callable[[Any, str | None, Registers], Registers | None]"
"""Takes the payload, who is responsible, and the registers. The payload is a `dict`; it may raise for anything else."""


def compile_check(symbol: Symbol, places: dict[str, int], most: int) -> Check:
    """What decides whether an event is this symbol; `places` says where each register is kept."""
    steps = [_compile_clause(clause, places, most) for clause in symbol.clauses]
    if symbol.gated:
        steps.insert(0, _gate)
    if len(steps) == 1:
        return steps[0]

    def check(payload: Mapping[str, object], by: str | None, registers: Registers) -> Registers | None:
        after: Registers | None = registers
        for step in steps:
            after = step(payload, by, after)  # type: ignore[arg-type] # the loop ends with the first `None`
            if after is None:
                return None
        return after

    return check


def _gate(_payload: Mapping[str, object], by: str | None, registers: Registers) -> Registers | None:
    return None if by is None else registers


def _compile_clause(clause: Clause, places: dict[str, int], most: int) -> Check:
    if isinstance(clause, Bind):
        return _binding(clause.path, places[clause.register], alone=len(places) == 1)
    if isinstance(clause, Collect):
        return _collecting(clause.path, places[clause.register], most)
    if isinstance(clause.operand, Register):
        # A register that nothing writes is unbound wherever it is read.
        place = places.get(clause.operand.name)
        if place is None:
            return _never
        return _equal_to_register(clause.path, place) if clause.operator == "==" else _against_register(clause, place)
    path, only = clause.path, _only(clause.path)
    decide, (kind, holds, literal) = _judging(clause), _at_once(clause)

    def check(payload: Mapping[str, object], _by: str | None, registers: Registers) -> Registers | None:
        value = lookup(payload, path) if only is None else payload.get(only, MISSING)
        if type(value) is kind:
            return registers if holds(value, literal) else None
        return registers if decide(value) else None

    return check


def _never(_payload: Mapping[str, object], _by: str | None, _registers: Registers) -> Registers | None:
    return None


def _only(path: Path) -> str | None:
    """The field, if a path is no longer than that: it is then read without a call of ours."""
    return path[0] if len(path) == 1 else None


def compile_guard(guard: Guard) -> Callable[[Mapping[str, object]], bool | None]:
    """Whether a guard with a literal holds; `None` where that cannot be decided."""
    path, only = guard.path, _only(guard.path)
    decide, (kind, holds, literal) = _judging(guard), _at_once(guard)

    def decide_payload(payload: Mapping[str, object]) -> bool | None:
        value = lookup(payload, path) if only is None else payload.get(only, MISSING)
        if type(value) is kind:
            return holds(value, literal)
        return decide(value)

    return decide_payload


def _judging(guard: Guard) -> Callable[[object], bool | None]:
    """Whether a guard with a literal holds for the value that is there, or for `MISSING`."""
    assert not isinstance(guard.operand, Register)  # noqa: S101 - registers are compiled elsewhere
    if guard.operator == "matches":
        found = compile_pattern(str(guard.operand.scalar))
        return lambda value: found(value) if isinstance(value, str) else None
    literal, holds = freeze(guard.operand.scalar), comparison(guard.operator)
    return lambda value: None if value is MISSING else holds(freeze(value), literal)


def _at_once(guard: Guard) -> tuple[type | None, Callable[[Any, Any], bool], object]:
    """A class whose values Python itself compares with the literal as `_judging` does, if there is one, and how."""
    literal = guard.operand.scalar if isinstance(guard.operand, Value) else None
    order = AT_ONCE.get(guard.operator)
    if order is None or type(literal) not in {int, str}:
        return None, operator.eq, literal
    return type(literal), order, literal


def _equal_to_register(path: Path, place: int) -> Check:
    if len(path) > 1:
        return lambda payload, _by, held: _if_equal(lookup(payload, path), held, place)
    field = path[0]

    def check(payload: dict[str, object], _by: str | None, registers: Registers) -> Registers | None:
        try:
            value = payload[field]
        except KeyError:
            return None
        if type(value) is str:  # by far the most frequent case
            return registers if value == registers[place] else None
        return _if_equal(value, registers, place)

    return check


def _if_equal(value: object, registers: Registers, place: int) -> Registers | None:
    # Neither of `MISSING` and `UNBOUND` equals anything that can be held.
    return registers if value is not MISSING and freeze(value) == registers[place] else None


def _against_register(guard: Guard, place: int) -> Check:
    path, only = guard.path, _only(guard.path)
    inside = guard.operator == "in"
    holds = comparison(guard.operator)

    def check(payload: Mapping[str, object], _by: str | None, registers: Registers) -> Registers | None:
        value = lookup(payload, path) if only is None else payload.get(only, MISSING)
        held = registers[place]
        if value is MISSING or held is UNBOUND:
            return None
        if type(held) is Collection:
            return registers if (freeze(value) in held) == inside else None
        return registers if holds(freeze(value), held) else None  # type: ignore[arg-type] # a frozen value

    return check


def _binding(path: Path, place: int, *, alone: bool) -> Check:
    field = path[0]
    if len(path) > 1 or not alone:
        return lambda payload, _by, held: _with_value(lookup(payload, path), held, place)

    def keep(payload: dict[str, object], _by: str | None, registers: Registers) -> Registers | None:
        try:
            value = payload[field]
        except KeyError:
            return None
        return (value,) if type(value) is str else _with_value(value, registers, place)

    return keep


def _with_value(value: object, registers: Registers, place: int) -> Registers | None:
    return None if value is MISSING else (*registers[:place], freeze(value), *registers[place + 1 :])


def _collecting(path: Path, place: int, most: int) -> Check:
    def add(payload: Mapping[str, object], _by: str | None, registers: Registers) -> Registers | None:
        value = lookup(payload, path)
        if value is MISSING:
            return None
        held = registers[place]
        assert isinstance(held, Collection)  # noqa: S101 - sets start empty
        grown = held.with_elements(_elements(value))
        return None if len(grown) > most else (*registers[:place], grown, *registers[place + 1 :])

    return add


def _elements(value: object) -> tuple[Frozen, ...]:
    """What is added to a set: the elements of a list, or the value itself."""
    frozen = freeze(value)
    return frozen[1] if isinstance(frozen, tuple) and frozen[0] == "list" else (frozen,)  # type: ignore[return-value]


# -- in words ----------------------------------------------------------------------------------------------------------


def why_not(
    symbol: Symbol,
    places: dict[str, int],
    most: int,
    payload: Mapping[str, object],
    by: str | None,
    registers: Registers,
) -> str:
    """Why an event that a check refused is not this symbol: the first thing that does not hold."""
    if symbol.gated and by is None:
        return "only a person can make this step, and nobody is named"
    for clause in symbol.clauses:
        after = _compile_clause(clause, places, most)(payload, by, registers)
        if after is None:
            if isinstance(clause, Collect) and lookup(payload, clause.path) is not MISSING:
                return f"the set `{clause.register}` would hold more than {most} values"
            return _why(clause, payload, places, registers)
        registers = after
    raise AssertionError("the check took it")


def _why(clause: Clause, payload: Mapping[str, object], places: dict[str, int], registers: Registers) -> str:
    """The clause that refused, with what it found. Payload text may be hostile, so it is clipped and made visible."""
    value = lookup(payload, clause.path)
    text = clip(print_clause(clause)).replace("`", "'")
    field = clip(".".join(clause.path)).replace("`", "'")
    if isinstance(value, Missing):
        return f"`{text}` needs the field `{field}`, which is missing"
    found = f"`{field}` is {_show(value)}"
    if isinstance(clause, Guard) and isinstance(clause.operand, Register):
        place = places.get(clause.operand.name)
        held = UNBOUND if place is None else registers[place]
        if isinstance(held, _Unbound):
            return f"`{text}` reads a register that nothing has bound in this session"
        if not isinstance(held, Collection):
            found += f" and the register holds {_show(thaw(held))}"
    return f"`{text}` does not hold: {found}"


def describe_failure(guard: Guard, payload: Mapping[str, object]) -> str:
    """Why a guard with a literal does not hold for a payload, in words."""
    return _why(guard, payload, {}, ())


_WIDEST = 60
"""Characters of a value that a message shows."""


def _show(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 1000:
        return "a huge number"
    if not (isinstance(value, str | int | float | bool) or value is None):
        return _outline(value)
    text = visible(json.dumps(value[: _WIDEST + 1] if isinstance(value, str) else value, ensure_ascii=False))
    text = text.replace("`", "'")
    return text if len(text) <= _WIDEST else f'{text[: _WIDEST - 2]}…"'


def _outline(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    return f"an object of {len(value)} fields" if hasattr(value, "__len__") else "a value"
