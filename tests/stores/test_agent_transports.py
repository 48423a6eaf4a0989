"""Mailboxes in memory and in Redis do the same; in Redis they outlive processes that are killed."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import msgspec
import pytest
import redis

from accord import StoreError, UsageError
from accord.agents import Agent, InProcess, PartnerCrashedError, RedisStreams, Supervisor, follows
from accord.agents.failures import SupersededError
from accord.agents.following import Part
from accord.agents.runtime.activity import Activity, Pause, Presence
from accord.agents.runtime.estates import Left, Waiting, Will
from accord.agents.runtime.letters import Begun, Letter
from tests.crews import REQUEST_RESPONSE, Request, Response

PATIENCE = 300
WORKER = Path(__file__).with_name("agent_worker.py")
ROOT = Path(__file__).parents[2]
PART = Part("sha256:x", "P", "B")
SENDER = Part("sha256:x", "P", "A")


def will(part):
    return Will(part, answers=True, states=(Waiting({}, ()),))


def letter(number, *, conversation="c1", opens=False, gone=""):
    return Letter(
        conversation=conversation, contract="sha256:x", protocol="P", sender="A", receiver="B", label="M",
        payload={"n": number}, cast={"A": "a", "B": "b"}, opens=opens, gone=gone,
    )  # fmt: skip


class Ground:
    """A transport under test, and how it is opened again as if by another process."""

    def __init__(self, open_again):
        self.open_again = open_again

    def run(self, test):
        async def main():
            async with asyncio.timeout(PATIENCE):
                await test(self.open_again)

        asyncio.run(main())


@pytest.fixture(params=["memory", "redis"])
def ground(request):
    if request.param == "memory":
        transport = InProcess()

        @asynccontextmanager
        async def same(**_):
            yield transport
            for box in transport._boxes.values():
                box.is_open = False

        return Ground(same)
    server = request.getfixturevalue("redis_server")
    redis.Redis.from_url(server.url).flushall()
    return Ground(lambda patience=PATIENCE: RedisStreams(server.url, patience=patience))


def pause_of(transport):
    activity = Activity(transport, None)
    activity.begin()
    return Pause(Presence(activity))


async def numbers(transport, count):
    return [(await transport.take("b")).letter.payload["n"] for _ in range(count)]


def test_letters_are_taken_in_order_and_again_until_they_are_settled(ground):
    async def test(opened):
        async with opened() as transport:
            await transport.open("a", [will(SENDER)], 10)
            assert await transport.open("b", [will(PART)], 10) == Left([], [])
            for number in range(4):
                await transport.post("b", letter(number), pause_of(transport))
            first, second = await transport.take("b"), await transport.take("b")
            assert (first.letter, second.letter) == (letter(0), letter(1))
            await transport.settle("b", [first.number])
        async with opened() as transport:
            await transport.open("b", [will(PART)], 10)
            assert await numbers(transport, 3) == [1, 2, 3]
            await transport.close("b")
            await transport.open("b", [will(PART)], 10)
            assert await numbers(transport, 3) == [1, 2, 3]

    ground.run(test)


def test_a_lane_is_bounded_and_others_are_not_held_up(ground):
    async def test(opened):
        async with opened() as transport:
            await transport.open("a", [will(SENDER)], 10)
            await transport.open("b", [will(PART)], 2)
            for number in range(2):
                await transport.post("b", letter(number), pause_of(transport))
            third = asyncio.create_task(transport.post("b", letter(2), pause_of(transport)))
            await transport.post("b", letter(3, conversation="c2"), pause_of(transport))
            await transport.post("b", letter(4, opens=True), pause_of(transport))
            await transport.post("b", letter(5, gone="crashed"), pause_of(transport))
            taken = [await transport.take("b") for _ in range(5)]
            assert [delivery.letter.payload["n"] for delivery in taken] == [0, 1, 3, 4, 5]
            assert not third.done()
            await transport.settle("b", [taken[0].number])
            assert not third.done(), "the one that is gone takes room too"
            await transport.settle("b", [taken[4].number])
            await third
            assert await numbers(transport, 1) == [2]

    ground.run(test)


def test_settling_twice_makes_no_room(ground):
    async def test(opened):
        async with opened() as transport:
            await transport.open("a", [will(SENDER)], 10)
            await transport.open("b", [will(PART)], 1)
            await transport.post("b", letter(0), pause_of(transport))
            delivery = await transport.take("b")
            await transport.settle("b", [delivery.number, delivery.number])
            await transport.post("b", letter(1), pause_of(transport))
            late = asyncio.create_task(transport.post("b", letter(2), pause_of(transport)))
            second = await transport.take("b")
            await transport.settle("b", [delivery.number])
            assert not late.done()
            await transport.settle("b", [second.number])
            await late

    ground.run(test)


def test_conversations_that_were_begun_are_told_to_the_next_life(ground):
    begun = [Begun(conversation=f"c{n}", part=PART, cast={"A": "a", "B": "b"}) for n in range(4)]

    async def test(opened):
        async with opened() as transport:
            await transport.open("a", [will(SENDER)], 10)
            await transport.open("b", [will(PART)], 10)
            await transport.post("b", letter(0), pause_of(transport))
            delivery = await transport.take("b")
            for each in begun:
                await transport.begin("b", each)
            await transport.end("b", begun[1], [delivery.number], broken=False)
            await transport.end("b", begun[3], [], broken=True)
        async with opened() as transport:
            await transport.open("a", [will(SENDER)], 10)
            found, over = await transport.open("b", [will(PART)], 10)
            assert sorted(found, key=lambda each: each.conversation) == [begun[0], begun[2]]
            assert over == [("c3", PART)]
            await transport.post("b", letter(9), pause_of(transport))
            assert await numbers(transport, 1) == [9], "the other one was settled"

    ground.run(test)


def test_who_plays_what(ground):
    other = PART._replace(role="C")

    async def test(opened):
        async with opened(patience=0) as transport:
            assert await transport.find(PART) == []
            assert await transport.parts("b") == []
            await transport.open("b", [will(PART), will(other)], 10)
            await transport.open("a", [will(PART)], 10)
            assert await transport.find(PART) == ["a", "b"]
            assert await transport.parts("b") == [PART, other]
            await transport.close("b")
            assert await transport.find(PART) == ["a", "b"], "its mailbox is there"
            await transport.open("b", [will(other)], 10)
            assert await transport.find(PART) == ["a"]

    ground.run(test)


# -- Redis alone -------------------------------------------------------------------------------------------------------


def test_a_life_that_has_lost_its_mailbox_can_do_no_harm(redis_server):
    async def main():
        async with RedisStreams(redis_server.url) as old, RedisStreams(redis_server.url) as new:
            await old.open("a", [will(SENDER)], 10)
            await old.open("fenced", [will(PART)], 10)
            await old.post("fenced", letter(0), pause_of(old))
            delivery = await old.take("fenced")
            await new.open("fenced", [will(PART)], 10)
            begun = Begun(conversation="c1", part=PART, cast={})
            for act in (
                old.settle("fenced", [delivery.number]),
                old.begin("fenced", begun),
                old.end("fenced", begun, [], broken=True),
                old.post("a", msgspec.structs.replace(letter(0), cast={"A": "fenced", "B": "a"}), pause_of(old)),
                old.open("fenced", [will(PART)], 10),
            ):
                with pytest.raises(SupersededError, match="mailbox of agent `fenced` belongs to another process now"):
                    await act
            assert (await new.take("fenced")).letter == letter(0)

    asyncio.run(main())


def test_what_is_no_letter_is_put_aside(redis_server):
    async def main():
        async with RedisStreams(redis_server.url, prefix="aside") as transport:
            await transport.open("a", [will(SENDER)], 10)
            await transport.open("b", [will(PART)], 10)
            client = redis.Redis.from_url(redis_server.url)
            client.xadd("aside:agents:{b}:box", {"letter": '{"conversation": 3}', "lane": ""})
            client.xadd("aside:agents:{b}:box", {"other": "\x1b[31m"})
            await transport.post("b", letter(1), pause_of(transport))
            assert await numbers(transport, 1) == [1]
            assert client.llen("aside:agents:{b}:unreadable") == 2
            assert client.xlen("aside:agents:{b}:box") == 1

    asyncio.run(main())


def test_addresses_and_servers_that_are_not_there():
    with pytest.raises(UsageError, match="this is no address of a Redis"):
        RedisStreams("http://example.org")
    with pytest.raises(UsageError, match="a prefix has letters"):
        RedisStreams("redis://127.0.0.1:1", prefix="a b")

    async def main():
        async with RedisStreams("redis://127.0.0.1:1/0", patience=0) as transport:
            with pytest.raises(StoreError, match="Redis did not do it"):
                await transport.open("b", [will(PART)], 10)

    asyncio.run(main())


@follows(REQUEST_RESPONSE, as_="Client")
class Client(Agent):
    def __init__(self, number: int, requests: int, results: dict[str, str], done: asyncio.Event) -> None:
        self.number, self.requests, self.results, self.done = number, requests, results, done

    async def on_start(self) -> None:
        for turn in range(self.requests):
            name = f"{self.number}.{turn}"
            await self.send("Server", Request(name))
            try:
                self.results[name] = (await self.receive(Response)).result
            except PartnerCrashedError:
                self.results[name] = "told"
        self.done.set()


async def serve(url, plan):
    """Run the server in a process of its own, again and again, each time killed as the plan says."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for when, number in plan:
        command = [sys.executable, str(WORKER), url, when, str(number)]
        process = await asyncio.create_subprocess_exec(*command, env=environment, cwd=ROOT)
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == -9, "it was killed"


