"""A tool that raises has not happened; one that was interrupted has; one that never began has not."""

from __future__ import annotations

import pytest

from accord import Ok, ProtocolViolationError, ToolCall


def raises(error):
    def tool(**_):
        raise error

    return tool


def test_a_failed_call_uses_nothing_up(guard_of):
    guard = guard_of("!pay.end", tools={"pay": raises(ValueError("busy"))})
    for number in range(3):
        (result,) = guard.run([ToolCall("pay", {}, f"c{number}")])
        assert (result.error, result.verdict) == ("ValueError: busy", None)
    assert guard.out() == []
    guard.register("pay", lambda: "paid")
    assert guard.run([ToolCall("pay", {}, "c9")])[0].result == "paid"


def test_a_failed_call_that_is_kept_counts_and_its_result_carries_the_error(guard_of):
    guard = guard_of("!pay.?pay(error != null).end", tools={"pay": raises(ValueError("busy"))}, failed="keep")
    assert guard.run([ToolCall("pay", {}, "c1")])[0].error == "ValueError: busy"
    assert guard.status == "complete"
    assert "has run already" in guard.run([ToolCall("pay", {}, "c1")])[0].error


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def test_an_error_that_cannot_be_said_is_an_error(guard_of):
    guard = guard_of("!pay.end", tools={"pay": raises(UnspeakableError())})
    assert guard.run([ToolCall("pay", {}, "c1")])[0].error == "UnspeakableError"
    assert guard.out() == []


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit(1), GeneratorExit()])
@pytest.mark.parametrize("failed", ["release", "keep"])
def test_what_was_interrupted_counts_and_what_never_began_does_not(guard_of, tools_named, interrupt, failed):
    tools = tools_named("a", "c")
    tools["b"] = raises(interrupt)
    guard = guard_of("(!a.end | !b.end | !c.end)", tools=tools, failed=failed)
    with pytest.raises(type(interrupt)):
        guard.run([ToolCall(name, {}, name) for name in "abc"])
    assert (tools.ran, guard.out()) == (["a"], [])
    assert [d.admitted for d in guard.reserve([ToolCall(name) for name in "abc"])] == [False, False, True]


@pytest.mark.parametrize("failed", ["release", "keep"])
def test_what_another_call_keeps_from_running_does_not_count(guard_of, tools_named, failed):
    def stop(decision):
        raise LookupError(decision.call.name)

    tools = tools_named("pay", "other")
    guard = guard_of("!pay.end", tools=tools, failed=failed, on_violation=stop)
    with pytest.raises(LookupError, match="other"):
        guard.run([ToolCall("pay", {}, "c1"), ToolCall("other", {"no": {"JSON"}}, "c2")])
    assert (tools.ran, guard.out(), guard.status) == ([], [], "running")


@pytest.mark.parametrize("failed", ["release", "keep"])
def test_a_batch_that_is_withdrawn_leaves_nothing_behind(guard_of, failed):
    guard = guard_of("!a.!b.end", failed=failed, on_violation="raise")
    with pytest.raises(ProtocolViolationError):
        guard.reserve([ToolCall("a", {}, "a"), ToolCall("b", {}, "b"), ToolCall("nope", {}, "c")])
    assert guard.out() == []
    assert guard.allowed() == ["!a"]


def test_a_kept_call_on_which_others_rest_is_not_taken_back(shared_of):
    """It was let happen that `b` follows, because `a` counts whatever becomes of it."""
    careful, other = shared_of("!a.!b.end", failed="keep"), shared_of("!a.!b.end")
    careful.reserve([ToolCall("a", {}, "a")])
    (b,) = other.reserve([ToolCall("b", {}, "b")])
    assert b.admitted
    other.fail("a", "it was made by somebody who keeps it")
    assert other.settle("b") == Ok()
    assert other.status == "complete"


def test_a_tool_may_change_its_arguments(guard_of):
    """What was judged is what counts: here, what the register holds."""

    def quote(order):
        order["total"] = 1_000_000

    tools = {"quote": quote, "pay": lambda amount: amount}
    guard = guard_of("!quote(order.total as t).!pay(amount <= t).end", tools=tools)
    quoted, paid = guard.run(
        [ToolCall("quote", {"order": {"total": 10}}, "q"), ToolCall("pay", {"amount": 1_000}, "p")]
    )
    assert quoted.ok and not paid.ok
    assert guard.run([ToolCall("pay", {"amount": 10}, "p")])[0].ok


def test_a_call_can_be_settled_by_whoever_knows(shared_of):
    dead, alive = shared_of("!pay.!log.end"), shared_of("!pay.!log.end")
    dead.reserve([ToolCall("pay", {}, "c1")])
    assert dead.start("c1")
    assert [(out.ticket, out.started) for out in alive.out()] == [("c1", True)]
    assert alive.keep("c1", "the worker has died") == Ok()
    assert alive.reserve([ToolCall("log")])[0].admitted
