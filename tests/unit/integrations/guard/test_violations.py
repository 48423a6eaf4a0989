"""What an illegal call does: it is blocked, raises, is only observed, or is told to a function."""

from __future__ import annotations

import pytest

from accord import Guard, Ok, ProtocolViolationError, ToolCall, UsageError

CALLS = [ToolCall("a", {}, "c1"), ToolCall("nope", {}, "c2")]


def test_a_blocked_call_does_not_run_and_the_others_do(guard_of, tools_named):
    tools = tools_named("a", "nope")
    fine, refused = guard_of("!a.end", tools=tools).run(CALLS)
    assert fine.ok and not refused.ok
    assert refused.content.startswith("error: `nope` is not allowed")
    assert tools.ran == ["a"]


def test_if_a_violation_raises_nothing_of_its_batch_runs(guard_of, tools_named):
    tools = tools_named("a", "nope")
    guard = guard_of("(!a.end | !b.end)", tools=tools, on_violation="raise")
    with pytest.raises(ProtocolViolationError, match="there is no tool `unknown`") as caught:
        guard.run([CALLS[0], ToolCall("unknown", {}, "c2")])
    assert [r.tool_call_id for r in caught.value.results] == ["c1", "c2"]
    assert "another call of its batch was refused" in caught.value.results[0].error
    assert (tools.ran, guard.out()) == ([], [])
    assert guard.run(CALLS[:1])[0].ok


def test_what_has_run_before_a_violation_raises_is_told(guard_of):
    guard = guard_of("!a.!b.end", tools={"a": lambda: "done", "nope": lambda: None}, on_violation="raise")
    with pytest.raises(ProtocolViolationError) as caught:
        guard.run(CALLS)
    assert [r.result for r in caught.value.results] == ["done", None]
    assert caught.value.verdict.got == "!nope"


def test_a_result_that_is_refused_raises_and_the_others_are_told(guard_of, tools_named):
    tools = tools_named("a", "c")
    tools["b"] = lambda: {"n": 2}
    guard = guard_of("(!a.end | !b.?b(n == 1).end | !c.end)", tools=tools, on_violation="raise")
    with pytest.raises(ProtocolViolationError) as caught:
        guard.run([ToolCall(name, {}, name) for name in "abc"])
    a, b, c = caught.value.results
    assert a.ok
    assert (b.withheld, caught.value.response) == ({"n": 2}, {"n": 2})
    assert "was not run" in c.error
    assert (tools.ran, guard.out()) == (["a"], [])


def test_what_is_only_observed_runs_and_is_told(guard_of, tools_named):
    tools = tools_named("a", "nope")
    results = guard_of("!a.end", tools=tools, on_violation="observe").run(CALLS)
    assert all(r.ok for r in results)
    assert (results[0].verdict, results[1].verdict.got) == (None, "!nope")
    assert tools.ran == ["a", "nope"]


def test_an_observed_call_leaves_the_session_where_it_was(guard_of, tools_named):
    guard = guard_of("!a.end", tools=tools_named("a", "nope"), on_violation="observe")
    guard.run(CALLS[1:])
    assert guard.allowed() == ["!a"]
    assert guard.stopped is None


def test_observing_asks_nobody_and_stops_nothing(guard_of, tools_named):
    tools = tools_named("pay")
    guard = guard_of("rec L.?Approval by human.!pay.L", tools=tools, on_violation="observe", patience=2)
    assert [guard.run([ToolCall("pay")])[0].ok for _ in range(3)] == [True] * 3
    for _ in range(3):
        assert not guard.run([ToolCall("unknown")])[0].ok
    assert (guard.reviews(), guard.stopped, tools.ran) == ([], None, ["pay"] * 3)


def test_observed_results_are_passed_on(guard_of):
    guard = guard_of("!a.?a(n == 1).end", tools={"a": lambda: {"n": 2}}, on_violation="observe")
    assert guard.run([ToolCall("a", {}, "c1")])[0].result == {"n": 2}


def test_a_function_is_told_and_the_call_does_not_run(guard_of, tools_named):
    told = []
    tools = tools_named("a", "nope")
    guard = guard_of("!a.end", tools=tools, on_violation=lambda decision: told.append(decision) or True)
    assert [r.ok for r in guard.run(CALLS)] == [True, False]
    assert [(d.call.name, d.status) for d in told] == [("nope", "refused")]
    assert tools.ran == ["a"]


