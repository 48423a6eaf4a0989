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

__all__ = ["MISSING", "Frozen", "Missing", "freeze", "holds", "lookup", "thaw"]

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
        if not isinstance(value, Mapping) or segment not in value:
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
        return int(value)
    if isinstance(value, float):
        return float(value) if value == value else float("nan")  # noqa: PLR0124 - NaN is unlike itself
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


_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator_module.lt,
    "<=": operator_module.le,
    ">": operator_module.gt,
    ">=": operator_module.ge,
}


def holds(left: Frozen, operator: Operator, right: Frozen) -> bool | None:
    """Whether a comparison holds; `None` if it is impossible. `matches` is not one of them."""
    if operator == "==":
        return left == right
    if operator == "!=":
        return left != right
    if operator in {"in", "not in"}:
        if not isinstance(right, tuple) or right[0] != "list":
            return None
        found = any(left == item for item in right[1])  # type: ignore[attr-defined] # a tuple of frozen values
        return found if operator == "in" else not found
    texts = isinstance(left, str) and isinstance(right, str)
    # NaN is no more ordered than unlike types are, so that it cannot dodge a rule.
    numbers = isinstance(left, int | float) and isinstance(right, int | float) and left == left and right == right  # noqa: PLR0124
    return _ORDER[operator](left, right) if texts or numbers else None
