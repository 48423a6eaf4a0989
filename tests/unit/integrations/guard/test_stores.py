"""A guard in a store: the same session for all workers, tomorrow too, with a ledger that replays."""

from __future__ import annotations

import json

import pytest

from accord import Guard, MemoryStore, SQLiteStore, StoredSession, ToolCall, UsageError
from accord.calls.entries import Out
from accord.integrations.guard import codec
from accord.integrations.guard.reading import guard_object, guarded_session
from accord.integrations.guard.state import EMPTY_DESK
from accord.testing import Fault, FaultyStore


def entries(store, key="s1"):
    return [json.loads(line)["entry"] for line in store.ledger(key)]


def test_a_session_goes_on_where_it_was(tmp_path, tools_named):
    tools = tools_named("a", "b")
    with SQLiteStore(tmp_path / "s.db") as store:
        Guard("!a.!b.end", store=store, key="s1", tools=tools).run([ToolCall("a", {}, "c1")])
    with SQLiteStore(tmp_path / "s.db") as store:
        guard = Guard("!a.!b.end", store=store, key="s1", tools=tools)
        assert [r.ok for r in guard.run([ToolCall("a", {}, "c2"), ToolCall("b", {}, "c3")])] == [False, True]
        assert store.verify("s1").ok
    assert tools.ran == ["a", "b"]


def test_everything_about_a_session_is_shared(shared_of):
    first, second = (shared_of("(!a.end | ?Ok by human.!b.end)", patience=3) for _ in range(2))
    first.reserve([ToolCall("a", {}, "c1"), ToolCall("b", {"x": [1, {"y": None}]}, "c2")])
    assert second.out() == first.out()
    assert second.reviews() == first.reviews() != []
    for guard in (first, second, first):
        guard.reserve([ToolCall("nope")])
    assert second.stopped == first.stopped == "`nope` was refused 3 times"
    second.resume(by="ana", reason="fine")
    assert first.stopped is None


def test_what_somebody_remembers_of_a_session_is_no_reason_to_say_no(shared_of):
    """Another worker has gone on meanwhile: what was asked, stopped or prolonged since then is there."""
    now = [0]
    options = {"patience": 2, "clock": lambda: now[0], "expires_after": 10}
    first, second = (shared_of("?Ok by human.!a.end", **options) for _ in range(2))
    second.send("x")
    (decision,) = first.reserve([ToolCall("a", {}, "c1")])
    assert second.decide(decision.review.id, "allow", by="ana").state == "allowed"
    for _ in range(2):
        first.reserve([ToolCall("nope")])
    second.resume(by="ana", reason="fine")
    now[0] = 9
    first.send("x")
    now[0] = 15
    assert second.reserve([ToolCall("a", {}, "c1")])[0].admitted


def test_the_ledger_tells_what_happened():
    store = MemoryStore()

    def a():
        raise ValueError("busy")

    guard = Guard("!a.?a.!b.end", store=store, key="s1", tools={"a": a, "b": lambda x: x}, clock=lambda: 5)
    guard.run([ToolCall("a", {}, "c1")])
    guard.register("a", lambda: {"n": 1})
    guard.run([ToolCall("a", {}, "c1"), ToolCall("nope", {}, "c2"), ToolCall("b", {"x": 1}, "c3")])
    told = [(e.get("event") or e.get("what"), e.get("verdict")) for e in entries(store)[1:]]
    assert told == [
        ("!a", "ok"),
        ("call failed", None),
        ("!a", "ok"),
        ("no call", None),
        ("?a", "ok"),
        ("!b", "ok"),
        ("call returned", None),
    ]
    assert store.verify("s1").ok


def test_the_end_of_a_call_that_was_lost_is_in_the_ledger_where_it_is_told():
    store = MemoryStore()
    guard = Guard("protocol P = !a.?a(n == 1).end tools { a fails unknown }", store=store, key="s1")
    (decision,) = guard.reserve([ToolCall("a", {}, "c1")])
    guard.fail(decision.ticket, TimeoutError())
    guard.settle(decision.ticket, {"n": 1})
    last = entries(store)[-1]
    assert (last["event"], last["payload"]["n"], last["meta"]) == ("?a", 1, {"call": "c1"})
    assert guard.status == "complete"


def test_what_a_record_leaves_out_is_as_in_a_session_that_has_just_begun():
    assert codec.read_beside(b"{}") == ((), EMPTY_DESK)
    called = {"ticket": "c1", "name": "a", "digest": "d", "events": [], "arguments": {"n": 1}, "started": True}
    (out,), _ = codec.read_beside(json.dumps({"log": [called]}).encode())
    assert out == Out("c1", "a", {"n": 1}, "d", (), started=True)


