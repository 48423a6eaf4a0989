"""Snapshots and a trace: of monitors in every kind of place, of a conversation between roles, and sealed with a key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from accord import Monitor, Session
from tests.kept.contracts import CONTRACTS
from tests.kept.sample import Sample, answers

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SAMPLES"]

KEY = b"the key of kept snapshots"
DAY = 86_400


class Walk(NamedTuple):
    """A session: what happens before the snapshot, and after it."""

    contract: str
    before: tuple[Callable[..., object], ...]
    after: tuple[Callable[..., object], ...]
    mode: str = "refuse"
    key: bytes | None = None
    at: float | None = None


def opened(ticket, at):
    return lambda m: m.receive("Opened", {"ticket_id": ticket}, at=at)


WALKS = {
    "plain": Walk(
        "plain",
        (lambda m: m.send("search"),),
        (lambda m: m.send("book"), lambda m: m.receive("found"), lambda m: m.send("book"), lambda m: m.close()),
    ),
    "parts": Walk(
        "parts",
        (lambda m: m.send("log"), lambda m: m.send("a")),
        (
            lambda m: m.send("done"),
            lambda m: m.receive("b"),
            lambda m: m.receive("logged"),
            lambda m: m.send("done"),
            lambda m: m.close(),
        ),
    ),
    "data": Walk(
        "data",
        (lambda m: m.receive("quote", {"total": 250}),),
        (
            lambda m: m.send("pay", {"amount": 251}),
            lambda m: m.send("pay", {"amount": 250}),
            lambda m: m.receive("receipt"),
        ),
        key=KEY,
    ),
    "rules": Walk(
        "rules",
        (
            lambda m: m.send("look"),
            lambda m: m.receive("Approval", by="ana"),
            lambda m: m.send("pay", {"amount": 101}),
        ),
        (
            lambda m: m.send("pay", {"amount": 200}),
            lambda m: m.send("pay", {"amount": 3}),
            lambda m: m.send("pay", {"amount": 3}),
        ),
    ),
    "rules_only": Walk(
        "rules_only",
        (lambda m: m.send("verify"),),
        (lambda m: m.send("lookup"), lambda m: m.send("bye"), lambda m: m.send("lookup")),
    ),
    "time": Walk(
        "time",
        (lambda m: m.send("ask", at=100),),
        (
            lambda m: m.next_due(),
            lambda m: m.receive("answer", at=150),
            lambda m: m.tick(150 + DAY),
            lambda m: m.send("thank", at=151 + DAY),
        ),
        at=0,
    ),
    "late": Walk(
        "time",
        (lambda m: m.send("ask", at=100.5), lambda m: m.tick(200)),
        (lambda m: m.receive("answer", at=201), lambda m: m.send("remind", at=202), lambda m: m.close(202)),
        at=0,
    ),
    "slices": Walk(
        "slices",
        (
            opened("t-1", 0),
            opened(2, 10),
            lambda m: m.send("AskRefund", {"ticket_id": "t-1"}, at=60),
        ),
        (
            opened(3, 100),
            lambda m: m.send("Refund", {"ticket_id": "t-1"}, at=101),
            lambda m: m.receive("Approved", {"ticket_id": "t-1"}, by="ana", at=102),
            lambda m: m.send("Refund", {"ticket_id": "t-1"}, at=103),
            lambda m: m.send("AskRefund", {"ticket_id": 2}, at=DAY),
            lambda m: m.close(DAY),
        ),
        at=0,
    ),
    "violated": Walk(
        "plain",
        (lambda m: m.send("search"), lambda m: m.send("book")),
        (lambda m: m.receive("found"), lambda m: m.close()),
        mode="halt",
    ),
    "incomplete": Walk("plain", (lambda m: m.send("search"), lambda m: m.close()), (lambda m: m.receive("found"),)),
    "complete": Walk(
        "plain",
        (lambda m: m.send("book"), lambda m: m.receive("booked")),
        (lambda m: m.send("book"), lambda m: m.close()),
    ),
    "roles": Walk(
        "roles",
        (
            lambda s: s["Traveller"].send("Request", to="Agent"),
            lambda s: s["Agent"].receive("Request", sender="Traveller"),
            lambda s: s["Agent"].send("Query", to="Airline"),
        ),
        (
            lambda s: s["Agent"].send("Offer", to="Traveller"),
            lambda s: s["Airline"].receive("Query", sender="Agent"),
            lambda s: s["Airline"].send("Busy", to="Agent"),
            lambda s: s["Agent"].receive("Busy", sender="Airline"),
            lambda s: s["Agent"].send("Query", to="Airline"),
            lambda s: s.close(),
        ),
    ),
}


def begun(walk):
    if walk.contract == "roles":
        return Session(CONTRACTS["roles"], mode=walk.mode)
    more = {} if walk.at is None else {"at": walk.at}
    return Monitor(CONTRACTS[walk.contract], mode=walk.mode, **more)


def write(folder):
    for name, walk in WALKS.items():
        session = begun(walk)
        answers(session, *walk.before)
        text = json.dumps(session.snapshot(key=walk.key), indent=1)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    monitor = Monitor(CONTRACTS["plain"])
    answers(monitor, *WALKS["plain"].before)
    (folder / "trace.json").write_text(json.dumps(monitor.to_dict()) + "\n", encoding="utf-8")


def go_on(folder):
    found = {}
    for name, walk in WALKS.items():
        text = (folder / f"{name}.json").read_text(encoding="utf-8")
        kind = Session if walk.contract == "roles" else Monitor
        session = kind.restore(CONTRACTS[walk.contract], text, key=walk.key)
        found[name] = {
            "status": session.status,
            "allowed": session.allowed(),
            "then": answers(session, *walk.after),
            "at last": session.status,
        }
    trace = json.loads((folder / "trace.json").read_text(encoding="utf-8"))
    found["trace"] = answers(Monitor.from_dict(CONTRACTS["plain"], trace), *WALKS["plain"].after)
    return found


SAMPLES = {"snapshots": Sample(write, go_on)}
