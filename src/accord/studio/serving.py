"""The studio as a server: on this machine alone, until somebody stops it."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

import uvicorn

from accord.errors import UsageError
from accord.studio.app import create_app
from accord.studio.gate import Gate

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.studio.app import Studio

__all__ = ["DEFAULT_PORT", "listen", "serve"]

HOST = "127.0.0.1"
DEFAULT_PORT = 8722


def serve(studio: Studio, port: int | None, tell: Callable[[str], None]) -> None:
    """Serve until interrupted; `tell` is given the address to open once it can be opened.

    Without a `port` it is the usual one, so that links stay good, or any that is free.
    """
    with listen(port) as listener:
        taken = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        gate = Gate(token, frozenset({f"{HOST}:{taken}", f"localhost:{taken}"}))
        config = uvicorn.Config(
            create_app(studio, gate),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            limit_concurrency=64,
            timeout_keep_alive=30,
        )
        tell(f"http://{HOST}:{taken}/#token={token}")
        with suppress(KeyboardInterrupt):  # how somebody at a terminal ends it
            uvicorn.Server(config).run([listener])


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
