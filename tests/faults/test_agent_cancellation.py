"""Agents that are cancelled and stopped at every moment there is: nothing is left behind, and nobody is stuck."""

from __future__ import annotations

import asyncio
import gc
import threading
from dataclasses import dataclass

import pytest

from accord import CorruptSessionError, MemoryStore, UsageError, ViolationError
from accord.agents import (
    Agent,
    AgentRef,
    Crash,
    GaveUpError,
    InProcess,
    PartnerCrashedError,
    Supervisor,
    follows,
    persistent,
)
from accord.agents.runtime import hub
from tests.crews import LOG, OFFER, REQUEST_RESPONSE, Bid, Note, Offer, Recorded, Request, Response, Sold, Unsold, run

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
def test_any_task_of_an_agent_that_is_cancelled_at_any_moment_is_a_crash_and_nobody_is_stuck(strategy, soak):
    cancelled = 0
    step = 1 if soak or strategy == "one_for_one" else 4

    async def one(moment, which):
        nonlocal cancelled
        crew = Crew(strategy=strategy)
        task = asyncio.create_task(crew.run())
        for _ in range(moment):
            await asyncio.sleep(0)
            if task.done():
                return False
        lives = [child.life for child in crew.supervisor._branch.agents() if child.life is not None]
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
            for moment in range(0, MANY, step):
                for which in range(MANY):
                    answer = await one(moment, which)
                    if answer is None:
                        break
                    if answer is False:
                        return
            raise AssertionError("there were more moments")

    asyncio.run(main())
    assert cancelled > 100 // step


def test_a_handler_that_swallows_its_cancellation_can_do_nothing_more():
    """It may go on as long as it likes, but each verb cancels it again."""
    swallowed: list[str] = []

    @follows(REQUEST_RESPONSE, as_="Server")
    class Stubborn(Agent):
        async def on_request(self, request: Request) -> None:
            assert request.data == "a"
            for verb in (self.receive(Request), self.reply(Response("late")), self.send("Client", Response("later"))):
                try:
                    await asyncio.get_running_loop().create_future() if not swallowed else await verb
                except asyncio.CancelledError as error:
                    swallowed.append(type(error).__name__)
                finally:
                    verb.close()

    async def main():
        got: dict[str, str] = {}
        supervisor = Supervisor()
        supervisor.add(Client, got)
        supervisor.add(Stubborn)
        async with supervisor:
            for _ in range(30):
                await asyncio.sleep(0)
        assert swallowed == ["CancelledError"] * 3
        assert got == {}
        assert alone()

    asyncio.run(main())


def test_a_handler_that_raises_while_it_is_stopped_changes_nothing():
    @follows(REQUEST_RESPONSE, as_="Server")
    class Rude(Agent):
        async def on_request(self, _request: Request) -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                raise BoomError

    async def main():
        got: dict[str, str] = {}
        supervisor = Supervisor(max_restarts=0)
        supervisor.add(Client, got)
        supervisor.add(Rude)
        async with supervisor:
            for _ in range(30):
                await asyncio.sleep(0)
        assert alone()

    asyncio.run(main())


def test_a_handler_that_raises_in_its_finally_has_crashed():
    @follows(REQUEST_RESPONSE, as_="Server")
    class Untidy(Agent):
        async def on_request(self, request: Request) -> None:
            try:
                await self.reply(Response(request.data))
            finally:
                raise BoomError("in finally")

    crew: dict[str, str] = {}

    async def main():
        supervisor = Supervisor(max_restarts=1)
        supervisor.add(Client, crew)
        supervisor.add(Untidy)
        async with supervisor:
            await supervisor.settled()

    with pytest.raises(GaveUpError, match="in finally"):
        asyncio.run(main())
    assert crew["a"] == "a", "what was sent was sent"


STREAMS = """
record X { n: Int }
record Y { n: Int }
protocol Streams {
    A -> B: Start
    par { A -> B: X; A -> B: X; A -> B: X; A -> B: X; A -> B: X }
    and { B -> A: Y; B -> A: Y; B -> A: Y; B -> A: Y; B -> A: Y }
}
"""


def test_two_that_send_more_than_the_other_has_room_for_do_not_wait_for_ever():
    """The protocol lets both send before either receives; where everything stands still the bound gives way."""

    @dataclass
    class Start:
        pass

    @dataclass
    class X:
        n: int

    @dataclass
    class Y:
        n: int

    heard: list[object] = []

    @follows(STREAMS, as_="A")
    class A(Agent):
        async def on_start(self) -> None:
            await self.send("B", Start())
            for number in range(5):
                await self.send("B", X(number))
            heard.extend([await self.receive(Y) for _ in range(5)])

    @follows(STREAMS, as_="B")
    class B(Agent):
        async def on_begin(self, _start: Start) -> None:
            for number in range(5):
                await self.send("A", Y(number))
            heard.extend([await self.receive(X) for _ in range(5)])

    assert run(A, B, mailbox=1) == []
    assert sorted(map(str, heard)) == sorted(str(kind(number)) for kind in (X, Y) for number in range(5))


