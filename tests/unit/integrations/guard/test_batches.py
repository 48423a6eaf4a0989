"""A batch is reserved as a whole and in order; what rests on what has not returned is held."""

from __future__ import annotations

import asyncio

import pytest

from accord import Guard, Ok, ProtocolViolationError, ToolCall


def calls(*names):
    return [ToolCall(name, {}, f"c{number}") for number, name in enumerate(names)]


def test_of_two_calls_of_which_one_is_legal_exactly_one_runs(guard_of, tools_named):
    tools = tools_named("pay")
    results = guard_of("!pay.end", tools=tools).run(calls("pay", "pay"))
    assert [result.ok for result in results] == [True, False]
    assert tools.ran == ["pay"]
    assert "the protocol is over" in results[1].error


def test_the_first_of_two_that_exclude_each_other_runs(guard_of, tools_named):
    tools = tools_named("a", "b")
    assert [r.ok for r in guard_of("!{a.end, b.end}", tools=tools).run(calls("b", "a"))] == [True, False]
    assert tools.ran == ["b"]


def test_a_call_that_rests_on_an_earlier_one_is_held_until_that_has_returned(guard_of, tools_named):
    tools = tools_named("check", "pay")
    assert all(r.ok for r in guard_of("!check.?check.!pay.end", tools=tools).run(calls("check", "pay")))
    assert tools.ran == ["check", "pay"]


def test_a_held_call_is_refused_if_what_it_rests_on_fails(guard_of, tools_named):
    tools = tools_named("pay")
    tools["check"] = lambda: 1 / 0
    results = guard_of("!check.!pay.end", tools=tools).run(calls("check", "pay"))
    assert [r.ok for r in results] == [False, False]
    assert not tools.ran


def test_a_held_call_is_refused_if_the_result_it_rests_on_says_no(guard_of, tools_named):
    tools = tools_named("pay")
    tools["check"] = lambda: {"fine": False}
    results = guard_of("!check.?check(fine == true).!pay.end", tools=tools).run(calls("check", "pay"))
    assert [r.ok for r in results] == [False, False]
    assert (results[0].withheld, tools.ran) == ({"fine": False}, [])


def test_results_stand_in_the_order_of_the_calls(guard_of):
    tools = {"a": lambda: 1, "b": lambda: 2}
    results = guard_of("!a.!b.end", tools=tools).run(calls("b", "a", "b"))
    assert [(r.tool_call_id, r.result) for r in results] == [("c0", None), ("c1", 1), ("c2", 2)]


def test_what_stands_behind_a_held_call_does_not_overtake_it(guard_of):
    """`c` would be legal at once, but the model has asked for `b` first."""
    begun = []

    async def session():
        gate, began = asyncio.Event(), asyncio.Event()

        async def a():
            begun.append("a")
            began.set()
            await gate.wait()

        async def open_the_gate():
            await began.wait()
            await asyncio.sleep(0.02)
            assert begun == ["a"]
            gate.set()

        tools = {"a": a, "b": lambda: begun.append("b"), "c": lambda: begun.append("c")}
        guard = guard_of("(!a.!b.end | !c.end)", tools=tools)
        results, _ = await asyncio.gather(guard.arun(calls("a", "b", "c")), open_the_gate())
        assert all(result.ok for result in results), results

    asyncio.run(session())
    assert begun[0] == "a" and set(begun) == {"a", "b", "c"}


def test_what_does_not_wait_for_each_other_runs_at_the_same_time(guard_of):
    async def session():
        both = asyncio.Barrier(2)

        async def meet():
            await both.wait()

        guard = guard_of("(!a.end | !b.end)", tools={"a": meet, "b": meet})
        assert all(r.ok for r in await asyncio.wait_for(guard.arun(calls("a", "b")), 10))

    asyncio.run(session())


def test_whoever_cannot_wait_is_told_what_a_call_rests_on(guard_of):
    guard = guard_of("!check.!pay.end")
    check, pay = guard.reserve(calls("check", "pay"))
    assert (check.status, pay.status) == ("admitted", "refused")
    assert "depends on `check`, which has not returned yet" in pay.message
    assert guard.settle(check.ticket) == Ok()
    assert guard.reserve(calls("pay", "pay")[1:])[0].admitted


