"""People: asked about one action with one payload, decided once, used once, for a while."""

from __future__ import annotations

import json

import pytest

from accord import Guard, MemoryStore, Ok, ToolCall, UsageError, Violation

PAY = "rec L.?Approval by human.!pay(amount <= 100).L"
TWICE = "?First by human.?Second by human.!pay.end"


@pytest.fixture(name="paying")
def _paying(guard_of):
    """A guard, and what was paid."""
    paid = []
    guard = guard_of(PAY, tools={"pay": lambda amount, to="ana": paid.append((amount, to))}, patience=99)
    return guard, paid


def pay(amount, identity="", **more):
    return [ToolCall("pay", {"amount": amount, **more}, identity)]


def ask(guard, amount=30):
    """The review of a payment."""
    assert "needs the approval of a person" in guard.run(pay(amount))[0].error
    return guard.reviews()[-1]


def test_an_allowed_call_runs_once(paying):
    guard, paid = paying
    review = ask(guard)
    assert (review.name, review.label, review.payload, review.gate, review.state) == (
        "pay", "pay", {"amount": 30, "to": "ana"}, "Approval", "open",
    )  # fmt: skip
    decided = guard.decide(review.id, "allow", by="ana", reason="invoice 17")
    assert (decided.state, decided.by, decided.reason) == ("allowed", "ana", "invoice 17")
    assert guard.run(pay(30))[0].ok
    assert guard.review(review.id).state == "used"
    assert not guard.run(pay(30))[0].ok, "an approval is good for one call"
    assert paid == [(30, "ana")]


def test_asking_again_opens_no_second_question(paying):
    guard, _ = paying
    first = ask(guard)
    assert ask(guard).id == first.id
    assert len(guard.reviews()) == 1


@pytest.mark.parametrize("other", [pay(31), pay(30, to="bob"), pay(30.5), pay("30")])
def test_an_approval_is_for_that_payload(paying, other):
    guard, paid = paying
    guard.decide(ask(guard).id, "allow", by="ana")
    assert not guard.run(other)[0].ok
    assert paid == []


def test_an_approval_is_for_that_tool(guard_of, tools_named):
    tools = tools_named("pay", "refund")
    guard = guard_of("rec L.?Approval by human.!{pay.L, refund.L}", tools=tools)
    guard.run([ToolCall("pay", {"n": 1})])
    guard.decide(guard.reviews()[0].id, "allow", by="ana")
    assert not guard.run([ToolCall("refund", {"n": 1})])[0].ok
    assert tools.ran == []


def test_a_denied_action_stays_denied(paying):
    guard, paid = paying
    review = ask(guard)
    guard.decide(review.id, "deny", by="ana", reason="too much")
    (result,) = guard.run(pay(30))
    assert "was denied by ana: `too much`" in result.error
    assert (paid, guard.reviews()) == ([], [])
    assert ask(guard, 20).id != review.id, "another payload is another question"


@pytest.mark.parametrize("first", ["allow", "deny"])
@pytest.mark.parametrize("second", ["allow", "deny"])
def test_a_decision_is_never_changed(paying, first, second):
    guard, _ = paying
    review = ask(guard)
    decided = guard.decide(review.id, first, by="ana")
    with pytest.raises(UsageError, match=r"by ana.*; that cannot be changed"):
        guard.decide(review.id, second, by="bob")
    assert guard.review(review.id) == decided


def test_a_used_decision_is_never_changed(paying):
    guard, paid = paying
    review = ask(guard)
    guard.decide(review.id, "allow", by="ana")
    guard.run(pay(30))
    for answer in ("allow", "deny"):
        with pytest.raises(UsageError, match="has been used up; that cannot be changed"):
            guard.decide(review.id, answer, by="bob")
    assert (guard.run(pay(30))[0].ok, len(paid)) == (False, 1)


@pytest.mark.parametrize("answer", ["yes", "ALLOW", "", None, True, 1, "modify"])
def test_an_unknown_answer_decides_nothing(paying, answer):
    guard, _ = paying
    review = ask(guard)
    with pytest.raises(UsageError, match="nothing was decided"):
        guard.decide(review.id, answer, by="ana")
    assert guard.review(review.id).state == "open"


