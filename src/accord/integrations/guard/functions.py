"""Guarded functions, each of the kind that it was: plain, coroutine function, generator, asynchronous generator.

A generator is a call that lasts: it is asked for when it begins, which may be never, and has ended when it is
exhausted. One that is left early (closed, or forgotten) was interrupted, and what that means stands in the contract.
What it gave is its result, as in a batch. Its items have been passed on by then, so nothing of it can be withheld; the
program is told at its end.
"""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from accord.calling import MOST_ITEMS, kind_of
from accord.integrations.guard.holding import Held
from accord.integrations.guard.running import admitted, let_through, run_function

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from accord.integrations.guard.decisions import Decision
    from accord.integrations.guard.looking import GuardedTool
    from accord.integrations.guard.session import LiveSession

__all__ = ["guarded_like"]


def guarded_like(session: LiveSession, name: str, tool: GuardedTool) -> Callable[..., Any]:
    """The function of a tool under guard, of the same kind."""
    function = tool.function
    kind = kind_of(function)
    guarded: Callable[..., Any]

    if kind == "coroutine":
        from accord.integrations.guard.running_async import run_function_async  # noqa: PLC0415 - it loads asyncio

        async def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the function takes
            return await run_function_async(session, name, tool, tool.gather(args, kwargs))

    elif kind == "generator":

        def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the same
            return (yield from _generate(session, name, tool, tool.gather(args, kwargs)))

    elif kind == "async generator":

        def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the same
            return _generate_async(session, name, tool, tool.gather(args, kwargs))

    else:

        def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the same
            return run_function(session, name, tool, tool.gather(args, kwargs))

    return wraps(function)(guarded)


class _Given:
    """What a generator has given so far, as far as the contract looks at it."""

    def __init__(self, session: LiveSession, decision: Decision) -> None:
        tools, name = session.policy.tools, decision.call.name
        label = tools.labels_of(name)[:1]
        self._kept = bool(tools.ends(name, tools.failure(name, label[0] if label else None)))
        self.items: list[object] = []

    def add(self, item: object) -> None:
        """One more; those of an endless one are not kept, so that it costs no memory."""
        if self._kept and len(self.items) <= MOST_ITEMS:
            self.items.append(item)


def _generate(
    session: LiveSession, name: str, tool: GuardedTool, arguments: dict[str, Any]
) -> Generator[Any, Any, Any]:
    with Held(session) as held:
        decision = admitted(held, name, tool, arguments)
        given = _Given(session, decision)
        try:
            with session.around(decision):
                held.begun = True
                value = yield from _passing(tool.function(**decision.call.arguments), given)
                held.value = given.items
                held.back = True
        except BaseException as error:
            if not held.has_run:
                held.failed(error)
            raise
        let_through(held, given.items)
        return value


def _passing(inner: Generator[Any, Any, Any], given: _Given) -> Generator[Any, Any, Any]:
    """The generator, and a note of what it gives."""
    try:
        item = next(inner)
        while True:
            given.add(item)
            try:
                sent = yield item
            except GeneratorExit:
                inner.close()
                raise
            except BaseException as error:  # noqa: BLE001 - it is for the generator to say
                item = inner.throw(error)
            else:
                item = inner.send(sent)
    except StopIteration as end:
        return end.value


async def _generate_async(
    session: LiveSession, name: str, tool: GuardedTool, arguments: dict[str, Any]
) -> AsyncGenerator[Any, Any]:
    from accord.integrations.guard.running_async import steadily  # noqa: PLC0415 - it loads asyncio

    held = Held(session)
    try:
        decision = await steadily(session, lambda: admitted(held, name, tool, arguments))
        given = _Given(session, decision)
        try:
            with session.around(decision):
                held.begun = True
                inner: AsyncGenerator[Any, Any] = tool.function(**decision.call.arguments)
                step = inner.asend(None)
                while True:
                    try:
                        item = await step
                    except StopAsyncIteration:
                        break
                    given.add(item)
                    try:
                        sent = yield item
                    except GeneratorExit:
                        await inner.aclose()
                        raise
                    except BaseException as error:  # noqa: BLE001 - it is for the generator to say
                        step = inner.athrow(error)
                    else:
                        step = inner.asend(sent)
                held.value = given.items
                held.back = True
        except BaseException as error:
            if not held.has_run:
                await steadily(session, partial(held.failed, error))
            raise
        await steadily(session, lambda: let_through(held, given.items))
    finally:
        if not held.over:
            await steadily(session, held.let_go)
