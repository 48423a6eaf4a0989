"""Dictionaries and lists that cannot be changed, and are dictionaries and lists in every other way.

A payload is recorded once and read by many. It is compared with plain containers, written as JSON and given to
libraries that ask for a `dict`, so it stays one. A copy of it (`dict(…)`, `copy`, `deepcopy`, `pickle`) is plain again,
and whoever made the copy may change it.
"""

from __future__ import annotations

from typing import Any, NoReturn, cast

from accord.trace.values import DEEPEST

__all__ = ["SealedDict", "SealedList", "seal", "unseal"]


def _refuse(_self: object, *_given: object, **_named: object) -> NoReturn:
    raise TypeError("what was recorded cannot be changed; change a copy")


class SealedDict(dict[str, Any]):
    """A dictionary that cannot be changed."""

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        del memo
        return cast("dict[str, Any]", unseal(self))

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (unseal(self),)


class SealedList(list[Any]):
    """A list that cannot be changed."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = pop = _refuse
    remove = reverse = sort = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: object) -> list[Any]:
        del memo
        return cast("list[Any]", unseal(self))

    def __reduce__(self) -> tuple[object, ...]:
        return list, (unseal(self),)


def seal(value: object, depth: int = 0) -> Any:  # noqa: ANN401 - payload values
    """A copy that cannot be changed, nor anything in it; values that are no containers are the same objects."""
    kind = type(value)
    if kind is SealedDict or kind is SealedList:
        return value
    if isinstance(value, dict):
        if depth > DEEPEST:
            raise ValueError(f"it is nested deeper than {DEEPEST}, or inside itself")
        return SealedDict({key: seal(item, depth + 1) for key, item in value.items()})
    if isinstance(value, list | tuple):
        if depth > DEEPEST:
            raise ValueError(f"it is nested deeper than {DEEPEST}, or inside itself")
        return SealedList([seal(item, depth + 1) for item in value])
    return value


def unseal(value: object) -> object:
    """A plain copy."""
    if isinstance(value, dict):
        return {key: unseal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unseal(item) for item in value]
    return value
