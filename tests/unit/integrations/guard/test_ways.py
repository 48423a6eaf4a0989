"""Which people a call needs: found however many there are, in the order of the contract, and nobody in vain."""

from __future__ import annotations

import pytest

from accord import Guard, Limits, NotDone, ToolCall, UsageError
from accord.choreography.compiling import compile_contract
from accord.integrations.guard import words

IN_A_ROW = ".".join(f"?G{n} by human" for n in range(6))
SEVEN = ", ".join(f"G{n} by human" for n in range(7))
SEVENTEEN = ", ".join(f"G{n:02} by human" for n in range(17))
LOOP_OF_SEVENTEEN = f"rec L.{{{', '.join(f'?G{n:02} by human.L' for n in range(17))}, ?Go by human.!pay.L}}"

WAYS = {
    "four in a row": ("?A by human.?B by human.?C by human.?D by human.!pay.end", "ABCD"),
    "six in a row": (f"{IN_A_ROW}.!pay.end", [f"G{n}" for n in range(6)]),
    "the same four times": ("?A by human.?A by human.?A by human.?A by human.!pay.end", "AAAA"),
    "all of four": (
        'rule "r" { before pay require all of [D by human, C by human, B by human, A by human] }',
        "ABCD",
    ),
    "three of seven": (f'rule "r" {{ before pay require 3 of [{SEVEN}] }}', ["G0", "G1", "G2"]),
    "two of seventeen": (f'rule "r" {{ before pay require 2 of [{SEVENTEEN}] }}', ["G00", "G01"]),
    "all of seventeen": (f'rule "r" {{ before pay require all of [{SEVENTEEN}] }}', [f"G{n:02}" for n in range(17)]),
    "five times": ('rule "r" { before pay require at least 5 A by human }', "AAAAA"),
    "more than four times": ('rule "r" { before pay require not at most 4 A by human }', "AAAAA"),
    "protocol and rule": (
        f'protocol P = {LOOP_OF_SEVENTEEN} rule "r" {{ before pay require 2 of [{SEVENTEEN}] }}',
        ["G00", "G01", "Go"],
    ),
    "two rules": (
        'rule "a" { before pay require A by human and B by human} rule "b" { before pay require at least 2 C by human}',
        "ABCC",
    ),
    "what another rule forbids": (
        f'rule "a" {{ before pay require 4 of [{SEVEN}] }} rule "b" {{ at most 0 G1 }}',
        ["G0", "G2", "G3", "G4"],
    ),
    "in slices": (
        'rule "r" { each id: before pay require all of [A by human, B by human, C by human, D by human] }',
        "ABCD",
    ),
    "a protocol in slices": (
        "protocol P = each id: ?A by human.?B by human.?C by human.?D by human.!pay.end",
        "ABCD",
    ),
    "data on the way": (
        "?A(amount <= 9) by human.{?B(amount <= 3) by human.!pay.end, ?C by human.?D by human.?E by human.!pay.end}",
        "ACDE",
    ),
    "what an approval binds": (
        "?A(amount as most) by human.?B by human.?C by human.?D by human.!pay(amount <= most).end",
        "ABCD",
    ),
    "a person or another": (
        'rule "r" { before pay require (A by human and B by human and C by human and D by human) or Z by human }',
        "Z",
    ),
    "a step that waits for a tool, beside one that waits for nothing": (
        'rule "a" { before A require look and B by human } rule "b" { before pay require A by human or B by human }',
        "B",
    ),
    "beside slices that nothing on the way belongs to": (
        'rule "r" { before pay require A by human } rule "other" { each other: at most 9 look }',
        "A",
    ),
    "each time anew": ('rule "r" { before each pay require at least 4 A by human }', "AAAA"),
}
PAY = ToolCall("pay", {"id": 1, "amount": 5})


def pay(**_):
    return "paid"


TIMED = ' rule "time" { within 9s after look require look2 }'
CONTRACTS = {
    **{name: contract for name, (contract, _) in WAYS.items()},
    **{
        f"{name}, while a clock runs": (
            contract if "rule" in contract or "protocol" in contract else f"protocol P = {contract}"
        )
        + TIMED
        for name, (contract, _) in WAYS.items()
    },
}


@pytest.mark.parametrize("name", CONTRACTS)
def test_however_many_people_a_call_needs_they_are_asked(name):
    gates = WAYS[name.removesuffix(", while a clock runs")][1]
    guard = Guard(CONTRACTS[name], tools={"pay": pay}, events=["Z", "look", "look2"])
    (result,) = guard.run([PAY])
    assert "needs the approval of" in result.error, result.error
    assert [review.gate for review in guard.reviews()] == [*gates]
    for review in guard.reviews():
        assert not guard.run([PAY])[0].ok
        guard.decide(review.id, "allow", by="ana")
    assert guard.run([PAY])[0].content == "paid"
    assert guard.reviews() == []


@pytest.mark.parametrize("name", CONTRACTS)
def test_tools_that_people_could_allow_are_shown(name):
    assert Guard(CONTRACTS[name], tools={"pay": pay}, events=["Z", "look", "look2"]).visible() == ["pay"]


IN_VAIN = {
    "the tool comes later": f"protocol P = {LOOP_OF_SEVENTEEN.replace('?Go by human', '!look')} "
    f'rule "r" {{ before pay require 2 of [{SEVENTEEN}] }}',
    "a rule waits for a tool": f'rule "r" {{ before pay require all of [{SEVENTEEN}, look] }}',
    "a rule has had enough": f'rule "r" {{ before pay require 2 of [{SEVENTEEN}] }} rule "n" {{ at most 0 pay }}',
    "not after what has happened": f'rule "r" {{ before pay require not look and 9 of [{SEVENTEEN}] }}',
    "one may not say yes": f'rule "a" {{ before pay require all of [{SEVENTEEN}] }} rule "b" {{ at most 0 G03 }}',
    "what is owed has no end": 'rule "r3" { after each A by human require B } rule "r4" { before pay require look }',
    "no slice": f'rule "r" {{ each other: before pay require 9 of [{SEVENTEEN}] }}',
}


