"""Sessions in stores: with and without a guard, with calls out, reviews in every state, and the fields of an agent.

All stores are filled and gone on with alike. An SQLite store is kept as the file it is; those in servers as what loads
them into another server (`dumps`).
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from accord import Guard, PostgresStore, RedisStore, SQLiteStore, StoredSession, ToolCall
from accord.agents import Agent, Supervisor, follows, persistent
from accord.testing.servers import PostgresServer, RedisServer
from tests.kept import dumps
from tests.kept.contracts import CONTRACTS
from tests.kept.sample import Sample, answers

__all__ = ["SAMPLES"]

SECRET = b"the secret of kept stores"
NOW = 1_772_442_000
HOUR = 3600
FILE = "sessions.db"


@follows("protocol Log { Writer -> Logger: Note }", as_="Logger")
class Counter(Agent):
    seen: int = persistent(0)
    names: list[str] = persistent([])

    async def on_start(self) -> None:
        self.seen += 1
        self.names = [*self.names, f"life {self.seen}"]


def live_once(store):
    async def main():
        supervisor = Supervisor(store=store)
        counter = supervisor.add(Counter, name="counter")
        async with supervisor:
            await supervisor.settled()
            return supervisor[counter].names

    return asyncio.run(main())


def pay(amount, to=""):
    return {"paid": amount, "to": to}


def guard_of(store, key, now=NOW, **options):
    tools = {"read": lambda: {"total": 5000}, "pay": pay, "report": lambda: None}
    return Guard(CONTRACTS["invoice"], store=store, key=key, tools=tools, clock=lambda: now, **options)


def fill(store):
    answers(StoredSession(store, CONTRACTS["plain"], "running"), lambda s: s.send("search"), lambda s: s.send("book"))
    answers(StoredSession(store, CONTRACTS["plain"], "halted", mode="halt"), lambda s: s.receive("found"))
    answers(
        StoredSession(store, CONTRACTS["plain"], "complete"),
        lambda s: s.send("book"),
        lambda s: s.receive("booked"),
        lambda s: s.close(),
    )
    answers(
        StoredSession(store, CONTRACTS["slices"], "tickets", at=0, expires_after=7 * 24 * HOUR),
        lambda s: s.receive("Opened", {"ticket_id": 1}, at=10),
        lambda s: s.receive("Opened", {"ticket_id": "two"}, at=20.5),
        lambda s: s.send("AskRefund", {"ticket_id": 1}, at=30),
    )
    asking = guard_of(store, "asking", review_lasts=24 * HOUR)
    asking.run([ToolCall("read", {}, "c0")])
    asking.run([ToolCall("pay", {"amount": 250 + n, "to": "acme"}, f"c{n + 1}") for n in range(6)])
    waiting, allowed, denied, modified, used, kept = (review.id for review in asking.reviews())
    assert waiting
    asking.decide(allowed, "allow", by="ana")
    asking.decide(denied, "deny", by="ana", reason="we never ordered that")
    asking.decide(modified, "modify", by="Bob B.", payload={"amount": 200, "to": "acme"})
    asking.decide(used, "allow", by="ana")
    asking.decide(kept, "allow", by="ana")
    asking.run([ToolCall("pay", {"amount": 254, "to": "acme"}, "c10")])
    asking.reserve([ToolCall("pay", {"amount": 255, "to": "acme"}, "c11")])
    busy = guard_of(store, "busy")
    busy.reserve([ToolCall("read", {}, "c1")])
    busy.start("c1")
    for key, escalate in (("stuck", "review"), ("stopped", "stop")):
        guard = guard_of(store, key, patience=2, escalate=escalate)
        for number in range(2):
            guard.run([ToolCall("pay", {"amount": 1}, f"c{number}")])
    live_once(store)


def said(results):
    return [result.content if result.ok else "refused" for result in results]


def go_on(store):
    found = {"sessions": sorted([each.key, each.status, each.events] for each in store.sessions())}
    found["verified"] = [store.verify(key).ok for key, *_ in found["sessions"]]
    found["running"] = answers(
        StoredSession(store, CONTRACTS["plain"], "running"), lambda s: s.send("book"), lambda s: s.receive("found")
    )
    found["halted"] = answers(StoredSession(store, CONTRACTS["plain"], "halted", mode="halt"), lambda s: s.send("book"))
    found["complete"] = answers(StoredSession(store, CONTRACTS["plain"], "complete"), lambda s: s.send("book"))
    found["tickets"] = answers(
        StoredSession(store, CONTRACTS["slices"], "tickets", at=0, expires_after=7 * 24 * HOUR),
        lambda s: s.send("Refund", {"ticket_id": 1}, at=40),
        lambda s: s.receive("Approved", {"ticket_id": 1}, by="ana", at=50),
        lambda s: s.send("Refund", {"ticket_id": 1}, at=60),
        lambda s: s.send("AskRefund", {"ticket_id": "two"}, at=5 * HOUR),
    )
    found["asking"] = asked(guard_of(store, "asking", review_lasts=24 * HOUR, now=NOW + HOUR))
    late = guard_of(store, "asking", review_lasts=24 * HOUR, now=NOW + 100 * HOUR)
    found["too late"] = [review.id for review in late.reviews()]
    busy = guard_of(store, "busy")
    again = [decision.admitted for decision in busy.reserve([ToolCall("read", {}, "c1")])]
    found["busy"] = [*again, busy.start("c1"), repr(busy.settle("c1", {"total": 7})), busy.allowed()]
    stuck = guard_of(store, "stuck", patience=2, escalate="review")
    refused = said(stuck.run([ToolCall("read", {}, "c9")]))
    stuck.decide(stuck.reviews()[0].id, "allow", by="ana")
    found["stuck"] = [*refused, *said(stuck.run([ToolCall("read", {}, "c10")]))]
    stopped = guard_of(store, "stopped", patience=2)
    found["stopped"] = [stopped.stopped is not None]
    stopped.resume(by="ana", reason="it has learnt")
    found["stopped"] += said(stopped.run([ToolCall("read", {}, "c10")]))
    found["agent"] = live_once(store)
    found["verified at last"] = [store.verify(each.key).ok for each in store.sessions()]
    return found


def asked(guard):
    found = {
        "open": [[review.id, dict(review.payload)] for review in guard.reviews()],
        "out": [out.ticket for out in guard.out()],
    }
    found["taken back"] = repr(guard.fail("c11", "no network"))
    for what, number, amount in (
        ("tried again", "c20", 255),
        ("done before", "c10", 254),
        ("allowed", "c21", 251),
        ("denied", "c22", 252),
        ("modified", "c23", 253),
        ("used", "c24", 254),
        ("open still", "c25", 250),
    ):
        found[what] = said(guard.run([ToolCall("pay", {"amount": amount, "to": "acme"}, number)]))
    found["then open"] = [review.id for review in guard.reviews()]
    found["decided"] = guard.decide(guard.reviews()[0].id, "allow", by="bob").state
    found["decided and used"] = said(guard.run([ToolCall("pay", {"amount": 250, "to": "acme"}, "c27")]))
    return found


def in_sqlite(secret):
    def write(folder):
        with SQLiteStore(folder / FILE, secret=secret) as store:
            fill(store)

    def on(folder):
        with SQLiteStore(folder / FILE, secret=secret) as store:
            return go_on(store)

    return Sample(write, on)


def in_server(server, kind, dump, load, name):
    def write(folder: Path, address):
        with kind(address) as store:
            fill(store)
        (folder / name).write_text(dump(address), encoding="utf-8")

    def on(folder: Path, address):
        load(address, (folder / name).read_text(encoding="utf-8"))
        with kind(address) as store:
            return go_on(store)

    return Sample(write, on, server)


SAMPLES = {
    "sqlite": in_sqlite(None),
    "sqlite_with_secret": in_sqlite(SECRET),
    "postgres": in_server(PostgresServer, PostgresStore, dumps.of_postgres, dumps.into_postgres, "sessions.sql"),
    "redis": in_server(RedisServer, RedisStore, dumps.of_redis, dumps.into_redis, "sessions.jsonl"),
}
