"""Whole programs: agents that talk to each other as protocols say."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pydantic
import pytest
from tests.crews import (
    REQUEST_RESPONSE,
    SYNC,
    Acknowledged,
    Recorded,
    Request,
    Response,
    SchemaChanged,
    run,
)

from accord.agents import Agent, follows, persistent
from accord.stores import MemoryStore
from accord.testing import EverySchedule, RandomSchedule


@follows(SYNC, as_="APISteward")
class APISteward(Agent):
    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    async def on_message(self, change: SchemaChanged) -> None:
        self.seen.append(f"schema changed: {change.table}")
        await self.reply(Acknowledged())


@follows(SYNC, as_="DatabaseSteward")
class DatabaseSteward(Agent):
    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    async def on_start(self) -> None:
        await self.send("APISteward", SchemaChanged(table="users", change_type="add_column"))
        await self.receive(Acknowledged)
        self.seen.append("acknowledged")


def test_schema_sync():
    seen: list[str] = []
    recorded = Recorded()
    assert run((APISteward, seen), (DatabaseSteward, seen), ledger=recorded.ledger) == []
    assert seen == ["schema changed: users", "acknowledged"]
    assert recorded.attempts == [
        ("DatabaseSteward", "APISteward!SchemaChanged", "ok"),
        ("APISteward", "DatabaseSteward?SchemaChanged", "ok"),
        ("APISteward", "DatabaseSteward!Acknowledged", "ok"),
        ("APISteward", "end", "ok"),
        ("DatabaseSteward", "APISteward?Acknowledged", "ok"),
        ("DatabaseSteward", "end", "ok"),
    ]
    assert len({entry.session.partition("/")[0] for entry in recorded.entries}) == 1, "one conversation"


@follows(REQUEST_RESPONSE, as_="Server")
class RequestWorker(Agent):
    async def on_message(self, request: Request) -> None:
        await self.reply(Response(result=request.data.upper()))


@follows(REQUEST_RESPONSE, as_="Client")
class Requester(Agent):
    def __init__(self, target, got: list[str]) -> None:
        self.target = target
        self.got = got

    async def on_start(self) -> None:
        await self.send(self.target, Request(data="hello"))
        response = await self.receive(Response)
        self.got.append(response.result)


def test_request_and_response_with_a_role_a_class_and_a_reference():
    from accord.agents import AgentRef

    for target in ("Server", RequestWorker, AgentRef("RequestWorker")):
        got: list[str] = []
        assert run(RequestWorker, (Requester, target, got)) == []
        assert got == ["HELLO"]


def test_many_clients_each_have_a_conversation_of_their_own():
    got: list[str] = []
    clients = [(Requester, "Server", got, {"name": f"client {number}"}) for number in range(50)]
    assert run(RequestWorker, *clients) == []
    assert got == ["HELLO"] * 50


def test_the_response_may_find_a_handler_instead():
    got: list[str] = []

    @follows(REQUEST_RESPONSE, as_="Client")
    class Asker(Agent):
        async def on_start(self) -> None:
            await self.send("Server", Request(data="a"))
            await self.send("Server", Request(data="b"))

        async def on_response(self, response: Response) -> None:
            got.append(response.result)

    assert run(RequestWorker, Asker) == []
    assert got == ["A", "B"], "each request opens a conversation"


def test_two_protocols_in_one_agent():
    """Each obligation is met on its own, whatever the order in which the messages come."""
    api_sync = """
    record Deploy { version: Int }
    record Acknowledged {}
    protocol ApiSync { Deployer -> APISteward: Deploy; APISteward -> Deployer: Acknowledged }
    """

    class Deploy(pydantic.BaseModel):
        version: int

    seen: list[object] = []

    @follows(SYNC, as_="APISteward")
    @follows(api_sync, as_="APISteward")
    class Steward(Agent):
        async def on_change(self, change: SchemaChanged) -> None:
            seen.append(change.table)
            await self.reply(Acknowledged())

        async def on_deploy(self, deploy: Deploy) -> None:
            seen.append(deploy.version)
            await self.reply(Acknowledged(), protocol="ApiSync")

    @follows(SYNC, as_="DatabaseSteward")
    @follows(api_sync, as_="Deployer")
    class Both(Agent):
        async def on_start(self) -> None:
            await self.send("APISteward", SchemaChanged("users", "drop"))
            await self.send("APISteward", Deploy(version=2))
            await self.receive(Acknowledged, protocol="ApiSync")
            seen.append("deployed")
            await self.receive(Acknowledged, protocol="SchemaSync")
            seen.append("changed")

    runs = set()
    every = EverySchedule(most=2000)
    for schedule in every:
        seen.clear()
        assert run(Steward, Both, schedule=schedule) == []
        assert seen.index("deployed") < seen.index("changed")
        runs.add(tuple(seen))
    assert every.complete
    assert runs == {
        ("users", 2, "deployed", "changed"),
        (2, "users", "deployed", "changed"),
        (2, "deployed", "users", "changed"),
    }


BOOKING = """
record Query { text: String }
protocol Booking {
    User -> Agency: Wish
    rec Search {
        Agency -> Airline: Query
        choice at Airline {
            Airline -> Agency: Results
            Agency -> User: Offer
        } or {
            Airline -> Agency: Busy
            continue Search
        } or crash Airline {
            Agency -> User: Sorry
        }
    }
}
"""


@dataclass
class Wish:
    text: str


@dataclass
class Query:
    text: str


@dataclass
class Results:
    found: list[str]


@dataclass
class Busy:
    pass


@dataclass
class Offer:
    found: list[str]


@dataclass
class Sorry:
    pass


@follows(BOOKING, as_="User")
class User(Agent):
    def __init__(self, got: list[object]) -> None:
        self.got = got

    async def on_start(self) -> None:
        await self.send("Agency", Wish("to Rome"))
        self.got.append(await self.receive(Offer | Sorry))


@follows(BOOKING, as_="Agency")
class Agency(Agent):
    async def on_wish(self, wish: Wish) -> None:
        from accord.agents import Crash

        while True:
            await self.send("Airline", Query(wish.text))
            answer = await self.receive(Results | Busy | Crash)
            if isinstance(answer, Crash):
                assert answer.role == "Airline"
                await self.send("User", Sorry())
                return
            if isinstance(answer, Results):
                await self.send("User", Offer(answer.found))
                return


@follows(BOOKING, as_="Airline")
class Airline(Agent):
    def __init__(self, script: list[str]) -> None:
        self.script = script

    async def on_query(self, query: Query) -> None:
        act = self.script.pop(0)
        if act == "crash":
            raise RuntimeError("an engine is on fire")
        await self.reply(Busy() if act == "busy" else Results([query.text]))


@pytest.mark.parametrize("script", [["found"], ["busy", "busy", "found"], ["crash"], ["busy", "crash"]])
def test_three_roles_a_loop_and_a_crash_that_the_protocol_handles(script):
    expected = Sorry() if "crash" in script else Offer(["to Rome"])
    for seed in range(20):
        got: list[object] = []
        recorded = Recorded()
        schedule = RandomSchedule(seed)
        agents = [(User, got), Agency, (Airline, list(script))]
        assert run(*agents, schedule=schedule, ledger=recorded.ledger) == []
        assert got == [expected]
        crashes = [(role, detail["error"]) for what, role, detail in recorded.notes if what == "crashed"]
        assert crashes == ([("Airline", "RuntimeError: an engine is on fire")] if "crash" in script else [])


def test_without_a_store_fields_outlive_a_crash_and_the_crash_is_logged(caplog):
    @follows(REQUEST_RESPONSE, as_="Server")
    class Counter(Agent):
        tries: int = persistent(0)

        async def on_request(self, request: Request) -> None:
            self.tries += 1
            if self.tries < 3:
                raise RuntimeError(f"try {self.tries} of {request.data}")
            await self.reply(Response(f"{self.tries}"))

    got: list[str] = []
    assert run(Counter, (Requester, "Server", got)) == []
    assert got == ["3"]
    logged = [(record.name, record.getMessage(), str(record.exc_info[1])) for record in caplog.records]
    assert logged == [("accord.agents", "agent `Counter` has crashed", f"try {n} of hello") for n in (1, 2)]


def test_supervision_with_persistent_fields():
    """A crashed agent starts afresh, remembers what is persistent, and handles what it had not handled."""

    @follows(REQUEST_RESPONSE, as_="Server")
    class Counter(Agent):
        handled: int = persistent(0)
        names: list[str] = persistent([])

        def __init__(self) -> None:
            self.forgotten = 0

        async def on_request(self, request: Request) -> None:
            self.forgotten += 1
            if request.data == "bad" and self.handled < 3:
                self.handled += 1
                raise RuntimeError("cannot do it yet")
            self.handled += 1
            self.names.append(request.data)
            await self.reply(Response(f"{self.handled} {self.forgotten}"))

    got: list[str] = []

    @follows(REQUEST_RESPONSE, as_="Client")
    class Asker(Agent):
        async def on_start(self) -> None:
            for word in ("a", "b", "bad", "c"):
                await self.send("Server", Request(word))
                got.append((await self.receive(Response)).result)

    store = MemoryStore()

    async def look(supervisor, counter, _):
        assert supervisor[counter].names == ["a", "b", "bad", "c"]

    assert run(Counter, Asker, store=store, during=look) == []
    assert got == ["1 1", "2 2", "4 1", "5 2"], "what is not persistent is forgotten"
    assert store.verify("agent:Counter").ok
    got.clear()
    assert run(Counter, Asker, store=store) == []
    assert got == ["6 1", "7 2", "8 3", "9 4"], "another program, another day"


def test_an_agent_can_wait_for_the_world_while_others_move():
    @follows(REQUEST_RESPONSE, as_="Server")
    class Slow(Agent):
        async def on_request(self, request: Request) -> None:
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            await self.reply(Response(request.data))

    got: list[str] = []
    assert run(Slow, (Requester, "Server", got)) == []
    assert got == ["hello"]
