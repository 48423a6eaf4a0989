"""An interrupt at any moment of a run leaves no call out for ever, and lets nothing happen twice."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from accord import Guard, MemoryStore, ProtocolViolationError, ToolCall, compile
from tests.faults.interrupting import Interrupt

CONTRACTS = {
    "undone": compile('rule "once" { at most 1 pay } rule "first" { before ship require ?pay(error == null) } '
                      "tools { pay fails undone }"),
    "unknown": compile('rule "once" { at most 1 pay } rule "first" { before ship require ?pay(error == null) }'),
    "by label": compile("!pay.!ship.end"),
}  # fmt: skip


class InjectedError(Exception):
    """As a library that limits the time of a function raises it in another thread."""


class Shop:
    """A guard with tools that remember that they have run."""

    def __init__(self, contract, stored):
        kept = {"store": MemoryStore(), "key": "s1"} if stored else {}
        self.ran = []
        tools = {"pay": lambda: self.work("pay"), "ship": lambda: self.work("ship")}
        self.guard = Guard(CONTRACTS[contract], tools=tools, clock=iter(range(10**6)).__next__, **kept)

    def work(self, name):
        self.ran.append(name)
        return name

    async def work_later(self, name):
        await asyncio.sleep(0)
        return self.work(name)

    def work_slowly(self, name):
        yield "begun"
        yield self.work(name)


class InTheLane(Shop):
    """In memory, without a clock."""

    def __init__(self, contract, _):
        self.ran = []
        self.guard = Guard(CONTRACTS[contract], events=["ship", "pay"])


def batch(shop):
    shop.guard.run([ToolCall("pay", {}, "c1"), ToolCall("ship", {}, "c2")])


def function(shop):
    shop.guard.tool(name="pay")(lambda: shop.work("pay"))()


def coroutine(shop):
    async def pay():
        return await shop.work_later("pay")

    asyncio.run(shop.guard.tool(name="pay")(pay)())


def generator(shop):
    list(shop.guard.tool(name="pay")(lambda: (yield shop.work("pay")))())


def asynchronous_batch(shop):
    shop.guard.register("pay", lambda: shop.work_later("pay"))
    asyncio.run(shop.guard.arun([ToolCall("pay", {}, "c1"), ToolCall("ship", {}, "c2")]))


WAYS = [
    ("lane", InTheLane, function, ["by label"], False),
    ("function", Shop, function, ["undone", "unknown", "by label"], False),
    ("generator", Shop, generator, ["undone", "unknown"], False),
    ("batch", Shop, batch, ["undone", "unknown", "by label"], False),
    ("coroutine", Shop, coroutine, ["undone", "unknown"], False),
    ("asynchronous batch", Shop, asynchronous_batch, ["undone", "unknown"], False),
    ("stored function", Shop, function, ["undone", "unknown"], True),
    ("stored batch", Shop, batch, ["undone", "unknown"], True),
]
CASES = [(name, made, act, contract, stored) for name, made, act, contracts, stored in WAYS for contract in contracts]
STRIDE = 23
"""Of so many points one is tried, unless the checks are run in full."""


@pytest.mark.filterwarnings("ignore:.*never awaited", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("error", [KeyboardInterrupt, InjectedError])
@pytest.mark.parametrize(("name", "made", "act", "contract", "stored"), CASES, ids=lambda value: str(value)[:20])
def test_nothing_is_out_for_ever(name, made, act, contract, stored, error, soak):
    points, hits = 0, 0
    while True:
        shop = made(contract, stored)
        with suppress(ProtocolViolationError), Interrupt(points, error) as interrupt:
            act(shop)
        where = f"{error.__name__} at point {points}: {interrupt.hit}"
        assert not [out for out in shop.guard.out() if out.lost is None], where
        half = contract == "undone" and act is generator  # that may have given something and not have ended
        if "pay" in shop.ran and not half:  # it has run, so it is known, or not known, but never forgotten
            (decision,) = shop.guard.reserve([ToolCall("pay", {}, "c9")])
            assert not decision.admitted, where
        if interrupt.hit is None:
            break
        hits += 1
        points += 1 if soak else STRIDE
    assert hits > 2
    if stored:
        assert shop.guard._session.home._store.verify("s1").ok
