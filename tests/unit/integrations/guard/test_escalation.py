"""The same call refused over and over is noticed, and then nothing runs until a person has looked at it."""

from __future__ import annotations

import pytest

from accord import Guard, MemoryStore, ToolCall, UsageError
from accord.integrations.guard.reading import guarded_session

NOPE = [ToolCall("nope")]


def refuse(guard, times, calls=NOPE):
    return [guard.run(calls)[0].error for _ in range(times)]


def test_after_so_many_refusals_the_session_is_stopped(guard_of, tools_named):
    tools = tools_named("a", "nope")
    guard = guard_of("!a.end", tools=tools, patience=3)
    said = refuse(guard, 3)
    assert "No tool runs any more" not in said[1]
    assert "has now been refused 3 times" in said[2] and "No tool runs any more" in said[2]
    assert guard.stopped == "`nope` was refused 3 times"
    assert not guard.run([ToolCall("a")])[0].ok
    assert (tools.ran, guard.visible(), guard.allowed()) == ([], [], [])
    assert "No tool runs any more" in guard.explain()


def test_a_person_lets_a_stopped_session_go_on(guard_of, tools_named):
    guard = guard_of("!a.end", tools=tools_named("a", "nope"), patience=2)
    with pytest.raises(UsageError, match="is not stopped"):
        guard.resume(by="ana", reason="?")
    refuse(guard, 2)
    for by in ("", None, 7):
        with pytest.raises(UsageError, match="`by` names the person"):
            guard.resume(by=by, reason="fine")
    guard.resume(by="ana", reason="it was the prompt")
    assert guard.stopped is None
    assert "refused" not in guard.run(NOPE)[0].error.split("Allowed")[0]
    assert guard.run([ToolCall("a")])[0].ok


def test_patience_is_for_each_label_and_begins_anew_when_it_is_accepted(guard_of, tools_named):
    tools = tools_named("a", "b", "nope")
    guard = guard_of("rec L.!a.!b.L", tools=tools, patience=3)
    for _ in range(4):  # never three times in a row
        refuse(guard, 1, [ToolCall("b")])
        guard.run([ToolCall("a"), ToolCall("b")])
    refuse(guard, 2)
    refuse(guard, 2, [ToolCall("b")])
    assert guard.stopped is None


def test_a_person_is_asked_instead(guard_of, tools_named):
    tools = tools_named("a", "nope")
    guard = guard_of("!a.end", tools=tools, patience=2, escalate="review")
    refuse(guard, 2, [ToolCall("nope", {"n": 1})])
    (review,) = guard.reviews()
    assert (review.gate, review.name, review.payload) == (None, "nope", {"n": 1})
    (waiting,) = guard.run([ToolCall("a")])
    assert "No tool runs until that person has answered" in waiting.error
    assert (guard.visible(), guard.allowed()) == ([], [])
    with pytest.raises(UsageError, match="nothing to modify"):
        guard.decide(review.id, "modify", by="ana", payload={})
    guard.decide(review.id, "allow", by="ana")
    assert guard.run([ToolCall("a")])[0].ok


def test_a_person_is_asked_once_also_when_a_deadline_passes_meanwhile():
    times = iter([0, 0, 0, 0, *[10] * 20])
    contract = 'rule "soon" { within 5s after a require b } rule "not" { at most 0 nope }'
    guard = Guard(contract, clock=lambda: next(times), patience=2, escalate="review")
    guard.reserve([ToolCall("a")])
    guard.reserve([ToolCall("nope"), ToolCall("nope")])
    assert len(guard.reviews()) == 1
    late = guard.reserve([ToolCall("nope"), ToolCall("nope")])
    assert "is overdue" in late[0].message
    assert [review.name for review in guard.reviews()] == ["nope"]


def test_a_person_may_end_it(guard_of, tools_named):
    guard = guard_of("!a.end", tools=tools_named("a", "nope"), patience=2, escalate="review")
    refuse(guard, 2)
    guard.decide(guard.reviews()[0].id, "deny", by="ana", reason="it loops")
    assert "ana has decided that the agent must not go on (`it loops`)" in guard.stopped
    assert not guard.run([ToolCall("a")])[0].ok


