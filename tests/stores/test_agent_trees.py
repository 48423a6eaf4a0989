"""Trees of supervisors over every transport: they do what the model says, and partners elsewhere are told in time."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager

import pytest
import redis

from accord.agents import Agent, GaveUpError, InProcess, PartnerCrashedError, RedisStreams, Supervisor, follows, on
from tests.crews import Request, Response
from tests.trees import BoomError, hold, random_tree

PATIENCE = 300
LEASE = 200.0
"""So long that nobody is given up for dead here, however slow the machine is."""

TALK = """
record Request { data: String }
record Response { result: String }
protocol Talk {
    Client -> Server: Request
    Server -> Client: Response
    Client -> Server: Request
    Server -> Client: Response
}
"""


@pytest.fixture(params=["memory", "redis"])
def opened(request):
    """How a transport is opened; each call is another process, as far as transports know."""
    if request.param == "redis":
        server = request.getfixturevalue("redis_server")
        redis.Redis.from_url(server.url).flushall()
        return lambda: RedisStreams(server.url, lease=LEASE, patience=PATIENCE)
    transport = InProcess()

    @asynccontextmanager
    async def same():
        yield transport

    return same


def run(main):
    async def bounded():
        async with asyncio.timeout(PATIENCE):
            await main()
        assert asyncio.all_tasks() == {asyncio.current_task()}, "tasks are left behind"

    asyncio.run(bounded())


def test_random_trees_do_what_the_model_says(opened, health):
    chance, crashes, given_up = random.Random(3), 0, 0

    async def main():
        nonlocal crashes, given_up
        for _ in range(12):
            async with opened() as transport:
                model = await hold(random_tree(chance), chance, crashes=5, transport=transport)
            crashes += sum(model.seen.values())
            given_up += model.is_over

    run(main)
    health(f"trees of supervisors over one transport: {crashes} crashes in 12 of them, {given_up} gave up")
    assert crashes > 20
    assert 0 < given_up < 12


@follows(TALK, as_="Client")
class Client(Agent):
    """Asks what is put into its queue, twice in each conversation, and tells what came of it."""

    def __init__(self, questions: asyncio.Queue[str], answers: asyncio.Queue[str]) -> None:
        self.questions, self.answers = questions, answers

    async def on_start(self) -> None:
        while True:
            word = await self.questions.get()
            try:
                await self.send("Server", Request("first"))
                await self.receive(Response)
                await self.send("Server", Request(word))
                self.answers.put_nowait((await self.receive(Response)).result)
            except PartnerCrashedError:
                self.answers.put_nowait("told")


@follows(TALK, as_="Server")
class Server(Agent):
    """Crashes when it is told to, in the middle of a conversation."""

    def __init__(self, lives: list[str]) -> None:
        lives.append("begun")

    @on(Request)
    async def answer(self, request: Request) -> None:
        if request.data == "crash":
            raise BoomError
        await self.reply(Response(request.data))


def test_partners_elsewhere_are_told_by_whatever_part_of_a_tree_is_started_again(opened):
    """By the server's own supervisor, by the one above it, and when the outermost gives up."""

    async def main():
        lives: list[str] = []
        questions: asyncio.Queue[str] = asyncio.Queue()
        answers: asyncio.Queue[str] = asyncio.Queue()

        async def ask(word):
            questions.put_nowait(word)
            return await answers.get()

        async with opened() as here, opened() as there:
            inner, middle = Supervisor(max_restarts=1), Supervisor(max_restarts=1, strategy="one_for_all")
            top = Supervisor(max_restarts=0, transport=there)
            inner.add(Server, lives)
            middle.add(inner, name="servers")
            top.add(middle, name="all servers")
            clients = Supervisor(transport=here)
            clients.add(Client, questions, answers)
            async with clients:
                failure = None
                try:
                    async with top:
                        # One is dealt with below, the next above it, which lets the one below count anew.
                        for number in range(1, 5):
                            assert await ask(f"answer {number}") == f"answer {number}"
                            assert len(lives) == number
                            questions.put_nowait("crash")
                            if number == 4:
                                await top.run()
                            assert await answers.get() == "told"
                except GaveUpError as error:
                    failure = error
                assert str(failure).startswith("supervisor `all servers` gave up (supervisor `servers` gave up (agent")
                assert len(lives) == 4
                assert await answers.get() == "told", "on the way out"

    run(main)
