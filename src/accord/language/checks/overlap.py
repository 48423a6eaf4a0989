"""Whether the guards of two branches can hold together, decided where it can be.

Guards on different fields are independent, so each field is looked at by itself. What its guards compare it with are a
few literals; between and around them all values behave alike, so it is enough to try one of each. A field that leads to
others (`order` beside `order.id`) can only be an object. Comparisons with a register are decided only against each
other: `x == r` and `x != r` never hold together. Everything else is left to the monitor.
"""

from __future__ import annotations

from math import inf, isfinite, nextafter
from typing import TYPE_CHECKING, Literal

from accord.language.clauses import Guard, Register, Value
from accord.language.patterns import PatternError, compile_pattern
from accord.language.values import Frozen, comparison, freeze, thaw

if TYPE_CHECKING:
    from collections.abc import Iterable

    from accord.language.clauses import Clause, Path

__all__ = ["NOT_DECIDED", "example_payload"]

NOT_DECIDED: Literal["not decided"] = "not decided"

_OBJECT: Frozen = ("map", ())

# Which outcomes of a comparison an operator allows: less, equal, greater, neither (unlike types).
_OUTCOMES = {"==": "=", "!=": "<>?", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "in": "i", "not in": "o"}


def example_payload(clauses: Iterable[Clause]) -> dict[str, object] | Literal["not decided"] | None:
    """A payload for which all guards hold; `None` if there is none, `NOT_DECIDED` where that cannot be told."""
    clauses = list(clauses)
    guards = [clause for clause in clauses if isinstance(clause, Guard)]
    written = {clause.register for clause in clauses if not isinstance(clause, Guard)}
    if _registers_contradict(guards, written):
        return None
    payload: dict[str, object] = {}
    undecided = any(isinstance(guard.operand, Register) for guard in guards)
    paths = {clause.path for clause in clauses}
    for path in sorted(paths):
        here = [g for g in guards if g.path == path and isinstance(g.operand, Value)]
        leads_on = any(len(other) > len(path) and other[: len(path)] == path for other in paths)
        tests = [g for g in here if g.operator == "matches"]
        values = [_OBJECT] if leads_on else _candidates(here)
        fitting = [v for v in values if all(_holds(g, v) for g in here if g.operator != "matches")]
        if not fitting:
            return None
        if tests:
            closed = any(g.operator in {"==", "in"} for g in here)  # then the candidates are all there are
            fitting = [v for v in fitting if all(_finds(g, v) for g in tests)]
            if not fitting and closed:
                return None
            if not fitting:
                undecided = True
                continue
        if not leads_on:
            _put(payload, path, thaw(fitting[0]))
    return NOT_DECIDED if undecided else payload


def _registers_contradict(guards: list[Guard], written: set[str]) -> bool:
    """Whether comparisons with one register exclude each other; not where the step itself changes it."""
    left: dict[tuple[Path, str, bool], set[str]] = {}
    for guard in guards:
        if isinstance(guard.operand, Register) and guard.operand.name not in written:
            membership = guard.operator in {"in", "not in"}
            key = (guard.path, guard.operand.name, membership)
            outcomes = set(_OUTCOMES[guard.operator])
            left[key] = left.get(key, outcomes) & outcomes
    return any(not outcomes for outcomes in left.values())


def _holds(guard: Guard, value: Frozen) -> bool:
    assert isinstance(guard.operand, Value)  # noqa: S101 - only literals come here
    return comparison(guard.operator)(value, freeze(guard.operand.scalar)) is True


def _finds(guard: Guard, value: Frozen) -> bool:
    assert isinstance(guard.operand, Value)  # noqa: S101 - only literals come here
    try:
        return isinstance(value, str) and compile_pattern(str(guard.operand.scalar))(value)
    except PatternError:
        return False  # reported by the check of patterns


def _candidates(guards: list[Guard]) -> list[Frozen]:
    """One value of every kind that the guards could tell apart."""
    literals: list[Frozen] = []
    for guard in guards:
        assert isinstance(guard.operand, Value)  # noqa: S101 - only literals come here
        literal = freeze(guard.operand.scalar)
        literals.append(literal)
        if isinstance(literal, tuple) and literal[0] == "list":
            literals.extend(literal[1])  # type: ignore[arg-type] # a tuple of frozen values
    numbers = sorted({v for v in literals if isinstance(v, int | float)})
    texts = sorted({v for v in literals if isinstance(v, str)})
    values: list[Frozen] = [*literals]
    values += [value for number in numbers for value in _around(number)] or [0]
    values += ["", *(text + "\0" for text in texts), "text"]
    values += [None, ("bool", True), ("bool", False), ("list", ()), _OBJECT]
    return values


def _around(number: float) -> list[Frozen]:
    """The nearest numbers below and above, so that there is one in every gap between literals that has any."""
    around: list[Frozen] = [number - 1, number + 1] if isinstance(number, int) else []
    try:
        around += [nextafter(number, -inf), nextafter(number, inf)]
    except OverflowError:  # an integer that no float can hold
        return around
    return [value for value in around if not isinstance(value, float) or isfinite(value)]


def _put(payload: dict[str, object], path: Path, value: object) -> None:
    inside = payload
    for segment in path[:-1]:
        inside = inside.setdefault(segment, {})  # type: ignore[assignment] # an object, because it leads on
    inside[path[-1]] = value