@pytest.mark.parametrize(("told", "after"), [("settle", "refused"), ("fail", "admitted")])
def test_what_another_call_excludes_is_refused_until_that_has_failed(guard_of, told, after):
    guard = guard_of("!{a.end, b.end}")
    (a,) = guard.reserve([ToolCall("a", {}, "a")])
    assert guard.reserve([ToolCall("b", {}, "b")])[0].status == "refused"
    getattr(guard, told)(a.ticket, "done")
    assert guard.reserve([ToolCall("b", {}, "b")])[0].status == after


def test_a_message_is_refused_while_it_rests_on_a_call_that_is_out(guard_of):
    guard = guard_of("!a.!Done.end")
    (a,) = guard.reserve([ToolCall("a", {}, "a")])
    assert guard.send("Done") != Ok()
    guard.settle(a.ticket)
    assert guard.send("Done") == Ok()
    assert guard.status == "complete"


def test_too_many_possibilities_wait_instead_of_being_guessed(guard_of, tools_named):
    letters = "abcdefghij"
    contract = f"({' | '.join(f'!{letter}.end' for letter in letters)})"
    guard = guard_of(contract)
    decisions = guard.reserve(calls(*letters))
    assert [d.status for d in decisions] == ["admitted"] * 9 + ["held"]
    assert "too many calls are out" in decisions[-1].message
    guard.fail(decisions[0].ticket, "no")
    assert guard.reserve([ToolCall("j", {}, "again")])[0].admitted


@pytest.mark.parametrize(
    "contract",
    [
        "rec L.!a.L",
        "!begin within 1h else (end).rec L.!a.L",
        "protocol P = each k: !begin within 1h else (end).rec L.!a.L",
        'rule "soon" { within 1h after a require b }',
        'rule "soon" { each k: within 1h after a require b }',
    ],
)
def test_calls_that_lead_to_the_same_place_may_be_out_in_any_number(contract):
    """Also where the place depends on the time."""
    guard = Guard(contract, clock=lambda: 0)
    if "begin" in contract:
        assert guard.send("begin", {"k": 1}) == Ok()
    decisions = guard.reserve([ToolCall("a", {"k": 1}, f"c{number}") for number in range(20)])
    assert {decision.status for decision in decisions} == {"admitted"}


def test_a_batch_with_too_many_possibilities_runs_in_the_end(guard_of, tools_named):
    letters = "abcdefgh"
    tools = tools_named(*letters)
    guard = guard_of(f"({' | '.join(f'!{letter}.end' for letter in letters)})", tools=tools)
    assert all(r.ok for r in guard.run(calls(*letters)))
    assert "".join(tools.ran) == letters


def test_an_empty_batch_is_none(guard_of):
    assert guard_of("!a.end").run([]) == []


def test_a_batch_may_be_anything_that_can_be_gone_through(guard_of):
    guard = guard_of("!a.!b.end", tools={"a": lambda: 1, "b": lambda: 2})
    assert [result.result for result in guard.run(ToolCall(name) for name in "ab")] == [1, 2]


@pytest.mark.parametrize("on_violation", ["block", "raise"])
def test_what_a_tool_does_with_the_list_of_calls_changes_nothing(guard_of, on_violation):
    batch = [ToolCall("a"), ToolCall("b"), ToolCall("c")]
    guard = guard_of("!a.!b.end", tools=dict.fromkeys("abc", batch.clear), on_violation=on_violation)
    if on_violation == "block":
        assert [result.ok for result in guard.run(batch)] == [True, True, False]
    else:
        with pytest.raises(ProtocolViolationError) as caught:
            guard.run(batch)
        assert [result.tool_name for result in caught.value.results] == ["a", "b", "c"]


@pytest.mark.parametrize("given", [ToolCall("a"), ["a"], [None]])
def test_a_batch_is_a_list_of_calls(given):
    with pytest.raises(Exception, match="a guard is given a list of `ToolCall`s"):
        Guard("!a.end").run(given)