def test_two_processes_and_one_of_them_is_killed_again_and_again(redis_server, soak, health):
    """Each request is answered, or its sender is told; nothing that was posted is lost, and nobody is stuck."""
    redis.Redis.from_url(redis_server.url).flushall()
    kills = [("before", 1), ("after", 3), ("before", 4), ("after", 1)]
    if soak:
        dice = Random(1)
        kills = [(dice.choice(("before", "after")), dice.randint(1, 4)) for _ in range(40)]
    plan = [*kills, ("never", 0)]
    requests = 3 * len(kills)
    results: dict[str, str] = {}

    async def main():
        async with asyncio.timeout(PATIENCE), RedisStreams(redis_server.url) as transport:
            supervisor = Supervisor(transport=transport)
            finished = []
            for number in range(3):
                finished.append(asyncio.Event())
                supervisor.add(Client, number, requests, results, finished[-1], name=f"client {number}")
            serving = asyncio.create_task(serve(redis_server.url, plan))
            try:
                async with supervisor:
                    for event in finished:
                        await event.wait()
                    assert supervisor.unfinished() == []
            finally:
                serving.cancel()
                await asyncio.wait([serving])

    asyncio.run(main())
    assert len(results) == 3 * requests
    health(f"a server of agents killed {len(kills)} times: {requests * 3} requests answered or told")
    assert all(result in {name, "told"} for name, result in results.items())
    assert sum(result == name for name, result in results.items()) >= 3 * requests - len(plan)
