"""Guarded functions, each of the kind that it was: plain, coroutine function, generator, asynchronous generator.

A generator is a call that lasts: it is asked for when it begins, which may be never, and has ended when it is
exhausted. One that is left early (closed, or forgotten) was interrupted, and what that means stands in the contract.
What it gave is its result, as in a batch. Its items have been passed on by then, so nothing of it can be withheld; the
program is told at its end.
"""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from accord.calling import MOST_ITEMS, WHOLE, kind_of
from accord.integrations.guard.handles import Handle, handle_of
from accord.integrations.guard.running import admit, let_through, run_function, settle

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    from accord.calls.nodes import Kind
    from accord.integrations.guard.fast_path import FastPath
    from accord.integrations.guard.handles import Asked
    from accord.integrations.guard.looking import GuardedTool
    from accord.integrations.guard.session import LiveSession

__all__ = ["guarded_like"]


def guarded_like(session: LiveSession, tool: GuardedTool) -> Callable[..., Any]:
    """The function of a tool under guard, of the same kind."""
    function = tool.function
    kind = kind_of(function)
    guarded: Callable[..., Any]

    if kind == "coroutine":
        from accord.integrations.guard.running_async import run_function_async  # noqa: PLC0415 - it loads asyncio

        async def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the function takes
            return await run_function_async(session, tool, tool.gather(args, kwargs))

    elif kind == "generator":

        def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the same
            return (yield from _generate(session, tool, tool.gather(args, kwargs)))

    elif kind == "async generator":

        def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the same
            return _generate_async(session, tool, tool.gather(args, kwargs))

    elif tool.calls is None or tool.calls.looks or session.strict or session.home.fast is None:

        def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the same
            return run_function(session, tool, tool.gather(args, kwargs))

    else:
        guarded = _by_label(session, tool, session.home.fast, tool.calls)

    return wraps(function)(guarded)


def _by_label(session: LiveSession, tool: GuardedTool, fast: FastPath, kind: Kind) -> Callable[..., Any]:
    """A plain function of which the label alone decides, so that nobody needs to look at its arguments."""
    function = tool.function

    def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the function takes
        before = fast.here
        if before is None or before[2]:
            return run_function(session, tool, tool.gather(args, kwargs))
        trip = before[0].trips.get(kind) or before[0].trip(kind)
        if trip is None:
            return run_function(session, tool, tool.gather(args, kwargs))
        asked: Asked = [session, tool, args, kwargs]
        here, rest = (trip[0], before[1], (asked,)), (trip[1], before[1], ())
        value: object = None
        went = back = False
        try:
            if fast.here is before: fast.here = here; went = True  # fmt: skip  # noqa: E701, E702
            if went:
                value = function(*args, **kwargs); back = True  # fmt: skip  # noqa: E702
                whole = type(value) in WHOLE
                if whole and fast.here is here: fast.here = rest; return value  # fmt: skip  # noqa: E701, E702
                call = handle_of(asked)
                call.value, call.back = value, True
                return settle(call)
        except BaseException as error:
            fits = not isinstance(error, TypeError) or tool.fits(args, kwargs)
            call = handle_of(asked)
            call.begun, call.value, call.back = fits, value, back
            if fits and not call.has_run:
                call.failed(error)
            call.let_go()
            if fits:
                raise
        return run_function(session, tool, tool.gather(args, kwargs))

    return guarded


class _Given:
    """What a generator has given so far, as far as the contract looks at it."""

    def __init__(self, call: Handle) -> None:
        tools, name = call.session.policy.tools, call.name
        label = tools.labels_of(name)[:1]
        self._kept = bool(tools.ends(name, tools.failure(name, label[0] if label else None)))
        self.items: list[object] = []

    def add(self, item: object) -> None:
        """One more; those of an endless one are not kept, so that it costs no memory."""
        if self._kept and len(self.items) <= MOST_ITEMS:
            self.items.append(item)


def _generate(session: LiveSession, tool: GuardedTool, arguments: dict[str, Any]) -> Generator[Any, Any, Any]:
    call = Handle(session)
    try:
        admit(call, tool, arguments)
        given = _Given(call)
        try:
            with call.around():
                call.begun = True
                value = yield from _passing(tool.function(**call.given()), given)
                call.value = given.items
                call.back = True
        except BaseException as error:
            if not call.has_run:
                call.failed(error)
            raise
        let_through(call, given.items)
    except BaseException:
        call.let_go()
        raise
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
    session: LiveSession, tool: GuardedTool, arguments: dict[str, Any]
) -> AsyncGenerator[Any, Any]:
    from accord.integrations.guard.running_async import steadily  # noqa: PLC0415 - it loads asyncio

    call = Handle(session)
    try:
        await steadily(session, lambda: admit(call, tool, arguments))
        given = _Given(call)
        try:
            with call.around():
                call.begun = True
                inner: AsyncGenerator[Any, Any] = tool.function(**call.given())
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
                call.value = given.items
                call.back = True
        except BaseException as error:
            if not call.has_run:
                await steadily(session, partial(call.failed, error))
            raise
        await steadily(session, lambda: let_through(call, given.items))
    except BaseException:
        await steadily(session, call.let_go)
        raise
