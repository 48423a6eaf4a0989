"""Mailboxes of agents in Redis, as a machine leaves them that stops in the middle of a conversation."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import redis

from accord.agents import Agent, RedisStreams, Supervisor, follows
from accord.testing.servers import RedisServer
from tests.kept import dumps
from tests.kept.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SAMPLES"]

T = TypeVar("T")

CONTRACT = """
record Request { data: String }
record Response { result: String }
protocol RequestResponse {
    Client -> Server: Request
    Server -> Client: Response
}
"""
FILE = "mailboxes.jsonl"
PATIENCE = 60


@dataclass
class Request:
    data: str


@dataclass
class Response:
    result: str


@follows(CONTRACT, as_="Client")
class Client(Agent):
    async def on_start(self) -> None:
        await self.send("Server", Request("what was asked then"))


@follows(CONTRACT, as_="Server")
class Server(Agent):
    def __init__(self, asked: asyncio.Queue[str], *, answers: bool) -> None:
        self.asked, self.answers = asked, answers

    async def on_request(self, request: Request) -> None:
        self.asked.put_nowait(request.data)
        if not self.answers:
            await asyncio.Event().wait()
        await self.reply(Response("late"))


async def serve(address: str, look: Callable[[], T], *, answers: bool) -> tuple[str, T]:
    """What a server is asked, and what one sees in Redis then, or after its answer; one that answers has no client."""
    asked: asyncio.Queue[str] = asyncio.Queue()
    async with asyncio.timeout(PATIENCE), RedisStreams(address) as transport:
        supervisor = Supervisor(transport=transport)
        supervisor.add(Server, asked, answers=answers, name="server")
        if not answers:
            supervisor.add(Client, name="client")
        async with supervisor:
            request = await asked.get()
            if answers:
                await supervisor.settled()
            return request, await asyncio.to_thread(look)


def write(folder, address):
    _, kept = asyncio.run(serve(address, lambda: dumps.of_redis(address), answers=False))
    (folder / FILE).write_text(kept, encoding="utf-8")


def go_on(folder, address):
    dumps.into_redis(address, (folder / FILE).read_text(encoding="utf-8"))
    with redis.Redis.from_url(address) as client:
        boxes = [f"accord:agents:{{{name}}}:box" for name in ("server", "client")]
        request, letters = asyncio.run(serve(address, lambda: [client.xlen(box) for box in boxes], answers=True))
    return {"the next life of the server is asked": request, "letters that wait for server and client": letters}


SAMPLES = {"mailboxes": Sample(write, go_on, RedisServer)}
