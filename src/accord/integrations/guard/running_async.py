"""Running tools under a guard in an event loop: what does not wait for each other, at the same time.

What waits for a store waits beside the loop. INVARIANT: a step of the session that has begun is finished even if the
task is cancelled meanwhile, so that nothing is left reserved that nobody knows of.
"""

from __future__ import annotations

import asyncio
from functools import partial
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeVar

from accord.calling import further
from accord.integrations.guard.handles import Handle
from accord.integrations.guard.running import admit, begin, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.integrations.exchange import ToolCall, ToolResult
    from accord.integrations.guard.looking import GuardedTool
    from accord.integrations.guard.running import Batch
    from accord.integrations.guard.session import LiveSession

__all__ = ["arun", "run_function_async", "steadily"]

T = TypeVar("T")


async def arun(session: LiveSession, tools: Mapping[str, GuardedTool], calls: list[ToolCall]) -> list[ToolResult]:
    """Run a batch, at the same time what does not wait for each other."""
    batch = begin(session, tools, calls, can_wait=True)
    tasks: set[asyncio.Task[None]] = set()
    at_once = not session.home.waits
    try:
        while True:
            begun = batch.ready() if at_once else await steadily(session, batch.ready)
            if len(begun) == 1 and not tasks:
                await _run_one(batch, begun[0])
                continue
            tasks.update(asyncio.ensure_future(_run_one(batch, place)) for place in begun)
            if not tasks:
                return batch.all_results()
            done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    except BaseException:
        for task in tasks:
            task.cancel()
        cancelled = await _to_the_end(*tasks)
        await steadily(session, batch.abandon)
        if cancelled:  # once more, while we were waiting
            raise asyncio.CancelledError from None
        raise


async def _run_one(batch: Batch, place: int) -> None:
    session, call = batch.session, batch.out[place]
    try:
        with call.around():
            given = call.given()
            call.begun = True
            call.value = call.function(**given)
            call.back = True
            if type(call.value) is CoroutineType:  # what nearly all of them return
                call.value = await call.value
            while not call.has_run:
                call.value = await further(call.value)
    except BaseException as error:
        if call.has_run:
            raise
        await steadily(session, partial(batch.failed, place, error))
        if not isinstance(error, Exception):  # whatever a tool does wrong, the model is told and the session goes on
            raise
    else:
        if session.home.waits:
            await steadily(session, partial(batch.returned, place, call.value))
        else:
            batch.returned(place, call.value)


async def run_function_async(session: LiveSession, tool: GuardedTool, arguments: dict[str, Any]) -> object:
    """Call a coroutine function if that is allowed now; `ProtocolViolationError` if it is not."""
    call = Handle(session)
    try:
        await steadily(session, partial(admit, call, tool, arguments))
        try:
            with call.around():
                given = call.given()
                call.begun = True
                call.value = await tool.function(**given)
                call.back = True
        except BaseException as error:
            if not call.has_run:
                await steadily(session, partial(call.failed, error))
            raise
        return await steadily(session, partial(settle, call))
    except BaseException:
        await steadily(session, call.let_go)
        raise


async def steadily(session: LiveSession, step: Callable[[], T]) -> T:
    """A step that may wait for a store, beside the event loop. If we are cancelled meanwhile it is finished first."""
    if not session.home.waits:
        return step()
    task = asyncio.ensure_future(asyncio.to_thread(step))
    try:
        return await asyncio.shield(task)
    except BaseException:
        await _to_the_end(task)
        raise


async def _to_the_end(*tasks: asyncio.Future[Any]) -> bool:
    """Wait for all of them, whoever cancels us; whether somebody did."""
    cancelled = False
    while waiting := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(waiting)
        except asyncio.CancelledError:
            cancelled = True
    return cancelled
