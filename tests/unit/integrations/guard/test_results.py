"""What tools return: judged where the contract speaks of it, withheld where it is refused, never lost."""

from __future__ import annotations

import math
from collections import OrderedDict

import pytest

from accord import Guard, Ok, ToolCall


@pytest.mark.parametrize(
    ("value", "clause"),
    [
        ({"n": 1}, "n == 1"),
        ({"n": 1}, "error == null"),
        (OrderedDict(n=1), "n == 1"),
        ("hello", 'text == "hello"'),
        ([1, 2], 'text == "[1,2]"'),
        (None, "error == null"),
        ({"error": "sold out"}, 'error == "sold out"'),
        ({"n": 1}, "call.x == 7"),
        ({"n": 1}, 'call_id == "c1"'),
    ],
)
def test_what_the_contract_sees_of_a_result(guard_of, value, clause):
    guard = guard_of(f"!a.?a({clause}).end", tools={"a": lambda **_: value})
    (result,) = guard.run([ToolCall("a", {"x": 7}, "c1")])
    assert (result.error, result.result, guard.status) == (None, value, "complete")


def test_a_result_the_contract_does_not_speak_of_is_no_event(guard_of):
    guard = guard_of("!a.!b.end", tools={"a": lambda: {"anything": 1}})
    assert guard.run([ToolCall("a")])[0].result == {"anything": 1}
    assert guard.allowed() == ["!b"]


def test_a_refused_result_is_withheld_and_the_call_counts(guard_of):
    guard = guard_of("rec L.!a.?a(n == 1).L", tools={"a": lambda: {"n": 2}})
    (result,) = guard.run([ToolCall("a", {}, "c1")])
    assert (result.ok, result.result, result.withheld) == (False, None, {"n": 2})
    assert result.verdict.got == "?a"
    assert guard.allowed() == ["?a(n == 1)"]
    assert "has run already" in guard.run([ToolCall("a", {}, "c1")])[0].error


def inside_itself():
    value = {}
    value["again"] = value
    return value


class Strange(dict):
    def items(self):
        raise RuntimeError("no")

    __iter__ = keys = items


STRANGE = [object(), {1, 2}, b"x", math.nan, {"n": math.inf}, {1: 2}, inside_itself(), "\ud800", {"a": "\ud800"}]


@pytest.mark.parametrize("value", [*STRANGE, Strange(a=1)], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("other", [True, False], ids=["another is out", "alone"])
def test_a_result_that_is_no_json_counts_and_has_no_fields(guard_of, value, other):
    guard = guard_of("(!a.?a(error == null).end | !b.end)", tools={"a": lambda: value, "b": lambda: None})
    if other:  # so that it has to be written down as it is
        guard.reserve([ToolCall("b", {}, "b")])
    (result,) = guard.run([ToolCall("a", {}, "c1")])
    assert result.verdict is None
    if not isinstance(value, str) and value != {"a": "\ud800"}:
        assert "the tool has run, but its result is no JSON" in result.error
        assert result.withheld is value
    assert [out.name for out in guard.out()] == ["b"] * other


def test_a_result_can_be_changed_by_its_owner_afterwards(guard_of):
    """The event has been; only a copy of what it carried is looked at again."""
    value = {"order": {"total": 10}}
    tools = {"a": lambda: value, "b": lambda: None, "pay": lambda amount: amount}
    guard = guard_of("(!b.end | !a.?a(order.total as t).!pay(amount <= t).end)", tools=tools)
    guard.reserve([ToolCall("b", {}, "b")])
    guard.run([ToolCall("a", {}, "a")])
    value["order"]["total"] = 1_000_000
    assert not guard.run([ToolCall("pay", {"amount": 1000}, "p")])[0].ok
    assert guard.run([ToolCall("pay", {"amount": 10}, "q")])[0].ok


def nested(depth):
    return [nested(depth - 1)] if depth else 1


def test_a_result_that_the_contract_cannot_compare_is_withheld_and_the_call_counts(guard_of):
    guard = guard_of("!a.?a(x != 1).end", tools={"a": lambda: {"x": nested(80)}})
    (result,) = guard.run([ToolCall("a", {}, "c1")])
    assert (result.ok, result.withheld) == (False, {"x": nested(80)})
    assert (guard.out(), guard.allowed()) == ([], ["?a(x != 1)"])


def test_big_numbers_stay_what_they_are(shared_of):
    contract = "(!b.end | !a(n as x).?a(n == x).end)"
    first = shared_of(contract)
    first.reserve([ToolCall("b", {}, "b"), ToolCall("a", {"n": 2**70}, "a")])
    second = shared_of(contract)
    assert second.out()[1].events[0].payload == {"n": 2**70}
    assert second.settle("a", {"n": 2**70}) == Ok()


def test_an_asynchronous_tool_is_not_run_in_turn():
    async def a():
        return 1

    guard = Guard("!a.end", tools={"a": a})
    with pytest.raises(Exception, match="is asynchronous; use `arun`"):
        guard.run([ToolCall("a")])
    assert guard.out() == []


def test_a_tool_that_turns_out_to_be_asynchronous_is_told(guard_of):
    async def later():
        return 1

    guard = guard_of("!a.end", tools={"a": lambda: later()})  # noqa: PLW0108 - it does not look asynchronous
    assert "was not waited for" in guard.run([ToolCall("a")])[0].error


SECRETS = [
    "!a.?a(total <= 100).end",
    "protocol P = !a.?a(total <= 100).end",
    "!a.?a(note == null).end",
    "!a.?a(note in [1, 2]).end",
    'protocol P = rec L.!a.?a.L rule "cheap" { at most 0 ?a(total > 100) }',
    'rule "cheap" { at most 0 ?a(note != "x") }',
    'protocol P = rec L.!a.?a.L rule "one each" { each note: at most 0 ?a }',
]


@pytest.mark.parametrize("contract", SECRETS)
def test_the_words_about_a_withheld_result_do_not_give_it_away(guard_of, contract):
    """Else a model reads in the refusal what the contract has refused to tell it."""
    guard = guard_of(contract, tools={"a": lambda: {"total": 4711, "note": "4711"}})
    (result,) = guard.run([ToolCall("a", {}, "c1")])
    assert "its result is withheld: the " in result.content
    assert "4711" not in result.content
    assert result.withheld == {"total": 4711, "note": "4711"}
