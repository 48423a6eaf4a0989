"""Rules in the reference interpreter, against answers worked out by hand.

`marks` plays events against one rule and nothing else, in mode `refuse`, and writes `+` for accepted and `-` for
refused; a last `.` says that the session may close then, a `;` that the rule still owes something.
"""

import math

import pytest

from accord.language.clauses import Guard, Register, Value
from accord.language.rules import (
    After,
    AfterForbid,
    AtMost,
    Before,
    Combination,
    Count,
    ForbidSequence,
    Happened,
    Not,
    Pattern,
    Rule,
)
from accord.language.tree import Action, Choice, End, Interleaving, Recursion, Variable, sequence
from accord.semantics import Session, Verdict

# --- writing rules and events ---------------------------------------------------------------------


def guard(field, operator, value):
    return Guard(tuple(field.split(".")), operator, Value(value))


def pat(text, *guards):
    """`Pay`, `!Pay`, `?Pay`, `Pay@` (by human), with guards."""
    label = text.strip("!?@")
    return Pattern(label, text[0] if text[0] in "!?" else None, guards, text.endswith("@"))


def p(pattern):
    return pat(pattern) if isinstance(pattern, str) else pattern


def c(condition):
    return Happened(p(condition)) if isinstance(condition, str | Pattern) else condition


def before(trigger, condition, *, each=False):
    return Before(p(trigger), c(condition), each)


def after(trigger, condition, *, each=False):
    return After(p(trigger), c(condition), each)


def after_forbid(trigger, forbidden):
    return AfterForbid(p(trigger), p(forbidden))


def at_most(number, pattern):
    return AtMost(number, p(pattern))


def forbid(*chain):
    """`forbid("A", "then", "B", "...", "C")`."""
    return ForbidSequence(tuple(map(p, chain[::2])), tuple(link == "then" for link in chain[1::2]))


def no(condition):
    return Not(c(condition))


def count(bound, number, pattern):
    return Count(bound, number, p(pattern))


def combine(kind, *conditions, number=0):
    return Combination(kind, tuple(map(c, conditions)), number)


def tell(session, event):
    """`"!a"`, `"?a"`, `"?a@ana"` or a pair of one of them and a payload."""
    text, payload = (event, None) if isinstance(event, str) else event
    name, _, person = text[1:].partition("@")
    if text[0] == "!":
        return session.send(name, payload)
    return session.receive(name, payload, by=person or None)


def marks(body, *events):
    session = Session(None, "refuse", [Rule("it", body)])
    told = "".join({"ok": "+", "violation": "-"}[tell(session, event).kind] for event in split(events))
    owed = {"complete": ".", "running": ";"}[session.status]
    assert session.close().kind == {".": "ok", ";": "violation"}[owed]
    return told + owed


def split(events):
    for event in events:
        yield from event.split() if isinstance(event, str) else [event]


def answers(session, events, side="clause"):
    """One side of the verdict on each event."""
    return [getattr(tell(session, event), side) for event in split([events])]


def pay(amount=None, **more):
    return ("!Pay", more if amount is None else {"amount": amount, **more})


BIG = pat("Pay", guard("amount", ">", 100))

# --- before ---------------------------------------------------------------------------------------


def test_before_needs_it_once_and_for_all():
    # before Mutate require UserConfirm
    rule = before("Mutate", "UserConfirm")
    assert marks(rule, "!Mutate ?UserConfirm !Mutate !Other !Mutate") == "-++++."


def test_what_comes_later_or_is_refused_does_not_count_as_before():
    assert marks(before("A", "A"), "!A !A") == "--."


def test_before_each_uses_the_approval_up():
    rule = before("Pay", "Approval", each=True)
    assert marks(rule, "?Approval !Pay !Pay ?Approval !Pay") == "++-++."


def test_approvals_do_not_add_up():
    rule = before("Pay", "Approval", each=True)
    assert marks(rule, "?Approval ?Approval !Pay !Pay") == "+++-."


def test_a_refused_attempt_uses_up_no_approval():
    # the second rule refuses the first payment
    session = Session(
        None, "refuse", [Rule("one", before("Pay", "Approval", each=True)), Rule("two", before("Pay", "Check"))]
    )
    assert answers(session, "?Approval !Pay ?Check !Pay !Pay") == ["", "two", "", "", "one"]


