"""Agents that are cancelled and stopped at every moment there is: nothing is left behind, and nobody is stuck."""

from __future__ import annotations

import asyncio

import pytest

from accord import MemoryStore
from accord.agents import (
    Agent,
    Crash,
    InProcess,
    PartnerCrashedError,
    Supervisor,
    follows,
    persistent,
)
from tests.crews import OFFER, REQUEST_RESPONSE, Bid, Offer, Recorded, Request, Response, Sold, Unsold

MANY = 400
"""More moments than any of these programs has; each test says that it has seen them all."""


class BoomError(Exception):
    pass


@follows(REQUEST_RESPONSE, as_="Server")
class Server(Agent):
    seen: int = persistent(0)

    async def on_request(self, request: Request) -> None:
        self.seen += 1
        await asyncio.sleep(0)
        await self.reply(Response(request.data))
        await asyncio.sleep(0)


@follows(REQUEST_RESPONSE, as_="Client")
class Client(Agent):
    def __init__(self, got: dict[str, str]) -> None:
        self.got = got

    async def on_start(self) -> None:
        for word in ("a", "b"):
            if word in self.got:
                continue
            await self.send("Server", Request(word))
            try:
                self.got[word] = (await self.receive(Response)).result
            except PartnerCrashedError:
                self.got[word] = "told"


@follows(OFFER, as_="Seller")
class Seller(Agent):
    async def on_start(self) -> None:
        await self.send("Bidder", Offer())
        answer = await self.receive(Bid | Crash)
        await self.send("House", Unsold() if isinstance(answer, Crash) else Sold())


@follows(OFFER, as_="Bidder")
class Bidder(Agent):
    async def on_offer(self, _offer: Offer) -> None:
        await asyncio.sleep(0)
        await self.reply(Bid())


@follows(OFFER, as_="House")
class House(Agent):
    async def on_end(self, _end: Sold | Unsold) -> None:
        await asyncio.sleep(0)


class Crew:
    """All of them, in one supervisor."""

    def __init__(self, **options) -> None:
        self.got: dict[str, str] = {}
        self.transport = InProcess()
        self.recorded = Recorded()
        options = {"max_restarts": 1000, **options}
        self.supervisor = Supervisor(
            transport=self.transport, store=MemoryStore(), ledger=self.recorded.ledger, **options
        )
        self.supervisor.add(Client, self.got)
        for agent in (Server, Seller, Bidder, House):
            self.supervisor.add(agent)

    async def run(self):
        async with self.supervisor:
            await self.supervisor.settled()
            assert self.supervisor.unfinished() == []

    def rests(self):
        """Nothing is under way in any mailbox."""
        for box in self.transport._boxes.values():
            assert not (box.waiting or box.taken or box.lanes or box.begun or box.full)


def alone():
    return asyncio.all_tasks() == {asyncio.current_task()}


def test_a_block_that_is_cancelled_at_any_moment_leaves_no_task_behind():
    async def main():
        for moment in range(MANY):
            crew = Crew()
            task = asyncio.create_task(crew.run())
            for _ in range(moment):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert alone()
            assert crew.recorded.ledger.verify().ok
            if not task.cancelled():
                task.result()
                assert crew.got == {"a": "a", "b": "b"}
                crew.rests()
                return
        raise AssertionError("there were more moments")

    asyncio.run(main())


@pytest.mark.parametrize("strategy", ["one_for_one", "one_for_all", "rest_for_one"])
def test_any_task_of_an_agent_that_is_cancelled_at_any_moment_is_a_crash_and_nobody_is_stuck(strategy):
    cancelled = 0

    async def one(moment, which):
        nonlocal cancelled
        crew = Crew(strategy=strategy)
        task = asyncio.create_task(crew.run())
        for _ in range(moment):
            await asyncio.sleep(0)
            if task.done():
                return False
        lives = [child.life for child in crew.supervisor._children.values() if child.life is not None]
        tasks = [each for life in lives for each in sorted(life._tasks, key=lambda each: each.get_name())]
        if which >= len(tasks):
            task.cancel()
            await asyncio.wait([task])
            assert alone()
            return None
        tasks[which].cancel()
        cancelled += 1
        await task
        assert set(crew.got) == {"a", "b"}
        assert all(result in {word, "told"} for word, result in crew.got.items())
        crew.rests()
        assert alone()
        return True

    async def main():
        async with asyncio.timeout(250):
            for moment in range(MANY):
                for which in range(MANY):
                    answer = await one(moment, which)
                    if answer is None:
                        break
                    if answer is False:
                        return
            raise AssertionError("there were more moments")

    asyncio.run(main())
    assert cancelled > 100
