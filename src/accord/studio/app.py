"""The application: JSON under `/api/`, and the files of the page.

Each name under `/api/` is a type of request and a function from a `Studio` and such a request to an answer. Functions
run on threads, a few at a time; one that takes too long is answered for.
"""

from __future__ import annotations

import json
import mimetypes
from functools import lru_cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from accord.errors import AccordError, ContractError, InternalError
from accord.studio.answers import ANSWERS
from accord.studio.contracts import examine_text
from accord.studio.desk import Desk
from accord.studio.gate import Gatekeeper
from accord.studio.requests import RefusedError, read
from accord.studio.walking import Memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from accord.stores import Store
    from accord.studio.bounds import Bounds
    from accord.studio.contracts import Examined
    from accord.studio.files import Files
    from accord.studio.gate import Gate

__all__ = ["Studio", "create_app"]

_REMEMBERED = 16


class Studio:
    """What the studio was opened on. Texts and walks that were looked at last are remembered."""

    def __init__(self, opened: Files, bounds: Bounds, store: Store | None = None) -> None:
        self.files = opened
        self.desk = Desk(store, opened)
        self.bounds = bounds
        self.examine = lru_cache(_REMEMBERED)(self._examine)
        self.memory = Memory()

    def _examine(self, text: str) -> Examined:
        return examine_text(text, self.bounds.limits)


def create_app(studio: Studio, gate: Gate) -> ASGIApp:
    """The application behind its gate."""
    limiter: list[anyio.CapacityLimiter] = []  # made inside the event loop that it belongs to

    async def answer(request: Request) -> Response:
        if not limiter:
            limiter.append(anyio.CapacityLimiter(studio.bounds.at_once))
        status, value = await _answer(studio, request, limiter[0])
        return Response(_encode(value), status, media_type="application/json")

    page = _page()

    async def asset(request: Request) -> Response:
        found = page.get(request.url.path)
        if found is None:
            return Response("there is no such page\n", 404, media_type="text/plain")
        content, kind = found
        return Response(content, media_type=kind)

    routes = [Route("/api/{name}", answer, methods=["POST"]), Route("/{path:path}", asset, methods=["GET"])]
    return Gatekeeper(Starlette(routes=routes), gate)


async def _answer(studio: Studio, request: Request, limiter: anyio.CapacityLimiter) -> tuple[int, object]:
    bounds = studio.bounds
    found = ANSWERS.get(request.path_params["name"])
    if found is None:
        return 404, {"error": "the studio has no answer of this name"}
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return 415, {"error": "a request is JSON"}
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > bounds.body_bytes:
            return 413, {"error": f"the request is larger than {bounds.body_bytes:,} bytes"}
    kind, function = found
    try:
        with anyio.fail_after(bounds.seconds):
            work = partial(_work, studio, body, kind, function)
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
    except TimeoutError:
        return 503, {"error": f"it takes longer than {bounds.seconds:g} seconds, so it was given up"}


def _work(studio: Studio, body: bytes, kind: type, function: object) -> tuple[int, object]:
    try:
        return 200, function(studio, read(body, kind))  # type: ignore[operator] # as the table pairs them
    except ContractError as error:
        from accord.diagnostics.text import render_all  # noqa: PLC0415 - only where something is wrong

        return 422, {"error": "the contract has errors", "text": render_all(error.diagnostics, colour=False)}
    except InternalError as error:
        return 500, {"error": str(error)}
    except (RefusedError, AccordError) as error:
        return 400, {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever broke inside, the page gets an answer and the studio goes on
        return 500, {"error": str(InternalError(f"{type(error).__name__}: {error}"))}


def _encode(value: object) -> bytes:
    """JSON in ASCII, so that half of a surrogate pair in a label does no harm."""
    return json.dumps(value, separators=(",", ":")).encode()


def _page() -> Mapping[str, tuple[bytes, str]]:
    """The files of the page by their address: nothing else is ever served."""
    found: dict[str, tuple[bytes, str]] = {}
    stack = [("", files("accord.studio") / "page")]
    while stack:
        prefix, folder = stack.pop()
        for entry in folder.iterdir():
            address = f"{prefix}/{entry.name}"
            if entry.is_dir():
                stack.append((address, entry))
            else:
                kind = mimetypes.guess_type(entry.name)[0] or "application/octet-stream"
                found[address] = (entry.read_bytes(), kind)
    if "/index.html" in found:
        found["/"] = found["/index.html"]
    return found