def test_a_payment_that_is_no_trigger_uses_up_nothing():
    rule = Before(BIG, c("Approval"), each=True)
    assert marks(rule, "?Approval", pay(50), pay(200), pay(200), pay(50)) == "+++-+."


def test_before_each_with_a_condition_looks_at_the_same_stretch_throughout():
    # before each Pay require A and not B
    rule = before("Pay", combine("and", "A", no("B")), each=True)
    assert marks(rule, "!A !B !Pay") == "++-."
    assert marks(before("Pay", combine("and", "A", no("B"))), "!A !Pay !B !Pay") == "+++-."
    rule = before("Pay", combine("or", "A", no("B")), each=True)
    assert marks(rule, "!Pay !B !Pay !A !Pay !Pay") == "++-+++."


def test_a_trigger_may_be_its_own_condition():
    # before each A require not A: since the last A there has never been one
    assert marks(before("A", no("A"), each=True), "!A !A !A") == "+++."
    assert marks(before("A", no("A")), "!A !A") == "+-."


# --- conditions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "events", "answer"),
    [
        (combine("and", "A", "B"), "!A", False),
        (combine("and", "A", "B"), "!B !A", True),
        (combine("or", "A", "B"), "!X", False),
        (combine("or", "A", "B"), "!B", True),
        (combine("all", "A", "B", "C"), "!A !C", False),
        (combine("all", "A", "B", "C"), "!C !A !B", True),
        (combine("any", "A", "B", "C"), "!X", False),
        (combine("any", "A", "B", "C"), "!C", True),
        (combine("some", "A", "B", "C", number=2), "!A !A !A", False),
        (combine("some", "A", "B", "C", number=2), "!A !C", True),
        (combine("some", "A", "B", "C", number=2), "!A !B !C", True),
        (combine("some", "A", "A", number=2), "!A", True),
        (no("A"), "!B", True),
        (no("A"), "!B !A", False),
        (no(no("A")), "!A", True),
        (combine("and", "Consent", no("OptOut")), "!Consent", True),
        (combine("and", "Consent", no("OptOut")), "!OptOut !Consent", False),
        (no(combine("and", "A", "B")), "!A", True),
        (no(combine("and", "A", "B")), "!A !B", False),
        (no(combine("some", "A", "B", "C", number=2)), "!A !B", False),
        (count("at least", 2, "A"), "!A", False),
        (count("at least", 2, "A"), "!A !A", True),
        (count("at least", 0, "A"), "!B", True),
        (count("at most", 1, "A"), "!A", True),
        (count("at most", 1, "A"), "!A !A", False),
        (count("at most", 0, "A"), "!B", True),
        (no(count("at most", 1, "A")), "!A !A", True),
        (no(count("at least", 2, "A")), "!A", True),
        (Happened(pat("Approval@")), "?Approval", False),
        (Happened(pat("Approval@")), "?Approval@ana", True),
        (Happened(pat("Approval")), "?Approval@ana", True),
        (no(pat("Approval@")), "?Approval", True),
        (Happened(pat("?A")), "!A", False),
        (Happened(pat("!A")), "?A", False),
        (Happened(pat("?A")), "!A ?A", True),
    ],
)
def test_conditions(condition, events, answer):
    assert marks(before("Go", condition), events, "!Go").endswith("+." if answer else "-.")


UNDECIDED = pat("Check", guard("score", ">", 5))


@pytest.mark.parametrize(
    ("condition", "good", "bad", "unclear"),
    [
        # whether the condition holds after a check with score 9, with score 1, and without a score
        (c(UNDECIDED), True, False, False),
        (no(UNDECIDED), False, True, False),
        (no(no(UNDECIDED)), True, False, False),
        (no(no(no(UNDECIDED))), False, True, False),
        (count("at least", 1, UNDECIDED), True, False, False),
        (count("at most", 0, UNDECIDED), False, True, False),
        (no(count("at least", 1, UNDECIDED)), False, True, False),
        (no(count("at most", 0, UNDECIDED)), True, False, False),
        (combine("or", UNDECIDED, no(UNDECIDED)), True, True, False),
        (combine("and", UNDECIDED, no("X")), True, False, False),
        (combine("any", no(UNDECIDED), "X"), False, True, False),
        (combine("some", UNDECIDED, no("X"), number=2), True, False, False),
        (no(combine("some", UNDECIDED, "X", number=1)), False, True, False),
        (no(combine("or", "X", combine("all", UNDECIDED))), False, True, False),
    ],
)
def test_an_undecided_message_never_helps(condition, good, bad, unclear):
    for payload, answer in (({"score": 9}, good), ({"score": 1}, bad), ({}, unclear), ({"score": "9"}, unclear)):
        assert marks(before("Go", condition), ("!Check", payload), "!Go") == ("++." if answer else "+-.")


