"""Processes that die, that only seem dead, and a Redis that goes and comes: nobody waits for ever."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import redis

from accord import StoreError
from accord.agents import Agent, AgentRef, Crash, GaveUpError, PartnerCrashedError, RedisStreams, Supervisor, follows
from accord.agents.runtime.leases import LOOKS, Watch
from accord.agents.runtime.letters import Begun
from accord.testing.servers import RedisServer
from tests.crews import LOG, OFFER, REQUEST_RESPONSE, Bid, Note, Offer, Recorded, Request, Response, Sold, Unsold
from tests.stores.test_agent_transports import PART, SENDER, letter, pause_of, will

PATIENCE = 300
SHORT, LONG = 2.0, 200.0
"""A lease that a test waits for, and one that no test waits for, however slow the machine is."""
WORKER = Path(__file__).with_name("lease_worker.py")
ROOT = Path(__file__).parents[2]


class Worker:
    """Another process with an agent."""

    def __init__(self, process) -> None:
        self.process = process

    async def hear(self, word):
        """Wait until it says something that begins with a word; the line."""
        while line := await self.process.stdout.readline():
            if line.decode().startswith(word):
                return line.decode().strip()
        raise AssertionError(f"it ended and did not say {word!r}")

    def go(self):
        self.process.stdin.write(b"go\n")

    def signal(self, number):
        self.process.send_signal(number)


@asynccontextmanager
async def worker(url, lease, name):
    command = [sys.executable, str(WORKER), url, str(lease), name]
    pipe = asyncio.subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(*command, env=environment, cwd=ROOT, stdin=pipe, stdout=pipe)
    try:
        yield Worker(process)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


@follows(REQUEST_RESPONSE, as_="Client")
class Client(Agent):
    """Asks what is put into its queue, and tells what came of it."""

    def __init__(self, questions: asyncio.Queue[str], answers: asyncio.Queue[str]) -> None:
        self.questions, self.answers = questions, answers

    async def on_start(self) -> None:
        while True:
            await self.send("Server", Request(await self.questions.get()))
            try:
                self.answers.put_nowait((await self.receive(Response)).result)
            except PartnerCrashedError as error:
                self.answers.put_nowait(str(error))


class Here:
    """A client in this process."""

    def __init__(self, url, lease, **options) -> None:
        self.url, self.lease, self.options = url, lease, options
        self.questions: asyncio.Queue[str] = asyncio.Queue()
        self.answers: asyncio.Queue[str] = asyncio.Queue()
        self.recorded = Recorded()

    async def __aenter__(self):
        self.transport = RedisStreams(self.url, lease=self.lease, patience=PATIENCE)
        await self.transport.__aenter__()
        self.supervisor = Supervisor(transport=self.transport, ledger=self.recorded.ledger, **self.options)
        self.supervisor.add(Client, self.questions, self.answers, name="client")
        await self.supervisor.__aenter__()
        return self

    async def __aexit__(self, *error):
        try:
            await self.supervisor.__aexit__(*error)
        finally:
            await self.transport.__aexit__()

    async def ask(self, word):
        self.questions.put_nowait(word)

    async def answer(self):
        return await self.answers.get()


def run(main):
    async def bounded():
        async with asyncio.timeout(PATIENCE):
            await main()
        assert asyncio.all_tasks() == {asyncio.current_task()}, "tasks are left behind"

    asyncio.run(bounded())


@pytest.fixture
def url(redis_server):
    redis.Redis.from_url(redis_server.url).flushall()
    return redis_server.url


def test_who_is_silent_for_long_enough_is_dead_and_a_look_that_fails_counts_for_nobody():
    watch = Watch()
    for _ in range(LOOKS):
        assert watch.look({"a": "1", "b": "1"}) == {}
    watch.forget()
    for number in range(LOOKS):
        assert watch.look({"a": "1", "b": str(number)}) == {}
    assert watch.look({"a": "1", "b": "9"}) == {"a": "1"}
    assert watch.look({"a": "2", "b": "9"}) == {}
    assert watch.look({}) == {}


def test_a_server_that_is_killed_and_not_started_again(url):
    """Whether it had taken the message or not; and who died stands in the error and in the ledger."""

    async def main():
        async with worker(url, SHORT, "server") as server, Here(url, SHORT) as here:
            await here.ask("first")
            await server.hear("got first")
            server.signal(signal.SIGKILL)
            told = await here.answer()
            assert "`Server` of protocol `RequestResponse`, agent `server`, has crashed" in told
            notes = [(what, detail.get("not taken")) for what, _, detail in here.recorded.notes]
            assert notes[0] == ("given up for dead", ["Request"])
            assert here.supervisor.unfinished() == []
            async with worker(url, SHORT, "server") as again:
                await again.hear("started")
                await here.ask("second")
                await again.hear("got second")
                again.go()
                assert await here.answer() == "second", "and what was told is not handled again"

    run(main)


def test_one_that_is_dead_is_told_of_at_once_or_after_the_patience(url):
    """A message to one that is known to be dead is told of too: by its name, or as the only one that played a role."""

    @follows(REQUEST_RESPONSE, as_="Client")
    class ByName(Agent):
        def __init__(self, told: asyncio.Queue[str]) -> None:
            self.told = told

        async def on_start(self) -> None:
            for to in (AgentRef("server"), "Server"):
                await self.send(to, Request("x"))
                try:
                    await self.receive(Response)
                except PartnerCrashedError as error:
                    self.told.put_nowait(error.role)

    async def main():
        async with worker(url, SHORT, "server") as server:
            await server.hear("started")
            server.signal(signal.SIGKILL)
        told: asyncio.Queue[str] = asyncio.Queue()
        async with RedisStreams(url, lease=SHORT, patience=0) as transport:
            supervisor = Supervisor(transport=transport)
            supervisor.add(ByName, told)
            async with supervisor:
                assert [await told.get(), await told.get()] == ["Server", "Server"]

    run(main)


def test_a_crash_that_the_protocol_handles_is_received(url):
    @follows(OFFER, as_="Seller")
    class Seller(Agent):
        def __init__(self, heard: asyncio.Queue[object]) -> None:
            self.heard = heard

        async def on_start(self) -> None:
            await self.send("Bidder", Offer())
            self.heard.put_nowait(await self.receive(Bid | Crash))
            await self.send("House", Unsold())

    @follows(OFFER, as_="House")
    class House(Agent):
        def __init__(self, heard: asyncio.Queue[object]) -> None:
            self.heard = heard

        async def on_end(self, end: Sold | Unsold) -> None:
            self.heard.put_nowait(end)

    async def main():
        heard: asyncio.Queue[object] = asyncio.Queue()
        async with worker(url, SHORT, "bidder") as bidder, RedisStreams(url, lease=SHORT) as transport:
            await bidder.hear("started")
            bidder.signal(signal.SIGSTOP)  # it has not even taken the offer
            supervisor = Supervisor(transport=transport)
            supervisor.add(Seller, heard)
            supervisor.add(House, heard)
            async with supervisor:
                assert [await heard.get(), await heard.get()] == [Crash("Bidder"), Unsold()]
                await supervisor.settled()
                assert supervisor.unfinished() == []

    run(main)


def test_one_that_was_only_asleep_cannot_go_on_as_if_nothing_had_happened(url):
    async def main():
        async with worker(url, SHORT, "server") as server, Here(url, SHORT) as here:
            await here.ask("first")
            await server.hear("got first")
            server.signal(signal.SIGSTOP)
            assert "has crashed" in await here.answer()
            server.go()
            server.signal(signal.SIGCONT)
            assert await server.hear("refused"), "it keeps nothing"
            assert await server.hear("refused"), "and sends nothing"
            await server.hear("started")
            await here.ask("second")
            assert await server.hear("got") == "got second", "the first one is over for it"
            server.go()
            assert await here.answer() == "second"
            assert here.supervisor.unfinished() == []

    run(main)


def test_letters_that_nobody_waits_for_an_answer_to_are_kept_for_the_next_process(url):
    @follows(LOG, as_="Writer")
    class Writer(Agent):
        async def on_start(self) -> None:
            for number in range(3):
                await self.send("Logger", Note(number))

    async def main():
        async with worker(url, SHORT, "logger") as logger:
            await logger.hear("started")
            logger.signal(signal.SIGSTOP)
            async with RedisStreams(url, lease=SHORT) as transport:
                supervisor = Supervisor(transport=transport)
                supervisor.add(Writer)
                async with supervisor:
                    await supervisor.settled()
                    client = redis.Redis.from_url(url)
                    while client.hget("accord:agents:{logger}:life", "gone") != b"1":  # noqa: ASYNC110 - by another task
                        await asyncio.sleep(SHORT / 20)
        async with worker(url, SHORT, "logger") as logger:
            assert [await logger.hear("noted") for _ in range(3)] == ["noted 0", "noted 1", "noted 2"]

    run(main)


def test_a_full_mailbox_of_one_that_is_dead_is_reported(url):
    async def main():
        async with RedisStreams(url, lease=SHORT) as old, RedisStreams(url, lease=SHORT) as new:
            await old.open("b", [will(PART)], 2)
            await new.open("a", [will(SENDER)], 2)
            for number in range(2):
                await new.post("b", letter(number), pause_of(new))
            third = asyncio.create_task(new.post("b", letter(2), pause_of(new)))
            assert (await new.inherit()).name == "b"
            with pytest.raises(StoreError, match="agent `b` is dead, nobody has started it again, and its mailbox is"):
                await third

    run(main)


def test_an_estate_whose_heir_dies_is_inherited_again(url):
    begun = Begun(conversation="c7", part=PART, cast={"A": "a", "B": "b"})

    async def main():
        async with RedisStreams(url, lease=SHORT) as dead, RedisStreams(url, lease=SHORT) as other:
            await dead.open("a", [will(SENDER)], 10)
            await dead.open("b", [will(PART)], 10)
            await dead.begin("b", begun)
            await dead.post("b", letter(0), pause_of(dead))
            async with RedisStreams(url, lease=SHORT) as heir:
                names = {(await heir.inherit()).name, (await heir.inherit()).name}
                assert names == {"a", "b"}
            estates = [await other.inherit() for _ in range(2)]
            (estate,) = [estate for estate in estates if estate.name == "b"]
            assert estate.left.begun == [begun]
            assert [delivery.letter for delivery in estate.letters] == [letter(0)]
            with pytest.raises(StoreError, match="agent `b` was not heard of in time and given up for dead"):
                await dead.begin("b", begun)
            for each in estates:
                await other.close(each.name)
            client = redis.Redis.from_url(url)
            assert client.hgetall("accord:beats") == {}, "laid to rest"
            await dead.open("a", [will(SENDER)], 10)
            await dead.post("b", letter(1), pause_of(dead))
            assert client.hget("accord:beats", "b") == b"called", "somebody writes to it: it is inherited once more"
            assert [d.letter for d in (await other.inherit()).letters] == [letter(0), letter(1)]

    run(main)


def test_two_processes_with_one_name_do_not_fight_for_it(url):
    """The later one has it, and the earlier one ends."""

    async def main():
        async with worker(url, LONG, "server") as first, Here(url, LONG) as here:
            await first.hear("started")
            async with worker(url, LONG, "server") as second:
                await second.hear("started")
                await here.ask("x")
                await second.hear("got x")
                second.go()
                assert await here.answer() == "x"
                # it waits in `take`; the beat of a long lease would tell it late, any step tells it at once
                first.signal(signal.SIGKILL)

        async with worker(url, SHORT, "server") as first:
            await first.hear("started")
            async with worker(url, SHORT, "server") as second:
                await second.hear("started")
                gave_up = await first.hear("gave up")
                assert "the mailbox of agent `server` belongs to another process now" in gave_up
                assert await first.process.wait() == 0

    run(main)


# -- Redis itself ------------------------------------------------------------------------------------------------------


def test_a_redis_that_is_restarted_in_the_middle(url, redis_server):
    """Nobody is told of anything: all go on when it is back."""

    async def main():
        async with worker(url, LONG, "server") as server, Here(url, LONG) as here:
            for number in range(3):
                await here.ask(str(number))
                await server.hear(f"got {number}")
                await asyncio.to_thread(redis_server.stop, signal.SIGKILL)
                server.go()
                redis_server.start()  # in this thread: a server ends with the thread that started it
                assert await here.answer() == str(number)
            assert [what for what, _, _ in here.recorded.notes] == []

    run(main)


def test_a_redis_that_comes_back_empty(url):
    """All agents start again, and nobody waits for what was in it."""

    async def main():
        async with worker(url, SHORT, "server") as server, Here(url, SHORT) as here:
            await here.ask("lost")
            await server.hear("got lost")
            redis.Redis.from_url(url).flushall()
            await server.hear("started")
            server.go()
            await here.ask("new")
            await server.hear("got new")
            server.go()
            assert await here.answer() == "new"

    run(main)


def test_a_redis_that_is_away_at_the_start_is_waited_for():
    if RedisServer.why_not() is not None:
        pytest.skip(f"NOT TESTED: {RedisServer.why_not()}")
    server = RedisServer()

    async def refused():
        async with RedisStreams(server.url, patience=0) as transport:
            supervisor = Supervisor(transport=transport)
            supervisor.add(Client, asyncio.Queue(), asyncio.Queue())
            with pytest.raises(StoreError, match="Redis did not do it"):
                await supervisor.__aenter__()

    async def waited_for():
        starting = asyncio.create_task(asyncio.to_thread(server.start))
        async with Here(server.url, LONG) as here:
            assert here.supervisor.unfinished() == []
        await starting

    run(refused)
    try:
        run(waited_for)
    finally:
        server.__exit__()


def test_a_redis_that_stays_away_ends_the_supervisor():
    """It cannot know whether others have given it up, so it does nothing more."""
    if RedisServer.why_not() is not None:
        pytest.skip(f"NOT TESTED: {RedisServer.why_not()}")

    async def main():
        with RedisServer() as server:
            async with RedisStreams(server.url, lease=SHORT, patience=SHORT) as transport:
                supervisor = Supervisor(transport=transport)
                supervisor.add(Client, asyncio.Queue(), asyncio.Queue())

                async def stay():
                    async with supervisor:
                        await asyncio.to_thread(server.stop)
                        await supervisor.run()

                with pytest.raises(GaveUpError) as excinfo:
                    await stay()
                assert isinstance(excinfo.value.__cause__, StoreError)

    run(main)
