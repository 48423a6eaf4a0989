"""The application: JSON under `/api/`, and the files of the page.

What is asked about texts is worked on elsewhere, by processes that can be ended; what is asked about files and the
store is worked on here, on threads. A few of each at a time: whoever comes when all are busy waits, but not for long.
"""

from __future__ import annotations

import mimetypes
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from accord.studio.answering import encode, reply
from accord.studio.answers import ANSWERS, TOLD
from accord.studio.gate import Gatekeeper
from accord.studio.opened import OPENED
from accord.studio.requests import RefusedError
from accord.studio.telling import Telling
from accord.studio.uploads import receive

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from accord.studio.answering import Reply
    from accord.studio.bounds import Bounds
    from accord.studio.gate import Gate
    from accord.studio.opened import Studio
    from accord.studio.telling import Tell, Work

__all__ = ["create_app"]

_UPLOADS_AT_ONCE = 2  # what is still on its way counts nowhere else


def create_app(studio: Studio, gate: Gate, bounds: Bounds, work: Work, uploads: Path) -> ASGIApp:
    """The application behind its gate; `work` answers what `ANSWERS` lists, about files in `uploads`."""

    def here(name: str, body: bytes, _: Tell) -> Reply:
        return reply(OPENED, studio, name, body)

    desks: dict[str, tuple[Work, anyio.Semaphore]] = {
        **dict.fromkeys(ANSWERS, (work, anyio.Semaphore(bounds.at_once))),
        **dict.fromkeys(OPENED, (here, anyio.Semaphore(bounds.at_once))),
    }

    async def answer(request: Request) -> Response:
        name = request.path_params["name"]
        if name == "upload":
            return _response(await _upload(request, uploads, bounds, coming))
        if name not in desks:
            return _response(_refusal(404, "the studio has no answer of this name"))
        body = await _body(request, bounds)
        if not isinstance(body, bytes):
            return _response(body)
        answering = partial(_answer, bounds, desks[name][1], desks[name][0], name, body)
        return Telling(answering) if name in TOLD else _response(await answering(lambda _: None))

    page = _page()
    coming = anyio.Semaphore(_UPLOADS_AT_ONCE)

    async def asset(request: Request) -> Response:
        found = page.get(request.url.path)
        if found is None:
            return Response("there is no such page\n", 404, media_type="text/plain")
        content, kind = found
        return Response(content, media_type=kind)

    routes = [Route("/api/{name}", answer, methods=["POST"]), Route("/{path:path}", asset, methods=["GET"])]
    return Gatekeeper(Starlette(routes=routes), gate)


def _response(reply: Reply) -> Response:
    status, content = reply
    return Response(content, status, media_type="application/json")


async def _body(request: Request, bounds: Bounds) -> bytes | Reply:
    """The body of a request, or why it is not worked on."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return _refusal(415, "a request is JSON")
    body = bytearray()
    try:
        with anyio.fail_after(bounds.seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > bounds.body_bytes:
                    return _refusal(413, f"the request is larger than {bounds.body_bytes:,} bytes")
    except TimeoutError:
        return _refusal(408, f"the request has not arrived within {bounds.seconds:g} seconds")
    except ClientDisconnect:
        return _refusal(400, "the request has not arrived whole")  # to nobody
    return bytes(body)


async def _answer(bounds: Bounds, free: anyio.Semaphore, work: Work, name: str, body: bytes, tell: Tell) -> Reply:
    try:
        with anyio.fail_after(bounds.seconds):
            await free.acquire()
    except TimeoutError:
        return _refusal(503, "the studio is busy with other requests; try again")
    try:
        return await anyio.to_thread.run_sync(work, name, body, tell)
    finally:
        free.release()


async def _upload(request: Request, folder: Path, bounds: Bounds, free: anyio.Semaphore) -> Reply:
    if request.headers.get("content-type") != "application/octet-stream":
        return _refusal(415, "a file is sent as `application/octet-stream`")
    try:
        with anyio.fail_after(bounds.seconds):
            async with free:
                return 200, encode(await receive(folder, request.stream(), bounds))
    except TimeoutError:
        return _refusal(408, f"the file has not arrived within {bounds.seconds:g} seconds")
    except RefusedError as error:
        return _refusal(413, str(error))
    except ClientDisconnect:
        return _refusal(400, "the file has not arrived whole")  # to nobody
    except OSError as error:
        return _refusal(507, f"the file cannot be kept: {error.strerror or error}")


def _refusal(status: int, reason: str) -> Reply:
    return status, encode({"error": reason})


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
