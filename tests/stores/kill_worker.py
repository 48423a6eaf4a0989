"""A process with one agent for tests that kill it from outside: `server …` answers, `logger` writes down what it got.

python kill_worker.py URL LEASE NAME
"""

from __future__ import annotations

import asyncio
import sys

import redis.asyncio

from accord.agents import Agent, GaveUpError, RedisStreams, Supervisor, follows
from tests.crews import LOG, REQUEST_RESPONSE, Note, Request, Response

NOTED = "test:noted"


@follows(REQUEST_RESPONSE, as_="Server")
class Server(Agent):
    def __init__(self, client: redis.asyncio.Redis) -> None:
        self.client = client

    async def on_request(self, request: Request) -> None:
        await self.client.ping()
        await self.reply(Response(request.data))
        await self.client.ping()


@follows(LOG, as_="Logger")
class Logger(Agent):
    def __init__(self, client: redis.asyncio.Redis) -> None:
        self.client = client

    async def on_note(self, note: Note) -> None:
        await self.client.sadd(NOTED, note.number)


async def main(url: str, lease: str, name: str) -> None:
    async with redis.asyncio.Redis.from_url(url) as client, RedisStreams(url, lease=float(lease)) as transport:
        supervisor = Supervisor(transport=transport, max_restarts=1000)
        supervisor.add(Server if name.startswith("server") else Logger, client, name=name)
        async with supervisor:
            await supervisor.run()


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except GaveUpError:
        sys.exit(1)  # whoever runs it starts it again