# --- after ----------------------------------------------------------------------------------------


def test_after_looks_at_what_came_after_the_last_one():
    # after Question require Answer
    rule = after("Question", "Answer")
    assert marks(rule) == "."
    assert marks(rule, "!Answer") == "+."
    assert marks(rule, "?Question") == "+;"
    assert marks(rule, "!Answer ?Question") == "++;"
    assert marks(rule, "?Question !Answer") == "++."
    assert marks(rule, "?Question ?Question !Answer") == "+++."
    assert marks(rule, "?Question !Answer ?Question") == "+++;"


def test_after_takes_any_condition():
    assert marks(after("Close", no("Write")), "!Write !Close") == "++."
    assert marks(after("Close", no("Write")), "!Close !Write") == "++;"
    assert marks(after("Close", no("Write")), "!Close !Write !Close") == "+++."
    assert marks(after("A", count("at least", 2, "B")), "!B !A !B") == "+++;"
    assert marks(after("A", count("at least", 2, "B")), "!A !B !B") == "+++."


def test_after_each_wants_one_answer_for_every_question():
    rule = after("Q", "A", each=True)
    assert marks(rule, "!A") == "+."
    assert marks(rule, "!Q !Q !A") == "+++;"
    assert marks(rule, "!Q !Q !A !A") == "++++."
    assert marks(rule, "!Q !A !Q !A") == "++++."


def test_an_answer_before_its_question_does_not_count():
    rule = after("Q", "A", each=True)
    assert marks(rule, "!A !Q") == "++;"
    assert marks(rule, "!Q !A !A !Q") == "++++;"  # the second answer is not kept for later


def test_after_each_takes_any_of_several_answers_and_one_message_answers_once():
    for kind in ("or", "any"):
        rule = after("Q", combine(kind, "A", "B"), each=True)
        assert marks(rule, "!Q !Q !A !B") == "++++."
        assert marks(rule, "!Q !Q !A") == "+++;"
    rule = after("Q", combine("or", "A", "A"), each=True)
    assert marks(rule, "!Q !Q !A") == "+++;"
    rule = after("Q", combine("or", combine("or", "A", "B"), "D"), each=True)
    assert marks(rule, "!Q !Q !D !B") == "++++."


def test_a_message_that_asks_and_answers_answers_first():
    rule = after("Ping", "Ping", each=True)
    assert marks(rule, "!Ping") == "+;"
    assert marks(rule, "!Ping !Ping !Ping") == "+++;"


def test_after_each_takes_no_other_condition():
    session = Session(None, "refuse", [Rule("it", after("Q", no("A"), each=True))])
    with pytest.raises(ValueError, match="`after each` requires a message"):
        session.close()


def test_an_undecided_answer_is_none():
    answer = pat("A", guard("ok", "==", 1), guard("n", "<", 9))
    for each in (True, False):
        rule = After(pat("Q"), c(answer), each)
        assert marks(rule, "!Q", ("!A", {"ok": 1})) == "++;"
        assert marks(rule, "!Q", ("!A", {"ok": 1, "n": 8})) == "++."


# --- after forbid, at most ------------------------------------------------------------------------


def test_after_forbid():
    rule = after_forbid("Close", "Write")
    assert marks(rule, "!Write !Close !Write !Close !Other !Write") == "++-++-."


def test_after_forbid_of_the_same_message_allows_one():
    assert marks(after_forbid("Send", "Send"), "!Send !Send !Send") == "+--."


def test_a_refused_trigger_forbids_nothing():
    session = Session(None, "refuse", [Rule("a", before("Close", "Ask")), Rule("b", after_forbid("Close", "Write"))])
    assert answers(session, "!Close !Write !Ask !Close !Write") == ["a", "", "", "", "b"]


