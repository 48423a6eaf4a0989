"""A time limit that runs out in the middle of a verb: the message is there or not, and the agent is told which."""

from __future__ import annotations

import asyncio

import pytest
from tests.crews import REQUEST_RESPONSE, Recorded, Request, Response, run

from accord import StoreError
from accord.agents import Agent, GaveUpError, InProcess, follows


class Interrupted(InProcess):
    """Time limits of `agent` run out while the transport does something for it, before it or after it."""

    def __init__(self, agent: str, act: str, when: str) -> None:
        super().__init__()
        self.limit = asyncio.Timeout(None)
        self.times = 0
        self._chosen = (agent, act)
        self._when = when

    async def _while(self, agent: str, act: str, work) -> None:
        hit = (agent, act) == self._chosen and not self.times
        self.times += hit
        if hit and self._when == "before":
            await self._run_out()
        await work()
        if hit and self._when == "after":
            await self._run_out()

    async def _run_out(self) -> None:
        loop = asyncio.get_running_loop()
        self.limit.reschedule(loop.time() - 1)
        await loop.create_future()

    async def post(self, name, letter, pause):
        post = super().post
        await self._while(letter.cast[letter.sender], "post", lambda: post(name, letter, pause))

    async def begin(self, name, begun):
        begin = super().begin
        await self._while(name, "begin", lambda: begin(name, begun))

    async def settle(self, name, numbers):
        settle = super().settle
        await self._while(name, "settle", lambda: settle(name, numbers))

    async def end(self, name, begun, *rest, **options):
        end = super().end
        await self._while(name, "end", lambda: end(name, begun, *rest, **options))


@follows(REQUEST_RESPONSE, as_="Server")
class Server(Agent):
    """Answers again if the limit runs out."""

    def __init__(self, transport: Interrupted) -> None:
        self.transport = transport

    async def on_request(self, request: Request) -> None:
        try:
            async with self.transport.limit:
                await self.reply(Response(request.data))
        except TimeoutError:
            await self.reply(Response("late"))


@follows(REQUEST_RESPONSE, as_="Client")
class Patient(Agent):
    def __init__(self, got: list[str]) -> None:
        self.got = got

    async def on_start(self) -> None:
        await self.send("Server", Request("a"))
        self.got.append((await self.receive(Response)).result)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("act", ["begin", "settle", "end"])
def test_what_was_sent_or_received_before_the_limit_ran_out_stays_so(act, when):
    transport, got = Interrupted("Server", act, when), []
    assert run((Server, transport), (Patient, got), transport=transport, max_restarts=0) == []
    assert (got, transport.times) == (["a"], 1)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_received_message_is_not_lost_by_a_limit(when):
    """What was received first is settled while the second message is: that is when the limit runs out."""
    transport, got = Interrupted("Client", "settle", when), []
    twice = """
    record Request { data: String }
    record Response { result: String }
    protocol Twice { Client -> Server: Request; Server -> Client: Response; Server -> Client: Response }
    """

    @follows(twice, as_="Server")
    class Answering(Agent):
        async def on_request(self, request: Request) -> None:
            await self.reply(Response(request.data))
            await self.reply(Response("again"))

    @follows(twice, as_="Client")
    class Client(Agent):
        async def on_start(self) -> None:
            await self.send("Server", Request("a"))
            got.append((await self.receive(Response)).result)
            try:
                async with transport.limit:
                    response = await self.receive(Response)
            except TimeoutError:
                response = await self.receive(Response)
            got.append(response.result)

    assert run(Answering, Client, transport=transport, max_restarts=0) == []
    assert (got, transport.times) == (["a", "again"], 1)


@pytest.mark.parametrize("when", ["before", "after"])
def test_where_nobody_knows_whether_it_was_sent_the_agent_crashes_and_breaks_no_protocol(when):
    transport, got, recorded = Interrupted("Server", "post", when), [], Recorded()
    with pytest.raises(GaveUpError, match="nobody knows whether the message is there") as gave_up:
        run((Server, transport), (Patient, got), transport=transport, max_restarts=0, ledger=recorded.ledger)
    assert isinstance(gave_up.value.__cause__, StoreError)
    assert {verdict for _, _, verdict in recorded.attempts} == {"ok"}


def test_who_hides_that_nobody_knows_crashes_at_the_end():
    transport = Interrupted("Server", "post", "before")

    class Hiding(Server):
        async def on_request(self, request: Request) -> None:
            try:
                async with self.transport.limit:
                    await self.reply(Response(request.data))
            except TimeoutError:
                pass

    with pytest.raises(GaveUpError, match="nobody knows whether the message is there"):
        run((Hiding, transport, {"name": "Server"}), (Patient, []), transport=transport, max_restarts=0)
