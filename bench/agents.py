"""What a message between two agents costs: a question and its answer, against the least that any program would need.

In one process the floor is two `asyncio.Queue`s between two tasks: no judging, no names, nothing bounded. Over Redis it
is two streams with one `XADD` and one blocking `XREAD` for each message: nothing is settled there, and nothing
survives. Agents ask in one conversation that goes on, and in a new conversation for each question. Both ends of
every message are monitored; nothing is recorded.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from accord.agents import Agent, InProcess, RedisStreams, Supervisor, follows
from accord.testing.servers import RedisServer
from bench.measure import Entry, race

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from accord.agents.runtime.transport import Transport
    from bench.measure import Timing

__all__ = ["GOING_ON", "HERE", "NEW", "REDIS", "AgentCosts", "measure_agents"]

FLOOR = "floor"
GOING_ON = "in a conversation that goes on"
NEW = "in a new conversation"
HERE, REDIS = "one process", "Redis"

_ROUNDS, _WARM_UP = 60, 5
_QUESTIONS = {HERE: 10, REDIS: 10}  # a round is short, so that some of them are not interrupted

_PROTOCOL = """
protocol Asking {
    rec Again {
        choice at Asker { Asker -> Answerer: Question; Answerer -> Asker: Answer; continue Again }
        or { Asker -> Answerer: Enough }
    }
}
"""


@dataclass
class Question:
    """What is asked."""


@dataclass
class Answer:
    """What is answered."""


@dataclass
class Enough:
    """Nothing more is asked."""


@follows(_PROTOCOL, as_="Answerer")
class Answerer(Agent):
    """Answers, in its handler."""

    async def on_question(self, _question: Question) -> None:
        """Answer."""
        await self.reply(Answer())

    async def on_enough(self, _enough: Enough) -> None:
        """Nothing is to be done."""


@follows(_PROTOCOL, as_="Asker")
class Asker(Agent):
    """Asks so many times, in one conversation or in many, and says how long it took."""

    def __init__(self, questions: int, each: str, done: asyncio.Future[float]) -> None:
        self.questions, self.each, self.done = questions, each, done

    async def on_start(self) -> None:
        """Ask."""
        await self.send("Answerer", Question())  # whoever is asked first has to be found
        await self.receive(Answer)
        if self.each == NEW:
            await self.send("Answerer", Enough())
        start = perf_counter()
        for _ in range(self.questions):
            await self.send("Answerer", Question())
            await self.receive(Answer)
            if self.each == NEW:
                await self.send("Answerer", Enough())
        self.done.set_result((perf_counter() - start) / self.questions)


@dataclass(frozen=True, slots=True)
class AgentCosts:
    """Seconds for a question and its answer, by where and how, and why Redis was not measured."""

    times: dict[str, dict[str, Timing]]
    skipped: str | None

    def times_floor(self, where: str, how: str) -> float:
        """How many times the floor it takes."""
        return self.times[where][how].best / self.times[where][FLOOR].best


def measure_agents() -> AgentCosts:
    """Everything."""
    times = {HERE: _race(HERE, _queues, InProcess)}
    skipped = RedisServer.why_not()
    if skipped is None:
        with RedisServer(flush=False) as server:
            times[REDIS] = _race(REDIS, lambda: _streams(server.url), lambda: RedisStreams(server.url))
    return AgentCosts(times, skipped)


def _race(
    where: str, floor: Callable[[], Coroutine[object, object, float]], transport: Callable[[], Transport]
) -> dict[str, Timing]:
    count = _QUESTIONS[where]
    entries = {FLOOR: Entry(lambda: asyncio.run(floor()))}
    for how in (GOING_ON, NEW):
        entries[how] = Entry(lambda how=how: asyncio.run(_agents(transport(), count, how)))  # type: ignore[misc] # a default
    return race(entries, rounds=_ROUNDS, warm_up=_WARM_UP)


async def _agents(transport: Transport, count: int, how: str) -> float:
    done: asyncio.Future[float] = asyncio.get_running_loop().create_future()
    supervisor = Supervisor(transport=transport)
    supervisor.add(Answerer)
    supervisor.add(Asker, count, how, done)
    async with supervisor:
        seconds = await done
    if isinstance(transport, RedisStreams):
        await transport.__aexit__()
    return seconds


async def _queues() -> float:
    questions: asyncio.Queue[int] = asyncio.Queue()
    answers: asyncio.Queue[int] = asyncio.Queue()

    async def answer() -> None:
        while True:
            await answers.put(await questions.get())

    task = asyncio.create_task(answer())
    start = perf_counter()
    for number in range(_QUESTIONS[HERE]):
        await questions.put(number)
        await answers.get()
    seconds = (perf_counter() - start) / _QUESTIONS[HERE]
    task.cancel()
    return seconds


async def _streams(url: str) -> float:
    import redis.asyncio

    async with redis.asyncio.Redis.from_url(url) as here, redis.asyncio.Redis.from_url(url) as there:
        await here.delete("questions", "answers")

        async def take(client: Any, stream: str, last: str) -> str:  # noqa: ANN401 - the driver's types are too wide
            while not (found := await client.xread({stream: last}, 16, 1000)):
                pass
            number: bytes = found[0][1][-1][0]
            return number.decode()

        async def answer() -> None:
            last = "0"
            for _ in range(_QUESTIONS[REDIS]):
                last = await take(there, "questions", last)
                await there.xadd("answers", {"letter": "{}"})

        task = asyncio.create_task(answer())
        last = "0"
        await here.ping()
        start = perf_counter()
        for _ in range(_QUESTIONS[REDIS]):
            await here.xadd("questions", {"letter": "{}"})
            last = await take(here, "answers", last)
        seconds = (perf_counter() - start) / _QUESTIONS[REDIS]
        await task
    return seconds


def main() -> int:
    """Measure agents alone; the exit code."""
    from bench.bars import judge_agents
    from bench.printing import print_tables
    from bench.tables import agents_table, bars_table

    costs = measure_agents()
    bars = judge_agents(costs)
    print_tables([agents_table(costs), bars_table(bars)])
    return 0 if all(bar.passed for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
