"""A call is known by its id: what has run is not run again, and the id of one is not good for another."""

from __future__ import annotations

import pytest

from accord import Guard, Ok, ToolCall

REMEMBERED = 64
"""Calls that are known by their ids, as the page about guards says."""
LOOP = "rec L.{!a.L, !b.L, !stop.end}"


def test_asking_again_reserves_nothing_twice(guard_of):
    guard = guard_of("!pay.end")
    first, again = (guard.reserve([ToolCall("pay", {"n": 1}, "c1")])[0] for _ in range(2))
    assert first.admitted and again.admitted
    assert first.ticket == again.ticket == "c1"
    assert again.call.arguments == {"n": 1}
    assert len(guard.out()) == 1


def test_one_of_those_who_ask_may_run_it(guard_of):
    guard = guard_of("!pay.end")
    guard.reserve([ToolCall("pay", {}, "c1")])
    assert [guard.start("c1"), guard.start("c1"), guard.start("c2")] == [True, False, False]
    assert "is running already" in guard.reserve([ToolCall("pay", {}, "c1")])[0].message


def test_a_reserved_call_is_run_once(guard_of, tools_named):
    tools = tools_named("pay")
    guard = guard_of("!pay.end", tools=tools)
    guard.reserve([ToolCall("pay", {}, "c1")])
    assert guard.run([ToolCall("pay", {}, "c1")])[0].ok
    assert "has run already" in guard.run([ToolCall("pay", {}, "c1")])[0].error
    assert tools.ran == ["pay"]
    assert not guard.start("c1")


def test_what_has_run_is_not_run_again_where_the_contract_would_allow_it(guard_of, tools_named):
    tools = tools_named("a")
    guard = guard_of(LOOP, tools=tools)
    assert [guard.run([ToolCall("a", {}, "c1")])[0].ok for _ in range(3)] == [True, False, False]
    assert tools.ran == ["a"]


def test_what_has_run_is_remembered_for_a_while(guard_of):
    guard = guard_of(LOOP, tools={"a": lambda: None})
    for number in range(REMEMBERED):
        assert guard.run([ToolCall("a", {}, f"c{number}")])[0].ok
    assert not guard.run([ToolCall("a", {}, "c0")])[0].ok
    assert not guard.run([ToolCall("a", {}, f"c{REMEMBERED - 1}")])[0].ok


@pytest.mark.parametrize("other", [ToolCall("b", {}, "c1"), ToolCall("a", {"n": 1}, "c1")])
@pytest.mark.parametrize("when", ["out", "done"])
def test_an_id_is_good_for_one_call(guard_of, other, when):
    guard = guard_of(LOOP)
    (first,) = guard.reserve([ToolCall("a", {}, "c1")])
    if when == "done":
        guard.settle(first.ticket)
    assert "belongs to another call" in guard.reserve([other])[0].message


def test_the_same_id_twice_in_a_batch_runs_neither(guard_of, tools_named):
    tools = tools_named("a", "b")
    guard = guard_of(LOOP, tools=tools)
    results = guard.run([ToolCall("a", {}, "x"), ToolCall("b", {}, "y"), ToolCall("a", {}, "x")])
    assert [r.ok for r in results] == [False, True, False]
    assert tools.ran == ["b"]


def test_a_call_that_failed_may_be_tried_again_under_its_id(guard_of):
    outcomes = [ValueError("busy"), "paid"]

    def pay():
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    guard = guard_of("!pay.end", tools={"pay": pay})
    call = ToolCall("pay", {}, "c1")
    assert [guard.run([call])[0].content for _ in range(2)] == ["error: ValueError: busy", "paid"]
    assert "has run already" in guard.run([call])[0].error


def test_what_is_tried_again_under_the_id_of_a_lost_call_is_another_call(guard_of):
    """What people say of the one that is lost is said of that, and what the tool says of the other."""
    contract = 'rule "few" { at most 2 pay } rule "r" { before other require A by human } tools { pay fails unknown }'
    guard = guard_of(contract, tools={"pay": lambda: 1, "other": lambda: 1})

    def tickets():
        return [(out.ticket, out.lost) for out in guard.out()]

    for why, known in (("no answer", ["c1"]), ("no network", ["c1#2", "c1"])):
        (decision,) = guard.reserve([ToolCall("pay", {}, "c1")])
        guard.fail(decision.ticket, TimeoutError(why))
        assert [ticket for ticket, _ in tickets()] == known
    first, second = guard.reviews()
    assert (first.call, second.call) == ("c1#2", "c1")
    assert not guard.reserve([ToolCall("pay", {}, "c1")])[0].admitted
    guard.decide(first.id, "undone", by="ana")
    assert tickets() == [("c1", "TimeoutError: no network")]
    assert guard.reserve([ToolCall("pay", {}, "c2")])[0].admitted
    assert guard.reviews() == [second]


def test_a_call_without_an_id_is_always_a_new_one(guard_of, tools_named):
    tools = tools_named("a")
    guard = guard_of(LOOP, tools=tools)
    results = guard.run([ToolCall("a"), ToolCall("a"), ToolCall("a", id=None)])
    assert [r.ok for r in results] == [True] * 3
    assert {r.tool_call_id for r in results} == {""}


def test_calls_without_an_id_have_tickets_of_their_own(guard_of):
    guard = guard_of("(!pay.end | rec L.{!log.L, !stop.end})")
    decisions = guard.reserve([ToolCall("pay"), ToolCall("log"), ToolCall("log")])
    assert len({d.ticket for d in decisions}) == 3


@pytest.mark.parametrize("first", ["#1", ""])
def test_a_model_may_call_a_call_as_the_guard_would(guard_of, first):
    """Else the failure of one would take back the other, which then could run twice."""
    guard = guard_of("(!pay.end | rec L.{!log.L, !stop.end})")
    (pay,) = guard.reserve([ToolCall("pay", {}, first)])
    log = guard.reserve([ToolCall("log", {}, "" if first else "#1")])[0]
    if log.admitted:
        assert log.ticket != pay.ticket
        guard.fail(log.ticket, "no")
    assert [out.name for out in guard.out()] == ["pay"]
    assert not guard.reserve([ToolCall("pay", {}, "other")])[0].admitted


@pytest.mark.parametrize("bad", [7, ["c1"], object(), "\ud800", "x" * 501])
def test_an_id_that_is_none_runs_nothing_and_disturbs_nothing(guard_of, bad, tools_named):
    tools = tools_named("a", "b")
    results = guard_of(LOOP, tools=tools).run([ToolCall("a", {}, bad), ToolCall("b", {}, "fine")])
    assert [r.ok for r in results] == [False, True]
    assert "the id of a call is a text" in results[0].error
    assert tools.ran == ["b"]


def test_workers_know_each_others_ids(shared_of, tools_named):
    tools = tools_named("a")
    first, second = shared_of(LOOP, tools=tools), shared_of(LOOP, tools=tools)
    assert first.run([ToolCall("a", {}, "c1")])[0].ok
    assert "has run already" in second.run([ToolCall("a", {}, "c1")])[0].error
    (other,) = second.reserve([ToolCall("a", {}, "c2")])
    assert first.start("c2") and not second.start("c2")
    assert first.settle(other.ticket) == Ok()
    assert second.settle(other.ticket) != Ok()


def test_what_is_not_out_cannot_return():
    guard = Guard("!pay.end")
    assert "no such call is out" in guard.settle("c1").reason
    assert "no such call is out" in guard.fail("c1", "no").reason
    assert guard.status == "running"
