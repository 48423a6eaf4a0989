"""Running tools under a guard in an event loop: what does not wait for each other, at the same time.

What waits for a store waits beside the loop. INVARIANT: a step of the session that has begun is finished even if the
task is cancelled meanwhile, so that nothing is left reserved that nobody knows of.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from accord.calling import check_whole, to_the_end_async
from accord.integrations.batch import in_words
from accord.integrations.guard.running import INTERRUPTED, NOT_BEGUN, Batch, admitted, passed_on, told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from accord.integrations.exchange import ToolCall, ToolResult
    from accord.integrations.guard.decisions import Decision
    from accord.integrations.guard.looking import GuardedTool
    from accord.integrations.guard.session import LiveSession

__all__ = ["arun", "run_function_async", "steadily", "take_back"]

T = TypeVar("T")


async def arun(session: LiveSession, tools: Mapping[str, GuardedTool], calls: list[ToolCall]) -> list[ToolResult]:
    """Run a batch, at the same time what does not wait for each other."""
    batch = Batch(session, tools, calls)
    tasks: set[asyncio.Task[None]] = set()
    try:
        while True:
            begun = await steadily(session, batch.ready)
            tasks.update(asyncio.ensure_future(_run_one(batch, *each)) for each in begun)
            if not tasks:
                return batch.all_results()
            done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        cancelled = await _to_the_end(*tasks)
        await steadily(session, batch.abandon)
        if cancelled:  # once more, while we were waiting
            raise asyncio.CancelledError


async def _run_one(batch: Batch, place: int, decision: Decision) -> None:
    session = batch.session
    try:
        with session.around(decision):
            value = await to_the_end_async(batch.begin(place)(**decision.call.arguments))
    except Exception as error:  # noqa: BLE001 - whatever a tool does wrong, the model is told and the session goes on
        await steadily(session, partial(batch.failed, place, error))
    except BaseException as error:
        await steadily(session, partial(batch.failed, place, error))
        raise
    else:
        await steadily(session, partial(batch.returned, place, value))


async def run_function_async(session: LiveSession, name: str, tool: GuardedTool, arguments: dict[str, Any]) -> object:
    """Call a coroutine function if that is allowed now; `ProtocolViolationError` if it is not."""
    decision = await steadily(session, partial(admitted, session, name, tool, arguments), take_back(session))
    ticket = decision.ticket
    try:
        with session.around(decision):
            value = await tool.function(**decision.call.arguments)
            check_whole(value)
    except Exception as error:
        if ticket is not None:
            await steadily(session, partial(told, session.fail, ticket, error))
        raise
    except BaseException as error:
        if ticket is not None:
            await steadily(session, partial(told, session.fail, ticket, f"{INTERRUPTED} ({in_words(error)})"))
        raise
    return await steadily(session, partial(passed_on, session, ticket, value))


def take_back(session: LiveSession) -> Callable[[Decision], None]:
    """What undoes a decision that nobody will know of."""

    def undo(decision: Decision) -> None:
        if decision.ticket is not None:
            told(session.take_back, decision.ticket, NOT_BEGUN)

    return undo


async def steadily(session: LiveSession, step: Callable[[], T], undo: Callable[[T], None] | None = None) -> T:
    """A step that may wait for a store, beside the event loop.

    If we are cancelled meanwhile it is finished first, and undone if that is wanted: nobody will know of it.
    """
    if not session.home.waits:
        return step()
    task = asyncio.ensure_future(asyncio.to_thread(step))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _to_the_end(task)
        if undo is not None and task.exception() is None:
            await _to_the_end(asyncio.ensure_future(asyncio.to_thread(undo, task.result())))
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