# -- storms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["one_for_one", "one_for_all", "rest_for_one"])
@pytest.mark.parametrize("where", ["made", "started", "handles"])
def test_an_agent_that_always_crashes_is_started_so_many_times_and_no_more(strategy, where):
    made: list[str] = []

    @follows(LOG, as_="Logger")
    class Hopeless(Agent):
        def __init__(self) -> None:
            made.append("hopeless")
            if where == "made":
                raise BoomError

        async def on_start(self) -> None:
            if where == "started":
                raise BoomError

        async def on_note(self, _note: Note) -> None:
            raise BoomError

    @follows(LOG, as_="Writer")
    class Writer(Agent):
        async def on_start(self) -> None:
            made.append("writer")
            await self.send("Logger", Note(1))

    async def main():
        supervisor = Supervisor(strategy=strategy, max_restarts=4, within=1e9)
        supervisor.add(Hopeless)
        supervisor.add(Writer)
        with pytest.raises(GaveUpError, match="5 crashes within"):
            async with supervisor:
                await supervisor.run()
        assert alone()

    asyncio.run(main())
    assert made.count("hopeless") == 5
    assert made.count("writer") <= (1 if strategy == "one_for_one" else 5)


def test_two_supervisors_with_agents_of_one_name():
    async def main():
        transport = InProcess()
        first, second = Supervisor(transport=transport), Supervisor(transport=transport)
        for each in (first, second):
            each.add(Server)
        async with first:
            with pytest.raises(UsageError, match="there is an agent `Server` already"):
                await second.__aenter__()
            client = Supervisor(transport=transport)
            got: dict[str, str] = {}
            client.add(Client, got)
            async with client:
                await client.settled()
                await first.settled()
                await client.settled()
            assert got == {"a": "a", "b": "b"}, "the first one still has its mailbox"
        assert alone()

    asyncio.run(main())


# -- what is left ------------------------------------------------------------------------------------------------------


def test_what_an_agent_remembers_does_not_grow_with_its_conversations(soak, health, monkeypatch):
    many = 100_000 if soak else 4_000
    if not soak:
        monkeypatch.setattr(hub, "MOST_REMEMBERED", 500)

    @follows(LOG, as_="Logger")
    class Quiet(Agent):
        async def on_note(self, _note: Note) -> None: ...

    @follows(LOG, as_="Writer")
    class Writer(Agent):
        def __init__(self, sizes: list[int]) -> None:
            self.sizes = sizes

        async def on_start(self) -> None:
            for number in range(many):
                await self.send("Logger", Note(number))
                if number % (many // 4) == many // 4 - 1:
                    gc.collect()
                    self.sizes.append(len(gc.get_objects()))

    sizes: list[int] = []

    async def main():
        supervisor = Supervisor()
        supervisor.add(Writer, sizes)
        supervisor.add(Quiet)
        async with supervisor:
            await supervisor.settled()

    asyncio.run(main())
    assert sizes[-1] - sizes[-2] < many // 8, sizes
    health(f"{many:,} conversations of one agent: {sizes[-1] - sizes[-2]:,} more objects in the last quarter")


def test_nothing_is_left_when_a_program_has_ended():
    before = threading.active_count()

    async def main():
        crew = Crew()
        await crew.run()
        assert alone()

    asyncio.run(main())
    assert threading.active_count() == before


def test_a_reference_to_nobody():
    said: list[str] = []

    @follows(REQUEST_RESPONSE, as_="Client")
    class Asks(Agent):
        async def on_start(self) -> None:
            for to in (AgentRef("nobody"), AgentRef("Asks"), AgentRef("a" * 200), Bidder, 7, None):
                try:
                    await self.send(to, Request("x"))
                except (UsageError, ViolationError) as error:
                    said.append(str(error))

    assert run(Asks, Server) == []
    assert len(said) == 6, said
    for forged in ("\x1b[31m", "", None, "a" * 10_000):
        with pytest.raises(UsageError, match="the name of an agent"):
            AgentRef(forged)


def test_fields_that_cannot_be_read_again_end_the_supervisor():
    """Whether they were damaged, or written by somebody who knows more than we do."""

    async def start(store):
        supervisor = Supervisor(store=store)
        supervisor.add(Server)
        async with supervisor:
            await supervisor.settled()

    for damage in (lambda row: row._replace(sealed=row.sealed[:-9] + b"x" * 9), lambda row: row._replace(sealed=b"{}")):
        store = MemoryStore()
        got: dict[str, str] = {}
        assert run(Server, (Client, got, {}), store=store) == []
        row, *rest = store._sessions["agent:Server"]
        store._sessions["agent:Server"] = (damage(row), *rest)
        with pytest.raises(GaveUpError) as excinfo:
            asyncio.run(start(store))
        assert isinstance(excinfo.value.__cause__, CorruptSessionError)
