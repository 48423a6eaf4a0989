"""Deadlines under a guard: time passes before anything is judged, and clocks may be wrong."""

from __future__ import annotations

import math

import pytest

from accord import Ok, ToolCall, UsageError

ASK = "!ask.!pay within 10s else (!remind.end).end"


@pytest.fixture(name="clock")
def _clock():
    return [100]


@pytest.fixture(name="timed")
def _timed(guard_of, clock):
    return lambda contract=ASK, **options: guard_of(contract, clock=lambda: clock[0], **options)


def test_a_call_in_time_is_legal_and_a_late_one_is_not(timed, clock):
    guard = timed()
    guard.send("ask")
    clock[0] = 110
    assert guard.reserve([ToolCall("pay", {}, "c1")])[0].admitted


def test_a_late_call_is_refused(timed, clock):
    guard = timed()
    guard.send("ask")
    clock[0] = 110.5
    (pay,) = guard.reserve([ToolCall("pay", {}, "c1")])
    assert "too late" in pay.message
    assert guard.reserve([ToolCall("remind", {}, "c2")])[0].admitted


def test_a_call_made_in_time_counts_however_long_its_tool_takes(timed, clock):
    def pay():
        clock[0] += 1000

    guard = timed(tools={"pay": pay, "remind": lambda: None})
    guard.send("ask")
    assert guard.run([ToolCall("pay", {}, "c1")])[0].ok
    assert guard.status == "complete"
    assert not guard.run([ToolCall("remind", {}, "c2")])[0].ok


def test_a_requirement_that_is_met_in_time_is_met_however_long_the_tool_takes(timed, clock):
    rule = 'rule "soon" { within 10s after ask require pay }'
    guard = timed(rule)
    assert guard.send("ask") == Ok()
    (pay,) = guard.reserve([ToolCall("pay", {}, "c1")])
    clock[0] += 1000
    assert guard.settle(pay.ticket) == Ok()
    assert guard.tick() == Ok()
    assert guard.send("other") == Ok()


def test_a_requirement_that_is_not_met_is_told(timed, clock):
    guard = timed('rule "soon" { within 10s after ask require pay }')
    guard.send("ask")
    clock[0] += 11
    assert "soon" in guard.tick().explain()
    assert guard.tick() == Ok(), "once"


def test_what_is_overdue_unless_a_call_counts_is_said_of_the_call_that_is_late(timed, clock):
    """Whatever `x` becomes it is in time; if it fails, `pay` is what comes too late."""
    contract = 'rule "soon" { within 10s after ask require x or pay } tools { otherwise fails undone }'
    guard = timed(contract, tools={"x": lambda: 1, "pay": lambda: 1})
    guard.send("ask")
    (out,) = guard.reserve([ToolCall("x", {}, "c1")])
    clock[0] = 120
    (pay,) = guard.reserve([ToolCall("pay", {}, "c2")])
    assert pay.message.startswith("`pay` is not taken, and was not judged: the rule `soon`")
    guard.settle(out.ticket)
    assert guard.reserve([ToolCall("pay", {}, "c2")])[0].admitted


def test_a_call_that_failed_did_not_happen_in_time(timed, clock):
    guard = timed()
    guard.send("ask")
    (pay,) = guard.reserve([ToolCall("pay", {}, "c1")])
    clock[0] += 1000
    guard.fail(pay.ticket, "no")
    assert guard.allowed() == ["!remind"]


def test_a_clock_that_goes_back_stands_still(timed, clock):
    guard = timed()
    guard.send("ask")
    clock[0] = 111
    assert guard.tick() == Ok()
    clock[0] = 105
    assert not guard.reserve([ToolCall("pay", {}, "c1")])[0].admitted
    assert guard.allowed() == ["!remind"]


def test_a_clock_that_goes_back_before_anything_has_happened_stands_still(timed, clock):
    guard = timed()
    clock[0] = 50
    assert guard.send("ask") == Ok()
    clock[0] = 109
    assert guard.reserve([ToolCall("pay", {}, "c1")])[0].admitted


@pytest.mark.parametrize("broken", [math.nan, math.inf, "noon", None, True])
def test_a_broken_clock_runs_nothing(timed, clock, broken):
    ran = []
    guard = timed(tools={"pay": lambda: ran.append(1)})
    guard.send("ask")
    clock[0] = broken
    with pytest.raises(UsageError):
        guard.run([ToolCall("pay", {}, "c1")])
    assert ran == []
    clock[0] = 105
    assert guard.run([ToolCall("pay", {}, "c1")])[0].ok


def test_a_clock_that_raises_runs_nothing(guard_of):
    ran = []
    times = [1]

    def clock():
        return times[0] / 1 if times[0] else 1 / times[0]

    guard = guard_of("rec L.!a.L", clock=clock, tools={"a": lambda: ran.append(1)})
    times[0] = 0
    (result,) = guard.run([ToolCall("a")])
    assert (result.ok, ran) == (False, [])
    assert "accord failed inside" in result.error


def test_a_clock_that_breaks_while_a_tool_runs_does_not_lose_the_result(timed, clock):
    def pay():
        clock[0] = math.nan
        return "paid"

    guard = timed(tools={"pay": pay})
    guard.send("ask")
    (result,) = guard.run([ToolCall("pay", {}, "c1")])
    assert (result.ok, result.withheld) == (False, "paid")
    clock[0] = 101
    assert [out.ticket for out in guard.out()] == ["c1"]
    assert not guard.run([ToolCall("pay", {}, "c1")])[0].ok
    assert guard.settle("c1", "paid") == Ok()


def test_questions_are_answered_for_the_time_that_it_is(timed, clock):
    guard = timed(tools={"pay": lambda: None, "remind": lambda: None})
    guard.send("ask")
    assert (guard.visible(), guard.allowed()) == (["pay"], ["!pay"])
    clock[0] = 200
    assert guard.visible() == ["remind"]
    assert guard.allowed() == ["!remind"]
    assert "`remind`" in guard.explain()
    clock[0] = 105
    assert guard.allowed() == ["!pay"], "asking lets no time pass"


def test_slices_are_guarded_each_by_itself(guard_of):
    guard = guard_of("protocol Order = each id: !create.!ship.end")
    assert [
        d.admitted for d in guard.reserve([ToolCall("create", {"id": 1}, "a"), ToolCall("create", {"id": 2}, "b")])
    ] == [True, True]
    guard.settle("a")
    ship = guard.reserve([ToolCall("ship", {"id": 1}, "c"), ToolCall("ship", {"id": 2}, "d")])
    assert [d.admitted for d in ship] == [True, False]


def test_a_person_may_modify_a_call_while_something_is_overdue(timed, clock):
    """Whoever decides is not the one who is late."""
    rules = (
        'rule "soon" { within 10s after ?asked require answer } rule "g" { before each promise require Yes by human }'
    )
    guard = timed(rules, tools={"promise": lambda n: n, "answer": lambda: 1}, events=["asked"])
    guard.receive("asked")
    guard.run([ToolCall("promise", {"n": 1}, "c1")])
    clock[0] += 1000
    (review,) = guard.reviews()
    assert guard.decide(review.id, "modify", by="ana", payload={"n": 2}).modified == {"n": 2}
    assert guard.tick() != Ok(), "that it is late is still told"
    assert guard.run([ToolCall("promise", {"n": 1}, "c2")])[0].result == 2
