"""An answer that takes a while: lines that tell how far the work is, and behind them the answer itself.

Whoever has asked may go away, because they leave the page or choose another contract. The work is ended when it next
tells how far it is: nobody waits for it, and others may wait for its worker.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

import anyio
import anyio.from_thread
from starlette.responses import Response

from accord.studio.answering import Reply

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

__all__ = ["Tell", "Telling", "Work"]

Tell: TypeAlias = Callable[[bytes], None]
"""Is given JSON about how far the work is, on the thread of the work."""
Work: TypeAlias = Callable[[str, bytes, Tell], Reply]
"""Answers the request of that name with that body."""


class _GoneError(Exception):
    """Nobody wants the answer any more."""


class Telling(Response):
    """A line of JSON for each word on the way, and one with the status and the answer."""

    media_type = "application/x-ndjson"

    def __init__(self, answering: Callable[[Tell], Awaitable[Reply]]) -> None:
        super().__init__()
        del self.headers["content-length"]  # nobody knows it yet
        self._answering = answering

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as all responses are called
        """Answer a request whose body has been read."""
        gone = threading.Event()

        async def listen() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        async def write(line: bytes, *, more: bool) -> None:
            await send({"type": "http.response.body", "body": line, "more_body": more})

        def tell(progress: bytes) -> None:
            if gone.is_set():
                raise _GoneError
            anyio.from_thread.run(lambda: write(b'{"progress":%b}\n' % progress, more=True))

        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            try:
                status, content = await self._answering(tell)
                await write(b'{"status":%d,"answer":%b}\n' % (status, content), more=False)
            except _GoneError:
                pass
            group.cancel_scope.cancel()