def test_at_most_counts_accepted_events_only():
    session = Session(None, "refuse", [Rule("a", before("R", "Go")), Rule("b", at_most(2, "R"))])
    assert answers(session, "!R !R !R !Go !R !R !R !R") == ["a", "a", "a", "", "", "", "b", "b"]


def test_at_most_none():
    assert marks(at_most(0, "R"), "!R !X") == "-+."


def test_at_most_counts_what_matches():
    rule = AtMost(1, BIG)
    assert marks(rule, pay(200), pay(50), pay(50), pay(300)) == "+++-."


# --- forbidden sequences --------------------------------------------------------------------------


def test_then_means_at_once():
    rule = forbid("Delete", "then", "Commit")
    assert marks(rule, "!Delete !Commit") == "+-."
    assert marks(rule, "!Delete !Test !Commit") == "+++."
    assert marks(rule, "!Commit !Delete !Delete !Commit") == "+++-."


def test_then_looks_at_events_of_one_direction():
    rule = forbid("!Delete", "then", "!Commit")
    assert marks(rule, "!Delete ?Done ?Commit !Commit") == "+++-."
    rule = forbid("Ask", "then", "Answer")
    assert marks(rule, "!Ask ?Answer") == "++."  # never neighbours, for they go different ways
    assert marks(rule, "?Ask !Other ?Answer") == "++-."


def test_a_refused_or_unrecognized_attempt_does_not_stand_between():
    session = Session(None, "refuse", [Rule("a", forbid("Delete", "then", "Commit")), Rule("b", at_most(0, "X"))])
    assert answers(session, "!Delete !X !Unrecognized !Commit", "kind") == [
        "ok", "violation", "unrecognized", "violation",
    ]  # fmt: skip


def test_a_refused_commit_stays_refused_until_something_comes_between():
    assert marks(forbid("Delete", "then", "Commit"), "!Delete !Commit !Commit !X !Commit") == "+--++."


def test_dots_mean_ever_after():
    rule = forbid("Delete", "...", "Commit")
    assert marks(rule, "!Commit !Delete ?X !Y !Commit !X !Commit") == "++++-+-."
    assert marks(rule, "?Delete ?X ?Commit !Commit") == "++--."


def test_the_same_message_twice_in_a_chain_is_two_messages():
    assert marks(forbid("A", "...", "A"), "!A !X !A") == "++-."
    assert marks(forbid("A", "then", "A"), "!A !X !A !A") == "+++-."
    assert marks(forbid("A", "...", "A", "...", "A"), "!A !A !A") == "++-."


@pytest.mark.parametrize(
    ("events", "answer"),
    [
        ("!A !B !C", "++-."),
        ("!A !B !X !C", "+++-."),
        ("!A !X !B !C", "++++."),
        ("!A !B !A !X !B !C", "+++++-."),  # the first pair will do
        ("!B !A !C", "+++."),
        ("!A !C !B !C", "++++."),
    ],
)
def test_a_chain_of_then_and_dots(events, answer):
    assert marks(forbid("A", "then", "B", "...", "C"), events) == answer


@pytest.mark.parametrize(
    ("events", "answer"),
    [
        ("!A !B !C", "++-."),
        ("!A !X !B !C", "+++-."),
        ("!A !B !X !C !B !C", "+++++-."),  # the second B will do
        ("!B !A !C", "+++."),
        ("!B !C !A !C", "++++."),
        ("!A !B ?X !C", "+++-."),
        ("?A !B !C", "++-."),
    ],
)
def test_a_chain_of_dots_and_then(events, answer):
    assert marks(forbid("A", "...", "B", "then", "C"), events) == answer


def test_then_through_three_messages_of_one_direction():
    rule = forbid("A", "then", "B", "then", "C")
    assert marks(rule, "!A ?X !B ?X !C") == "++++-."
    assert marks(rule, "?A !B !C") == "+++."


def test_a_chain_of_one():
    assert marks(forbid("A"), "!B !A") == "+-."


# --- what a label means ---------------------------------------------------------------------------


def test_a_bare_label_is_never_the_result_of_a_call():
    rule = at_most(1, "t")
    assert marks(rule, "!t ?t ?t") == "+++."
    assert marks(rule, "!t ?t !t") == "++-."
    assert marks(rule, "?t ?t") == "+-."  # nobody called it: a message of that name


