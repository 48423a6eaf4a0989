"""The same call refused over and over is noticed, and then nothing runs until a person has looked at it."""

from __future__ import annotations

import asyncio

import pytest

from accord import Guard, MemoryStore, ProtocolViolationError, ToolCall, UsageError
from accord.calls import worlds
from accord.integrations.guard import words
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
    guard.run([ToolCall("a")])
    refuse(guard, 2, [ToolCall("a")])
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
    for _ in range(2):
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


# -- what is counted: turns --------------------------------------------------------------------------------------------


def stopped_after(turn, guard, most=20):
    """How many turns like this an agent has before the session is stopped; `None` if it goes on for ever."""
    for times in range(1, most + 1):
        turn(times)
        if guard.stopped is not None:
            return times
    return None


@pytest.mark.parametrize("ask", ["run", "arun", "reserve"])
def test_five_refused_calls_of_one_message_are_one_try(guard_of, tools_named, ask):
    guard = guard_of("!a.end", tools=tools_named("a", "nope"), patience=3)
    calls = [ToolCall("nope", {"n": n}, f"c{n}") for n in range(5)]
    ways = {"run": guard.run, "arun": lambda given: asyncio.run(guard.arun(given)), "reserve": guard.reserve}
    assert stopped_after(lambda _: ways[ask](calls), guard) == 3
    assert guard.stopped == "`nope` was refused 3 times"


def test_each_call_of_a_guarded_function_is_a_try(guard_of):
    guard = guard_of("!a.end", patience=3)

    @guard.tool
    def nope():
        pass

    def turn(_):
        with pytest.raises(ProtocolViolationError):
            nope()

    assert stopped_after(turn, guard) == 3