def test_a_function_that_raises_takes_its_batch_back(guard_of, tools_named):
    def stop(decision):
        raise LookupError(decision.call.name)

    tools = tools_named("a", "nope")
    guard = guard_of("!a.end", tools=tools, on_violation=stop)
    with pytest.raises(LookupError, match="unknown"):
        guard.run([CALLS[0], ToolCall("unknown", {}, "c2")])
    assert (tools.ran, guard.out()) == ([], [])


def test_a_function_that_raises_about_a_result_is_heard(guard_of):
    def stop(decision):
        raise LookupError(decision.message)

    guard = guard_of("!a.?a(n == 1).end", tools={"a": lambda: {"n": 2}}, on_violation=stop)
    with pytest.raises(LookupError, match="is withheld"):
        guard.run([ToolCall("a", {}, "c1")])
    assert (guard.out(), guard.allowed()) == ([], ["?a(n == 1)"])


def test_unknown_tools_and_bad_arguments_have_an_answer(guard_of, tools_named):
    tools = tools_named("a")
    guard = guard_of("rec L.!a.L", tools={**tools, "b": lambda x: x}, patience=99)
    answers = guard.run(
        [
            ToolCall("A", {}, "1"),
            ToolCall("", {}, "2"),
            ToolCall(None, {}, "3"),
            ToolCall("a", "text", "4"),
            ToolCall("a", {1: 2}, "5"),
            ToolCall("b", {}, "6"),
            ToolCall("b", {"x": 1, "y": 2}, "7"),
            ToolCall("a\ud800", {}, "8"),
            ToolCall("a", {}, "9"),
        ]
    )
    assert [r.ok for r in answers] == [False] * 8 + [True]
    assert [r.error.split(";")[0] for r in answers[:7]] == [
        "there is no tool `A`",
        "a tool is called by its name, and there is none",
        "a tool is called by its name, and there is none",
        "the arguments of `a` must be a JSON object",
        "the arguments of `a` must be a JSON object",
        "`b` cannot be called like this: the argument `x` is missing",
        "`b` cannot be called like this: there is no argument `y`",
    ]
    assert tools.ran == ["a"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on_violation": "ignore"}, "`on_violation` is"),
        ({"patience": 0}, "`patience` is"),
        ({"patience": True}, "`patience` is"),
        ({"escalate": "shout"}, "`escalate` is"),
        ({"review_lasts": -1}, "`review_lasts` is"),
        ({"expires_after": 60}, "`expires_after` is for a session in a store"),
        ({"key": "s1"}, "has a `key`, and only such a one"),
        ({"store": "sessions.db", "key": "s1"}, "is kept in a `Store`"),
        ({"labels": {"a": 3}}, "`labels` gives each name"),
        ({"labels": {"a": ""}}, "`labels` gives each name"),
        ({"tools": {"a": 3}}, "a tool is a function"),
        ({"tools": {"a": lambda x, /: x}}, "cannot be given by name"),
        ({"tools": {"a": lambda *x: x}}, "cannot be given by name"),
        ({"clock": lambda: float("nan")}, "a finite number"),
    ],
)
def test_a_guard_that_cannot_be_meant_is_not_made(options, said):
    with pytest.raises(UsageError, match=said):
        Guard("!a.end", **options)


def test_messages_that_are_no_calls_are_judged_too(guard_of):
    guard = guard_of("!Hello.?Name(text != null).end")
    assert guard.receive("Name", {"text": "ana"}) != Ok()
    assert guard.send("Hello") == Ok()
    assert guard.receive("Name", {"text": "ana"}) == Ok()
    with pytest.raises(UsageError):
        guard.send("")
    with pytest.raises(UsageError):
        guard.send("Hello", {"x": float("nan")})


def test_a_session_is_closed_when_nothing_is_out(guard_of):
    guard = guard_of("!a.end")
    (a,) = guard.reserve([ToolCall("a", {}, "c1")])
    assert "calls are out: `a`" in guard.close().reason
    guard.settle(a.ticket)
    assert guard.close() == Ok()
    assert not guard.reserve([ToolCall("a", {}, "c2")])[0].admitted
