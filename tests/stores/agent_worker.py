"""A process with one agent, whose mailbox is in Redis, and that may kill itself in the middle of its work.

    python agent_worker.py URL WHEN NUMBER

It serves requests until it is killed. WHEN is `before` or `after` its reply, or `never`; NUMBER says in which request.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from accord.agents import Agent, RedisStreams, Supervisor, follows
from tests.crews import REQUEST_RESPONSE, Request, Response


@follows(REQUEST_RESPONSE, as_="Server")
class Server(Agent):
    def __init__(self, when: str, number: int) -> None:
        self.when = when
        self.left = number

    def maybe_die(self, when: str) -> None:
        if when == self.when and self.left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    async def on_request(self, request: Request) -> None:
        self.left -= 1
        self.maybe_die("before")
        await self.reply(Response(request.data))
        self.maybe_die("after")


async def main(url: str, when: str, number: str) -> None:
    async with RedisStreams(url) as transport:
        supervisor = Supervisor(transport=transport)
        supervisor.add(Server, when, int(number))
        async with supervisor:
            await supervisor.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
