"""A model that says what a test has written down, for coding agents: Anthropic's Messages API on a loopback port.

Each request for a message is answered, as a stream, with the next turn of the script. A turn may be a function of what
was asked, so that the model can go on from what it was shown. A request for anything else fails the test. With this
address as its proxy too, an agent that tries to reach somebody else is seen.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

WITHIN = 60
"""Seconds after which a connection that says nothing is given up."""


@dataclass(frozen=True)
class Use:
    """A call of a tool that the model asks for."""

    tool: str
    input: dict[str, object]


@dataclass(frozen=True)
class Asked:
    """A request of the agent."""

    body: dict[str, object]

    @property
    def text(self) -> str:
        """All that the model can read, instructions and conversation."""
        return "\n".join(_texts([self.body.get("system", ""), self.body["messages"]]))

    @property
    def results(self) -> list[str]:
        """What the tools of the turn before have answered, in their order."""
        messages = self.body["messages"]
        asked = max((place for place, each in enumerate(messages) if each["role"] == "assistant"), default=-1)
        blocks = [block for each in messages[asked + 1 :] for block in each["content"] if isinstance(block, dict)]
        return ["\n".join(_texts(block)) for block in blocks if block["type"] == "tool_result"]


Said = str | Use | Sequence[str | Use]
Turn = Said | Callable[[Asked], Said]


@dataclass
class ScriptedModel:
    """What it will say, and what it was asked."""

    script: list[Turn]
    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: dict[str, object]) -> dict[str, object] | None:
        """The message that answers a request, `None` where the script has no more."""
        assert body["stream"]
        asked = Asked(body)
        with self.lock:
            self.asked.append(asked)
            number = len(self.asked)
        if number > len(self.script):
            return None
        turn = self.script[number - 1]
        return _message(body["model"], str(number), turn(asked) if callable(turn) else turn)


def _texts(value: object) -> Iterator[str]:
    """The texts of blocks within blocks."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, dict):
        yield from _texts(value.get("text", value.get("content", "")))


def _message(model: object, name: str, said: Said) -> dict[str, object]:
    """Under an id of its own: agents take messages with one id for parts of one."""
    blocks = [
        {"type": "text", "text": block}
        if isinstance(block, str)
        else {"type": "tool_use", "id": f"toolu_{name}_{position}", "name": block.tool, "input": block.input}
        for position, block in enumerate([said] if isinstance(said, str | Use) else said)
    ]
    return {
        "id": f"msg_{name}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": blocks,
        "stop_reason": "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _events(message: dict[str, object]) -> Iterator[dict[str, object]]:
    """A message as it is streamed."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


@contextmanager
def scripted(*script: Turn) -> Iterator[ScriptedModel]:
    """A model that listens."""
    model = ScriptedModel(list(script))
    problems: list[BaseException] = []
    strayed: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = WITHIN

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if urlsplit(self.path).path != "/v1/messages":
                self.stray()
                return
            try:
                message = model.answer(json.loads(body))
            except BaseException as error:
                problems.append(error)
                raise
            if message is None:
                self.refuse(400, "invalid_request_error", "the script has no more turns")
            else:
                lines = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in _events(message))
                self.send(200, "text/event-stream", lines.encode())

        def stray(self):
            strayed.append(f"{self.command} {self.path}")
            self.refuse(404, "not_found_error", "there is nothing here")

        do_GET = do_HEAD = do_CONNECT = do_PUT = do_DELETE = do_OPTIONS = stray  # noqa: N815 - names of http.server

        def refuse(self, status, kind, why):
            answer = {"type": "error", "error": {"type": kind, "message": why}}
            self.send(status, "application/json", json.dumps(answer).encode())

        def send(self, status, kind, body):
            with suppress(OSError):  # whoever waited for it may have gone
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join(WITHIN)
        server.server_close()
        assert not thread.is_alive() and problems == []
        assert strayed == [], "the agent has asked for something else than a message"