def test_what_was_a_message_when_it_came_stays_one():
    rule = at_most(1, "t")
    assert marks(rule, "?t !t") == "+-."
    assert marks(before("Go", "t"), "?t !Go") == "++."
    assert marks(before("Go", count("at least", 2, "t")), "?t !t ?t !Go") == "++++."
    assert marks(before("Go", count("at least", 3, "t")), "?t !t ?t !Go") == "+++-."


def test_a_refused_call_has_no_results():
    # the call was never made, so what arrives is a message
    session = Session(None, "refuse", [Rule("a", at_most(0, "!t")), Rule("b", at_most(1, "t"))])
    assert answers(session, "!t ?t ?t") == ["a", "", "b"]


def test_only_a_call_of_the_same_name_makes_a_result():
    assert marks(before("Go", "t"), "!u ?t !Go") == "+++."


def test_a_direction_says_which():
    assert marks(at_most(1, "?t"), "!t ?t !t ?t") == "+++-."
    assert marks(at_most(1, "!t"), "?t !t ?t !t") == "+++-."


def test_the_calls_before_the_last_payment_still_tell_results_from_messages():
    # before each Pay require Approve: the call was made before the first Pay, its result comes after it
    rule = before("Pay", "Approve", each=True)
    assert marks(rule, "!Approve !Pay ?Approve !Pay") == "+++-."
    assert marks(rule, "?Approve !Pay ?Approve !Pay") == "++++."
    rule = after("Q", "A")
    assert marks(rule, "!A !Q ?A") == "+++;"


def test_results_are_no_triggers_either():
    assert marks(before("Pay", "Ok"), "!Ok !Pay ?Pay") == "+++."
    assert marks(before("Pay", "Ok"), "?Pay") == "-."
    assert marks(forbid("A", "...", "B"), "!B ?A !A ?B !B") == "++++-."


def test_labels_of_events_are_brought_to_normal_form():
    assert marks(at_most(0, "caf\u00e9"), "!cafe\u0301") == "-."


# --- guards in rules ------------------------------------------------------------------------------


def test_big_ones():
    # before Pay(amount > 100) require Approval
    rule = Before(BIG, c("Approval"))
    assert marks(rule, pay(100), pay(101), pay(100.5), "?Approval", pay(101)) == "+--++."


@pytest.mark.parametrize(
    "payload", [None, {}, {"amount": "5000"}, {"amount": None}, {"amount": [200]}, {"amount": True}]
)
def test_a_trigger_that_cannot_be_decided_is_refused_whatever_has_happened(payload):
    bodies = [
        Before(BIG, c("Approval")),
        Before(BIG, c("Approval"), each=True),
        After(BIG, c("Approval")),
        After(BIG, c("Approval"), each=True),
        after_forbid(BIG, "X"),
        after_forbid("X", BIG),
        AtMost(5, BIG),
        forbid(BIG, "then", "X"),
        forbid("X", "...", BIG),
        forbid("X", "...", BIG, "...", "X"),
    ]
    for body in bodies:
        assert marks(body, "?Approval", ("!Pay", payload), ("!Pay", {"amount": 1})) == "+-+."


def test_a_message_in_a_condition_is_not_refused_for_being_undecided():
    rule = Before(pat("Go"), c(BIG))
    assert marks(rule, "!Pay !Go", pay(200), "!Go") == "+-++."


def test_an_undecided_trigger_is_left_alone_where_the_label_is_another_direction_or_a_result():
    rule = AtMost(0, pat("!Pay", guard("amount", ">", 100)))
    assert marks(rule, "?Pay !Pay") == "+-."
    rule = AtMost(0, BIG)
    assert marks(rule, pay(1), "?Pay") == "++."


def test_one_guard_that_fails_decides():
    trigger = pat("Pay", guard("amount", ">", 100), guard("currency", "==", "EUR"))
    rule = AtMost(0, trigger)
    assert marks(rule, pay(currency="USD")) == "+."
    assert marks(rule, pay(50)) == "+."
    assert marks(rule, pay(currency="EUR")) == "-."
    assert marks(rule, pay(200)) == "-."
    assert marks(rule, pay(200, currency="EUR")) == "-."
    assert marks(rule, pay("x", currency="USD")) == "+."