@pytest.mark.parametrize("name", IN_VAIN)
def test_where_nobody_can_help_nobody_is_asked_and_little_is_looked_at(name):
    """As little as a few hundred steps, although there are 131,072 sets of people."""
    contract = compile_contract(IN_VAIN[name], limits=Limits(search=1_000))
    guard = Guard(contract, tools={"pay": pay, "look": pay}, events=["B"], patience=99)
    if "not look" in IN_VAIN[name]:
        assert guard.run([ToolCall("look", {})])[0].ok
    (result,) = guard.run([PAY])
    assert not result.ok and "has not been decided" not in result.error, result.error
    assert guard.reviews() == []


def test_what_no_approval_would_change_is_said_however_many_there_are():
    guard = Guard(f"{IN_A_ROW}.!pay(amount <= 3).end", tools={"pay": pay})
    said = "`pay` is refused: `amount <= 3` does not hold: `amount` is 5. No approval would change that."
    assert guard.run([PAY])[0].error == said
    assert guard.reviews() == []


def test_a_person_can_do_what_a_call_that_is_out_may_not_have_done(guard_of):
    """Where `A` has been called, people need not do anything; where it has failed, they can, one after the other."""
    contract = 'rule "r" { before pay require A } rule "g" { before A by human require B by human }'
    guard = guard_of(contract, tools=dict.fromkeys(("A", "pay"), pay))
    (out,) = guard.reserve([ToolCall("A", {}, "c1")])
    (decision,) = guard.reserve([PAY])
    assert (decision.status, [review.gate for review in guard.reviews()]) == ("review", ["B", "A"])
    guard.fail(out.ticket, NotDone("no network"))
    for review in guard.reviews():
        guard.decide(review.id, "allow", by="ana")
    assert guard.run([PAY])[0].ok


def test_that_data_is_wrong_is_said_where_it_is_what_is_wrong_whatever_becomes_of_others():
    """If `look` counts, `pay` comes too late; if it fails, only its amount is wrong."""
    contract = "{!look.?A by human.!other.end, ?A by human.!pay(amount <= 3).end}"
    guard = Guard(contract, tools=dict.fromkeys(("pay", "look", "other"), pay))
    assert guard.run([PAY])[0].error.endswith("No approval would change that.")
    guard.reserve([ToolCall("look", {}, "c1")])
    (decision,) = guard.reserve([PAY])
    assert decision.status == "refused" and "No approval would change that." not in decision.message


def test_a_search_that_is_cut_short_is_no_silent_no():
    contract = compile_contract(WAYS["two of seventeen"][0], limits=Limits(search=20))
    guard = Guard(contract, tools={"pay": pay})
    (result,) = guard.run([PAY])
    assert result.error.endswith(words.cut_short("pay"))
    assert "Limits.search" in result.error
    assert guard.reviews() == []


def test_a_search_that_is_cut_short_decides_no_review(guard_of):
    text = 'rule "r" { before pay(amount > 1) require A by human } rule "all" { before pay(amount > 9) require %s }'
    contract = compile_contract(text % f"2 of [{SEVENTEEN}]", limits=Limits(search=60))
    guard = guard_of(contract, tools={"pay": pay})
    guard.run([PAY])
    (review,) = guard.reviews()
    with pytest.raises(UsageError, match=r"Limits\.search.*Nothing was decided"):
        guard.decide(review.id, "modify", by="ana", payload={"id": 1, "amount": 10})
    assert guard.reviews() == [review]


def test_of_ways_that_are_as_short_the_one_that_people_were_asked_for_is_gone_on_with(guard_of):
    """`B` was asked about these arguments; that `A` would do for them as well asks nobody anew."""
    contract = (
        'rule "r" { before each pay(amount > 9) require B by human } rule "a" { before other require A by human }'
    )
    paid = []

    def pay_out(amount):
        paid.append(amount)

    guard = guard_of(contract, tools={"pay": pay_out, "other": pay})
    guard.run([ToolCall("pay", {"amount": 10})])
    (review,) = guard.reviews()
    guard.decide(review.id, "modify", by="ana", payload={"amount": 3})
    assert guard.run([ToolCall("pay", {"amount": 10})])[0].ok
    assert (paid, guard.reviews()) == ([3], [])


def test_a_call_that_needs_more_people_than_can_be_asked_at_a_time_says_so():
    contract = 'rule "r" { before pay require at least 40 A by human }'
    guard = Guard(contract, tools={"pay": pay})
    (result,) = guard.run([PAY])
    assert "needs 40 approvals, and no more than 32 questions can be open at a time" in result.error
    assert guard.reviews() == []


def test_approvals_are_looked_for_in_every_world(guard_of):
    """A call that is out may count or not; people who make another call legal do so either way."""
    contract = 'rule "r5" { before pay require at least 4 A by human } rule "r6" { at most 9 look }'
    guard = guard_of(contract, tools={"pay": pay, "look": pay})
    guard.reserve([ToolCall("look", {}, "c1"), ToolCall("look", {}, "c2")])
    (decision,) = guard.reserve([PAY])
    assert (decision.status, len(guard.reviews())) == ("review", 4)