OTHERS = {
    "names that nobody knows": lambda n: f"tool{n}",
    "other illegal tools in turn": lambda n: ("b", "c", "d")[n % 3],
    "other names of one tool": lambda n: ("b", "B2", "b_two")[n % 3],
    "no names at all": lambda n: ("", None, "\ud800", 7)[n % 4],
    "arguments that cannot be read": lambda n: f"bad{n}",
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("escalate", ["stop", "review"])
def test_other_names_buy_no_other_tries(guard_of, tools_named, name, escalate):
    guard = guard_of(
        "!a.!b.!c.!d.end",
        tools=tools_named("a", "b", "c", "d", "B2", "b_two"),
        labels={"B2": "b", "b_two": "b"},
        patience=4,
        escalate=escalate,
    )
    for times in range(4):
        assert (guard.stopped, guard.reviews()) == (None, [])
        said = guard.run([ToolCall(OTHERS[name](times), {"n": object()} if name.startswith("arg") else {})])[0].error
    assert "4 times" in said
    assert guard.stopped if escalate == "stop" else [review.gate for review in guard.reviews()] == [None]
    assert not guard.run([ToolCall("a")])[0].ok


def test_what_goes_on_begins_the_count_of_turns_anew(guard_of, tools_named):
    guard = guard_of("rec L.!a.L", tools=tools_named("a"), patience=3)

    def turn(times):
        guard.run([ToolCall(f"tool{times}"), *([ToolCall("a")] if times % 3 == 0 else [])])

    assert stopped_after(turn, guard) is None


def test_the_same_tool_is_counted_also_while_others_go_on(guard_of, tools_named):
    guard = guard_of("rec L.!a.L", tools=tools_named("a", "nope"), patience=3)
    assert stopped_after(lambda _: guard.run([ToolCall("a"), ToolCall("nope")]), guard) == 3


def test_what_is_refused_and_goes_on_in_one_turn_is_not_counted(guard_of, tools_named):
    guard = guard_of("rec L.!a.!b.L", tools=tools_named("a", "b"), patience=2)
    turn = [ToolCall("b"), ToolCall("a"), ToolCall("b")]
    assert stopped_after(lambda _: guard.run(turn), guard) is None


def test_the_calls_of_the_turn_in_which_patience_ends_are_decided_alike(guard_of, tools_named):
    tools = tools_named("a", "nope")
    guard = guard_of("rec L.!a.L", tools=tools, patience=2)
    guard.run([ToolCall("nope")])
    results = guard.run([ToolCall("a"), ToolCall("nope"), ToolCall("a")])
    assert [result.ok for result in results] == [True, False, True]
    assert "No tool runs any more" in results[1].error
    assert guard.stopped is not None


def test_where_nothing_of_a_batch_runs_nothing_has_gone_on(guard_of, tools_named):
    guard = guard_of("rec L.!a.L", tools=tools_named("a"), patience=3, on_violation="raise")

    def turn(times):
        with pytest.raises(ProtocolViolationError):
            guard.run([ToolCall("a"), ToolCall(f"tool{times}")])

    assert stopped_after(turn, guard) == 3


# -- what is not counted: what the model was told to ask for again -----------------------------------------------------


MANY_WORLDS = "\n".join(
    [
        'rule "n" { at most 0 nope }',
        'rule "l" { before look require not at least 99 ?look(found == 1) }',
        *(f'rule "r{n}" {{ at most 999 ?look(found == {n}) }}' for n in range(8)),
    ]
)


def full_guard(guard_of, monkeypatch, **options):
    """A guard of which more calls are out than it can look at."""
    monkeypatch.setattr(worlds, "MOST", 8)
    tools = {"look": lambda n=0: {"found": n}, "nope": lambda: 1}
    return guard_of(MANY_WORLDS, tools=tools, patience=2, **options)


def test_calls_beyond_what_can_be_looked_at_are_held(guard_of, monkeypatch):
    guard = full_guard(guard_of, monkeypatch)
    calls = [ToolCall("look", {"n": n}, f"c{n}") for n in range(30)]
    assert all(result.ok for result in guard.run(calls))
    assert all(
        result.ok for result in asyncio.run(guard.arun([ToolCall("look", {"n": n}, f"d{n}") for n in range(30)]))
    )
    assert guard.stopped is None


def test_where_nothing_can_be_held_they_are_told_to_ask_again_and_not_counted(guard_of, monkeypatch):
    guard = full_guard(guard_of, monkeypatch)
    decisions = guard.reserve([ToolCall("look", {"n": n}, f"c{n}") for n in range(30)])
    out = [decision for decision in decisions if decision.ticket]
    waiting = [decision for decision in decisions if not decision.ticket]
    assert out and waiting
    assert {d.message for d in waiting} == {words.wait_for_room("look")}
    again = [ToolCall("look", {"n": 1}, "again")]
    assert stopped_after(lambda _: guard.reserve(again), guard) is None
    for decision in out:
        guard.settle(decision.ticket, {"found": 0})
    assert guard.reserve(again)[0].admitted


@pytest.mark.parametrize("on_violation", ["block", "raise"])
def test_beyond_the_bound_nothing_is_refused(guard_of, monkeypatch, on_violation):
    guard = full_guard(guard_of, monkeypatch, on_violation=on_violation)
    out = [d for d in guard.reserve([ToolCall("look", {"n": n}, f"c{n}") for n in range(30)]) if d.ticket]
    late = [ToolCall("look", {}, "late"), ToolCall("look", {}, "later")]
    assert {decision.status for decision in guard.reserve(late)} == {"held"}
    told = [*guard.run(late), *asyncio.run(guard.arun(late))]  # nothing of theirs is out that they could wait for
    assert [(result.ok, result.error) for result in told] == [(False, words.wait_for_room("look"))] * 4
    for decision in out:
        guard.settle(decision.ticket, {"found": 0})
    assert all(result.ok for result in guard.run(late))


def test_who_is_told_to_ask_again_when_others_have_returned_is_not_counted(guard_of, tools_named):
    guard = guard_of("!a.?a.!b.end", tools=tools_named("a", "b"), patience=2)
    (a,) = guard.reserve([ToolCall("a", {}, "c1")])
    assert stopped_after(lambda n: guard.reserve([ToolCall("b", {}, f"b{n}")]), guard) is None
    guard.settle(a.ticket, {})
    assert guard.reserve([ToolCall("b")])[0].admitted


def test_nor_is_who_needs_a_person_once_others_have_returned(guard_of, tools_named):
    guard = guard_of("!a.?a.?Yes by human.!b.end", tools=tools_named("a", "b"), patience=2)
    guard.reserve([ToolCall("a", {}, "c1")])
    (decision,) = guard.reserve([ToolCall("b")])
    assert "depends on `a`, which has not returned yet" in decision.message
    assert stopped_after(lambda _: guard.reserve([ToolCall("b")]), guard) is None


def test_who_depends_on_a_call_that_is_lost_is_counted(guard_of, tools_named):
    guard = guard_of(
        'rule "once" { at most 1 a } rule "r" { before b require a }', tools=tools_named("a", "b"), patience=2
    )
    (a,) = guard.reserve([ToolCall("a", {}, "c1")])
    guard.fail(a.ticket, "the bank did not answer")
    assert stopped_after(lambda _: guard.reserve([ToolCall("b")]), guard) == 2


# -- who lets it go on -------------------------------------------------------------------------------------------------


def test_the_owner_lifts_what_waits_for_a_person(guard_of, tools_named):
    guard = guard_of("!a.end", tools=tools_named("a", "nope"), patience=2, escalate="review")
    refuse(guard, 2)
    (review,) = guard.reviews()
    guard.resume(by="ana", reason="it was the prompt")
    assert (guard.reviews(), guard.review(review.id).state, guard.review(review.id).by) == ([], "allowed", "ana")
    assert "refused" not in refuse(guard, 1)[0].split("Allowed")[0]  # it counts from the beginning
    assert guard.run([ToolCall("a")])[0].ok


def test_another_process_lifts_it(shared_of, tools_named):
    guard, other = (shared_of("!a.end", tools=tools_named("a"), patience=2) for _ in range(2))
    guard.run([ToolCall("x")])
    other.run([ToolCall("y")])
    assert guard.stopped == other.stopped == "nothing that was called has been allowed 2 times in a row, `y` last"
    other.resume(by="ana", reason="it was the prompt")
    assert guard.stopped is None
    assert guard.run([ToolCall("a")])[0].ok


def test_an_approval_to_go_on_begins_the_count_of_turns_anew(guard_of, tools_named):
    guard = guard_of("!a.end", tools=tools_named("a"), patience=2, escalate="review")
    guard.run([ToolCall("x")])
    guard.run([ToolCall("y")])
    guard.decide(guard.reviews()[0].id, "allow", by="ana")
    guard.run([ToolCall("z")])
    assert guard.reviews() == []