@pytest.mark.parametrize(
    ("operator", "value", "field", "answer"),
    [
        # whether an event with this field is a trigger: yes, no, undecided
        ("==", "EUR", 5, "no"),
        ("==", 1, True, "no"),
        ("!=", "EUR", 5, "yes"),
        ("!=", 1, 1.0, "no"),
        (">", 100, math.nan, "undecided"),
        ("<=", 100, math.nan, "undecided"),
        ("==", math.nan, math.nan, "no"),
        ("<", "b", "a", "yes"),
        ("<", "b", 1, "undecided"),
        ("in", ("a", 1), True, "no"),
        ("in", ("a", 1), 1.0, "yes"),
        ("not in", ("a", 1), True, "yes"),
        ("in", "abc", "a", "undecided"),
        ("not in", "abc", "z", "undecided"),
        ("matches", "b+", "abc", "yes"),
        ("matches", "b+", "ac", "no"),
        ("matches", "1", 1, "undecided"),
    ],
)
def test_guards_have_three_answers(operator, value, field, answer):
    pattern = pat("A", guard("x.y", operator, value))
    event = ("!A", {"x": {"y": field}})
    # as a trigger, "undecided" is refused at once, "yes" the second time; under a `not`, all but "no" count
    assert marks(AtMost(1, pattern), event, event) == {"yes": "+-.", "no": "++.", "undecided": "--."}[answer]
    assert marks(before("Go", no(pattern)), event, "!Go") == ("++." if answer == "no" else "+-.")
    assert marks(before("Go", pattern), event, "!Go") == ("++." if answer == "yes" else "+-.")


def test_a_gate_that_nobody_opened_decides_before_any_guard():
    pattern = pat("Ok@", guard("n", ">", 1))
    assert marks(AtMost(0, pattern), "?Ok") == "+."
    assert marks(AtMost(0, pattern), "?Ok@ana") == "-."
    assert marks(AtMost(0, pattern), ("?Ok@ana", {"n": 1})) == "+."


def test_one_approval_by_a_person_for_each_payment():
    rule = before("Pay", "Approval@", each=True)
    assert marks(rule, "?Approval !Pay ?Approval@ana !Pay !Pay") == "+-++-."


def test_the_history_keeps_copies():
    session = Session(None, "refuse", [Rule("it", before("Go", pat("A", guard("x", "in", ((1,),)))))])
    payload = {"x": [1]}
    session.send("A", payload)
    payload["x"].append(2)
    assert session.send("Go") == Verdict("ok")


def test_rules_have_no_registers():
    rule = AtMost(1, Pattern("A", None, (Guard(("x",), "==", Register("r")),)))
    with pytest.raises(TypeError, match="no registers"):
        marks(rule, ("!A", {"x": 1}))


# --- protocol and rules together ------------------------------------------------------------------


def act(text, *clauses, gated=False):
    return Action(text[0], text[1:], clauses=clauses, gated=gated)


def seq(*steps):
    return sequence(act(one) if isinstance(one, str) else one for one in steps)


def free(*words):
    """`rec L.{!a.L, ?b.L, …, end}`: anything of these, as often as one likes."""
    branches = [seq(one, Variable("L")) for one in words]
    return Recursion("L", Choice((*branches, End())))


def test_the_protocol_is_asked_first_and_then_the_rules_in_order():
    rules = [Rule("one", before("b", "x")), Rule("two", before("b", "y"))]
    session = Session(seq("!a", "!b"), "refuse", rules)
    assert session.send("b") == Verdict("violation", ("!a",), "protocol")
    assert session.send("a") == Verdict("ok")
    assert session.send("b") == Verdict("violation", (), "one")
    session = Session(seq("!a", "!b"), "refuse", reversed(rules))
    session.send("a")
    assert session.send("b").clause == "two"


def test_a_violation_of_a_rule_halts_and_says_what_was_allowed_before():
    session = Session(free("!Pay", "?Approval"), rules=[Rule("ask first", before("Pay", "Approval"))])
    assert session.allowed() == ["?Approval"]
    assert session.send("Pay") == Verdict("violation", ("?Approval",), "ask first")
    assert session.status == "violated"
    assert session.receive("Approval") == Verdict("blocked")
    assert session.allowed() == []
    assert session.close() == Verdict("blocked")


def test_what_the_protocol_refuses_is_no_history():
    session = Session(free("!b", "!c"), "refuse", [Rule("it", before("b", "a"))])
    assert session.send("a").clause == "protocol"
    assert session.send("b").clause == "it"


