"""Many threads and cancelled tasks at one session under guard: what is allowed once happens once; nothing is left."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count
from random import Random

import pytest

from accord import Guard, MemoryStore, Monitor, ProtocolViolationError, SQLiteStore, ToolCall, compile
from tests.census import Census
from tests.racing import all_at_once, frantic_switching

THREADS = 64


@pytest.fixture(name="kept", params=["no store", "memory store", "sqlite"])
def _kept(request, tmp_path):
    if request.param == "no store":
        yield dict
    elif request.param == "memory store":
        yield lambda: {"store": MemoryStore(), "key": "s1"}
    else:
        stores = []

        def open_one():
            stores.append(SQLiteStore(tmp_path / f"{len(stores)}.db", fsync="never", timeout=60))
            return {"store": stores[-1], "key": "s1"}

        yield open_one
        for store in stores:
            store.close()


def noting(notes):
    """A tool that notes what it is given."""
    return lambda n: notes.append(n) or n


def walked(text):
    """The contract after another session has been everywhere, so that the short way is known."""
    contract = compile(text)
    monitor = Monitor(contract, mode="refuse")
    for label in "aabab":
        monitor.send(label)
    return contract


def test_one_payment_among_threads_that_share_a_session(kept, soak, health):
    rounds = 50 if soak else 2
    for _ in range(rounds):
        paid = []
        guard = Guard("!pay.end", tools={"pay": noting(paid)}, patience=9999, **kept())
        # Half of them ask under ids that others use too.
        outcomes = all_at_once(
            lambda n, guard=guard: guard.run([ToolCall("pay", {"n": n % 8}, f"c{n % 8}" if n % 2 else "")])[0].ok,
            THREADS,
        )
        assert outcomes.count(True) == len(paid) == 1, outcomes
        assert (guard.out(), guard.status) == ([], "complete")
    health(f"guard: {rounds} rounds of {THREADS} threads at one payment")


def test_functions_in_the_lane_take_turns(soak):
    """`b` rests on `a` and `a` on `b`, so they alternate, whoever calls them and whichever way they go."""
    contract = walked("rec L.!a.!b.L")
    for number in range(30 if soak else 3):
        ran = []
        guard = Guard(contract, patience=10**9)
        tools = {name: guard.tool(name=name)(noting(ran)) for name in "ab"}

        def work(thread, tools=tools, number=number, ran=ran):
            dice, turns = Random(f"{number} {thread}"), count()
            while next(turns) < 30 or len(ran) <= 20:  # how many are let through depends on who comes when
                name = dice.choice("ab")
                with suppress(ProtocolViolationError):
                    tools[name](name)

        with frantic_switching():
            outcomes = all_at_once(work, 16)
        assert set(outcomes) == {None}, outcomes
        assert "".join(ran) == ("ab" * len(ran))[: len(ran)]
        assert guard.out() == []
        assert guard.allowed() == ["!b" if len(ran) % 2 else "!a"]


@pytest.mark.parametrize("outcome", [ValueError, KeyboardInterrupt])
def test_functions_that_fail_in_the_lane_leave_nothing_behind(outcome):
    contract = walked("rec L.!{a.L, b.end}")
    guard = Guard(contract, patience=10**9)
    ended = []

    @guard.tool
    def a(fails):
        if fails:
            raise outcome
        ended.append(1)

    def work(thread):
        dice = Random(thread)
        for _ in range(30):
            with suppress(outcome, ProtocolViolationError):
                a(dice.random() < 0.5)

    with frantic_switching():
        outcomes = all_at_once(work, 16)
    assert set(outcomes) == {None}, outcomes
    assert ended
    assert guard.out() == []


# -- cancelled at random points ----------------------------------------------------------------------------------------


FATES = (
    "all had begun", "some had begun", "none had begun", "one fails", "one is interrupted", "counts if it fails",
    "is taken back", "is lost", "was cancelled", "was over before",
)  # fmt: skip
MEANINGS = {"undone": "is taken back", "done": "counts if it fails", "unknown": "is lost"}


class Round:
    """One batch that is cancelled somewhere."""

    def __init__(self, number):
        self.dice = Random(f"cancel {number}")
        self.begun, self.failed, self.returned = set(), set(), set()
        self.cancelled = False
        self.pause = 0.0

    def tool(self, name):
        async def work():
            self.begun.add(name)
            for _ in range(self.dice.randint(0, 4)):
                await asyncio.sleep(self.pause)
            if self.dice.random() < 0.2:
                self.failed.add(name)
                raise ValueError("busy")
            self.returned.add(name)

        return work

    async def run(self, guard):
        """The names of what was asked for."""
        self.pause = 0 if guard.key is None else 0.0003  # what is kept takes a while
        names = self.dice.sample("abcd", self.dice.randint(1, 4))
        task = asyncio.create_task(guard.arun([ToolCall(name, {}, name) for name in names]))
        for _ in range(self.dice.choice((1, 1, 1, 2))):  # now and then twice
            for _ in range(self.dice.randint(0, 12)):
                await asyncio.sleep(self.pause)
            task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            self.cancelled = True
        return names


def test_cancelled_at_random_points_what_has_returned_counts_and_the_rest_has_failed_or_not_begun(kept, soak, health):
    rounds = 2_000 if soak else 60
    never = {("1 call", "some had begun"): "one call has begun or has not"}
    seen = Census("batch that is cancelled", ("1 call", "2 calls", "3 calls", "4 calls"), FATES, never)
    body = "rec L.(!a.end | !b.!c.end | !d.end).!again.L"
    contracts = {means: compile(f"protocol P = {body} tools {{ otherwise fails {means} }}") for means in MEANINGS}
    number = 0
    # Where a batch is when it is cancelled depends on the machine: it goes on until there was enough of everything.
    while number < rounds or (seen.lacking(1) and number < 50 * rounds):
        number += 1
        this = Round(number)
        means = this.dice.choice([*MEANINGS])
        tools = {name: this.tool(name) for name in "abcd"}
        guard = Guard(contracts[means], tools=tools, patience=999, events=["again"], **kept())
        names = asyncio.run(this.run(guard))
        interrupted = this.begun - this.returned - this.failed
        failed = this.failed | interrupted
        lost = {out.ticket for out in guard.out()}
        assert all(out.lost is not None for out in guard.out()), "nothing stays reserved"
        assert lost == (failed if means == "unknown" else set()), (vars(this), lost)
        for name in names:
            (again,) = guard.reserve([ToolCall(name, {}, name)])
            counts = "has run already" in again.message
            if name in failed and means == "done":  # it may be tried again under its id, and the contract says no
                counts = again.admitted
            assert counts == (name in this.returned), (name, vars(this), again)
        begun = [len(this.begun) == len(names), bool(this.begun), not this.begun]
        fates = [FATES[begun.index(True)], MEANINGS[means]]
        fates += ["one is interrupted"] if interrupted else []
        fates += ["one fails"] if this.failed else []
        fates += ["was cancelled" if this.cancelled else "was over before"]
        size = f"{len(names)} call" + "s" * (len(names) > 1)
        seen.add((size, fate) for fate in fates)
    health(seen.table())
    seen.check(1)