@pytest.mark.parametrize("by", ["", "  ", None, 7, "\ud800"])
def test_somebody_decides(paying, by):
    guard, _ = paying
    review = ask(guard)
    with pytest.raises(UsageError, match="`by` names the person"):
        guard.decide(review.id, "allow", by=by)
    assert guard.review(review.id).state == "open"


def test_only_open_questions_can_be_decided(paying):
    guard, _ = paying
    review = ask(guard)
    number, _, digest = review.id.partition("-")
    for forged in (number, f"{number}-", f"{number}-{'0' * 8}", f"2-{digest}", f" {review.id}", "", None):
        with pytest.raises(UsageError, match=f"there is no review .* open: {review.id}"):
            guard.decide(forged, "allow", by="ana")
        with pytest.raises(UsageError, match="there is no review"):
            guard.review(forged)
    assert guard.review(review.id).state == "open"


def test_nobody_is_asked_in_vain(paying):
    guard, paid = paying
    (result,) = guard.run(pay(101))
    assert "No approval would change that" in result.error
    assert (guard.reviews(), paid) == ([], [])


def test_a_call_that_needs_nobody_asks_nobody(guard_of, tools_named):
    tools = tools_named("look", "pay")
    guard = guard_of("rec L.{!look.L, ?Approval by human.!pay.end}", tools=tools)
    assert guard.run([ToolCall("look")])[0].ok
    assert guard.reviews() == []


def test_a_rule_may_require_a_person(guard_of, tools_named):
    tools = tools_named("pay")
    rules = 'rule "large ones are approved" { before each pay(amount > 100) require Approval by human }'
    guard = guard_of(rules, tools=tools)
    assert guard.run([ToolCall("pay", {"amount": 5})])[0].ok
    assert not guard.run([ToolCall("pay", {"amount": 500})])[0].ok
    guard.decide(guard.reviews()[0].id, "allow", by="ana")
    assert guard.run([ToolCall("pay", {"amount": 500})])[0].ok
    assert not guard.run([ToolCall("pay", {"amount": 500})])[0].ok
    assert tools.ran == ["pay", "pay"]


def test_two_people_may_be_needed(guard_of, tools_named):
    tools = tools_named("pay")
    guard = guard_of(TWICE, tools=tools)
    guard.run([ToolCall("pay")])
    first, second = guard.reviews()
    assert (first.gate, second.gate) == ("First", "Second")
    guard.decide(second.id, "allow", by="bob")
    assert not guard.run([ToolCall("pay")])[0].ok
    guard.decide(first.id, "allow", by="ana")
    assert guard.run([ToolCall("pay")])[0].ok
    assert tools.ran == ["pay"]


def test_who_is_needed_twice_has_to_say_yes_twice(guard_of, tools_named):
    tools = tools_named("pay")
    guard = guard_of("?Approval by human.?Approval by human.!pay.end", tools=tools)
    guard.run([ToolCall("pay")])
    first, second = guard.reviews()
    assert first.id != second.id
    guard.decide(first.id, "allow", by="ana")
    assert not guard.run([ToolCall("pay")])[0].ok
    guard.decide(second.id, "allow", by="bob")
    assert guard.run([ToolCall("pay")])[0].ok
    assert {guard.review(each.id).state for each in (first, second)} == {"used"}
    assert tools.ran == ["pay"]


def test_one_no_is_enough(guard_of, tools_named):
    tools = tools_named("pay")
    guard = guard_of(TWICE, tools=tools)
    guard.run([ToolCall("pay")])
    first, second = guard.reviews()
    guard.decide(first.id, "allow", by="ana")
    guard.decide(second.id, "deny", by="bob")
    assert "was denied by bob" in guard.run([ToolCall("pay")])[0].error


