"""What a failure means stands in the contract; what never began has not happened."""

from __future__ import annotations

import asyncio

import pytest

from accord import Guard, MemoryStore, NotDone, Ok, ProtocolViolationError, ToolCall, UsageError
from accord.testing import Fault, FaultyStore


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


def test_a_failed_call_that_has_happened_counts_and_its_result_carries_the_error(guard_of):
    contract = "protocol P = !pay.?pay(error != null).end tools { pay fails done }"
    guard = guard_of(contract, tools={"pay": raises(ValueError("busy"))})
    assert guard.run([ToolCall("pay", {}, "c1")])[0].error == "ValueError: busy"
    assert guard.status == "complete"
    assert "the protocol is over" in guard.run([ToolCall("pay", {}, "c1")])[0].error  # a new attempt, and too late


class TestNobodyKnows:
    """`fails unknown`: both may be so, until somebody says which."""

    LOOP = "protocol P = rec L.{!pay.?pay.L, !look.?look.L, !bye.end} tools { pay fails unknown }"

    def test_what_is_legal_either_way_runs(self, guard_of):
        guard = guard_of(self.LOOP, tools={"pay": raises(ValueError("busy")), "look": lambda: 1}, events=["bye"])
        assert guard.run([ToolCall("pay", {}, "c1")])[0].error == "ValueError: busy"
        assert [(out.ticket, out.lost) for out in guard.out()] == [("c1", "ValueError: busy")]
        assert guard.run([ToolCall("look", {}, "c2")])[0].ok
        guard.register("pay", lambda: "paid")
        assert guard.run([ToolCall("pay", {}, "c1")])[0].ok  # the same id after an error is a new attempt

    def test_a_call_that_is_tried_again_leaves_a_ticket_that_no_other_has(self, guard_of):
        guard = guard_of(self.LOOP, tools={"pay": raises(ValueError("busy"))}, events=["look", "bye"])
        for ticket in ("c1#1", "c1", "c1"):
            guard.run([ToolCall("pay", {}, ticket)])
        assert len({out.ticket for out in guard.out()}) == 3

    @pytest.mark.parametrize("error", [TimeoutError("the bank did not answer"), "the bank did not answer"])
    def test_a_failure_that_is_told_twice_takes_nothing_back(self, guard_of, error):
        guard = guard_of('rule "g" { before each pay require Approval by human }', tools={"pay": lambda amount: amount})
        pay = ToolCall("pay", {"amount": 500}, "c1")
        guard.reserve([pay])
        guard.decide(guard.reviews()[0].id, "allow", by="ana")
        guard.reserve([pay])
        assert guard.start("c1")
        for _ in range(2):
            assert guard.fail("c1", error) == Ok()
        assert [out.ticket for out in guard.out()] == ["c1"]
        (again,) = guard.reserve([ToolCall("pay", {"amount": 500}, "c2")])
        assert again.status == "review", "the approval of the first is used up"
        assert guard.fail("c1", NotDone("the bank says no")) == Ok()
        assert guard.out() == []

    def test_it_counts_against_limits_and_satisfies_nothing(self, guard_of):
        contract = 'rule "once" { at most 1 pay } rule "first" { before ship require pay }'
        guard = guard_of(contract, tools={"pay": raises(ValueError("busy")), "ship": lambda: 1})
        guard.run([ToolCall("pay", {}, "c1")])
        again, ship = guard.run([ToolCall("pay", {}, "c2"), ToolCall("ship", {}, "c3")])
        assert "nobody knows whether an earlier call has happened: `pay` (call `c1`" in again.error
        assert "`pay` (call `c1`" in ship.error

    @pytest.mark.parametrize(
        ("resolve", "paid", "shipped"),
        [
            (lambda guard: guard.fail("c1", "the bank says no"), True, False),
            (lambda guard: guard.settle("c1", "paid"), False, True),
            (lambda guard: guard.keep("c1", "the bank says yes"), False, True),
        ],
    )
    def test_somebody_who_knows_says_which(self, guard_of, resolve, paid, shipped):
        contract = 'rule "once" { at most 1 pay } rule "first" { before ship require pay }'
        guard = guard_of(contract, tools={"pay": raises(ValueError("busy")), "ship": lambda: 1})
        guard.run([ToolCall("pay", {}, "c1")])
        assert resolve(guard) == Ok()
        assert guard.out() == []
        guard.register("pay", lambda: "paid")
        assert guard.run([ToolCall("ship", {}, "c3")])[0].ok is shipped
        assert guard.run([ToolCall("pay", {}, "c2")])[0].ok is paid

    def test_the_session_is_not_complete_while_something_may_be_owed(self, guard_of):
        contract = 'rule "said" { after pay require note } tools { pay fails unknown }'
        guard = guard_of(contract, tools={"pay": raises(ValueError("busy"))}, events=["note"])
        assert guard.status == "complete"
        guard.run([ToolCall("pay", {}, "c1")])
        assert guard.status == "running"
        assert not isinstance(guard.close(), Ok)

    def test_where_people_are_asked_one_is_asked_what_became_of_it(self, guard_of):
        contract = "protocol P = rec L.?Approval by human.!pay.?pay.L"
        guard = guard_of(contract, tools={"pay": raises(ValueError("busy"))})
        guard.run([ToolCall("pay", {}, "c1")])
        (asked,) = guard.reviews()
        guard.decide(asked.id, "allow", by="ana")
        guard.run([ToolCall("pay", {}, "c1")])
        (what,) = guard.reviews()
        assert (what.call, what.gate, what.name) == ("c1", None, "pay")
        assert guard.review(asked.id).state == "used"  # the approval stays used up
        with pytest.raises(UsageError, match="has happened: `done` or `undone`, got `allow`"):
            guard.decide(what.id, "allow", by="ana")
        assert guard.decide(what.id, "undone", by="ana", reason="not in the books").state == "used"
        assert guard.out() == []
        assert guard.allowed() == ["?Approval by human"]

    def test_what_has_happened_by_the_word_of_a_person_counts(self, guard_of):
        contract = 'rule "r" { before pay require Approval by human } rule "once" { at most 1 pay }'
        guard = guard_of(contract, tools={"pay": raises(ValueError("busy"))})
        guard.run([ToolCall("pay", {}, "c1")])
        guard.decide(guard.reviews()[0].id, "allow", by="ana")
        guard.run([ToolCall("pay", {}, "c1")])
        guard.decide(guard.reviews()[0].id, "done", by="ana")
        assert guard.out() == []
        assert "it has happened once" in guard.run([ToolCall("pay", {}, "c2")])[0].error


