"""Clocks that jump and tools that are slow: everything expires when its time is over, and nothing that ran is lost."""

from __future__ import annotations

import asyncio
import json

import pytest

from accord import Guard, MemoryStore, SQLiteStore, ToolCall, UsageError
from accord.integrations.guard.reading import guarded_session

GATED = "rec L. ?Approval by human . !pay . ?pay . L"
TIMED = 'protocol P = rec L.!{pay.L, ask.L} rule "soon" { within 10s after ask require pay }'
PAY = [ToolCall("pay", {})]
JUMP = 10**9


@pytest.fixture(name="clock")
def _clock():
    return [1000]


@pytest.fixture(name="timed", params=["in memory", "memory store", "sqlite"])
def _timed(request, clock, tmp_path):
    kept = {}
    if request.param == "memory store":
        kept = {"store": MemoryStore(), "key": "s1"}
    if request.param == "sqlite":
        kept = {"store": SQLiteStore(tmp_path / "s.db", fsync="never"), "key": "s1"}
    tools = {"pay": lambda: "paid"}
    yield lambda contract, **more: Guard(
        contract, clock=lambda: clock[0], events=["ask"], **{"tools": tools, **kept, **more}
    )
    if kept:
        kept["store"].close()


def jump(guard, clock):
    """The clock goes forth, somebody sees it, and it is set back."""
    clock[0] += JUMP
    guard.tick()
    guard.run([ToolCall("nope")])
    clock[0] -= JUMP


def test_a_question_expires_after_a_clock_has_jumped(timed, clock):
    guard = timed(GATED, review_lasts=60)
    jump(guard, clock)
    guard.run(PAY)
    (review,) = guard.reviews()
    clock[0] += 59
    assert [each.id for each in guard.reviews()] == [review.id]
    clock[0] += 2
    assert guard.reviews() == []
    with pytest.raises(UsageError, match="has expired"):
        guard.decide(review.id, "allow", by="ana")


def test_an_approval_expires_after_a_clock_has_jumped(timed, clock):
    guard = timed(GATED, review_lasts=60)
    jump(guard, clock)
    guard.run(PAY)
    guard.decide(guard.reviews()[0].id, "allow", by="ana")
    clock[0] += 61
    assert not guard.run(PAY)[0].ok
    guard.decide(guard.reviews()[0].id, "allow", by="ana")
    clock[0] += 59
    assert guard.run(PAY)[0].ok


def test_what_was_asked_before_a_clock_was_set_back_is_asked_anew(timed, clock):
    """Nobody knows how long that has been."""
    guard = timed(GATED, review_lasts=60)
    clock[0] += JUMP
    guard.run(PAY)
    (review,) = guard.reviews()
    clock[0] -= JUMP
    assert guard.reviews() == []
    with pytest.raises(UsageError, match="has expired"):
        guard.decide(review.id, "allow", by="ana")
    guard.run(PAY)
    assert [each.id for each in guard.reviews()] != [review.id]


def test_workers_whose_clocks_differ_a_little_expire_nothing(timed, clock):
    guard = timed(GATED, review_lasts=60)
    for _ in range(20):
        guard.run(PAY)
        clock[0] -= 2
        guard.decide(guard.reviews()[0].id, "allow", by="ana")
        assert guard.run(PAY)[0].ok
        clock[0] += 3
    assert guard._session.state().desk.now <= clock[0], "time is not faster than the fastest clock"


def test_a_deadline_expires_after_a_clock_has_jumped(timed, clock):
    guard = timed(TIMED)
    jump(guard, clock)
    guard.send("ask")
    clock[0] += 9
    assert guard.tick().__class__.__name__ == "Ok"
    clock[0] += 2
    assert guard.tick().__class__.__name__ == "Violation"


def test_a_clock_that_has_caught_up_is_believed_again(timed, clock):
    guard = timed(GATED, review_lasts=60)
    jump(guard, clock)
    guard.run(PAY)
    clock[0] += 2 * JUMP
    guard.run(PAY)
    (review,) = guard.reviews()
    assert review.opened == clock[0]


@pytest.fixture(name="stored")
def _stored(clock):
    store = MemoryStore()
    return lambda **more: Guard("rec L.!pay.L", store=store, key="s1", clock=lambda: clock[0], expires_after=60, **more)


def test_a_session_expires_after_a_clock_has_jumped(stored, clock):
    guard = stored(tools={"pay": lambda: "paid"})
    clock[0] += JUMP
    assert guard.run(PAY)[0].ok
    clock[0] -= JUMP
    assert guard.run(PAY)[0].ok
    assert guard._session.home._store.session("s1").expires == clock[0] + 60
    clock[0] += 59
    assert guard.run(PAY)[0].ok
    clock[0] += 61
    assert "has expired" in guard.run(PAY)[0].error
    assert guarded_session(guard._session.home._store, "s1").is_over(clock[0])


def test_a_clock_that_is_wrong_once_ends_no_session(stored, clock):
    guard = stored(tools={"pay": lambda: "paid"})
    assert guard.run(PAY)[0].ok
    clock[0] -= 900
    assert guard.run(PAY)[0].ok
    clock[0] += 905
    assert guard.run(PAY)[0].ok


def acts(store):
    return [json.loads(line)["entry"]["act"] for line in store.ledger("s1")]


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("way", ["batch", "asynchronous batch", "function", "by hand"])
def test_a_tool_that_is_slower_than_its_session_is_recorded(clock, way, fails):
    store = MemoryStore()

    def pay():
        clock[0] += 1000
        assert guarded_session(store, "s1").is_over(clock[0]) is False
        assert store.sweep(clock[0]) == [], "what is running is not swept away"
        if fails:
            raise OSError("late")
        return "paid"

    contract = "protocol P = rec L.!pay.?pay.L tools { pay fails done }"
    guard = Guard(contract, store=store, key="s1", clock=lambda: clock[0], expires_after=60, tools={"pay": pay})
    if way == "batch":
        (result,) = guard.run([ToolCall("pay", {}, "c1")])
        assert result.ok is not fails
    elif way == "asynchronous batch":
        (result,) = asyncio.run(guard.arun([ToolCall("pay", {}, "c1")]))
        assert result.ok is not fails
    elif way == "function" and fails:
        with pytest.raises(OSError, match="late"):
            guard.tool(pay)()
    elif way == "function":
        assert guard.tool(pay)() == "paid"
    else:
        (decision,) = guard.reserve([ToolCall("pay", {}, "c1")])
        assert guard.start("c1")
        clock[0] += 1000
        assert (guard.fail("c1", "late") if fails else guard.settle("c1", "paid")).__class__.__name__ == "Ok"
        assert decision.admitted
    assert guard.out() == []
    assert acts(store)[-1] == "attempt", "its end is in the ledger"
    assert guard.allowed() == ["!pay"], "the session goes on"
    clock[0] += 61
    assert "has expired" in guard.run([ToolCall("pay", {}, "c2")])[0].error
    assert store.verify("s1").ok


def test_a_call_that_was_only_reserved_keeps_no_session_alive(clock):
    store = MemoryStore()
    guard = Guard("rec L.!pay.L", store=store, key="s1", clock=lambda: clock[0], expires_after=60, events=["pay"])
    guard.reserve([ToolCall("pay", {}, "c1")])
    clock[0] += 61
    assert store.sweep(clock[0]) == ["s1"]
