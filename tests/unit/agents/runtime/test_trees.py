"""Supervisors that are supervised: who deals with what, what it leaves alone, and how it all ends.

That random trees do what a model says is held in `tests/properties/test_trees.py`.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import pytest
from tests.crews import LOG, REQUEST_RESPONSE, Note, Recorded, Request, Response
from tests.trees import BoomError, Worker, World

from accord import StoreError, UsageError
from accord.agents import Agent, GaveUpError, InProcess, PartnerCrashedError, Supervisor, follows, persistent
from accord.agents.runtime.hub import Hub
from accord.stores import MemoryStore
from accord.testing import RandomSchedule


def run(supervisor, body=None):
    async def main():
        async with asyncio.timeout(60):
            try:
                async with supervisor:
                    await (supervisor.settled() if body is None else body())
            finally:
                assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def group(world, *names, **options):
    made = Supervisor(**options)
    for name in names:
        made.add(Worker, name, world, name=name)
    return made


async def pause():
    for _ in range(30):
        await asyncio.sleep(0)


def test_two_that_crash_in_the_same_moment_are_one_crash_where_all_are_started_again():
    world = World()
    top = group(world, "a", "b", strategy="one_for_all", max_restarts=1)

    async def body():
        await pause()
        for name in "ab":
            world.doors[name].set_exception(BoomError(name))
        await pause()
        assert [name for what, name in world.log if what == "start"] == ["a", "b", "a", "b"]

    run(top, body)


def test_a_supervisor_that_gave_up_and_was_started_again_for_another_reason_meanwhile_has_not_failed():
    world = World()
    top = group(world, "beside", strategy="one_for_all", max_restarts=1)
    top.add(group(world, "inner", max_restarts=0), name="group")

    async def body():
        await pause()
        for name in ("inner", "beside"):
            world.doors[name].set_exception(BoomError(name))
        await pause()
        starts = [name for what, name in world.log if what == "start"]
        assert starts == ["beside", "inner"] * 2, "once for both, or the limit would be passed"

    run(top, body)


def test_crashes_that_nobody_has_dealt_with_when_their_supervisor_gave_up_keep_nothing_from_settling():
    starts: list[str] = []

    @follows(REQUEST_RESPONSE, as_="Client")
    class Nervous(Agent):
        def __init__(self, name: str) -> None:
            self.name = name

        async def on_start(self) -> None:
            starts.append(self.name)
            if starts.count(self.name) == 1:
                raise BoomError

    inner = Supervisor(max_restarts=0)
    for name in "abc":
        inner.add(Nervous, name, name=name)
    top = Supervisor(max_restarts=1)
    top.add(inner)
    run(top)
    assert starts == ["a", "b", "c"] * 2


def test_nothing_is_started_any_more_when_a_tree_ends():
    world, gate = World(), asyncio.Event()

    @follows("protocol Idle { Nobody -> Worker: Nothing }", as_="Worker")
    class Slow(Agent):
        async def on_start(self) -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                await gate.wait()

    top = Supervisor()
    top.add(group(world, "a"), name="first")
    top.add(Slow, name="slow")

    async def main():
        async def body():
            async with top:
                await pause()

        task = asyncio.create_task(body())
        await pause()
        await pause()
        world.doors["a"].set_exception(BoomError)
        await pause()
        gate.set()
        await task
        assert world.log == [("start", "a"), ("stop", "a")]

    asyncio.run(main())


def test_what_takes_long_to_end_holds_up_nobody_in_another_branch():
    world, gate = World(), asyncio.Event()

    @follows("protocol Idle { Nobody -> Worker: Nothing }", as_="Worker")
    class Slow(Agent):
        async def on_start(self) -> None:
            world.log.append(("start", "slow"))
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                await gate.wait()

    slow = group(world, "a", strategy="one_for_all")
    slow.add(Slow, name="slow")
    top = Supervisor()
    top.add(slow, name="slow ones")
    top.add(group(world, "b"), name="others")

    async def body():
        await pause()
        world.doors["a"].set_exception(BoomError)
        await pause()
        world.doors["b"].set_exception(BoomError)
        await pause()
        starts = [name for what, name in world.log if what == "start"]
        assert starts == ["a", "slow", "b", "b"], "`a` waits for `slow`, and nobody else does"
        gate.set()
        await pause()
        starts = [name for what, name in world.log if what == "start"]
        assert starts == ["a", "slow", "b", "b", "a", "slow"]

    run(top, body)


def test_who_gave_up_and_why_is_told_from_the_outermost_down(caplog):
    world = World()
    inner = group(world, "a", max_restarts=1, within=7)
    top = Supervisor(max_restarts=0)
    top.add(inner, name="workers")

    async def body():
        await pause()
        for _ in range(2):
            world.doors["a"].set_exception(BoomError("no"))
            await pause()
        await top.run()

    with caplog.at_level(logging.ERROR, logger="accord.agents"), pytest.raises(GaveUpError) as excinfo:
        run(top, body)
    below = "agent `a` crashed (no): 2 crashes within 7 s"
    assert str(excinfo.value) == f"supervisor `workers` gave up ({below}): 1 crashes within 5 s"
    assert str(excinfo.value.__cause__) == below
    assert isinstance(excinfo.value.__cause__.__cause__, BoomError)
    assert [record.getMessage() for record in caplog.records] == [
        "agent `a` has crashed",
        "agent `a` has crashed",
        f"supervisor `workers` has given up: {below}",
    ]


def test_an_agent_that_cannot_be_made_fails_its_own_supervisor_first():
    tries: list[str] = []

    @follows(REQUEST_RESPONSE, as_="Client")
    class Stillborn(Agent):
        def __init__(self) -> None:
            tries.append("made")
            if len(tries) < 4:
                raise BoomError("no hands")

    inner = Supervisor(max_restarts=1)
    inner.add(Stillborn)
    top = Supervisor(max_restarts=1)
    top.add(inner)
    run(top)
    assert len(tries) == 4, "two by its supervisor, and two when that was started again"


def test_who_cannot_start_agents_again_fails_and_the_one_above_tries():
    world = World()

    class Refusing(InProcess):
        refused = 0

        async def open(self, name, wills, capacity):
            if world.log and name == "a" and self.refused < 1:
                self.refused += 1
                raise StoreError("not now")
            return await super().open(name, wills, capacity)

    transport = Refusing()
    top = Supervisor(transport=transport, max_restarts=1)
    top.add(group(world, "a", "b"), name="workers")

    async def body():
        await pause()
        world.doors["a"].set_exception(BoomError)
        await pause()
        assert [name for what, name in world.log if what == "start"] == ["a", "b", "a", "b"]
        assert transport.refused == 1

    run(top, body)


def test_a_ledger_that_takes_nothing_any_more_is_no_silence(monkeypatch):
    """Whoever deals with failures says so when it cannot."""

    @follows(REQUEST_RESPONSE, as_="Server")
    class Server(Agent):
        async def on_request(self, _request: Request) -> None:
            monkeypatch.setattr(Hub, "note", broken)
            raise BoomError

    @follows(REQUEST_RESPONSE, as_="Client")
    class Client(Agent):
        async def on_start(self) -> None:
            await self.send("Server", Request("x"))
            await self.receive(Response)

    def broken(*_):
        raise StoreError("the disk is full")

    inner, top = Supervisor(), Supervisor(max_restarts=0)
    inner.add(Server)
    top.add(inner, name="servers")
    top.add(Client)
    with pytest.raises(GaveUpError, match=r"`servers` gave up .*cannot be started again \(the disk is full\)"):
        run(top, top.run)


TALK = """
protocol Talk {
    A -> B: Ask
    B -> A: Wait
    A -> B: Go
    B -> A: Done
}
"""


@dataclass
class Ask:
    pass


@dataclass
class Wait:
    pass


@dataclass
class Go:
    pass


@dataclass
class Done:
    pass


def test_conversations_between_branches_end_when_one_gives_up_and_new_ones_begin():
    """The partner is told, what was not begun is delivered again, and fields that are kept are kept."""

    @follows(TALK, as_="B")
    class Fragile(Agent):
        crashes: int = persistent(0)

        async def on_ask(self, _ask: Ask) -> None:
            if self.crashes == 0:
                self.crashes = 1
                raise BoomError("before anybody has seen anything of it")
            await self.reply(Wait())

        async def on_go(self, _go: Go) -> None:
            if self.crashes < 3:
                self.crashes += 1
                raise BoomError("in the middle")
            await self.reply(Done())

    got: list[object] = []

    @follows(TALK, as_="A")
    class Asking(Agent):
        async def on_start(self) -> None:
            while not any(isinstance(each, Done) for each in got):
                try:
                    await self.send(Fragile, Ask())
                    await self.receive(Wait)
                    await self.send(Fragile, Go())
                    got.append(await self.receive(Done))
                except PartnerCrashedError as error:
                    got.append(error.role)

    for seed in range(100):
        schedule = RandomSchedule(seed)
        got.clear()
        recorded = Recorded()
        inner, beside = Supervisor(max_restarts=1), Supervisor(max_restarts=0)
        top = Supervisor(store=MemoryStore(), ledger=recorded.ledger, schedule=schedule, max_restarts=1)
        fragile = inner.add(Fragile)
        asking = beside.add(Asking)
        top.add(inner, name="fragile ones")
        top.add(beside, name="asking ones")

        async def body(top=top, inner=inner, fragile=fragile, asking=asking):
            await top.settled()
            assert top.unfinished() == inner.unfinished() == []
            assert isinstance(top[fragile], Fragile) and inner[fragile] is top[fragile]
            assert top[fragile].crashes == 3
            with pytest.raises(UsageError, match="no agent `Asking` that lives"):
                inner[asking]  # it is another one's

        run(top, body)
        assert got == ["B", "B", Done()]
        assert [what for what, _, _ in recorded.notes].count("crashed") == 3


def test_letters_wait_while_a_supervisor_has_given_up():
    crashes = [BoomError()] * 3
    handled: list[int] = []

    @follows(LOG, as_="Logger")
    class Logger(Agent):
        async def on_note(self, note: Note) -> None:
            if note.number == 2 and crashes:
                raise crashes.pop()
            handled.append(note.number)

    @follows(LOG, as_="Writer")
    class Writer(Agent):
        async def on_start(self) -> None:
            for number in range(5):
                await self.send("Logger", Note(number))

    inner = Supervisor(max_restarts=1, mailbox=2)
    inner.add(Logger)
    top = Supervisor(max_restarts=1)
    top.add(inner)
    top.add(Writer)
    run(top)
    assert sorted(set(handled)) == list(range(5))
    assert not crashes


def test_a_tree_that_is_cancelled_at_any_moment_leaves_no_task_behind():
    async def main():
        for moment in range(400):
            world = World()
            inner = group(world, "a", "b", strategy="one_for_all", max_restarts=0)
            top = group(world, "c", strategy="rest_for_one", max_restarts=2)
            top.add(inner, name="inner")
            top.add(group(world, "d"), name="beside")

            async def body(top=top, world=world):
                async with top:
                    await pause()
                    world.doors["a"].set_exception(BoomError)
                    world.doors["c"].set_exception(BoomError)
                    await pause()

            task = asyncio.create_task(body())
            for _ in range(moment):
                await asyncio.sleep(0)
            is_over = task.done()
            task.cancel()
            await asyncio.wait([task])
            assert asyncio.all_tasks() == {asyncio.current_task()}
            starts, stops = ([name for what, name in world.log if what == each] for each in ("start", "stop"))
            assert sorted(starts) == sorted(stops)
            if is_over:
                task.result()
                return
        raise AssertionError("there were more moments")

    asyncio.run(main())


def test_a_supervisor_that_is_added_wrongly():
    world = World()
    top = group(world, "a")
    inner = group(world, "b")
    with pytest.raises(UsageError, match="cannot be run by itself, nor by one that it runs"):
        top.add(top)
    for options in ({"transport": InProcess()}, {"store": MemoryStore()}, {"clock": lambda: 0}):
        with pytest.raises(UsageError, match=rf"`{next(iter(options))}` of the outermost supervisor is that of all"):
            top.add(Supervisor(**options))
    with pytest.raises(UsageError, match="a supervisor is added as it is"):
        top.add(inner, 3)
    with pytest.raises(UsageError, match="there is an agent `a` already"):
        top.add(group(world, "a"))
    with pytest.raises(UsageError, match="there is a child `a` already"):
        top.add(inner, name="a")
    with pytest.raises(UsageError, match="the name of a supervisor"):
        top.add(inner, name="")
    top.add(inner)
    with pytest.raises(UsageError, match="run already; make another one"):
        top.add(inner)
    with pytest.raises(UsageError, match="run already; make another one"):
        Supervisor().add(inner)
    with pytest.raises(UsageError, match="cannot be run by itself, nor by one that it runs"):
        inner.add(top)
    for name in ("a", "b", "supervisor 2"):
        with pytest.raises(UsageError, match=f"there is an agent `{name}` already"):
            (top if name == "supervisor 2" else inner).add(Worker, name, world, name=name)
    inner.add(Worker, "c", world, name="c")

    async def body():
        await pause()
        assert [name for _, name in world.log] == ["a", "b", "c"]
        for late in (lambda: inner.add(Worker, "d", world, name="d"), lambda: top.add(Supervisor())):
            with pytest.raises(UsageError, match="added before the supervisor's block begins"):
                late()
        with pytest.raises(UsageError, match="run by the one that it was added to"):
            await inner.__aenter__()
        with pytest.raises(UsageError, match="run already"):
            Supervisor().add(top)

    run(top, body)
    assert [name for what, name in world.log if what == "stop"] == ["c", "b", "a"]
