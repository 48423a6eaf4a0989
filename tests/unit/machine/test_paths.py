"""The search for the way that makes a refused action legal looks at what can matter, and no further."""

from __future__ import annotations

import pytest

from accord import Limits, Monitor, compile
from accord.machine.paths import shortest_way
from accord.machine.tables import Symbol

NEVER = 'rule "never" { before pay require pay }'


@pytest.mark.parametrize(
    "owed",
    [
        'rule "r" { after each call require result }',
        'rule "r" { each id: after each call require result }',
        'rule "r" { after call require at least 300 result }',
        'protocol P = rec X.{!call.X, ?result.X, !pay.X}\nrule "r" { after each call require result }',
    ],
)
def test_what_is_owed_is_not_counted_without_end(owed):
    """That there is no way is known, although more and more could be owed."""
    contract = compile(f"{owed}\n{NEVER}", limits=Limits(search=100))
    refused = Monitor(contract, mode="refuse").send("pay", {"id": 1})
    facts = refused._facts
    assert shortest_way(facts.standing, facts.nodes, Symbol("!", "pay"), facts.fits) is None


def test_a_way_beside_what_is_owed_is_found():
    contract = compile('rule "r" { after each call require ok }\nrule "s" { before pay require at least 3 ok }')
    refused = Monitor(contract, mode="refuse").send("pay")
    assert "First `ok` 3 times, then `pay`." in refused.explain()


@pytest.mark.parametrize(
    ("rules", "events", "step"),
    [
        (("before ?b require b",), ["?b"], "call `b`"),
        (("before ?c require b", "before ?b require !b"), ["?c"], "call `b`"),
        (("before c require b",), ["!c"], "`b`"),
    ],
)
def test_a_bare_label_is_told_in_the_direction_that_helps(rules, events, step):
    """Without a protocol it may be either, unless a rule makes a difference between them."""
    monitor = Monitor("\n".join(f'rule "{n}" {{ {rule} }}' for n, rule in enumerate(rules)), mode="refuse")
    for event in events:
        verdict = monitor.send(event[1:]) if event[0] == "!" else monitor.receive(event[1:])
    assert f"First {step}" in verdict.explain()


CALL_FIRST = 'rule "r" { before ?ask require !ask }'


@pytest.mark.parametrize(
    "contract",
    [
        f'{CALL_FIRST}\nrule "s" {{ at most 1 ask }}',
        f'{CALL_FIRST}\nrule "s" {{ each id: at most 1 ask }}',
        'protocol P = {?ask.end, !ok.!ask.?ask.end}\nrule "s" { before each ask require ok }',
    ],
)
def test_on_the_way_what_arrives_becomes_the_result_of_a_call(contract):
    """What was refused fitted a bare label; once that is called, the same event fits it no more."""
    refused = Monitor(contract, mode="refuse").receive("ask", {"id": 1})
    assert "`ask`" in refused.explain().partition("irst call ")[2]