def test_a_tool_may_say_that_it_has_done_nothing(guard_of):
    contract = "protocol P = !pay.end tools { pay fails done }"
    guard = guard_of(contract, tools={"pay": raises(NotDone("no connection"))})
    assert guard.run([ToolCall("pay", {}, "c1")])[0].error == "NotDone: no connection"
    assert (guard.out(), guard.status) == ([], "running")


class UnspeakableError(Exception):
    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize("way", ["run", "arun", "function"])
def test_what_breaks_once_while_a_return_is_kept_is_raised_and_the_call_counts(way):
    store = FaultyStore(MemoryStore(), [Fault.NONE, Fault.BUG])
    guard = Guard("!pay.end", store=store, key="s1")
    function = guard.tool(name="pay")(lambda: "paid")
    ways = {
        "run": lambda: guard.run([ToolCall("pay")]),
        "arun": lambda: asyncio.run(guard.arun([ToolCall("pay")])),
        "function": function,
    }
    with pytest.raises(ZeroDivisionError, match="a bug in the store"):
        ways[way]()
    assert (store.met[Fault.BUG], guard.status, guard.out()) == (1, "complete", [])


def test_an_error_that_cannot_be_said_is_an_error(guard_of):
    guard = guard_of("!pay.end", tools={"pay": raises(UnspeakableError())})
    assert guard.run([ToolCall("pay", {}, "c1")])[0].error == "UnspeakableError"
    assert guard.out() == []


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt(), SystemExit(1), GeneratorExit()])
@pytest.mark.parametrize(("fails", "again"), [("undone", True), ("done", False), ("unknown", False)])
def test_what_was_interrupted_has_failed_and_what_never_began_does_not_count(
    guard_of, tools_named, interrupt, fails, again
):
    tools = tools_named("a", "c")
    tools["b"] = raises(interrupt)
    guard = guard_of(f"protocol P = (!a.end | !b.end | !c.end) tools {{ otherwise fails {fails} }}", tools=tools)
    with pytest.raises(type(interrupt)):
        guard.run([ToolCall(name, {}, name) for name in "abc"])
    assert tools.ran == ["a"]
    assert [out.name for out in guard.out()] == (["b"] if fails == "unknown" else [])
    assert [d.admitted for d in guard.reserve([ToolCall(name) for name in "abc"])] == [False, again, True]


