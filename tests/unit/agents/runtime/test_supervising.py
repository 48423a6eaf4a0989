"""Agents that crash: who is started again, what their partners see, and when it is too much."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from tests.crews import REQUEST_RESPONSE, Recorded, Request, Response, run

from accord import StoredSession, StoreError, UsageError
from accord.agents import Agent, Crash, GaveUpError, InProcess, PartnerCrashedError, Supervisor, follows, persistent
from accord.agents.runtime.strategies import recent, to_restart
from accord.stores import MemoryStore
from accord.testing import EverySchedule, Fault, FaultyStore, RandomSchedule

TALK = """
protocol Talk {
    A -> B: Hello
    B -> A: Welcome
    A -> B: Question
    B -> A: Answer
}
"""


@dataclass
class Hello:
    pass


@dataclass
class Welcome:
    pass


@dataclass
class Question:
    pass


@dataclass
class Answer:
    pass


class BoomError(Exception):
    pass


@follows(TALK, as_="B")
class Fragile(Agent):
    """Crashes with the first question of each program."""

    def __init__(self, crashes: list[str]) -> None:
        self.crashes = crashes

    async def on_hello(self, _hello: Hello) -> None:
        await self.reply(Welcome())

    async def on_question(self, _question: Question) -> None:
        if self.crashes:
            raise BoomError(self.crashes.pop())
        await self.reply(Answer())


@follows(TALK, as_="A")
class Persistent(Agent):
    """Begins again when its partner has crashed."""

    def __init__(self, got: list[object]) -> None:
        self.got = got

    async def on_start(self) -> None:
        while True:
            try:
                await self.send("B", Hello())
                await self.receive(Welcome)
                await self.send("B", Question())
                self.got.append(await self.receive(Answer))
                break
            except PartnerCrashedError as error:
                self.got.append(f"told that {error.role} crashed")


def test_a_partner_is_told_and_begins_again():
    every = EverySchedule(most=5000)
    for schedule in every:
        got: list[object] = []
        recorded = Recorded()
        assert run((Fragile, ["boom"]), (Persistent, got), schedule=schedule, ledger=recorded.ledger) == []
        assert got == ["told that B crashed", Answer()]
        noted = {(what, role): detail for what, role, detail in recorded.notes}
        assert set(noted) == {("crashed", "B"), ("restarted", "B"), ("not delivered", "B"), ("left", "A")}
        crashed = {"agent": "Fragile", "error": "BoomError: boom", "state": 3, "next": ["A!Answer"]}
        assert noted["crashed", "B"] == crashed, "in the middle of what it happened"
        assert noted["not delivered", "B"]["label"] == "Question", "what it was handling"
        assert noted["left", "A"]["why"] == "`B` has crashed"
    assert every.complete


def test_a_partner_that_does_not_care_does_not_crash_itself():
    @follows(TALK, as_="A")
    class Careless(Agent):
        async def on_start(self) -> None:
            await self.send("B", Hello())

        async def on_welcome(self, _welcome: Welcome) -> None:
            await self.reply(Question())
            await self.receive(Answer)
            raise AssertionError("not reached")

    async def during(supervisor, fragile, careless):
        assert isinstance(supervisor[careless], Careless)

    assert run((Fragile, ["boom"]), Careless, during=during) == []


def test_a_message_that_was_not_handled_is_handled_by_the_next_life():
    """Nobody has seen anything of it, so nobody needs to be told."""
    crashes = ["one", "two"]
    handled: list[int] = []

    @follows("record Note { number: Int } protocol Log { Writer -> Logger: Note }", as_="Logger")
    class Logger(Agent):
        async def on_note(self, note: Note) -> None:
            if note.number == 3 and crashes:
                raise BoomError(crashes.pop())
            handled.append(note.number)

    @follows("record Note { number: Int } protocol Log { Writer -> Logger: Note }", as_="Writer")
    class Writer(Agent):
        async def on_start(self) -> None:
            for number in range(6):
                await self.send("Logger", Note(number))

    recorded = Recorded()
    assert run(Logger, Writer, ledger=recorded.ledger) == []
    assert sorted(set(handled)) == list(range(6))
    assert [what for what, _, _ in recorded.notes] == ["crashed"] * len(recorded.notes)


@dataclass
class Note:
    number: int


def test_no_posted_message_is_lost_and_no_partner_is_stuck_whatever_crashes():
    """A server that crashes at random moments, under random schedules: every request is answered, or told."""

    class Random(RandomSchedule):
        def coin(self) -> bool:
            return self._random.random() < 0.3

    answered = 0

    def one(seed: int) -> dict[str, str]:
        chance = Random(seed)

        @follows(REQUEST_RESPONSE, as_="Server")
        class Server(Agent):
            async def on_request(self, request: Request) -> None:
                if chance.coin():
                    raise BoomError("before")
                await self.reply(Response(request.data))
                if chance.coin():
                    raise BoomError("after")

        got: dict[str, str] = {}

        @follows(REQUEST_RESPONSE, as_="Client")
        class Client(Agent):
            def __init__(self, number: int) -> None:
                self.number = number

            async def on_start(self) -> None:
                for turn in range(3):
                    name = f"{self.number}.{turn}"
                    await self.send("Server", Request(name))
                    try:
                        got[name] = (await self.receive(Response)).result
                    except PartnerCrashedError:
                        got[name] = "told"

        clients = [(Client, number, {"name": f"client {number}"}) for number in range(3)]
        assert run(Server, *clients, schedule=chance, max_restarts=1000, mailbox=2) == []
        return got

    for seed in range(150):
        got = one(seed)
        assert len(got) == 9
        assert all(result in {name, "told"} for name, result in got.items())
        answered += sum(result != "told" for result in got.values())
    assert answered > 1000


@pytest.mark.parametrize(
    ("strategy", "crashed", "expected"),
    [
        ("one_for_one", "b", ["b"]),
        ("one_for_all", "b", ["a", "b", "c"]),
        ("rest_for_one", "b", ["b", "c"]),
        ("rest_for_one", "a", ["a", "b", "c"]),
        ("rest_for_one", "c", ["c"]),
    ],
)
def test_who_is_started_again(strategy, crashed, expected):
    assert to_restart(strategy, ["a", "b", "c"], crashed) == expected

    started: list[str] = []

    @follows("protocol P { A -> B: Hello }", as_="A")
    class Child(Agent):
        def __init__(self, name: str) -> None:
            self.name = name

        async def on_start(self) -> None:
            started.append(self.name)
            if self.name == crashed and started.count(crashed) == 1:
                raise BoomError

    run(*[(Child, name, {"name": name}) for name in "abc"], strategy=strategy, schedule=lambda _: 0)
    assert started[:3] == ["a", "b", "c"] or strategy != "one_for_one"
    assert started.count(crashed) == 2
    for name in "abc":
        assert (name in expected) or started.count(name) == 1


def test_crashes_that_count():
    assert recent((), 10, 5) == (10,)
    assert recent((4, 5, 6), 10, 5) == (5, 6, 10)


def test_too_many_crashes_within_the_time():
    """Time is what the clock says: three crashes in a second are too many, in an hour they are not."""

    @follows(REQUEST_RESPONSE, as_="Client")
    class Nervous(Agent):
        def __init__(self, crashes: list[Exception]) -> None:
            self.crashes = crashes

        async def on_start(self) -> None:
            if self.crashes:
                raise self.crashes.pop()

    for step, gives_up in ((0.3, True), (1000.0, False)):
        now = iter(number * step for number in range(100))
        crashes: list[Exception] = [BoomError("no")] * 5
        options = {"max_restarts": 2, "within": 1.0, "clock": lambda now=now: next(now)}
        if not gives_up:
            assert run((Nervous, crashes), **options) == []
            assert not crashes
            continue
        with pytest.raises(GaveUpError, match=r"agent `Nervous` crashed \(no\): 3 crashes within 1 s") as excinfo:
            run((Nervous, crashes), **options)
        assert isinstance(excinfo.value.__cause__, BoomError)


def test_an_agent_that_cannot_be_made_has_crashed():
    @follows(REQUEST_RESPONSE, as_="Client")
    class Stillborn(Agent):
        def __init__(self) -> None:
            raise BoomError("no hands")

    with pytest.raises(GaveUpError, match="no hands"):
        run(Stillborn)


def test_giving_up_ends_the_block_wherever_it_is():
    @follows(REQUEST_RESPONSE, as_="Client")
    class Nervous(Agent):
        async def on_start(self) -> None:
            raise BoomError("no")

    async def main():
        supervisor = Supervisor(max_restarts=0)
        supervisor.add(Nervous)
        with pytest.raises(GaveUpError):
            async with supervisor:
                await supervisor.run()
        assert asyncio.current_task().cancelling() == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}
        with pytest.raises(UsageError, match="runs its agents once"):
            await supervisor.__aenter__()

    asyncio.run(main())


def test_cancelling_and_leaving_by_an_error_leave_no_task_behind():
    cleaned: list[str] = []

    @follows(REQUEST_RESPONSE, as_="Client")
    class Waiting(Agent):
        async def on_start(self) -> None:
            await self.send("Server", Request("x"))
            try:
                await self.receive(Response)
            finally:
                await asyncio.sleep(0)
                cleaned.append("client")

    @follows(REQUEST_RESPONSE, as_="Server")
    class Slow(Agent):
        async def on_request(self, _request: Request) -> None:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                cleaned.append("server")

    async def inside(leave):
        supervisor = Supervisor()
        supervisor.add(Waiting)
        supervisor.add(Slow)
        async with supervisor:
            for _ in range(20):
                await asyncio.sleep(0)
            assert len(supervisor.unfinished()) == 2
            await leave()

    async def fail():
        raise BoomError

    async def main():
        with pytest.raises(BoomError):
            await inside(fail)
        assert sorted(cleaned) == ["client", "server"]
        task = asyncio.create_task(inside(asyncio.get_running_loop().create_future))
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert sorted(cleaned) == ["client", "client", "server", "server"]


def test_a_mailbox_is_bounded_and_senders_wait():
    waiting: list[int] = []
    gate: list[asyncio.Future[None]] = []

    @follows("record Note { number: Int } protocol Log { Writer -> Logger: Note }", as_="Logger")
    class Logger(Agent):
        def __init__(self) -> None:
            self.seen: list[int] = []

        async def on_note(self, note: Note) -> None:
            await asyncio.shield(gate[0])
            self.seen.append(note.number)

    @follows("record Note { number: Int } protocol Log { Writer -> Logger: Note }", as_="Writer")
    class Writer(Agent):
        async def on_start(self) -> None:
            gate.append(asyncio.get_running_loop().create_future())
            for number in range(20):
                await self.send("Logger", Note(number))
                waiting.append(number)

    async def main():
        supervisor = Supervisor(mailbox=4)
        logger = supervisor.add(Logger)
        supervisor.add(Writer)
        async with supervisor:
            for _ in range(50):
                await asyncio.sleep(0)
            assert waiting == [0, 1, 2, 3], "the fifth waits for room"
            gate[0].set_result(None)
            await supervisor.settled()
            assert supervisor[logger].seen == list(range(20))

    asyncio.run(main())


def test_two_agents_with_full_mailboxes_still_answer_each_other():
    """Answers have room of their own, however many requests wait."""

    @follows(REQUEST_RESPONSE, as_="Server")
    @follows(REQUEST_RESPONSE, as_="Client")
    class Peer(Agent):
        def __init__(self, other: str, got: list[str]) -> None:
            self.other = other
            self.got = got

        async def on_start(self) -> None:
            from accord.agents import AgentRef

            async def ask(number: int) -> None:
                await self.send(AgentRef(self.other), Request(str(number)))

            for number in range(30):
                await ask(number)

        async def on_request(self, request: Request) -> None:
            await self.reply(Response(request.data))

        async def on_response(self, response: Response) -> None:
            self.got.append(response.result)

    for seed in range(10):
        left: list[str] = []
        right: list[str] = []
        peers = [(Peer, "right", left, {"name": "left"}), (Peer, "left", right, {"name": "right"})]
        assert run(*peers, mailbox=1, schedule=RandomSchedule(seed)) == []
        assert sorted(left) == sorted(right) == sorted(map(str, range(30)))


def test_fields_that_cannot_be_kept_stop_the_agent_before_anything_goes_out():
    @follows(REQUEST_RESPONSE, as_="Server")
    class Counter(Agent):
        count: int = persistent(0)

        async def on_request(self, _request: Request) -> None:
            self.count += 1
            await self.reply(Response(str(self.count)))

    got: list[str] = []

    @follows(REQUEST_RESPONSE, as_="Client")
    class Asker(Agent):
        async def on_start(self) -> None:
            for _ in range(3):
                await self.send("Server", Request("x"))
                got.append((await self.receive(Response)).result)

    store = FaultyStore(MemoryStore(), [Fault.NONE, Fault.FULL])
    assert run(Counter, Asker, store=store) == []
    assert got == ["1", "2", "3"], "what could not be kept was not counted; it was handled again"

    with pytest.raises(GaveUpError) as excinfo:
        run(Counter, Asker, store=FaultyStore(MemoryStore(), [Fault.UNREACHABLE] * 50))
    assert isinstance(excinfo.value.__cause__, StoreError)


def test_a_kept_field_of_another_type_is_refused():
    store = MemoryStore()

    @follows(REQUEST_RESPONSE, as_="Client")
    class Old(Agent):
        count: int = persistent(0)

        async def on_start(self) -> None:
            self.count = 7

    @follows(REQUEST_RESPONSE, as_="Client")
    class New(Agent):
        count: str = persistent("")

    run((Old, {"name": "x"}), store=store)
    with pytest.raises(GaveUpError, match="persistent field `count` of `New`: what was kept is of another type"):
        run((New, {"name": "x"}), store=store)
    with pytest.raises(UsageError, match="what is persistent is written as JSON"):
        persistent(object())


def test_a_session_is_not_taken_for_the_fields_of_an_agent_nor_the_other_way_round():
    @follows(REQUEST_RESPONSE, as_="Client")
    class Counter(Agent):
        count: int = persistent(0)

        async def on_start(self) -> None:
            self.count += 1

    store = MemoryStore()
    StoredSession(store, "!Pay.end", "agent:Counter").send("Pay")
    with pytest.raises(GaveUpError, match="session `agent:Counter` holds no fields of an agent"):
        run(Counter, store=store)
    assert store.verify("agent:Counter").ok

    store = MemoryStore()
    run(Counter, store=store)
    with pytest.raises(UsageError, match="belongs to another contract"):
        StoredSession(store, "!Pay.end", "agent:Counter").send("Pay")
    assert [info.key for info in store.sessions()] == ["agent:Counter"]


def test_letters_survive_a_supervisor_in_their_transport():
    """What was posted and not handled when everything stopped is handled when the agents are started again."""
    transport = InProcess()
    handled: list[int] = []

    @follows("record Note { number: Int } protocol Log { Writer -> Logger: Note }", as_="Logger")
    class Logger(Agent):
        def __init__(self, *, works: bool) -> None:
            self.works = works

        async def on_note(self, note: Note) -> None:
            if not self.works:
                await asyncio.get_running_loop().create_future()
            handled.append(note.number)

    @follows("record Note { number: Int } protocol Log { Writer -> Logger: Note }", as_="Writer")
    class Writer(Agent):
        async def on_start(self) -> None:
            for number in range(5):
                await self.send("Logger", Note(number))
            raise BoomError

    with pytest.raises(GaveUpError):
        run((Logger, {"works": False}), Writer, transport=transport, max_restarts=0)
    assert handled == []
    assert run((Logger, {"works": True}), transport=transport) == []
    assert handled == [0, 1, 2, 3, 4]


def test_a_crash_in_a_branch_of_its_own():
    """Only the role that notices is told by the protocol; the others are told by it."""
    text = """
    protocol Auction {
        Seller -> Bidder: Offer
        choice at Bidder { Bidder -> Seller: Bid; Seller -> House: Sold }
        or crash Bidder { Seller -> House: Unsold }
    }
    """

    @dataclass
    class Offer:
        pass

    @dataclass
    class Bid:
        pass

    @dataclass
    class Sold:
        pass

    @dataclass
    class Unsold:
        pass

    heard: list[object] = []

    @follows(text, as_="Seller")
    class Seller(Agent):
        async def on_start(self) -> None:
            await self.send("Bidder", Offer())

        async def on_bid(self, _bid: Bid) -> None:
            await self.send("House", Sold())

        async def on_crash(self, crash: Crash) -> None:
            heard.append(crash)
            await self.send("House", Unsold())

    @follows(text, as_="Bidder")
    class Bidder(Agent):
        async def on_offer(self, _offer: Offer) -> None:
            raise BoomError

    @follows(text, as_="House")
    class House(Agent):
        async def on_end(self, end: Sold | Unsold) -> None:
            heard.append(end)

    every = EverySchedule(most=2000)
    for schedule in every:
        heard.clear()
        assert run(Seller, Bidder, House, schedule=schedule) == []
        assert heard == [Crash("Bidder"), Unsold()]
    assert every.complete