def test_an_approval_comes_back_if_the_call_fails(guard_of):
    outcomes = [ValueError("busy"), None]

    def pay_(amount):
        if (outcome := outcomes.pop(0)) is not None:
            raise outcome

    guard = guard_of(f"protocol P = {PAY} tools {{ pay fails undone }}", tools={"pay": pay_})
    guard.run(pay(30))
    review = guard.reviews()[0]
    guard.decide(review.id, "allow", by="ana")
    assert guard.run(pay(30, "c1"))[0].error == "ValueError: busy"
    assert guard.review(review.id).state == "allowed"
    assert guard.run(pay(30, "c1"))[0].ok
    assert guard.review(review.id).state == "used"


def test_an_approval_is_used_by_one_of_two_calls(paying):
    guard, paid = paying
    guard.decide(ask(guard).id, "allow", by="ana")
    results = guard.run([*pay(30, "c1"), *pay(30, "c2")])
    assert [r.ok for r in results] == [True, False]
    assert len(paid) == 1


# -- time --------------------------------------------------------------------------------------------------------------


@pytest.fixture(name="timed")
def _timed(guard_of):
    now = [1000]
    paid = []
    tools = {"pay": lambda amount: paid.append(amount) or amount}
    guard = guard_of(PAY, tools=tools, review_lasts=60, clock=lambda: now[0])
    return guard, now, paid


def test_a_question_expires(timed):
    guard, now, paid = timed
    review = ask(guard)
    now[0] += 60
    for answer, payload in (("allow", None), ("deny", None), ("modify", {"amount": 31})):
        with pytest.raises(UsageError) as told:
            guard.decide(review.id, answer, by="ana", payload=payload)
        assert str(told.value) == (
            f"review `{review.id}` has expired at 1060; nothing was decided. Have the agent ask for `pay` again: "
            "that opens a new review"
        )
    assert guard.reviews() == []
    anew = ask(guard)
    assert anew.id != review.id
    assert "expired" not in guard.run(pay(30))[0].content  # it was never allowed, so there is nothing to tell
    guard.decide(anew.id, "allow", by="ana")
    assert guard.run(pay(30))[0].ok
    assert paid == [30]


def test_when_a_question_has_expired_is_told_as_a_date(guard_of):
    now = [1_772_442_000]
    guard = guard_of(PAY, tools={"pay": lambda amount: amount}, review_lasts=60, clock=lambda: now[0])
    review = ask(guard)
    now[0] += 60
    with pytest.raises(UsageError, match="has expired at 2026-03-02T09:01:00Z; nothing was decided"):
        guard.decide(review.id, "allow", by="ana")


def test_an_answer_expires_too(timed):
    guard, now, paid = timed
    guard.decide(ask(guard).id, "allow", by="ana")
    now[0] += 60
    told = guard.run(pay(30))[0]
    (anew,) = guard.reviews()
    assert not told.ok
    assert told.content.startswith(
        "error: `pay` was allowed by ana, and that expired at 1060. `pay` needs the approval"
    )
    assert anew.id in told.content
    assert "expired" not in guard.run(pay(30))[0].content  # it is told once: now a person has been asked
    guard.decide(anew.id, "allow", by="bob")
    assert guard.run(pay(30))[0].ok
    assert paid == [30]


@pytest.mark.parametrize("amount", [30, 20])
def test_other_arguments_that_were_allowed_expire_too(timed, amount):
    guard, now, paid = timed
    guard.decide(ask(guard).id, "modify", by="ana", payload={"amount": 20})
    now[0] += 60
    assert "was allowed by ana, and that expired at 1060" in guard.run(pay(amount))[0].content
    assert paid == []


def test_the_ledger_is_told_of_an_approval_that_has_expired():
    now, store = [1000], MemoryStore()
    guard = Guard(
        PAY, store=store, key="k", tools={"pay": lambda amount: amount}, review_lasts=60, clock=lambda: now[0]
    )
    first = ask(guard)
    guard.decide(first.id, "allow", by="ana")
    now[0] += 70
    guard.run(pay(30))
    guard.run(pay(30))
    notes = [json.loads(line)["entry"] for line in store.lines("k", 0, 99)]
    (told,) = [note["detail"] for note in notes if note.get("what") == "approval expired"]
    assert told == {"review": first.id, "action": "pay", "gate": "Approval", "by": "ana", "expires": 1060, "at": 1070}


