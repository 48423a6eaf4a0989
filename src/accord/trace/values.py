"""Whether a value is JSON, and where it is not.

Nothing that JSON cannot hold is ever replaced in silence: whoever writes or digests a trace is told the place of it, as
a JSON pointer.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from accord.diagnostics.visible import clip
from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["DEEPEST", "NotJsonError", "check_json", "pointer"]

DEEPEST = 200
"""Containers inside containers."""

_LONGEST_INTEGER = 14_000  # bits; Python prints 4,300 digits and no more


class NotJsonError(UsageError):
    """A value holds what JSON cannot hold; `path` leads to it."""

    def __init__(self, why: str, path: tuple[str | int, ...]) -> None:
        super().__init__(f"{why} at `{pointer(path) or '/'}`")
        self.why = why
        self.path = path

    def within(self, *outer: str | int) -> NotJsonError:
        """The same, seen from further out."""
        return NotJsonError(self.why, (*outer, *self.path))


def pointer(path: Iterable[str | int]) -> str:
    """A JSON pointer (RFC 6901), clipped and safe to show.

    Example:
        >>> pointer(["result", 3, "a/b"])
        '/result/3/a~1b'
    """
    return clip("".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path), 200)


def check_json(value: object, *, depth: int = 0) -> None:  # noqa: C901, PLR0912 - one branch for each type of JSON
    """Raise `NotJsonError` if there is anything in the value that JSON cannot hold."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return
    if isinstance(value, dict):
        _check_depth(depth)
        for key, item in value.items():
            if not isinstance(key, str):
                raise NotJsonError(f"a key is a `{type(key).__name__}` and no text", (repr(key)[:80],))
            try:
                check_json(item, depth=depth + 1)
            except NotJsonError as error:
                raise error.within(key) from None
    elif isinstance(value, list | tuple):
        _check_depth(depth)
        for place, item in enumerate(value):
            try:
                check_json(item, depth=depth + 1)
            except NotJsonError as error:
                raise error.within(place) from None
    elif isinstance(value, float):
        if not isfinite(value):
            raise NotJsonError(f"{value!r} is no JSON number", ())
    elif isinstance(value, int):
        if value.bit_length() > _LONGEST_INTEGER:
            raise NotJsonError("an integer has too many digits", ())
    elif not isinstance(value, str):
        raise NotJsonError(f"a `{kind.__module__}.{kind.__qualname__}` is no JSON", ())


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise NotJsonError(f"it is nested deeper than {DEEPEST}, or inside itself", ())