def test_what_a_rule_refuses_does_not_move_the_protocol():
    # (!b.!c | ?Ok) under `before b require Ok`
    session = Session(Interleaving((seq("!b", "!c"), act("?Ok"))), "refuse", [Rule("it", before("b", "Ok"))])
    assert session.send("b").clause == "it"
    assert session.send("c") == Verdict("violation", ("?Ok",), "protocol")
    session.receive("Ok")
    assert [session.send("b").kind, session.send("c").kind] == ["ok", "ok"]


def test_a_session_is_complete_when_nobody_owes_anything():
    rules = [Rule("x", after("Q", "X")), Rule("a", after("Q", "A"))]
    session = Session(seq("?Q", Choice((seq("!A"), seq("!X"), End()))), "refuse", rules)
    assert session.status == "running"
    assert session.receive("Q") == Verdict("ok")
    assert session.status == "running"
    assert session.send("A") == Verdict("ok")
    assert session.status == "running"
    assert session.close() == Verdict("violation", (), "x")
    assert session.status == "incomplete"
    assert session.close() == Verdict("violation", (), "x")
    assert session.send("X") == Verdict("blocked")


def test_closing_too_early_names_the_protocol_first():
    session = Session(seq("?Q", "!A"), rules=[Rule("answer", after("Q", "A"))])
    session.receive("Q")
    assert session.close() == Verdict("violation", ("!A",), "protocol")


def test_rules_alone_let_everything_else_pass():
    session = Session(None, rules=[Rule("it", at_most(1, "a"))])
    assert session.status == "complete"
    assert session.allowed() == []
    assert session.send("whatever", {"x": 1}, to="B") == Verdict("ok")
    assert session.receive("thing", sender="C", by="ana") == Verdict("ok")
    assert session.send("a") == Verdict("ok")
    assert session.send("a") == Verdict("violation", (), "it")
    assert session.status == "violated"


def test_no_rules_and_no_protocol_allow_everything():
    session = Session(None)
    assert session.send("a") == Verdict("ok")
    assert session.close() == Verdict("ok")


# --- Unrecognized ---------------------------------------------------------------------------------

ELSEWHERE = [Rule("it", at_most(1, "a"))]
NAMED = [Rule("it", at_most(1, "Unrecognized"))]


def test_unrecognized_is_no_event_unless_somebody_names_it():
    session = Session(None, rules=ELSEWHERE)
    assert session.receive("Unrecognized") == Verdict("unrecognized")
    assert session.status == "complete"
    assert session.close() == Verdict("unrecognized")
    assert session.status == "unrecognised"
    session = Session(seq("!a"), rules=ELSEWHERE)
    assert session.receive("Unrecognized") == Verdict("unrecognized", ("!a",))
    assert session.send("a") == Verdict("ok")


def test_under_rules_alone_a_rule_that_names_it_makes_it_an_event():
    session = Session(None, rules=NAMED)
    assert session.receive("Unrecognized") == Verdict("ok")
    assert session.status == "complete"
    assert session.receive("Unrecognized") == Verdict("violation", (), "it")
    assert session.status == "violated"


def test_under_a_protocol_that_refuses_it_a_rule_that_names_it_makes_it_a_violation():
    session = Session(seq("!a"), rules=NAMED)
    assert session.receive("Unrecognized") == Verdict("violation", ("!a",), "protocol")
    assert session.status == "violated"


def test_where_the_protocol_takes_it_the_rules_judge_it_as_any_event():
    session = Session(free("?Unrecognized"), "refuse", NAMED)
    assert session.receive("Unrecognized") == Verdict("ok")
    assert session.receive("Unrecognized") == Verdict("violation", (), "it")
    session = Session(free("?Unrecognized"), "refuse", [Rule("it", forbid("a", "then", "b"))])
    assert session.receive("Unrecognized") == Verdict("ok")
    assert session.close() == Verdict("ok")


@pytest.mark.parametrize(
    "body",
    [
        before("Unrecognized", "a"),
        before("a", no(combine("or", "b", count("at least", 3, "?Unrecognized")))),
        after("a", "Unrecognized"),
        after_forbid("a", "Unrecognized"),
        after_forbid("Unrecognized", "a"),
        forbid("a", "...", "Unrecognized", "...", "b"),
        AtMost(3, pat("Unrecognized", guard("x", "==", 1))),
    ],
)
def test_a_rule_names_a_label_wherever_it_stands(body):
    session = Session(seq("!a"), rules=[Rule("it", body)])
    assert session.send("Unrecognized").kind == "violation"  # the direction does not matter