def test_the_question_whether_to_go_on_does_not_answer_itself_by_waiting(guard_of, tools_named):
    now = [0]
    guard = guard_of(
        "!a.end", tools=tools_named("a"), patience=2, escalate="review", review_lasts=10, clock=lambda: now[0]
    )
    refuse(guard, 2)
    now[0] = 1000
    assert not guard.run([ToolCall("a")])[0].ok
    guard.decide(guard.reviews()[0].id, "allow", by="ana")
    assert guard.run([ToolCall("a")])[0].ok


@pytest.mark.parametrize("bad", [None, [], "", "\ud800", "x" * 10_000, 7])
@pytest.mark.parametrize("escalate", ["stop", "review"])
def test_calls_without_a_usable_name_are_counted_too(guard_of, bad, escalate):
    guard = guard_of("!a.end", tools={"a": lambda: None}, patience=3, escalate=escalate)
    said = refuse(guard, 3, [ToolCall(bad)])
    assert not any("accord failed" in each for each in said)
    assert guard.stopped if escalate == "stop" else guard.reviews()


def test_arguments_that_nobody_can_be_shown_are_left_out_of_the_question():
    guard = Guard("!a.end", tools={"nope": lambda x: x}, events=["a"], patience=2, escalate="review")
    refuse(guard, 2, [ToolCall("nope", {"x": object()})])
    assert guard.reviews()[0].payload == {}


def test_denied_calls_are_counted_wherever_the_session_lives(guard_of, tools_named):
    guard = guard_of("?Approval by human.!pay.end", tools=tools_named("pay"), patience=3)
    guard.run([ToolCall("pay")])
    guard.decide(guard.reviews()[0].id, "deny", by="ana")
    refuse(guard, 3, [ToolCall("pay")])
    assert guard.stopped == "`pay` was refused 3 times"


def test_being_asked_to_wait_for_a_person_is_no_refusal(guard_of, tools_named):
    guard = guard_of("?Approval by human.!pay.end", tools=tools_named("pay"), patience=2)
    refuse(guard, 5, [ToolCall("pay")])
    assert (guard.stopped, len(guard.reviews())) == (None, 1)


@pytest.mark.parametrize("contract", ["{!a.end, end}", "!a.end", 'rule "never" { at most 0 nope }'])
def test_a_stopped_session_is_neither_complete_nor_running(guard_of, tools_named, contract):
    """Also where the contract would let it end."""
    guard = guard_of(contract, tools=tools_named("a", "nope"), patience=2)
    before = guard.status
    refuse(guard, 2)
    assert guard.status == "stopped"
    guard.resume(by="ana", reason="it was the prompt")
    assert guard.status == before


def test_a_session_that_a_person_has_stopped(guard_of, tools_named):
    guard = guard_of("{!a.end, end}", tools=tools_named("a", "nope"), patience=2, escalate="review")
    refuse(guard, 2)
    assert guard.status == "complete"  # it waits for an answer, and could end
    guard.decide(guard.reviews()[0].id, "deny", by="ana")
    assert guard.status == "stopped"


def test_what_is_over_for_good_keeps_its_word(guard_of, tools_named):
    guard = guard_of("!a.end", tools=tools_named("a", "nope"), patience=2)
    refuse(guard, 2)
    guard.close()
    assert guard.status == "incomplete"


def test_the_store_knows_that_a_session_is_stopped(tools_named):
    store = MemoryStore()
    guard = Guard("{!a.end, end}", store=store, key="k", tools=tools_named("a", "nope"), patience=2)
    refuse(guard, 2)
    assert [info.key for info in store.sessions(status="stopped")] == ["k"]
    assert list(store.sessions(status="complete")) == []
    assert guarded_session(store, "k").status == "stopped"
    guard.resume(by="ana", reason="it was the prompt")
    assert store.session("k").status == guarded_session(store, "k").status == "complete"
