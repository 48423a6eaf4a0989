"""Three agents that follow a protocol, one of which crashes, and one that forgets its answer.

    python examples/agents/stewards.py

A database steward announces changes of its schema, and an API steward follows them. The second change makes the API
steward crash: the protocol says that the database steward notices and calls the operator, and the supervisor starts
the API steward again, which remembers how many changes it has seen. In the last act it forgets to answer, and is
stopped where its handler ends. Everything is in a ledger, which is verified in the end.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import accord
from accord.agents import Agent, Crash, GaveUpError, Supervisor, follows, persistent

Change = Literal["add_column", "drop_column", "add_table"]

SchemaSync = accord.load(Path(__file__).with_name("stewards.accord"))


@dataclass
class SchemaChanged:
    """A table has changed."""

    table: str
    change: Change


@dataclass
class Acknowledged:
    """The API has followed; so many clients were made again."""

    clients: int


@dataclass
class NeedsAttention:
    """A person should look at a table."""

    table: str


@follows(SchemaSync, as_="APISteward")
class APISteward(Agent):
    """Makes its clients again whenever the schema changes."""

    seen: int = persistent(0)

    async def on_change(self, change: SchemaChanged) -> None:
        """A handler: it is found by the type of the message, and owes an answer."""
        self.seen += 1
        print(f"  API steward: change {self.seen}, {change.change} in {change.table}")
        if change.change == "drop_column":
            raise RuntimeError(f"nobody knows how to drop a column of {change.table}")
        await self.reply(Acknowledged(clients=3))


@follows(SchemaSync, as_="APISteward")
class ForgetfulSteward(Agent):
    """Follows the same role, and does not answer."""

    # `accord lint` finds this before it runs. Here it is shown on purpose, so it is told to let it be:
    async def on_change(self, change: SchemaChanged) -> None:  # accord: ignore[E076] shown on purpose
        """Ends without an answer."""
        print(f"  forgetful steward: {change.table}, noted")


@follows(SchemaSync, as_="DatabaseSteward")
class DatabaseSteward(Agent):
    """Announces changes, one after the other."""

    def __init__(self, changes: list[tuple[str, Change]]) -> None:
        self.changes = changes

    async def on_start(self) -> None:
        """Each announcement opens a conversation of its own."""
        for table, change in self.changes:
            await self.send("APISteward", SchemaChanged(table, change))
            answer = await self.receive(Acknowledged | Crash)
            if isinstance(answer, Crash):
                print("  database steward: the API steward has crashed, I call the operator")
                await self.send("Operator", NeedsAttention(table))
            else:
                print(f"  database steward: {answer.clients} clients have followed")


@follows(SchemaSync, as_="Operator")
class Operator(Agent):
    """Is called when something is wrong."""

    async def on_call(self, call: NeedsAttention) -> None:
        """The last message of the crash branch."""
        print(f"  operator: I look at {call.table}")


async def perform(title: str, api: type[Agent], changes: list[tuple[str, Change]], max_restarts: int = 3) -> None:
    """One act: agents are added, live inside the block, and are gone after it."""
    print(title)
    store, sink = accord.MemoryStore(), accord.MemorySink()
    ledger = accord.Ledger(sink)
    supervisor = Supervisor(store=store, ledger=ledger, max_restarts=max_restarts)
    supervisor.add(api, name="api")
    supervisor.add(DatabaseSteward, changes)
    supervisor.add(Operator)
    try:
        async with supervisor:
            await supervisor.settled()
    except GaveUpError as error:
        print(f"  supervisor: {error.__cause__}")
    print(f"  ledger: {len(ledger)} entries, {'verified' if ledger.verify().ok else 'changed'}\n")


async def main() -> None:
    """All acts."""
    added: tuple[str, Change] = ("users", "add_column")
    dropped: tuple[str, Change] = ("users", "drop_column")
    table: tuple[str, Change] = ("orders", "add_table")
    await perform("All goes well.", APISteward, [added, table])
    await perform("One change makes the API steward crash.", APISteward, [added, dropped, table])
    await perform("A steward that forgets to answer.", ForgetfulSteward, [added], max_restarts=0)


if __name__ == "__main__":
    logging.getLogger("accord.agents").setLevel(logging.CRITICAL)  # these crashes are wanted; no tracebacks
    asyncio.run(main())
