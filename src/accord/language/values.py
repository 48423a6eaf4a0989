"""Values as the language compares them.

A payload holds JSON values. Before a value is compared or kept it is *frozen*: copied into a form in which Python's own
`==` and `hash` mean what the language means. Numbers, strings and null stay as they are; booleans, lists and mappings
are tagged tuples, so that `true` is not `1` and a list is nothing but a list. NaN is copied each time, so it equals
nothing.
"""

from __future__ import annotations

import operator as operator_module
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from accord.errors import UsageError

if TYPE_CHECKING:
    from accord.language.clauses import Operator, Path

__all__ = [
    "AT_ONCE",
    "MISSING",
    "Comparison",
    "Frozen",
    "Missing",
    "comparison",
    "freeze",
    "lookup",
    "order_of",
    "thaw",
]

Frozen: TypeAlias = "str | int | float | tuple[str, object] | None"

DEEPEST = 64
LARGEST = 100_000


class Missing:
    """The type of `MISSING`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()
"""What a path that leads nowhere finds."""


def lookup(payload: Mapping[str, object], path: Path) -> object:
    """The value at a path, or `MISSING`."""
    value: object = payload
    for segment in path:
        # Asking a class is much cheaper than asking whether it is registered as a mapping.
        if (type(value) is not dict and not isinstance(value, Mapping)) or segment not in value:
            return MISSING
        value = value[segment]
    return value


def freeze(value: object) -> Frozen:
    """A copy of a JSON value, ready to be compared and kept.

    Raises `UsageError` for what JSON cannot hold, and for values too deep or too large to be meant.
    """
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value  # type: ignore[return-value] # just checked
    return _freeze(value, DEEPEST, [LARGEST])


def _freeze(value: object, depth: int, room: list[int]) -> Frozen:
    room[0] -= 1
    if depth < 0 or room[0] < 0:
        what = f"nested deeper than {DEEPEST}" if depth < 0 else f"made of more than {LARGEST} values"
        raise UsageError(f"a payload value is {what}, or holds itself")
    if isinstance(value, bool):
        return ("bool", value)
    if value is None:
        return None
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__index__(value)  # what it is, whatever its class says that it is
    if isinstance(value, float):
        number = float.__float__(value)
        return number if number == number else float("nan")  # noqa: PLR0124 - NaN is unlike itself
    if isinstance(value, list | tuple):
        return ("list", tuple([_freeze(item, depth - 1, room) for item in value]))
    if isinstance(value, Mapping):
        items = []
        for key in value:
            if not isinstance(key, str):
                raise UsageError(f"the keys of a payload are strings, got `{type(key).__name__}`")
            items.append((str.__str__(key), _freeze(value[key], depth - 1, room)))
        return ("map", tuple(sorted(items, key=lambda item: item[0])))
    raise UsageError(f"a payload holds JSON values, got `{type(value).__name__}`")


def thaw(value: Frozen) -> object:
    """The plain JSON value again, for messages."""
    if not isinstance(value, tuple):
        return value
    tag, inside = value
    if tag == "list":
        return [thaw(item) for item in inside]  # type: ignore[attr-defined] # a tuple of frozen values
    if tag == "map":
        return {key: thaw(item) for key, item in inside}  # type: ignore[attr-defined] # a tuple of pairs
    return inside


def order_of(value: Frozen) -> tuple[int, float, str]:
    """For sorting values of every kind: numbers come first, then strings, then the rest, alike in every process."""
    if isinstance(value, str):
        return (1, 0, value)
    if isinstance(value, int | float):
        return (0, value, "")
    try:
        return (2, 0, repr(value))
    except ValueError:  # Python does not write out integers of thousands of digits
        return (3, 0, "")


Comparison: TypeAlias = "Callable[[Frozen, Frozen], bool | None]"


def _contains(left: Frozen, right: Frozen) -> bool | None:
    if not isinstance(right, tuple) or right[0] != "list":
        return None
    return left in right[1]  # type: ignore[operator] # a tuple of frozen values


def _lacks(left: Frozen, right: Frozen) -> bool | None:
    found = _contains(left, right)
    return None if found is None else not found


def _ordered(order: Callable[[Any, Any], bool]) -> Comparison:
    def compare(left: Frozen, right: Frozen) -> bool | None:
        if isinstance(left, str):
            return order(left, right) if isinstance(right, str) else None
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            return None
        # NaN is no more ordered than unlike types are, so that it cannot dodge a rule.
        return order(left, right) if left == left and right == right else None  # noqa: PLR0124

    return compare


_EQUALITIES = {"==": operator_module.eq, "!=": operator_module.ne}
_ORDERS = {"<": operator_module.lt, "<=": operator_module.le, ">": operator_module.gt, ">=": operator_module.ge}
AT_ONCE: dict[str, Callable[[Any, Any], bool]] = {**_EQUALITIES, **_ORDERS}
"""What Python itself does with two integers, or with two strings."""
_COMPARISONS: dict[str, Comparison] = {
    **_EQUALITIES,
    **{operator: _ordered(order) for operator, order in _ORDERS.items()},
    "in": _contains,
    "not in": _lacks,
}


def comparison(operator: Operator) -> Comparison:
    """What an operator does with two values: whether it holds, `None` if they cannot be compared so.

    `matches` is not one of them.
    """
    return _COMPARISONS[operator]