def test_an_expired_answer_does_not_come_back_with_the_clock(timed):
    guard, now, paid = timed
    guard.decide(ask(guard).id, "allow", by="ana")
    now[0] += 60
    guard.run(pay(30))
    now[0] -= 60
    assert not guard.run(pay(30))[0].ok
    assert paid == []


# -- modified ----------------------------------------------------------------------------------------------------------


def test_a_person_may_put_other_arguments_in_their_place(paying):
    guard, paid = paying
    guard.decide(ask(guard).id, "modify", by="ana", payload={"amount": 20, "to": "bob"})
    assert guard.run(pay(30))[0].ok
    assert paid == [(20, "bob")]
    assert not guard.run(pay(20, to="bob"))[0].ok


LARGE = 'rule "large" { before each pay(amount > 100) require Approval by human }'
LARGE_BY_NAME = """
rule "large" { before each Large require Approval by human }
events { Large when call pay where amount > 100  Small when call pay }
"""
EITHER = "rec L.{?Approval by human.!pay(amount > 100).L, !pay(amount <= 100).L}"


@pytest.mark.parametrize("contract", [LARGE, LARGE_BY_NAME, EITHER])
def test_what_a_person_makes_so_small_that_nobody_need_allow_it_leaves_no_approval_behind(guard_of, contract):
    paid = []

    def pay(amount):
        paid.append(amount)

    guard = guard_of(contract, tools={"pay": pay})
    guard.run([ToolCall("pay", {"amount": 500}, "c1")])
    guard.decide(guard.reviews()[0].id, "modify", by="ana", payload={"amount": 50})
    assert guard.run([ToolCall("pay", {"amount": 500}, "c2")])[0].ok
    for amount in (100_000, 500):
        (result,) = guard.run([ToolCall("pay", {"amount": amount}, f"c{amount}")])
        assert "needs the approval of a person" in result.content
    assert paid == [50]


def test_what_one_person_makes_smaller_and_another_denies_is_asked_about_as_it_is_now(guard_of):
    contract = 'rule "two" { before each pay(amount > 10) require all of [First by human, Second by human] }'
    guard = guard_of(contract, tools={"pay": lambda amount: amount})
    guard.run([ToolCall("pay", {"amount": 500}, "c1")])
    first, second = guard.reviews()
    guard.decide(first.id, "modify", by="ana", payload={"amount": 50})
    guard.decide(second.id, "deny", by="bob")
    assert not guard.run([ToolCall("pay", {"amount": 500}, "c2")])[0].ok
    (again,) = guard.reviews()
    assert (again.gate, again.payload) == ("Second", {"amount": 50})


def test_a_modified_approval_is_for_that_tool_too(guard_of, tools_named):
    tools = tools_named("read", "delete")
    guard = guard_of("rec L.?Approval by human.!{read.L, delete.L}", tools=tools)
    guard.run([ToolCall("read", {"path": "/"})])
    guard.decide(guard.reviews()[0].id, "modify", by="ana", payload={"path": "/old"})
    assert not guard.run([ToolCall("delete", {"path": "/old"})])[0].ok
    assert tools.ran == []
    assert guard.run([ToolCall("read", {"path": "/"})])[0].ok


def test_modified_arguments_are_completed_as_those_of_a_call_are(guard_of):
    """What a rule would say of a default is said before the tool gets it."""
    sent = []
    contract = "rec L.?Approval by human.!send(amount <= 100).L"
    guard = guard_of(contract, tools={"send": lambda to, amount=1000: sent.append((to, amount))})
    guard.run([ToolCall("send", {"to": "ana", "amount": 5})])
    review = guard.reviews()[0]
    with pytest.raises(UsageError, match="the contract refuses"):
        guard.decide(review.id, "modify", by="ana", payload={"to": "bob"})
    for wrong in ({"amount": 5}, {"to": "bob", "amount": 5, "now": True}, {"to": object(), "amount": 5}, {1: 2}):
        with pytest.raises(UsageError, match="nothing was decided"):
            guard.decide(review.id, "modify", by="ana", payload=wrong)
    assert guard.review(review.id).state == "open"
    assert sent == []


