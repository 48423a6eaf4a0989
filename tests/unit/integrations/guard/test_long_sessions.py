"""Sessions that are longer than what a guard remembers: they go on as they began, and what is kept stops growing."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from accord import Guard, MemoryStore, NotDone, Ok, SQLiteStore, StoredSession, ToolCall, UsageError
from accord.integrations.guard import codec, reviewing
from accord.integrations.guard.patience import _COUNTED

REMEMBERED = 64
"""Calls that are known by their ids, as the page about guards says."""
ASKED = 'rule "asked" { before each pay require Approval by human }'
LASTS = 60
MOST = reviewing.MOST_OPEN + reviewing._MOST_UNUSED + reviewing._REMEMBERED


class Clock:
    """A clock that is set by hand."""

    now = 1_000_000

    def __call__(self):
        return self.now


class Sizes:
    """How many bytes are kept of a session, time after time."""

    def __init__(self, guard):
        self.home = guard._session.home
        self.seen = []

    def look(self):
        store = getattr(self.home, "_store", None)
        kept = codec.write(self.home.state()) if store is None else store.row("s1").sealed
        self.seen.append(len(bytes(kept)))

    def are_flat(self, after):
        """Whether nothing has grown since then, but for the digits of numbers."""
        return max(self.seen[after:]) < 1.05 * max(self.seen[:after])


def pay(n, identity=""):
    return [ToolCall("pay", {"n": f"{n:06}"}, identity)]


def ask(guard, n):
    """The review of a payment."""
    (result,) = guard.run(pay(n))
    assert "needs the approval of a person" in result.error, result.error
    (review,) = [review for review in guard.reviews() if review.payload["n"] == f"{n:06}"]
    return review.id


def settle_review(guard, clock, paid, n):
    """One review in each way in which one can end, by turns; whether the payment was made."""
    review, way = ask(guard, n), ("allow", "deny", "modify", "expire", "expire when allowed")[n % 5]
    if way == "modify":
        guard.decide(review, "modify", by="bob", payload={"n": f"{n:06}", "note": "less"})
    elif way == "expire":
        clock.now += LASTS
        with pytest.raises(UsageError, match="has expired"):
            guard.decide(review, "allow", by="ana")
        return False
    else:
        guard.decide(review, "deny" if way == "deny" else "allow", by="ana", reason="as always")
    if way == "expire when allowed":
        clock.now += LASTS
        return False
    ran = guard.run(pay(n, f"c{n}"))[0].ok
    assert ran is (way != "deny")
    assert (f"{n:06}" in paid) is ran
    return ran


def test_any_number_of_reviews(guard_of):
    clock, paid = Clock(), []
    tools = {"pay": lambda n, **_: paid.append(n)}
    guard = guard_of(ASKED, tools=tools, clock=clock, review_lasts=LASTS, patience=999)
    sizes, made = Sizes(guard), 0
    for n in range(200):
        made += settle_review(guard, clock, paid, n)
        sizes.look()
    assert (made, len(paid)) == (80, 80)
    assert sizes.are_flat(after=MOST)


def test_the_ledger_knows_what_the_session_has_forgotten():
    store = MemoryStore()
    guard = Guard(ASKED, store=store, key="s1", tools={"pay": lambda n: n}, patience=999)
    reviews = []
    for n in range(2 * reviewing._REMEMBERED):
        reviews.append(ask(guard, n))
        guard.decide(reviews[-1], "deny", by="ana")
    with pytest.raises(UsageError, match="no review"):
        guard.review(reviews[0])
    assert guard.review(reviews[-1]).state == "denied"
    entries = [json.loads(line)["entry"] for line in store.ledger("s1")]
    for what in ("review opened", "review decided"):
        assert [entry["detail"]["review"] for entry in entries if entry.get("what") == what] == reviews


def test_answers_that_nobody_uses_are_forgotten_one_day(guard_of):
    guard = guard_of(ASKED, tools={"pay": lambda n: n}, patience=999)
    sizes = Sizes(guard)
    for n in range(2 * MOST):
        guard.decide(ask(guard, n), "allow", by="ana")
        sizes.look()
    assert sizes.are_flat(after=MOST)
    assert guard.run(pay(2 * MOST - 1))[0].ok
    assert "needs the approval" in guard.run(pay(0))[0].error  # asked again: nothing runs on an answer that is gone


def test_an_answer_that_a_call_is_using_is_not_forgotten(guard_of):
    guard = guard_of(ASKED, tools={"pay": lambda n: n}, patience=999)
    guard.decide(ask(guard, 0), "allow", by="ana")
    (decision,) = guard.reserve(pay(0))
    for n in range(1, 2 * MOST):
        guard.decide(ask(guard, n), "deny", by="ana")
    guard.fail(decision.ticket, NotDone("no network"))
    assert guard.run(pay(0))[0].ok  # without asking the same person again


def test_a_question_that_is_open_is_not_forgotten_whatever_it_asks(guard_of):
    """Whether a lost call has happened, whether a person takes a step; meanwhile a hundred others are decided."""
    contract = f'{ASKED} rule "few" {{ at most 9 send }} tools {{ send fails unknown }}'
    guard = guard_of(contract, tools={"pay": lambda n: n, "send": lambda: 1}, patience=999)
    (sent,) = guard.reserve([ToolCall("send", {}, "s")])
    guard.fail(sent.ticket, TimeoutError("no answer"))
    (lost,) = guard.reviews()
    guard.run(pay(0))
    (_, step) = guard.reviews()
    for n in range(1, 2 * MOST):
        assert not guard.run(pay(n))[0].ok
        guard.decide(guard.reviews()[-1].id, "deny", by="ana")
    assert [review.id for review in guard.reviews()] == [lost.id, step.id]
    guard.decide(lost.id, "undone", by="ana")
    guard.decide(step.id, "allow", by="ana")
    assert guard.out() == []
    assert guard.run(pay(0))[0].ok


def test_so_much_is_remembered_as_the_page_about_guards_says(shared_of):
    guard = shared_of(ASKED, tools={"pay": lambda n: n}, patience=999)

    def known(reviews):
        states = []
        for review in reviews:
            with suppress(UsageError):
                states.append(guard.review(review).state)
        return states

    denied = [ask(guard, n) for n in range(10)]
    denied += [ask(guard, n) for n in range(10, 32)]
    assert "too many questions are open" in guard.run(pay(32))[0].error
    for review in denied:
        guard.decide(review, "deny", by="ana")
    for n in range(32, 42):
        denied.append(ask(guard, n))
        guard.decide(denied[-1], "deny", by="ana")
    allowed = []
    for n in range(100, 180):
        allowed.append(ask(guard, n))
        guard.decide(allowed[-1], "allow", by="ana")
    ask(guard, 999)  # with each question what is old is forgotten
    assert known(denied) == ["denied"] * 32
    assert known(allowed) == ["allowed"] * 64


def test_so_many_calls_are_known_by_their_ids_as_the_page_about_guards_says(shared_of):
    guard = shared_of("rec L.!a.L", tools={"a": lambda n: n}, patience=999)
    for n in range(100):
        assert guard.run([ToolCall("a", {"n": n}, f"c{n}")])[0].ok
    assert "has run already" in guard.run([ToolCall("a", {"n": 36}, "c36")])[0].error
    assert guard.run([ToolCall("a", {"n": 35}, "c35")])[0].ok


def test_an_agent_that_is_stuck_over_and_over(guard_of):
    guard = guard_of("!go.end", patience=1, escalate="review")
    sizes = Sizes(guard)
    for _ in range(100):
        guard.run([ToolCall("pay", {})])
        (review,) = guard.reviews()
        guard.decide(review.id, "allow", by="ana")
        sizes.look()
    assert sizes.are_flat(after=MOST // 2)


def test_calls_are_known_by_their_ids_for_a_while(guard_of):
    guard = guard_of("rec L.{!a.L, !stop.end}", tools={"a": lambda n: n})
    sizes = Sizes(guard)
    for n in range(3 * REMEMBERED):
        assert guard.run([ToolCall("a", {"n": n}, f"c{n:06}")])[0].ok
        sizes.look()
    assert sizes.are_flat(after=REMEMBERED + 1)
    last = 3 * REMEMBERED - 1
    assert not guard.run([ToolCall("a", {"n": last}, f"c{last:06}")])[0].ok
    assert guard.run([ToolCall("a", {"n": 0}, "c000000")])[0].ok


def test_refusals_of_any_number_of_tools(guard_of):
    guard = guard_of("!a.end", tools={"a": lambda: None}, patience=3)
    sizes = Sizes(guard)
    for n in range(3 * _COUNTED):
        assert not guard.run([ToolCall(f"tool{n:06}", {})])[0].ok
        sizes.look()
    assert sizes.are_flat(after=_COUNTED + 1)
    for _ in range(2):
        guard.run([ToolCall(f"tool{3 * _COUNTED - 1:06}", {})])
    assert guard.stopped is not None


def test_a_session_in_many_places_in_a_store(tmp_path):
    """More places than a stored session remembers the JSON of."""
    steps = [f"s{n}" for n in range(200)]
    contract = f"{'.'.join('!' + step for step in steps)}.end"
    with SQLiteStore(tmp_path / "s.db", fsync="never") as store:
        session = StoredSession(store, contract, "s1")
        for step in steps:
            assert session.allowed() == [f"!{step}"]
            assert session.send(step) == Ok()
        assert session.status == "complete"
        assert StoredSession(store, contract, "s1").status == "complete"