def pay():
    raise KeyboardInterrupt


async def apay():
    raise KeyboardInterrupt


def pays():
    yield 1
    raise KeyboardInterrupt


async def apays():
    yield 1
    raise KeyboardInterrupt


async def _all(values):
    return [each async for each in values]


INTERRUPTED = {
    "a batch": (pay, lambda guard, _: guard.run([ToolCall("pay")])),
    "a batch in an event loop": (apay, lambda guard, _: asyncio.run(guard.arun([ToolCall("pay")]))),
    "a function": (pay, lambda _, function: function()),
    "a coroutine function": (apay, lambda _, function: asyncio.run(function())),
    "a generator": (pays, lambda _, function: list(function())),
    "an asynchronous generator": (apays, lambda _, function: asyncio.run(_all(function()))),
}


@pytest.mark.parametrize("way", INTERRUPTED)
def test_what_had_begun_is_lost_however_often_we_are_interrupted(way):
    """When the tool is interrupted, and twice when that is being told."""
    tool, run = INTERRUPTED[way]
    store = FaultyStore(MemoryStore(), [Fault.NONE, Fault.INTERRUPT, Fault.INTERRUPT])
    guard = Guard("protocol P = !pay.!ship.end tools { pay fails unknown }", store=store, key="s1", events=["ship"])
    function = guard.tool(name="pay")(tool)
    with pytest.raises(KeyboardInterrupt):
        run(guard, function)
    assert store.met[Fault.INTERRUPT] == 2
    assert [out.lost for out in guard.out()] == ["it was interrupted"]


@pytest.mark.parametrize("fails", ["undone", "done", "unknown"])
def test_what_another_call_keeps_from_running_does_not_count(guard_of, tools_named, fails):
    def stop(decision):
        raise LookupError(decision.call.name)

    tools = tools_named("pay", "other")
    guard = guard_of(f"protocol P = !pay.end tools {{ pay fails {fails} }}", tools=tools, on_violation=stop)
    with pytest.raises(LookupError, match="other"):
        guard.run([ToolCall("pay", {}, "c1"), ToolCall("other", {"no": {"JSON"}}, "c2")])
    assert (tools.ran, guard.out(), guard.status) == ([], [], "running")


@pytest.mark.parametrize("fails", ["undone", "done", "unknown"])
def test_a_batch_that_is_withdrawn_leaves_nothing_behind(guard_of, fails):
    guard = guard_of(f"protocol P = !a.!b.end tools {{ otherwise fails {fails} }}", on_violation="raise")
    with pytest.raises(ProtocolViolationError):
        guard.reserve([ToolCall("a", {}, "a"), ToolCall("b", {}, "b"), ToolCall("nope", {}, "c")])
    assert guard.out() == []
    assert guard.allowed() == ["!a"]


def test_a_call_that_counts_in_any_case_and_on_which_others_rest_is_not_taken_back(shared_of):
    """It was let happen that `b` follows, because `a` counts whatever becomes of it."""
    contract = "protocol P = !a.!b.end tools { a fails done }"
    one, other = shared_of(contract), shared_of(contract)
    one.reserve([ToolCall("a", {}, "a")])
    (b,) = other.reserve([ToolCall("b", {}, "b")])
    assert b.admitted
    other.fail("a", NotDone("it was never begun"))
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


def test_a_session_is_complete_where_nothing_is_owed_whatever_became_of_a_lost_call():
    contract = (
        'tools { otherwise fails unknown }\nrule "r" { forbid pay then search }\n'
        "protocol P = each k: rec L.{!search.?search.L, end}"
    )
    guard = Guard(contract, tools=dict.fromkeys(("search", "pay"), lambda **_: None))
    calls = [ToolCall("search", {"k": 2}, "b"), ToolCall("search", {"k": 1}, "a")]
    assert all(decision.admitted for decision in guard.reserve(calls))
    for ticket in "ab":
        guard.start(ticket)
    guard.settle("b", {})
    guard.fail("a", "too slow")
    assert (guard.status, guard.close()) == ("complete", Ok())
