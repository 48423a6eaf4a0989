"""What a handler can do with its tasks, and what is seen of it from outside."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from tests.crews import REQUEST_RESPONSE, Recorded, Request, Response, run

from accord import StoreError
from accord.agents import Agent, AgentRef, GaveUpError, InProcess, PartnerCrashedError, follows
from accord.agents.runtime.strand import current_strand
from accord.testing import EverySchedule, RandomSchedule


@follows(REQUEST_RESPONSE, as_="Server")
class Server(Agent):
    async def on_request(self, request: Request) -> None:
        await self.reply(Response(request.data))


@pytest.mark.parametrize("seed", range(20))
def test_a_handler_may_wait_in_several_tasks(seed):
    got: list[str] = []

    @follows(REQUEST_RESPONSE, as_="Client")
    class Client(Agent):
        async def ask(self, word: str) -> None:
            await self.send("Server", Request(word))
            got.append((await self.receive(Response)).result)

        async def on_start(self) -> None:
            await asyncio.gather(*[self.ask(word) for word in "abcd"])
            got.append("end")

    assert run(Server, Client, schedule=RandomSchedule(seed) if seed else None) == []
    assert sorted(got[:-1]) == list("abcd")
    assert got[-1] == "end"


def test_a_strand_that_runs_on_keeps_nothing_of_what_is_over():
    kept: list[int] = []

    @follows(REQUEST_RESPONSE, as_="Client")
    class Client(Agent):
        async def on_start(self) -> None:
            for number in range(200):
                await self.send("Server", Request(str(number)))
                await self.receive(Response)
                kept.append(len(current_strand(self).conversations) + len(current_strand(self).life.conversations))

    transport = InProcess()
    assert run(Server, Client, transport=transport) == []
    assert max(kept) == 2, "the last one, for the strand and for the agent"
    for box in transport._boxes.values():
        assert not (box.waiting or box.taken or box.lanes or box.begun)


def test_a_task_that_outlives_its_handler_can_do_nothing():
    errors: list[str] = []

    @follows(REQUEST_RESPONSE, as_="Client")
    class Client(Agent):
        async def on_start(self) -> None:
            gate = asyncio.get_running_loop().create_future()

            async def later() -> None:
                await gate
                try:
                    await self.send("Server", Request("late"))
                except Exception as error:
                    errors.append(str(error))

            self.task = asyncio.create_task(later())
            self.gate = gate

    async def open_gate(supervisor, _server, client):
        agent = supervisor[client]
        agent.gate.set_result(None)
        await agent.task

    assert run(Server, Client, during=open_gate) == []
    assert len(errors) == 1 and "while they run" in errors[0]


def test_a_handler_that_is_cancelled_from_inside_has_crashed():
    """It owes its reply, and nobody else would ever know."""

    @follows(REQUEST_RESPONSE, as_="Server")
    class Cancelling(Agent):
        async def on_request(self, _request: Request) -> None:
            future = asyncio.get_running_loop().create_future()
            future.cancel()
            await future

    @follows(REQUEST_RESPONSE, as_="Client")
    class Client(Agent):
        async def on_start(self) -> None:
            await self.send("Server", Request("x"))
            await self.receive(Response)

    with pytest.raises(GaveUpError, match="cancelled from inside"):
        run(Cancelling, Client)


class Losing(InProcess):
    """Does not know whether it has kept a letter."""

    async def post(self, name, letter, pause):
        if letter.label == "Response" and not letter.gone:
            raise StoreError("the line is dead")
        await super().post(name, letter, pause)


def test_a_message_that_may_not_have_been_sent_ends_its_conversation():
    """Whether the handler looks away or not: the partner is told."""

    @follows(REQUEST_RESPONSE, as_="Server")
    class LooksAway(Agent):
        async def on_request(self, request: Request) -> None:
            with suppress(StoreError):
                await self.reply(Response(request.data))

    told: list[str] = []

    @follows(REQUEST_RESPONSE, as_="Client")
    class Client(Agent):
        async def on_start(self) -> None:
            await self.send("Server", Request("x"))
            try:
                await self.receive(Response)
            except PartnerCrashedError as error:
                told.append(error.role)

    for server in (Server, LooksAway):
        told.clear()
        assert run((server, {"name": "server"}), Client, transport=Losing()) == []
        assert told == ["Server"]


def test_a_ledger_that_cannot_be_written_stops_everything():
    recorded = Recorded()
    recorded.ledger.close()
    recorded.ledger._sink = None

    @follows(REQUEST_RESPONSE, as_="Client")
    class Client(Agent):
        async def on_start(self) -> None:
            await self.send("Server", Request("x"))

        async def on_response(self, _response: Response) -> None:
            raise AssertionError("nothing was sent")

    with pytest.raises(GaveUpError) as excinfo:
        run(Server, Client, ledger=recorded.ledger)
    assert "the ledger cannot be written" in str(excinfo.value.__cause__)


def test_a_conversation_that_a_handler_opens_is_its_own():
    """A broker asks a server while it handles a request of its own client."""
    outer = REQUEST_RESPONSE.replace("RequestResponse", "Outer")

    @follows(outer, as_="Server")
    @follows(REQUEST_RESPONSE, as_="Client")
    class Broker(Agent):
        async def on_request(self, request: Request) -> None:
            await self.send(AgentRef("inner"), Request(request.data + "!"), protocol="RequestResponse")
            response = await self.receive(Response)
            await self.send("Client", Response(response.result + "?"))

    got: list[str] = []

    @follows(outer, as_="Client")
    class Client(Agent):
        async def on_start(self) -> None:
            await self.send("Server", Request("a"))
            got.append((await self.receive(Response)).result)

    inner = (Server, {"name": "inner"})
    every = EverySchedule(most=1000)
    for schedule in every:
        got.clear()
        assert run(Broker, inner, Client, schedule=schedule) == []
        assert got == ["a!?"]
    assert every.complete
    for seed in range(30):
        got.clear()
        clients = [(Client, {"name": f"client {number}"}) for number in range(4)]
        assert run(Broker, inner, *clients, schedule=RandomSchedule(seed)) == []
        assert got == ["a!?"] * 4