def test_what_programs_are_told_of_a_session_is_a_copy():
    store = MemoryStore()
    guard = Guard("(!a.end | ?Ok by human.!b.end)", store=store, key="s1")
    guard.reserve([ToolCall("a", {"n": 1}, "c1"), ToolCall("b", {"n": 2}, "c2")])
    session = guarded_session(store, "s1")
    told = guard_object(session, 0)
    for each in (*told["out"], *told["reviews"]):
        each["payload"]["n"] = 3
    again = guard_object(session, 0)
    assert [each["payload"] for each in (*again["out"], *again["reviews"])] == [{"n": 1}, {"n": 2}]


def test_a_store_that_does_not_look_is_not_believed(tools_named):
    class Lazy(MemoryStore):
        def exchange(self, key, guess, judge):
            """Nothing."""

    tools = tools_named("a")
    guard = Guard("!a.end", store=Lazy(), key="s1", tools=tools)
    assert "the store has not looked at the session" in guard.run([ToolCall("a")])[0].error
    assert "the store has not looked at the session" in guard.send("a").reason
    assert (tools.ran, guard.allowed()) == ([], ["!a"])


def test_every_refusal_is_in_the_ledger():
    store = MemoryStore()
    guard = Guard("!a.end", store=store, key="s1", tools={"a": lambda: 1}, patience=99)
    calls = [ToolCall("a", {}, "c1"), ToolCall("a", {}, "c2"), ToolCall("b", {}, "c3"), ToolCall("a", "x", "c4")]
    guard.run(calls)
    guard.run(calls[:1])
    assert len(entries(store)) == 1 + len(calls) + 1 + 1  # the beginning, the calls, the return, and once more


def test_a_session_belongs_to_its_contract_and_to_guards():
    store = MemoryStore()
    Guard("!a.end", store=store, key="s1").reserve([ToolCall("a")])
    with pytest.raises(UsageError, match="belongs to another contract"):
        Guard("!b.end", store=store, key="s1").reserve([ToolCall("b")])
    with pytest.raises(UsageError, match="is under a guard"):
        StoredSession(store, "!a.end", "s1").allowed()
    StoredSession(store, "!a.end", "s2").send("a")
    with pytest.raises(UsageError, match="not by a guard"):
        Guard("!a.end", store=store, key="s2").reserve([ToolCall("a")])


def test_a_session_expires(tools_named):
    now = [0]
    tools = tools_named("a")
    guard = Guard("rec L.!a.L", store=MemoryStore(), key="s1", tools=tools, expires_after=10, clock=lambda: now[0])
    assert guard.run([ToolCall("a")])[0].ok
    now[0] = 9
    assert guard.run([ToolCall("a")])[0].ok
    now[0] = 19
    (result,) = guard.run([ToolCall("a")])
    assert not result.ok and "has expired" in result.error
    assert tools.ran == ["a", "a"]


def test_a_failure_that_cannot_be_kept_is_told():
    def a():
        raise ValueError("busy")

    store = FaultyStore(MemoryStore(), [Fault.NONE, Fault.UNREACHABLE])
    guard = Guard("!a.end", store=store, key="s1", tools={"a": a})
    (result,) = guard.run([ToolCall("a", {}, "c1")])
    assert result.error.startswith("ValueError: busy (and that could not be kept: the session cannot be kept")
    assert [out.ticket for out in guard.out()] == ["c1"]


def test_a_return_that_cannot_be_kept_is_told_and_nothing_is_lost():
    store = FaultyStore(MemoryStore(), [Fault.NONE, Fault.FULL])
    guard = Guard("!a.end", store=store, key="s1", tools={"a": lambda: "done"})
    (result,) = guard.run([ToolCall("a", {}, "c1")])
    assert "the tool has run, but that could not be kept" in result.error
    assert result.withheld == "done"
    assert guard.out()[0].started
    assert not guard.run([ToolCall("a", {}, "c1")])[0].ok


def test_what_is_kept_does_not_grow_with_the_history():
    store = MemoryStore()
    guard = Guard("rec L.!a.?a.L", store=store, key="s1", tools={"a": lambda: "x" * 100})
    sizes = []
    for number in range(200):
        guard.run([ToolCall("a", {}, f"call {number:06}")])
        sizes.append(len(store.row("s1").sealed))
    assert max(sizes[100:]) <= max(sizes[:100]) + 50


def test_a_corrupted_session_runs_nothing(tools_named):
    store = MemoryStore()
    tools = tools_named("a")
    Guard("rec L.!a.L", store=store, key="s1", tools=tools).run([ToolCall("a")])
    row, lines, count = store._sessions["s1"]
    store._sessions["s1"] = row._replace(sealed=row.sealed.replace(b'"now"', b'"not"')), lines, count
    results = Guard("rec L.!a.L", store=store, key="s1", tools=tools).run([ToolCall("a")])
    assert not results[0].ok and "is corrupted" in results[0].error
    assert tools.ran == ["a"]
