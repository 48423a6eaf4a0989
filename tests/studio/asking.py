"""The studio's application, asked inside this process: no server, but every byte as the page sends it."""

from __future__ import annotations

import asyncio
import atexit
import json
import shutil
import tempfile
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path

import anyio

from accord.studio.answering import encode, reply
from accord.studio.answers import ANSWERS
from accord.studio.app import create_app
from accord.studio.bounds import DEFAULT_BOUNDS, Bounds
from accord.studio.files import Files
from accord.studio.gate import Gate
from accord.studio.opened import Studio
from accord.studio.workshop import Workshop

TOKEN = "a-token-for-tests"  # noqa: S105 - for tests
HOST = "127.0.0.1:8722"
GOOD = {
    "host": HOST,
    "origin": f"http://{HOST}",
    "content-type": "application/json",
    "authorization": f"Bearer {TOKEN}",
    "sec-fetch-site": "same-origin",
}


class EventLoop(threading.local):
    """The event loop of a thread: what an application waits on belongs to one."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        atexit.register(self.runner.close)


EVENT_LOOP = EventLoop()


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Asker:
    """Asks an application by the protocol that servers speak with it.

    Unless it is given something else to work on requests, they are worked on in this process.
    """

    def __init__(
        self, bounds: Bounds = DEFAULT_BOUNDS, paths=(), store=None, work=None, ledgers=None, *, writable: bool = False
    ) -> None:
        self.bounds = bounds
        self.studio = Studio(Files(tuple(paths), bounds.limits, writable=writable), store, ledgers)
        self.uploads = Path(tempfile.mkdtemp(prefix="accord-asker-"))
        weakref.finalize(self, shutil.rmtree, self.uploads, ignore_errors=True)
        self.workshop = Workshop(bounds, self.uploads)
        self.work = work or self._here
        gate = Gate(TOKEN, frozenset({HOST, "localhost:8722"}))
        self.app = create_app(self.studio, gate, bounds, self.work, self.uploads)

    def _here(self, name, body, tell):
        self.workshop.tell = lambda progress: tell(encode(progress))
        return reply(ANSWERS, self.workshop, name, body)

    def request(self, method: str, path: str, body: bytes = b"", headers=GOOD) -> Answer:
        sent: list[dict] = []
        raw = headers.items() if isinstance(headers, dict) else headers
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "client": ("127.0.0.1", 5),
            "server": ("127.0.0.1", 8722),
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in raw],
        }  # fmt: skip

        bodies = [body]

        async def receive():
            if not bodies:
                await anyio.sleep_forever()  # nobody goes away
            return {"type": "http.request", "body": bodies.pop(), "more_body": False}

        async def send(message):
            sent.append(message)

        EVENT_LOOP.runner.run(self.app(scope, receive, send))
        start = sent[0]
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], found, b"".join(message.get("body", b"") for message in sent[1:]))

    def post(self, name: str, /, **request) -> Answer:
        return self.request("POST", f"/api/{name}", json.dumps(request).encode())

    def told(self, name: str, /, **request):
        """What an answer that takes a while tells on its way, and the answer."""
        *lines, last = map(json.loads, self.post(name, **request).body.splitlines())
        assert last["status"] == 200, last
        return [line["progress"] for line in lines], last["answer"]

    def upload(self, content: bytes) -> Answer:
        return self.request("POST", "/api/upload", content, {**GOOD, "content-type": "application/octet-stream"})

    def ask(self, name: str, /, **request):
        """The answer to a request that must succeed."""
        answer = self.post(name, **request)
        assert answer.status == 200, answer.body
        return answer.json