def test_a_default_that_was_not_judged_is_not_used(shared_of):
    """Whoever decides need not know the function, and then nobody has seen its defaults."""
    sent = []
    desk = shared_of("?Approval by human.!send.end")
    worker = shared_of(
        "?Approval by human.!send.end", tools={"send": lambda to, amount=1000: sent.append((to, amount))}
    )
    worker.run([ToolCall("send", {"to": "ana", "amount": 5})])
    desk.decide(desk.reviews()[0].id, "modify", by="ana", payload={"to": "bob"})
    (result,) = worker.run([ToolCall("send", {"to": "ana", "amount": 5})])
    assert "the argument `amount` is missing" in result.error
    assert sent == []


def test_a_modified_payload_must_be_legal(paying):
    guard, _ = paying
    review = ask(guard)
    with pytest.raises(UsageError, match="the contract refuses `!pay` with this payload"):
        guard.decide(review.id, "modify", by="ana", payload={"amount": 101})
    with pytest.raises(UsageError, match="`modify` comes with the payload"):
        guard.decide(review.id, "allow", by="ana", payload={"amount": 10})
    assert guard.review(review.id).state == "open"


def test_what_was_decided_does_not_change_with_what_it_was_decided_from(guard_of):
    got = []
    guard = guard_of("?Approval by human.!send.end", tools={"send": lambda order: got.append(order) or "sent"})
    guard.run([ToolCall("send", {"order": {"n": 1}})])
    payload = {"order": {"n": 2}}
    decided = guard.decide(guard.reviews()[0].id, "modify", by="ana", payload=payload)
    payload["order"]["n"] = 99
    decided.modified["order"]["n"] = 98
    assert guard.run([ToolCall("send", {"order": {"n": 1}})])[0].ok
    assert got == [{"n": 2}]


def test_what_a_person_sees_cannot_be_edited_by_others(guard_of):
    guard = guard_of("?Approval by human.!send.end", tools={"send": lambda order: order})
    (decision,) = guard.reserve([ToolCall("send", {"order": {"n": 500}})])
    shown = guard.reviews()[0]
    for seen in (decision.review, shown, guard.review(shown.id)):
        seen.payload["order"]["n"] = 5
        seen.payload["order"] = None
    assert guard.reviews()[0].payload == {"order": {"n": 500}}


# -- evidence ----------------------------------------------------------------------------------------------------------


def test_questions_and_answers_stand_in_the_ledger():
    store = MemoryStore()
    guard = Guard(PAY, store=store, key="s1", tools={"pay": lambda amount: amount}, clock=lambda: 7)
    guard.run(pay(30))
    guard.decide(guard.reviews()[0].id, "modify", by="ana", reason="less", payload={"amount": 20})
    guard.run(pay(30, "c1"))
    entries = [json.loads(line)["entry"] for line in store.ledger("s1")]
    notes = [(entry["what"], entry["detail"]) for entry in entries if entry["act"] == "note"]
    assert [what for what, _ in notes] == ["review opened", "review decided", "call returned"]
    assert notes[0][1]["payload"] == {"amount": 30}
    decided = notes[1][1]
    assert (decided["by"], decided["answer"], decided["reason"]) == ("ana", "modify", "less")
    assert (decided["payload"], decided["modified"]) == ({"amount": 30}, {"amount": 20})
    attempts = [entry for entry in entries if entry["act"] == "attempt"]
    assert [(a["event"], a["payload"], a["meta"]) for a in attempts] == [
        ("?Approval by ana", {"amount": 20}, {"call": "c1"}),
        ("!pay", {"amount": 20}, {"call": "c1"}),
    ]


def test_deciding_in_vain_is_not_in_the_ledger():
    store = MemoryStore()
    guard = Guard(PAY, store=store, key="s1", tools={"pay": lambda amount: amount})
    guard.run(pay(30))
    before = store.session("s1").head
    for identity, answer in ((guard.reviews()[0].id, "perhaps"), ("1-00000000", "allow")):
        with pytest.raises(UsageError):
            guard.decide(identity, answer, by="ana")
    assert store.session("s1").head == before


