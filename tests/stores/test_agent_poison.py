"""What somebody may put into a mailbox in Redis: nothing of it stops an agent, nothing of it is taken for another."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
import redis

from accord import StoreError
from accord.agents import Agent, PartnerCrashedError, RedisStreams, Supervisor, follows
from accord.agents.declaring import declaration_of
from accord.agents.runtime.letters import Letter
from tests.crews import REQUEST_RESPONSE, Recorded, Request, Response

PATIENCE = 60
BOX = "accord:agents:{server}:box"


@follows(REQUEST_RESPONSE, as_="Server")
class Server(Agent):
    def __init__(self, handled: list[str]) -> None:
        self.handled = handled

    async def on_request(self, request: Request) -> None:
        self.handled.append(request.data)
        await self.reply(Response(request.data))


@follows(REQUEST_RESPONSE, as_="Client")
class Client(Agent):
    def __init__(self, questions: asyncio.Queue[str], answers: asyncio.Queue[str]) -> None:
        self.questions, self.answers = questions, answers

    async def on_start(self) -> None:
        while True:
            await self.send("Server", Request(await self.questions.get()))
            try:
                self.answers.put_nowait((await self.receive(Response)).result)
            except PartnerCrashedError:
                self.answers.put_nowait("told")


PART = declaration_of(Server).roles[0].part
GOOD = Letter(
    conversation="c", contract=PART.contract, protocol=PART.protocol, sender="Client", receiver="Server",
    label="Request", payload={"data": "forged"}, cast={"Client": "client", "Server": "server"}, nth=1, opens=True,
)  # fmt: skip


def changed(**fields):
    return msgspec.json.encode(msgspec.structs.replace(GOOD, **fields))


IN_NO_CASE_HANDLED = {
    "garbage": b"\x00\xff\xfe",
    "empty": b"",
    "not an object": b"[]",
    "deep": b"[" * 100_000,
    "unknown field": msgspec.json.encode({**msgspec.to_builtins(GOOD), "more": 1}),
    "not unicode": changed().replace(b"forged", b"\xed\xa0\x80"),
    "another contract": changed(contract="sha256:0"),
    "another protocol": changed(protocol="Other"),
    "another role": changed(receiver="Client"),
    "no such role": changed(receiver="Nobody"),
    "from nobody": changed(sender="Nobody"),
    "from itself": changed(sender="Server"),
    "no cast": changed(cast={}),
    "half a cast": changed(cast={"Server": "server"}),
    "a cast of another": changed(cast={"Client": "client", "Server": "another"}),
    "too many in the cast": changed(cast={"Client": "client", "Server": "server", "Nobody": "x"}),
    "another message": changed(label="Response"),
    "no such message": changed(label="\x1b[31mRequest"),
    "another payload": changed(payload={"data": 7}),
    "no payload": changed(payload={}),
    "out of its order": changed(nth=2),
    "never sent": changed(nth=0),
    "negative": changed(nth=-1),
    "no id": changed(conversation=""),
    "an id that is no name": changed(conversation="\x1b[31m\n" * 1000),
    "lost": changed(gone="lost"),
    "crashed": changed(gone="crashed", noticed_by=("Server",)),
    "crashed, unknown": changed(gone="crashed", sender="Nobody", noticed_by=("Nobody",)),
}


class Stage:
    """A server and a client, and a Redis that anybody can write to."""

    def __init__(self, url) -> None:
        self.client = redis.Redis.from_url(url)
        self.client.flushall()
        self.url = url
        self.handled: list[str] = []
        self.recorded = Recorded()
        self.questions: asyncio.Queue[str] = asyncio.Queue()
        self.answers: asyncio.Queue[str] = asyncio.Queue()

    def put(self, data, lane=""):
        self.client.xadd(BOX, {"letter": data, "lane": lane})

    async def ask(self, word):
        self.questions.put_nowait(word)
        return await self.answers.get()

    async def rests(self, supervisor):
        """Wait until nothing is in the mailbox, and nobody is in a conversation."""
        begun = BOX.replace("box", "begun")
        while self.client.xlen(BOX) or self.client.exists(begun) or supervisor.unfinished():  # noqa: ASYNC110 - a server is asked
            await asyncio.sleep(0.01)

    def run(self, act):
        async def main():
            async with asyncio.timeout(PATIENCE), RedisStreams(self.url) as transport:
                supervisor = Supervisor(transport=transport, ledger=self.recorded.ledger, max_restarts=0)
                supervisor.add(Server, self.handled, name="server")
                supervisor.add(Client, self.questions, self.answers, name="client")
                async with supervisor:
                    await act(supervisor)

        asyncio.run(main())


@pytest.mark.parametrize("poison", IN_NO_CASE_HANDLED)
def test_what_is_not_allowed_is_put_aside_or_noted_and_stops_nobody(redis_server, poison):
    stage = Stage(redis_server.url)

    async def act(supervisor):
        for number in range(2):
            stage.put(IN_NO_CASE_HANDLED[poison])
            assert await stage.ask(str(number)) == str(number)
        await stage.rests(supervisor)

    stage.run(act)
    assert stage.handled == ["0", "1"]
    lanes = {name: int(left) for name, left in stage.client.hgetall("accord:agents:{server}:lanes").items()}
    assert not lanes, "no room is taken"
    assert stage.recorded.ledger.verify().ok


def test_what_comes_twice_is_handled_once(redis_server):
    """A copy of everything, at once and when all is over."""
    stage = Stage(redis_server.url)
    copies: list[bytes] = []

    class Twice(RedisStreams):
        async def post(self, name, letter, pause):
            await super().post(name, letter, pause)
            await super().post(name, letter, pause)
            if name == "server":
                copies.append(msgspec.json.encode(letter))

    async def act(supervisor):
        for number in range(3):
            assert await stage.ask(str(number)) == str(number)
        for copy in copies:
            stage.put(copy)
        assert await stage.ask("last") == "last"
        await stage.rests(supervisor)

    real, globals()["RedisStreams"] = RedisStreams, Twice
    try:
        stage.run(act)
    finally:
        globals()["RedisStreams"] = real
    assert stage.handled == ["0", "1", "2", "last"]
    assert len(copies) == 4


def test_an_impostor_is_taken_for_whom_it_says_it_is_but_gets_no_answer(redis_server):
    """Who can write to Redis can speak for anybody; what it opens is between the agents that it names."""
    stage = Stage(redis_server.url)

    async def act(supervisor):
        stage.put(changed())
        assert await stage.ask("real") == "real", "the client has never heard of the other one"
        await stage.rests(supervisor)

    stage.run(act)
    assert sorted(stage.handled) == ["forged", "real"]


@pytest.mark.parametrize("what", ["begun", "broken", "life"])
def test_what_nobody_can_read_is_refused_when_an_agent_starts(redis_server, what):
    stage = Stage(redis_server.url)
    key = f"accord:agents:{{server}}:{what}"
    if what == "broken":
        stage.client.lpush(key, b"\xff")
    else:
        stage.client.hset(key, "wills" if what == "life" else "x", b"[{}")

    async def act(_supervisor):
        raise AssertionError("it has started")

    with pytest.raises(StoreError, match="was not written by this version of accord"):
        stage.run(act)