# --- what is allowed ------------------------------------------------------------------------------


def allowed(protocol, body, *events):
    session = Session(protocol, "refuse", [Rule("it", body)])
    for event in split(events):
        assert tell(session, event).kind == "ok"
    return " ".join(session.allowed())


def test_allowed_leaves_out_what_a_rule_is_sure_to_refuse():
    protocol = free("!a", "?b")
    assert allowed(protocol, before("a", "b")) == "?b"
    assert allowed(protocol, before("a", "b"), "?b") == "!a ?b"
    assert allowed(protocol, before("a", "b", each=True), "?b !a") == "?b"
    assert allowed(protocol, at_most(2, "a"), "!a") == "!a ?b"
    assert allowed(protocol, at_most(2, "a"), "!a !a") == "?b"
    assert allowed(protocol, after_forbid("b", "a")) == "!a ?b"
    assert allowed(protocol, after_forbid("b", "a"), "?b") == "?b"
    assert allowed(protocol, forbid("a", "then", "a"), "!a ?b") == "?b"
    assert allowed(protocol, forbid("b", "then", "a"), "?b") == "!a ?b"
    assert allowed(protocol, forbid("b", "...", "a"), "?b") == "?b"
    assert allowed(protocol, after("a", "c"), "!a") == "!a ?b"


def test_allowed_knows_directions_and_results():
    protocol = free("!t", "?t")
    assert allowed(protocol, at_most(0, "!t")) == "?t"
    assert allowed(protocol, at_most(0, "?t")) == "!t"
    assert allowed(protocol, at_most(0, "t")) == ""
    assert allowed(protocol, at_most(1, "t"), "!t") == "?t"  # the result is none of the rule's business


def test_guarded_patterns_are_no_reason_to_leave_a_word_out():
    protocol = free("!Pay", "?Approval")
    assert allowed(protocol, Before(BIG, c("Approval"))) == "!Pay ?Approval"
    assert allowed(protocol, AtMost(0, BIG)) == "!Pay ?Approval"
    assert allowed(protocol, after_forbid("Approval", BIG), "?Approval") == "!Pay ?Approval"
    assert allowed(protocol, forbid("Approval", "...", BIG), "?Approval") == "!Pay ?Approval"


def test_a_guard_elsewhere_in_the_rule_does_not_hide_a_sure_refusal():
    protocol = free("!Pay", "?Approval")
    assert allowed(protocol, after_forbid(BIG, "Pay"), pay(200)) == "?Approval"
    assert allowed(protocol, forbid(BIG, "...", "Pay"), pay(200)) == "?Approval"
    ok = pat("Approval", guard("ok", "==", 1))
    assert allowed(protocol, before("Pay", ok), ("?Approval", {"ok": 0})) == "?Approval"
    assert allowed(protocol, before("Pay", ok), ("?Approval", {"ok": 1})) == "!Pay ?Approval"


def test_a_gated_action_counts_as_made_by_a_person_and_any_other_may_be():
    gate = act("?Ok", gated=True)
    rule = AtMost(0, pat("Ok@"))
    assert allowed(seq(gate), rule) == ""
    assert allowed(seq("?Ok"), rule) == "?Ok"
    assert allowed(seq(gate), AtMost(0, pat("Ok"))) == ""


def test_allowed_looks_at_labels_and_not_at_the_clauses_of_a_step():
    # ?{r(n > 0), r(n < 0)}: the words of both, though the rule would refuse the first
    protocol = Choice((act("?r", guard("n", ">", 0)), act("?r", guard("n", "<", 0))))
    assert allowed(protocol, AtMost(0, pat("r", guard("n", ">", 0)))) == "?r(n < 0) ?r(n > 0)"
    assert allowed(protocol, AtMost(0, pat("r"))) == ""


def test_unrecognized_says_what_the_rules_leave():
    session = Session(free("!Pay", "?Approval"), rules=[Rule("it", before("Pay", "Approval"))])
    assert session.receive("Unrecognized") == Verdict("unrecognized", ("?Approval",))
