"""Who may ask: this machine alone, from the studio's own page, with the word that was given at its start.

A page on any site can make a browser send requests to this machine. So each request must name a host that is ours
(which a rebound name does not), come from our origin if it says where it comes from, and carry the token, which stands
behind the `#` of the address and so was never sent to anybody. What is answered may run no script but our own, show
nothing from elsewhere and stand in no frame.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hmac import compare_digest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Gate", "Gatekeeper"]

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Gate:
    """The token, and the hosts under which the studio is reached, with their port."""

    token: str
    hosts: frozenset[str]

    def refusal(self, path: str, headers: dict[bytes, list[bytes]]) -> tuple[int, str] | None:
        """Why a request is not worked on; `None` if it may pass."""
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or hosts[0].decode("latin-1") not in self.hosts:
            return 421, "the studio answers under its own address alone"
        origins = {f"http://{host}".encode() for host in self.hosts}
        if any(origin not in origins for origin in headers.get(b"origin", [])):
            return 403, "the request comes from another page"
        if not path.startswith("/api/"):
            return None
        if any(site not in {b"same-origin", b"none"} for site in headers.get(b"sec-fetch-site", [])):
            return 403, "the request comes from another page"
        given = headers.get(b"authorization", [])
        if len(given) != 1 or not compare_digest(given[0], f"Bearer {self.token}".encode()):
            return 401, "open the address that the studio printed when it was started"
        return None


class Gatekeeper:
    """The gate in front of an application."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self.app = app
        self.gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass or answer it here; either way the answer has our headers."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                names = {name for name, _ in ours}
                message["headers"] = [*(pair for pair in message["headers"] if pair[0].lower() not in names), *ours]
            await send(message)

        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        refusal = self.gate.refusal(scope["path"], headers)
        if refusal is None:
            await self.app(scope, receive, guarded)
            return
        status, reason = refusal
        body = json.dumps({"error": reason}).encode()
        await guarded(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())],
            }
        )
        await guarded({"type": "http.response.body", "body": body})
