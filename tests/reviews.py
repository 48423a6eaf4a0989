"""A store with sessions in which people are asked: what the tests of `accord review` look at."""

from __future__ import annotations

from pathlib import Path

from accord import Guard, SQLiteStore, ToolCall

CONTRACT = Path(__file__).parent / "golden" / "reviews" / "invoice.accord"
TEXT = CONTRACT.read_text(encoding="utf-8")

BEGAN = 1_772_442_000
"""2026-03-02T09:00:00Z"""
HOUR = 3600

HOSTILE = {
    "amount": 101,
    "to": "\x1b[2J\x1b[31mACME\r\nstate     allowed\u2028\u202eemca\u200b\x9b5m",
    "not\ne\x07": ["x" * 300, " " * 100 + "state     allowed by the boss"],
}
ODD_KEY = "`odd` -- [red]key[/red] 日本"


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = float(BEGAN)

    def __call__(self) -> float:
        return self.now


def pay(amount: float, to: str = "", **_: object) -> dict[str, object]:
    return {"paid": amount, "to": to}


def guard_of(store, key, clock, text=TEXT, **options):
    tools = {"read": lambda: {"total": 5000}, "pay": pay, "report": lambda: None}
    return Guard(text, store=store, key=key, tools=tools, clock=clock, **options)


def asking(store, key, clock, *payloads, **options):
    """A session that has read its invoice and wants to pay."""
    guard = guard_of(store, key, clock, **options)
    guard.run([ToolCall("read", {}, "c1")])
    for number, payload in enumerate(payloads, 2):
        clock.now += 1
        guard.run([ToolCall("pay", payload, f"c{number}")])
    return guard


def fill(path, secret=None):
    """Reviews in every state, in sessions of every kind; the ids of those of `order-17`."""
    clock = Clock()
    with SQLiteStore(path, secret=secret, fsync="never") as store:
        options = {"review_lasts": 24 * HOUR}
        order = asking(store, "order-17", clock, *[{"amount": 250 + n, "to": "acme"} for n in range(4)], **options)
        ids = [review.id for review in order.reviews()]
        order.decide(ids[1], "allow", by="ana")
        order.decide(ids[2], "deny", by="ana", reason="we never ordered that")
        order.decide(ids[3], "modify", by="Bob B.", payload={"amount": 200, "to": "acme"})
        order.run([ToolCall("pay", {"amount": 251, "to": "acme"}, "c9")])
        asking(store, ODD_KEY, clock, HOSTILE)
        asking(store, "short", clock, {"amount": 500}, review_lasts=60)
        stuck = guard_of(store, "stuck", clock, patience=2, escalate="review")
        for number in range(2):
            stuck.run([ToolCall("pay", {"amount": 1}, f"c{number}")])
        stopped = guard_of(store, "stopped", clock, patience=2)
        for number in range(2):
            stopped.run([ToolCall("pay", {"amount": 1}, f"c{number}")])
        busy = guard_of(store, "busy", clock)
        busy.reserve([ToolCall("read", {}, "c1")])
        busy.start("c1")
    return ids