def test_workers_share_questions_and_answers(shared_of):
    paid = []
    asking, desk, running = (
        shared_of(PAY, tools={"pay": lambda amount: paid.append(amount) or amount}) for _ in range(3)
    )
    asking.run(pay(30))
    desk.decide(desk.reviews()[0].id, "allow", by="ana")
    assert running.run(pay(30))[0].ok
    assert not asking.run(pay(30))[0].ok
    assert paid == [30]


def test_a_program_that_asks_people_itself_reports_their_steps(guard_of, tools_named):
    tools = tools_named("pay")
    guard = guard_of("?Approval by human.!pay.end", tools=tools, events=["Approval"])
    assert isinstance(guard.receive("Approval"), Violation)
    assert guard.receive("Approval", by="ana") == Ok()
    assert guard.run([ToolCall("pay")])[0].ok
    assert guard.reviews() == []


@pytest.mark.parametrize(
    "contract",
    [
        "?Approval by human.!pay.end",
        'rule "asked" { before pay require Approval by human }',
        'protocol P = ?Approval by human.!pay.end events { Approval when user says "yes" pay when call pay }',
    ],
)
def test_a_program_that_was_not_given_the_right_does_not(guard_of, tools_named, contract):
    tools = tools_named("pay")
    guard = guard_of(contract, tools=tools)
    with pytest.raises(UsageError) as refused:
        guard.receive("Approval", by="cron job")
    assert str(refused.value) == (
        "`Approval` is for a person to decide, and this program was not given the right to report it: decide the "
        "review that the call has opened (`guard.decide`); if the program asks the person itself, name the label: "
        'events=["Approval"]'
    )
    assert not guard.run([ToolCall("pay")])[0].ok
    assert tools.ran == []


def test_what_is_no_step_of_a_person_is_reported_in_anybodys_name_and_such_a_step_in_nobodys_is_none(guard_of):
    guard = guard_of("?remind.?Approval by human.!pay.end")
    assert guard.receive("remind", by="ana") == Ok()
    assert type(guard.receive("Approval")) is Violation
    assert guard.allowed() == ["?Approval by human"]


def test_the_right_is_of_the_guard_and_not_of_the_session(shared_of, tools_named):
    contract, tools = "?Approval by human.!pay.end", tools_named("pay")
    cron, desk = shared_of(contract, tools=tools), shared_of(contract, tools=tools, events=["Approval"])
    with pytest.raises(UsageError, match="for a person to decide"):
        cron.receive("Approval", by="cron job")
    assert desk.receive("Approval", by="ana") == Ok()
    assert cron.run([ToolCall("pay")])[0].ok


def test_the_attempt_is_in_the_ledger():
    store = MemoryStore()
    with pytest.raises(UsageError):
        Guard("?Approval by human.!pay.end", store=store, key="s").receive("Approval", {"n": 1}, by="cron job")
    (_, note) = [json.loads(line)["entry"] for line in store.ledger("s")]
    assert (note["what"], note["detail"]) == ("not the program's to report", {"label": "Approval", "by": "cron job"})


def test_too_many_questions_are_no_questions(guard_of):
    guard = guard_of(PAY, tools={"pay": lambda amount: amount}, patience=99)
    for amount in range(40):
        (result,) = guard.run(pay(amount))
    assert "too many questions are open" in result.error
    assert len(guard.reviews()) == 32


def test_nobody_is_asked_for_half_of_an_approval():
    """A call that needs two people asks nobody if there is room for one question only."""
    store = MemoryStore()
    guard = Guard("rec L.{?A by human.!one.L, ?B by human.?C by human.!two.L}", store=store, key="s", patience=99)
    guard.reserve([ToolCall("one", {"n": number}) for number in range(31)])
    (decision,) = guard.reserve([ToolCall("two")])
    assert "too many questions are open" in decision.message
    assert {review.gate for review in guard.reviews()} == {"A"}
    opened = [line for line in store.ledger("s") if b"review opened" in line]
    assert len(opened) == len(guard.reviews()) == 31
