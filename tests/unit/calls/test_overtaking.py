"""What has happened since a call was lost goes before it where that makes no difference, and only there."""

from __future__ import annotations

import pytest

from accord import Guard, MemoryStore, Ok, ToolCall
from accord.calls import overtaking

TIMES = 40


def lost(contract, name="pay", **options):
    """A guard in whose session one call is lost."""

    def tool(**arguments):
        if guard.failing:
            raise TimeoutError("no answer")
        return {"ok": True}

    class Failing(Guard):
        failing = False

    guard = Failing(contract, tools=dict.fromkeys(("pay", "look", "ship", "answer"), tool), **options)
    return guard, lambda **arguments: lose(guard, name, arguments)


def lose(guard, name, arguments):
    guard.failing = True
    assert not guard.run([ToolCall(name, arguments, "lost")])[0].ok
    guard.failing = False
    assert [out.lost for out in guard.out()] == ["TimeoutError: no answer"]


def log(guard):
    return guard._session.state().log


NO_DIFFERENCE = {
    "a limit": ('rule "r" { at most 900 pay }', ["pay"]),
    "a slice of a limit": ('rule "r" { each order: at most 900 pay }', ["pay"]),
    "a condition that holds": ('rule "r" { before ship require pay } tools { pay fails unknown }', ["pay", "ship"]),
    "there and back": (
        "protocol P = rec L.{!pay.?pay.L, !look.?look.L} tools { pay fails unknown }", ["look"],
    ),
    "a deadline of others": (
        'rule "r" { at most 900 pay } rule "t" { within 10s after look require answer }', ["look", "answer", "pay"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_DIFFERENCE)
def test_the_log_does_not_grow(case):
    contract, calls = NO_DIFFERENCE[case]
    time = [0.0]
    guard, fail = lost(contract, clock=lambda: time[0])
    if "ship" in calls:
        assert guard.run([ToolCall("pay", {"order": 1}, "first")])[0].ok
    fail(order=1)
    for number in range(TIMES):
        for call in calls:
            time[0] += 1
            assert guard.run([ToolCall(call, {"order": 1}, f"{call}{number}")])[0].ok
    assert len(log(guard)) == 1, "the lost call alone"
    assert guard.settle("lost", {"ok": True}) == Ok()
    assert log(guard) == ()


@pytest.mark.parametrize("happened", [True, False])
def test_what_was_moved_counts_as_before_when_the_call_is_resolved(happened):
    guard, fail = lost('rule "r" { at most 10 pay }', store=MemoryStore(), key="s")
    fail(order=1)
    assert all(guard.run([ToolCall("pay", {"order": 2}, f"c{n}")])[0].ok for n in range(9))
    assert not guard.run([ToolCall("pay", {"order": 2}, "one too many")])[0].ok
    assert (guard.settle("lost") if happened else guard.fail("lost", "it has not happened")) == Ok()
    assert guard.run([ToolCall("pay", {"order": 2}, "last")])[0].ok is not happened


def test_what_rests_on_the_order_stays_where_it_is():
    """A test before a lost commit is used up by it, one after it is not."""
    guard, fail = lost('rule "r" { before each pay require ?look(ok == true) } tools { pay fails unknown }')
    guard.run([ToolCall("look", {}, "l1")])
    fail(order=1)
    assert not guard.run([ToolCall("pay", {}, "c1")])[0].ok
    guard.run([ToolCall("look", {}, "l2")])
    assert len(log(guard)) > 1
    assert guard.run([ToolCall("pay", {}, "c2")])[0].ok


def test_an_end_that_may_be_refused_keeps_what_came_after_the_call():
    contract = "protocol P = rec L.{!pay.?pay(ok == true).L, !look.?look.L} tools { pay fails unknown }"
    guard, fail = lost(contract)
    fail(order=1)
    assert guard.run([ToolCall("look", {}, "l1")])[0].ok
    assert len(log(guard)) == 3
    assert guard.settle("lost", {"ok": False}) != Ok()
    assert guard.run([ToolCall("look", {}, "l2")])[0].ok, "it is still legal either way"


@pytest.mark.parametrize("clock", [True, False])
def test_what_makes_no_difference_overtakes_what_does_as_well(clock):
    """`ship` counts for what is owed after `pay`, so it stays behind it; `look` and its result go before both."""
    contract = """
    protocol P = rec L.{!pay.?pay.L, !ship.L, !look.?look.L, !answer.L}
    rule "owed" { after each pay require ship } rule "soon" { within 99s after answer require ship }
    tools { pay fails unknown }
    """
    time = [0.0]
    guard, fail = lost(contract, clock=lambda: time[0])
    fail(order=1)
    for name in ["ship", *["look"] * TIMES]:
        time[0] += clock
        assert guard.run([ToolCall(name, {})])[0].ok
        assert len(log(guard)) <= 4
    assert guard.fail("lost", "it has not happened") == Ok()
    assert (log(guard), guard.close()) == ((), Ok())


def test_a_call_that_is_running_is_not_overtaken():
    guard, fail = lost('rule "r" { at most 900 pay }')
    fail(order=1)
    guard.reserve([ToolCall("pay", {"order": 2}, "running")])
    assert guard.run([ToolCall("pay", {"order": 2}, "c1")])[0].ok
    assert len(log(guard)) > 2
    guard.settle("running")
    assert len(log(guard)) == 1


def test_nothing_is_tried_while_nothing_is_lost(monkeypatch):
    monkeypatch.setattr(overtaking, "_may_overtake", lambda *_: pytest.fail("it was tried"))
    guard, _ = lost('rule "r" { at most 900 pay }')
    guard.reserve([ToolCall("pay", {"order": 2}, "running")])
    assert guard.run([ToolCall("pay", {"order": 2}, "c1")])[0].ok
