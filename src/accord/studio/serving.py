"""The studio as a server: on this machine alone, until somebody stops it."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from accord.errors import UsageError
from accord.studio.app import create_app
from accord.studio.gate import Gate
from accord.studio.workers import Workers

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from types import FrameType

    from accord.studio.bounds import Bounds
    from accord.studio.opened import Studio

__all__ = ["DEFAULT_PORT", "listen", "serve", "server_of"]

HOST = "127.0.0.1"
DEFAULT_PORT = 8722
_CONNECTIONS = 256
_IDLE_SECONDS = 15
_ENDING_SECONDS = 5


def serve(studio: Studio, bounds: Bounds, port: int | None, tell: Callable[[str], None]) -> None:
    """Serve until interrupted; `tell` is given the address to open once it can be opened.

    Without a `port` it is the usual one, so that links stay good, or any that is free.
    """
    with listen(port) as listener, Workers(bounds) as workers:
        taken = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        server = server_of(studio, bounds, workers, token, taken)
        tell(f"http://{HOST}:{taken}/#token={token}")
        with suppress(KeyboardInterrupt):  # how somebody at a terminal ends it
            server.run([listener])


def server_of(studio: Studio, bounds: Bounds, workers: Workers, token: str, port: int) -> uvicorn.Server:
    """A server for what listens on that port."""
    gate = Gate(token, frozenset({f"{HOST}:{port}", f"localhost:{port}"}))
    return _Server(
        workers,
        uvicorn.Config(
            create_app(studio, gate, bounds, workers.answer, workers.uploads),
            http=_Impatient,
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            lifespan="off",
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=_ENDING_SECONDS,
        ),
    )


class _Server(uvicorn.Server):
    """What is being saved or decided when somebody ends it is finished; what is being looked at is not waited for."""

    def __init__(self, workers: Workers, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._workers = workers

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._workers.close()
        super().handle_exit(sig, frame)


class _Impatient(H11Protocol):
    """A connection that is closed if nothing comes of it.

    uvicorn waits for the rest of a request for ever, so whoever sends a byte now and then could hold all connections
    that there may be.
    """

    _patience: asyncio.TimerHandle
    _last: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as there
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._patience.cancel()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._last = self.cycle
        self._patience = self.loop.call_later(_IDLE_SECONDS, self._look)

    def _look(self) -> None:
        """Close it if no request has begun since the last look and none is being answered."""
        if self.cycle is self._last and (self.cycle is None or self.cycle.response_complete):
            self.transport.close()
        else:
            self._wait()


def listen(port: int | None) -> socket.socket:
    """A socket on this machine alone; `UsageError` if the port is taken."""
    for wanted in (port,) if port is not None else (DEFAULT_PORT, 0):
        # Only if the protocol is named does an event loop send answers at once; else they wait 40 ms for each other.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((HOST, wanted))
            listener.listen(64)
        except OSError as error:
            listener.close()
            if port is not None:
                raise UsageError(f"cannot listen on port {port}: {error.strerror or error}") from None
            continue
        return listener
    raise UsageError("no port is free on this machine")
