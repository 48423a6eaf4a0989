"""Processes of agents killed, stopped and started again at random, and their Redis too: nothing accepted is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
import redis

from accord.agents import Agent, AgentRef, PartnerCrashedError, RedisStreams, Supervisor, follows
from accord.testing.servers import RedisServer
from tests.crews import LOG, REQUEST_RESPONSE, Note, Request, Response
from tests.stores.kill_worker import NOTED

LEASE = 1.5
PATIENCE = 300
WORKER = Path(__file__).with_name("kill_worker.py")
ROOT = Path(__file__).parents[2]
NAMES = ("server 0", "server 1", "logger")


@follows(REQUEST_RESPONSE, as_="Client")
@follows(LOG, as_="Writer")
class Client(Agent):
    """Writes and asks until it is told to stop. `seen` has what came of it; `accepted` the notes that were."""

    def __init__(self, number: int, stop: asyncio.Event, done: asyncio.Event, seen: Counter, accepted: set) -> None:
        self.number, self.stop, self.done, self.seen, self.accepted = number, stop, done, seen, accepted
        self.dice = Random(number)

    async def on_start(self) -> None:
        while not self.stop.is_set():
            self.seen["tried"] += 1
            number = self.seen["tried"]
            await self.send("Logger", Note(number))
            self.accepted.add(number)
            await self.send(AgentRef(f"server {self.dice.randrange(2)}"), Request(str(number)))
            self.seen["asked"] += 1
            try:
                answer = await self.receive(Response)
                self.seen["answered" if answer.result == str(number) else "wrong"] += 1
            except PartnerCrashedError:
                self.seen["told"] += 1
        self.done.set()


class Fleet:
    """The processes of the other agents, which somebody starts again when they end."""

    def __init__(self, url) -> None:
        self.url = url
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.tasks: list[asyncio.Task] = []
        self.pauses = Random(7)
        self.slowly = True

    async def keep(self, name):
        command = [sys.executable, str(WORKER), self.url, str(LEASE), name]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        while True:
            process = await asyncio.create_subprocess_exec(
                *command, env=environment, cwd=ROOT, stderr=asyncio.subprocess.DEVNULL
            )
            self.processes[name] = process
            try:
                await process.wait()
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
            if self.slowly:  # sometimes at once, sometimes when it was given up long ago
                await asyncio.sleep(self.pauses.choice((0, 0, LEASE / 2, 2 * LEASE)))

    async def __aenter__(self):
        self.tasks = [asyncio.create_task(self.keep(name)) for name in NAMES]
        return self

    async def __aexit__(self, *_):
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)

    def send(self, name, number):
        with suppress(ProcessLookupError, KeyError):
            self.processes[name].send_signal(number)


async def harm(fleet, server, dice, many, seen):
    """Kill, stop and continue so many times, each time when some more was answered."""
    for _ in range(many):
        enough = seen["answered"] + dice.choice((1, 3, 10, 40))
        async with asyncio.timeout(PATIENCE):
            while seen["answered"] < enough:  # noqa: ASYNC110 - counted by many
                await asyncio.sleep(0.01)
        await asyncio.sleep(dice.uniform(0, 0.03))
        name, act = dice.choice(NAMES), dice.random()
        if act < 0.6:
            fleet.send(name, signal.SIGKILL)
            seen["kills"] += 1
        elif act < 0.92:
            fleet.send(name, signal.SIGSTOP)
            await asyncio.sleep(dice.choice((LEASE / 3, 2 * LEASE)))
            fleet.send(name, signal.SIGCONT)
            seen["stops"] += 1
        else:
            server.stop(signal.SIGKILL)
            await asyncio.sleep(dice.choice((0, LEASE / 3)))
            server.start()
            seen["restarts of Redis"] += 1


def test_nothing_that_was_accepted_is_lost_and_nobody_is_stuck(soak, health):
    if RedisServer.why_not() is not None:
        pytest.skip(f"NOT TESTED: {RedisServer.why_not()}")
    many = int(os.environ.get("ACCORD_KILLS", "300")) if soak else 4
    seen, accepted = Counter(), set()

    async def main(server):
        async with RedisStreams(server.url, lease=LEASE) as transport, Fleet(server.url) as fleet:
            supervisor = Supervisor(transport=transport, max_restarts=100_000, within=1e9)
            stop, done = asyncio.Event(), [asyncio.Event() for _ in range(3)]
            for number, event in enumerate(done):
                supervisor.add(Client, number, stop, event, seen, accepted, name=f"client {number}")
            async with supervisor:
                await harm(fleet, server, Random(1), many, seen)
                fleet.slowly = False
                stop.set()
                async with asyncio.timeout(PATIENCE):
                    for event in done:
                        await event.wait()
                    client = redis.Redis.from_url(server.url)
                    while client.xlen("accord:agents:{logger}:box"):  # noqa: ASYNC110 - a server is asked
                        await asyncio.sleep(0.05)
                seen["unfinished"] = len(supervisor.unfinished())
                seen["crashes of clients"] = len(supervisor._branch.crashes)
                noted = {int(number) for number in client.smembers(NOTED)}
                seen["lost"] = len(accepted - noted)
            assert asyncio.all_tasks() - {asyncio.current_task(), *fleet.tasks} == set()

    with RedisServer() as server:
        asyncio.run(main(server))
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(seen.items()))
    health(f"agents between processes: {told}; {len(accepted):,} notes accepted")
    assert seen["lost"] == seen["unfinished"] == seen["wrong"] == 0, seen
    assert seen["answered"] > many / 2
    assert seen["kills"]
