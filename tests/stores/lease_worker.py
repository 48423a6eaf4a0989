"""A process with one agent that does what it is told on its standard input, and says what came of it.

    python lease_worker.py URL LEASE ROLE

It serves requests as agent `server`, or notes as agent `logger`. Of each message it prints `got …`, waits for a line,
and goes on; what it could not do it prints too.
"""

from __future__ import annotations

import asyncio
import sys

from accord import StoreError
from accord.agents import Agent, GaveUpError, RedisStreams, Supervisor, follows, persistent
from accord.stores import MemoryStore
from tests.crews import LOG, OFFER, REQUEST_RESPONSE, Bid, Note, Offer, Request, Response


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201 - this is how it is heard


class Obedient(Agent):
    seen: int = persistent(0)

    def __init__(self, orders: asyncio.StreamReader) -> None:
        self.orders = orders

    async def on_start(self) -> None:
        say("started")

    async def go_on(self, what: str) -> None:
        say("got", what)
        await self.orders.readline()
        try:
            self.seen += 1
        except StoreError as error:
            say("refused", error)


@follows(REQUEST_RESPONSE, as_="Server")
class Server(Obedient):
    async def on_request(self, request: Request) -> None:
        await self.go_on(request.data)
        try:
            await self.reply(Response(request.data))
            say("replied", request.data)
        except StoreError as error:
            say("refused", error)
            raise


@follows(OFFER, as_="Bidder")
class Bidder(Obedient):
    async def on_offer(self, _offer: Offer) -> None:
        await self.go_on("offer")
        await self.reply(Bid())


@follows(LOG, as_="Logger")
class Logger(Obedient):
    async def on_note(self, note: Note) -> None:
        say("noted", note.number)


AGENTS = {"server": Server, "bidder": Bidder, "logger": Logger}


async def main(url: str, lease: str, name: str) -> None:
    orders = asyncio.StreamReader()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(orders), sys.stdin
    )
    try:
        async with RedisStreams(url, lease=float(lease)) as transport:
            supervisor = Supervisor(transport=transport, store=MemoryStore())
            supervisor.add(AGENTS[name], orders, name=name)
            async with supervisor:
                await supervisor.run()
    except GaveUpError as error:
        say("gave up:", error)
    finally:
        pipe.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
