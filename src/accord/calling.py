"""Functions as people write them, called until they have really run.

Calling a function runs it, unless it is a coroutine function, a generator or an asynchronous generator: then the call
makes an object, and nothing has happened yet. The same object may come out of a plain function that passes another
one's on. Whoever records that a tool has run must not take it for a result, so results go through here: what can be
run to its end is, and what cannot is an error.

`kind_of` looks at the function beneath the partials, bound methods and `__call__` that people wrap it in. It does not
look beneath a decorator: whether that waits for what it wraps, only the result tells.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from functools import partial
from inspect import isasyncgenfunction, isawaitable, iscoroutinefunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from accord.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "MOST_ITEMS",
    "WHOLE",
    "Kind",
    "check_whole",
    "is_whole",
    "kind_of",
    "name_of",
    "to_the_end",
    "to_the_end_async",
]

Kind: TypeAlias = Literal["plain", "coroutine", "generator", "async generator"]

WHOLE = frozenset({type(None), bool, int, float, str, bytes, list, tuple, dict, set})
"""Results of these classes are what they are."""

MOST_ITEMS = 200_000
"""A generator that gives more than this is taken for one without an end."""


def kind_of(function: Callable[..., Any]) -> Kind:
    """What calling a function does.

    Example:
        >>> async def pay(amount): ...
        >>> kind_of(partial(pay, 3)), kind_of(print)
        ('coroutine', 'plain')
    """
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, type):
        return "plain"  # it makes an instance, whatever calling that does
    candidates = (function, getattr(type(function), "__call__", None))  # noqa: B004 - what runs, and not whether it can
    for candidate in candidates:
        if iscoroutinefunction(candidate):
            return "coroutine"
        if isasyncgenfunction(candidate):
            return "async generator"
        if isgeneratorfunction(candidate):
            return "generator"
    return "plain"


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function; `UsageError` if it has none, as partials and instances have not."""
    name = getattr(function, "__name__", None)
    if not isinstance(name, str) or not name:
        raise UsageError(f"a `{type(function).__name__}` has no name of its own; give it one with `name=`")
    return name


def check_whole(value: object) -> None:
    """`UsageError` if a function has returned something that has yet to run, which it then never does."""
    if type(value) in WHOLE:
        return
    what = _yet_to_run(value)
    if what is not None:
        _drop(value)
        raise UsageError(
            f"it returned {what}, which has not run to its end; guard the function that makes it, or make this one "
            "`async def` or a generator itself"
        )


def to_the_end(value: object) -> object:
    """What a function has returned, once that has run: the items of an iterator as a list.

    `UsageError` if only an event loop could run it, or if it has no end.
    """
    if type(value) in WHOLE:
        return value
    if isawaitable(value) or issubclass(type(value), AsyncIterator):
        _drop(value)
        raise UsageError("the tool is asynchronous and was not waited for")
    return _items(value) if issubclass(type(value), Iterator) else value


async def to_the_end_async(value: object) -> object:
    """As `to_the_end`, in an event loop: what can be waited for is."""
    while not is_whole(value):
        value = await further(value)
    return value


async def further(value: object) -> object:
    """What comes of something that has yet to run; that may have to be taken further itself."""
    if isawaitable(value):
        return await value
    if issubclass(type(value), AsyncIterator):
        return await _async_items(value)  # type: ignore[arg-type] # its class says so
    return to_the_end(value)


def _items(values: Any) -> list[object]:  # noqa: ANN401 - an iterator, as its class says
    items: list[object] = []
    for item in values:
        items.append(item)
        if len(items) > MOST_ITEMS:
            _drop(values)
            raise UsageError(f"the tool gave more than {MOST_ITEMS:,} items and was stopped")
    return items


async def _async_items(values: AsyncIterator[object]) -> list[object]:
    items: list[object] = []
    async for item in values:
        items.append(item)
        if len(items) > MOST_ITEMS:
            if issubclass(type(values), AsyncGenerator):
                await values.aclose()  # type: ignore[attr-defined] # its class says so
            raise UsageError(f"the tool gave more than {MOST_ITEMS:,} items and was stopped")
    return items


def is_whole(value: object) -> bool:
    """Whether nothing of a result has yet to run."""
    kind = type(value)
    return kind in WHOLE or not (isawaitable(value) or issubclass(kind, Iterator) or issubclass(kind, AsyncIterator))


def _yet_to_run(value: object) -> str | None:
    """What a value is that has yet to run. An iterator that is no generator is a value that a program may want."""
    kind = type(value)
    if issubclass(kind, AsyncGenerator):
        return "an asynchronous generator"
    if isawaitable(value):
        return "something to be awaited"
    return "a generator" if issubclass(kind, Generator) else None


def _drop(value: object) -> None:
    """Stop what will not be waited for: a coroutine is closed, a task cancelled."""
    for name in ("close", "cancel"):
        stop = getattr(value, name, None)
        if callable(stop):
            stop()
            return
