"""Agents in tests: run them until nothing moves, and hold that no task is left behind."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import msgspec

from accord import Ledger, MemorySink
from accord.agents import Supervisor
from accord.ledger.entries import show_entry
from accord.ledger.reading import lines_in_sink

SYNC = """
record SchemaChanged { table: String, change_type: String }
record Acknowledged {}
protocol SchemaSync {
    DatabaseSteward -> APISteward: SchemaChanged
    APISteward -> DatabaseSteward: Acknowledged
}
"""

REQUEST_RESPONSE = """
record Request { data: String }
record Response { result: String }
protocol RequestResponse {
    Client -> Server: Request
    Server -> Client: Response
}
"""


OFFER = """
protocol Auction {
    Seller -> Bidder: Offer
    choice at Bidder { Bidder -> Seller: Bid; Seller -> House: Sold }
    or crash Bidder { Seller -> House: Unsold }
}
"""

LOG = "record Note { number: Int } protocol Log { Writer -> Logger: Note }"


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


@dataclass
class Note:
    number: int


@dataclass
class SchemaChanged:
    table: str
    change_type: str


@dataclass
class Acknowledged:
    pass


class Request(msgspec.Struct):
    data: str


class Response(msgspec.Struct):
    result: str


def run(*agents, during=None, **options):
    """Run agents, each a class or a tuple of a class, its arguments and a dictionary, until nothing moves.

    Returns the supervisor, and what was left unfinished.
    """

    async def main():
        supervisor = Supervisor(**options)
        references = []
        for each in agents:
            agent, *arguments = each if isinstance(each, tuple) else (each,)
            named = arguments.pop() if arguments and isinstance(arguments[-1], dict) else {}
            references.append(supervisor.add(agent, *arguments, **named))
        try:
            async with supervisor:
                await supervisor.settled()
                if during is not None:
                    await during(supervisor, *references)
                    await supervisor.settled()
                return supervisor.unfinished()
        finally:
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left, f"tasks are left behind: {left}"

    return asyncio.run(main())


class Recorded:
    """A ledger in memory, and what stands in it."""

    def __init__(self) -> None:
        self.sink = MemorySink()
        self.ledger = Ledger(self.sink)

    @property
    def entries(self):
        assert self.ledger.verify().ok
        lines = lines_in_sink(self.sink, self.sink.size)
        return [show_entry(msgspec.json.encode(msgspec.json.decode(line)["entry"])) for line in lines][1:]

    @property
    def notes(self):
        return [
            (entry.what, entry.session.partition("/")[2], entry.detail)
            for entry in self.entries
            if hasattr(entry, "what")
        ]

    @property
    def attempts(self):
        return [(e.session.partition("/")[2], e.event, e.verdict) for e in self.entries if hasattr(e, "verdict")]
