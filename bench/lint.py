"""What linting agents costs.

The files are nothing but agents, which is the hardest there is: every line is on some path. They have what agents have:
conditions, loops, exceptions, methods that others call, several states in which a handler can start. Time is that of
the whole command, in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

__all__ = ["LINES", "LintCosts", "measure_lint", "write_agents"]

LINES = 50_000
_AGENTS = 4  # in a file
_ROUNDS = 3

_FRONT = '''"""Agents number {number}."""

from dataclasses import dataclass

from accord.agents import Agent, Crash, follows

CONTRACT = """
record Request{number} {{ text: String, size: Int }}
record Offer {{ price: Int }}
protocol Trade{number} {{
    Buyer -> Seller: Request{number}
    rec Again {{
        choice at Seller {{
            Seller -> Buyer: Offer
            choice at Buyer {{
                Buyer -> Seller: Accept
                Seller -> Buyer: Receipt
            }} or {{
                Buyer -> Seller: Haggle
                continue Again
            }}
        }} or {{
            Seller -> Buyer: Sorry
        }}
    }}
}}
"""


@dataclass
class Request{number}:
    text: str
    size: int


@dataclass
class Offer:
    price: int


@dataclass
class Accept: ...


@dataclass
class Receipt: ...


@dataclass
class Haggle: ...


@dataclass
class Sorry: ...

'''

_AGENT = """
@follows(CONTRACT, as_="Seller")
class Seller{agent}(Agent):
    def __init__(self) -> None:
        self.stock = {{}}
        self.seen = 0

    async def on_request(self, request: Request{number}) -> None:
        self.seen += 1
        words = []
        for word in request.text.split():
            if word.startswith("no"):
                continue
            words.append(word.lower())
        try:
            price = self.price_of(words, request.size)
        except LookupError:
            await self.reply(Sorry())
            return
        if price > 100 and request.size > 3:
            await self.refuse("too much")
        elif price < 0:
            await self.refuse("too little")
        else:
            await self.reply(Offer(price))

    async def on_haggle(self, haggle: Haggle) -> None:
        while self.seen > 10:
            self.seen -= 1
            if self.seen == 12:
                break
        else:
            self.seen = 0
        match self.seen:
            case 0:
                await self.reply(Sorry())
            case 1 | 2:
                await self.offer(10)
            case _:
                await self.offer(20)

    async def on_accept(self, accept: Accept) -> None:
        with open("/dev/null") as file:
            text = file.read()
        if text:
            print(text)
        await self.reply(Receipt())

    async def refuse(self, why: str) -> None:
        print(why)
        await self.reply(Sorry())

    async def offer(self, price: int) -> None:
        if price in self.stock:
            price = self.stock[price]
        await self.reply(Offer(price))

    def price_of(self, words: list[str], size: int) -> int:
        total = 0
        for word in words:
            total += self.stock[word] * size
        return total
"""


@dataclass(frozen=True, slots=True)
class LintCosts:
    """The seconds of a run over so many lines, files and agents."""

    lines: int
    files: int
    agents: int
    seconds: float


def write_agents(folder: Path, lines: int) -> LintCosts:
    """Files of agents with so many lines in all; nothing is measured yet."""
    written = files = 0
    while written < lines:
        text = _FRONT.format(number=files)
        text += "".join(_AGENT.format(number=files, agent=agent) for agent in range(_AGENTS))
        (folder / f"agents_{files}.py").write_text(text, encoding="utf-8")
        written += text.count("\n")
        files += 1
    return LintCosts(written, files, files * _AGENTS, 0.0)


def measure_lint() -> LintCosts:
    """The best of some runs of `accord lint`."""
    with tempfile.TemporaryDirectory() as name:
        costs = write_agents(Path(name), LINES)
        command = [sys.executable, "-c", "from accord.cli import main; main()", "lint", name]
        seconds = []
        for _ in range(_ROUNDS):
            start = perf_counter()
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            seconds.append(perf_counter() - start)
            expected = f"{costs.agents} agents in {costs.files} files follow their protocols\n"
            if run.stdout != expected:
                raise RuntimeError(
                    f"the agents of the benchmark are right, and lint says: {run.stdout[-500:]}{run.stderr}"
                )
        return LintCosts(costs.lines, costs.files, costs.agents, min(seconds))
