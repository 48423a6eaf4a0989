"""Whether byte code without calls runs undisturbed, and a lock for where it does not.

CPython with its global interpreter lock switches threads, handles signals and raises asynchronous exceptions only at
calls and backward jumps, and collects garbage there or at allocations. Free-threaded builds and other interpreters
promise nothing of the kind, so there each monitor gets a lock of its own around the methods that read and write its
state.
"""

from __future__ import annotations

import sys
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["atomic", "calls_only_switching", "locked"]

T = TypeVar("T")
R = TypeVar("R")


def calls_only_switching() -> bool:
    """Whether this interpreter leaves a stretch of byte code without calls alone."""
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    return sys.implementation.name == "cpython" and bool(gil)


def _with_lock(method: Callable[..., R]) -> Callable[..., R]:
    @wraps(method)
    def run(self: Any, *args: Any, **kwargs: Any) -> R:  # noqa: ANN401 - any method of a class with `_lock`
        with self._lock:
            return method(self, *args, **kwargs)

    return run


def locked(cls: type[T], methods: tuple[str, ...]) -> type[T]:
    """The class with a lock around these methods; its instances have a slot `_lock`."""
    from threading import RLock  # noqa: PLC0415 - only where it is needed

    for name in methods:
        setattr(cls, name, _with_lock(getattr(cls, name)))
    plain_init = cls.__init__

    @wraps(plain_init)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - any signature
        self._lock = RLock()
        plain_init(self, *args, **kwargs)

    cls.__init__ = init  # type: ignore[method-assign]
    return cls


def atomic(*methods: str) -> Callable[[type[T]], type[T]]:
    """Class decorator: nothing where stretches without calls are atomic, a lock where they are not."""

    def decorate(cls: type[T]) -> type[T]:
        return cls if calls_only_switching() else locked(cls, methods)

    return decorate
