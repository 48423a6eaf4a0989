"""Whatever an agent does that its protocol does not allow is refused before anybody sees it, and blamed on its role."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.crews import (
    OFFER,
    REQUEST_RESPONSE,
    SYNC,
    Acknowledged,
    Bid,
    Offer,
    Recorded,
    Request,
    Response,
    SchemaChanged,
    Sold,
    Unsold,
    run,
)

from accord import UsageError, Violation, ViolationError
from accord.agents import Agent, AgentRef, Crash, GaveUpError, Supervisor, follows
from accord.testing import EverySchedule

CHANGED = SchemaChanged("a", "b")


@dataclass
class WrongType:
    pass


@follows(SYNC, as_="DatabaseSteward")
class Database(Agent):
    def __init__(self, got=None) -> None:
        self.got = got if got is not None else []

    async def on_start(self) -> None:
        await self.send("APISteward", SchemaChanged("users", "add"))
        self.got.append(await self.receive(Acknowledged))


def crash_of(*agents, **options):
    """What the first agent that crashes crashes with, under all small schedules alike."""
    found = set()
    every = EverySchedule(most=500)
    for schedule in every:
        with pytest.raises(GaveUpError) as excinfo:
            run(*agents, max_restarts=0, schedule=schedule, **options)
        cause = excinfo.value.__cause__
        found.add((type(cause), str(cause)))
    assert every.complete
    ((kind, text),) = found
    return kind, text


def steward(handle):
    @follows(SYNC, as_="APISteward")
    class APISteward(Agent):
        async def on_message(self, change: SchemaChanged) -> None:
            await handle(self, change)

    return APISteward


def test_a_reply_that_is_missing():
    async def handle(self, change):
        pass

    kind, text = crash_of(steward(handle), Database)
    assert kind is ViolationError
    assert text == (
        "E076: protocol `SchemaSync` requires `APISteward` to send `DatabaseSteward!Acknowledged`, and "
        "`APISteward.on_message` has ended without it"
    )


def test_a_reply_of_the_wrong_type():
    async def handle(self, change):
        await self.reply(WrongType())

    kind, text = crash_of(steward(handle), Database)
    assert kind is ViolationError
    assert text.startswith("E074: protocol `SchemaSync`, role `APISteward`: `WrongType` to `DatabaseSteward` is not")
    assert "Allowed now: `Acknowledged` to `DatabaseSteward`." in text


def test_a_second_reply():
    async def handle(self, change):
        await self.reply(Acknowledged())
        await self.reply(Acknowledged())

    got: list[object] = []
    kind, text = crash_of(steward(handle), (Database, got))
    assert kind is ViolationError
    assert text == (
        "E075: protocol `SchemaSync`, role `APISteward`: `Acknowledged` is refused: "
        "protocol `SchemaSync` is over for `APISteward` in this conversation."
    )


def test_a_reply_outside_a_handler():
    @follows(SYNC, as_="APISteward")
    class Eager(Agent):
        async def on_start(self) -> None:
            await self.reply(Acknowledged())

    assert crash_of(Eager) == (
        UsageError,
        "E073: `reply` outside a handler: there is no message to reply to; use `send`",
    )


def test_a_message_that_is_not_the_first_one():
    @follows(SYNC, as_="APISteward")
    class Eager(Agent):
        async def on_start(self) -> None:
            await self.send("DatabaseSteward", Acknowledged())

    kind, text = crash_of(Eager)
    assert kind is ViolationError
    assert text.startswith("E077: ")
    assert "first wait for `SchemaChanged` from `DatabaseSteward`" in text


def test_what_is_refused_can_be_done_right():
    """The partner sees nothing of it, and the ledger tells it."""

    async def handle(self, change):
        with pytest.raises(ViolationError) as excinfo:
            await self.reply(WrongType())
        verdict = excinfo.value.verdict
        assert isinstance(verdict, Violation) and verdict.role == "APISteward"
        await self.reply(Acknowledged())

    got: list[object] = []
    recorded = Recorded()
    assert run(steward(handle), (Database, got), ledger=recorded.ledger) == []
    assert got == [Acknowledged()]
    assert ("APISteward", "DatabaseSteward!WrongType", "violation") in recorded.attempts


def test_what_a_message_carries_is_checked():
    @follows(SYNC, as_="DatabaseSteward")
    class Careless(Agent):
        async def on_start(self) -> None:
            with pytest.raises(ViolationError, match=r"E084: .*`table` is of type `int`, expected") as excinfo:
                await self.send("APISteward", SchemaChanged(table=3, change_type="add"))
            assert excinfo.value.verdict.role == "DatabaseSteward"

    recorded = Recorded()
    assert run(Careless, steward(None), ledger=recorded.ledger) == [], "what was refused has opened nothing"
    assert recorded.attempts == [("DatabaseSteward", "APISteward!SchemaChanged", "violation")]


def test_a_class_that_is_not_the_record_is_refused_when_it_is_first_seen():
    @dataclass
    class Hidden:
        tables: list[str]

    Hidden.__name__ = "SchemaChanged"

    @follows(SYNC, as_="DatabaseSteward")
    class Careless(Agent):
        async def on_start(self) -> None:
            await self.send("APISteward", Hidden(["users"]))

    kind, text = crash_of(Careless, steward(None))
    assert kind is UsageError
    assert text.startswith("E084: `SchemaChanged` has no field `table`")


def test_a_receive_that_can_never_be_satisfied():
    @follows(SYNC, as_="DatabaseSteward")
    class Waiter(Agent):
        async def on_start(self) -> None:
            await self.receive(Acknowledged)

    kind, text = crash_of(Waiter)
    assert kind is ViolationError
    assert text == "E081: `Acknowledged` can never come: this handler is in no conversation that goes on"

    async def handle(self, change):
        await self.receive(SchemaChanged)

    kind, text = crash_of(steward(handle), Database)
    assert kind is ViolationError
    assert text.startswith("E081: `SchemaChanged` can never come here: ")


CHOICE = """
protocol P {
    A -> B: Ask
    choice at B { B -> A: Yes } or { B -> A: No }
    A -> B: Thanks
}
"""


@dataclass
class Ask:
    pass


@dataclass
class Yes:
    pass


@dataclass
class No:
    pass


@dataclass
class Thanks:
    pass


def test_another_branch_than_the_one_that_is_waited_for():
    @follows(CHOICE, as_="A")
    class Hopeful(Agent):
        async def on_start(self) -> None:
            await self.send("B", Ask())
            await self.receive(Yes)

    @follows(CHOICE, as_="B")
    class Decider(Agent):
        async def on_ask(self, _ask: Ask) -> None:
            await self.reply(No())

        async def on_thanks(self, thanks: Thanks) -> None: ...

    kind, text = crash_of(Hopeful, Decider)
    assert kind is ViolationError
    assert text == "E082: `Yes` can never come: `No` from `B` has come instead; `receive(Yes | No)` takes either"


def test_a_message_without_a_handler():
    @follows(CHOICE, as_="A")
    class Asker(Agent):
        async def on_start(self) -> None:
            await self.send("B", Ask())

        async def on_yes(self, _yes: Yes) -> None:
            await self.reply(Thanks())

    @follows(CHOICE, as_="B")
    class Decider(Agent):
        async def on_ask(self, _ask: Ask) -> None:
            await self.reply(No())

    kind, text = crash_of(Asker, Decider)
    assert kind is ViolationError
    assert text == "E082: protocol `P`, role `A`: `No` from `B` has arrived, and `Asker` has no handler for it"


def sender_of(act, protocol=SYNC, role="DatabaseSteward"):
    @follows(protocol, as_=role)
    class Sender(Agent):
        async def on_start(self) -> None:
            await act(self)

    return Sender


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda self: self.send("Nobody", CHANGED), "E079: there is no role `Nobody` to send to in `SchemaSync`;"),
        (lambda self: self.send(AgentRef("nobody"), CHANGED), "E078: agent `nobody` shares no protocol"),
        (lambda self: self.send(3, CHANGED), "a message goes to a role (`str`), an `AgentRef`, or an agent's class"),
        (lambda self: self.send("APISteward", "hello"), "a message is an instance of a dataclass, a msgspec Struct or"),
        (lambda self: self.send("APISteward", Acknowledged), "got the class `Acknowledged`"),
        (lambda self: self.send("APISteward", Crash("x")), "`Crash` is nothing to send"),
        (lambda self: self.receive(str), "`receive` is given the class of a message, or `A | B`, got <class 'str'>"),
        (lambda self: self.send("APISteward", CHANGED), "role `APISteward` of protocol `SchemaSync`: no agent plays"),
    ],
)  # fmt: skip
def test_calls_that_cannot_be_meant(act, message):
    kind, text = crash_of(sender_of(act))
    assert kind is UsageError
    assert message in text


def test_agents_that_share_no_protocol():
    @follows(REQUEST_RESPONSE, as_="Server")
    class Stranger(Agent):
        async def on_request(self, request: Request) -> None: ...

    kind, text = crash_of(sender_of(lambda self: self.send(Stranger, SchemaChanged("a", "b"))), Stranger)
    assert (kind, text) == (
        UsageError,
        "E078: agent `Stranger` shares no protocol with this agent, which follows `SchemaSync`",
    )


def test_several_agents_that_could_be_meant():
    @follows(REQUEST_RESPONSE, as_="Server")
    class Worker(Agent):
        async def on_request(self, request: Request) -> None:
            await self.reply(Response(request.data))

    workers = [(Worker, {"name": "one"}), (Worker, {"name": "two"})]

    def client(to):
        return sender_of(lambda self: self.send(to, Request("x")), REQUEST_RESPONSE, "Client")

    kind, text = crash_of(*workers, client("Server"))
    assert text == (
        "role `Server` of protocol `RequestResponse`: several agents play it: one, two; "
        "send the first message to one of them"
    )
    kind, text = crash_of(*workers, client(Worker))
    assert kind is UsageError and "several agents are of class `Worker`: one, two" in text
    kind, text = crash_of(*workers, client(AgentRef("two")))
    assert "`Sender` has no handler" in text, "it was sent"


def test_who_plays_the_other_roles_is_said_when_a_conversation_is_opened():
    heard: list[str] = []

    @follows(OFFER, as_="Bidder")
    class Bidder(Agent):
        async def on_offer(self, _offer: Offer) -> None:
            await self.reply(Bid())

    @follows(OFFER, as_="House")
    class House(Agent):
        def __init__(self, name: str) -> None:
            self.name = name

        async def on_end(self, _end: Sold | Unsold) -> None:
            heard.append(self.name)

    others = [Bidder, (House, "east", {"name": "east"}), (House, "west", {"name": "west"})]

    def seller(*cast):
        async def sell(self):
            for each in cast:
                await self.send("Bidder", Offer(), cast=each)
                await self.receive(Bid | Crash)
                await self.send("House", Sold())

        return sender_of(sell, OFFER, "Seller")

    west, east, bidder = AgentRef("west"), AgentRef("east"), AgentRef("Bidder")
    assert run(*others, seller({"House": west}, {"House": east}, {"House": west, "Bidder": bidder})) == []
    assert heard == ["west", "east", "west"]
    where = "role `House` of protocol `Auction`"
    for cast, message in (
        (None, f"{where}: several agents play it: east, west; say which one by `cast={{'House': …}}`"),
        ({"House": bidder}, f"agent `Bidder` does not play {where}"),
        ({"House": AgentRef("nobody")}, f"agent `nobody` does not play {where}"),
        ({"House": "west"}, "`cast` says for a role which `AgentRef` plays it, got 'west' for 'House'"),
        ({"Home": west}, "`cast` names `Home`; the other roles of protocol `Auction` are `Bidder`, `House`"),
        ({"Seller": west}, "`cast` names `Seller`; the other roles of protocol `Auction` are `Bidder`, `House`"),
    ):
        assert crash_of(*others, seller(cast)) == (UsageError, message)

    async def late(self):
        await self.send(bidder, Offer(), cast={"House": west})
        await self.receive(Bid | Crash)
        await self.send("House", Sold(), cast={"House": east})

    with pytest.raises(GaveUpError, match="`cast` is said when a conversation is opened, and `Sold` goes on with one"):
        run(*others, sender_of(late, OFFER, "Seller"), max_restarts=0)


def test_where_two_protocols_share_a_message_it_must_be_said_which():
    other = "protocol Other { Client -> Server: Request }"

    @follows(REQUEST_RESPONSE, as_="Server")
    @follows(other, as_="Server")
    class Both(Agent):
        async def on_request(self, request: Request) -> None:
            if self.answers:
                await self.reply(Response(request.data))

        answers = False

    def client(protocol):
        async def act(self):
            await self.send("Server", Request("x"), protocol=protocol)

        return follows(other, as_="Client")(sender_of(act, REQUEST_RESPONSE, "Client"))

    kind, text = crash_of(client(None), Both)
    assert kind is UsageError
    assert text == (
        "E072: `Request` belongs to several protocols; say which: protocol='Other', protocol='RequestResponse'"
    )
    kind, text = crash_of(client("Others"), Both)
    assert (kind, text) == (
        UsageError,
        "E072: `protocol='Others'` names no protocol of this agent; did you mean 'Other'?",
    )
    assert run(client("Other"), Both) == []


def test_an_agent_is_used_in_its_own_handlers_only():
    agent = Database()
    with pytest.raises(UsageError, match="sends and receives in its own handlers and `on_start`"):
        agent.send("APISteward", Acknowledged()).send(None)


def test_a_supervisor_that_is_used_wrongly():
    for options in ({"max_restarts": -1}, {"mailbox": 0}, {"within": 0}):
        with pytest.raises(UsageError, match="`max_restarts` is 0 or more"):
            Supervisor(**options)
    with pytest.raises(UsageError, match=r"a strategy is one of `one_for_one`, .* got 'all'"):
        Supervisor(strategy="all")
    supervisor = Supervisor()
    reference = supervisor.add(Database)
    with pytest.raises(UsageError, match="there is an agent `Database` already; give this one another `name=`"):
        supervisor.add(Database)
    with pytest.raises(UsageError, match="cannot be made with these arguments: too many positional"):
        supervisor.add(Database, 1, 2, name="other")
    with pytest.raises(UsageError, match="there is no agent `Database` that lives"):
        supervisor[reference]
    for name in ("", "x" * 500, "a\x1b[31m"):
        with pytest.raises(UsageError, match="the name of an agent"):
            AgentRef(name)
