"""Events that the protocol is not asked about: they reach the rules, and nothing is remembered of them."""

from __future__ import annotations

import pytest

import accord
from accord.machine.events import Event
from accord.monitor.quick import quick_step
from accord.monitor.step import begin, close, status, step
from accord.monitor.verdicts import OK, Violation

KINDS = {
    "plain": "protocol P = !pay.end",
    "with data": "protocol P = !pay(x >= 0).end",
    "timed": "protocol P = !pay within 9s else end",
    "sliced": "protocol P = each k: !pay.end",
    "open": "protocol P open = !pay.end",
}
RULE = 'rule "found" { before !pay require ?look(found == true) }'
PAY = Event("!", "pay", payload={"x": 1, "k": 1}, at=1)
FOUND = Event("?", "look", payload={"found": True, "k": 1}, at=1, to_rules=True)


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_rules_are_asked(kind):
    here = begin(accord.compile(f"{KINDS[kind]}\n{RULE}"), None, 0)
    refused, verdict = step(here, PAY, "refuse")
    assert isinstance(verdict, Violation) and verdict.clause == 'rule "found"'
    looked, verdict = step(refused, FOUND, "refuse")
    assert (verdict, looked.state, looked.allowed) == (
        OK,
        here.state,
        ("!pay(x >= 0)" if kind == "with data" else "!pay",),
    )
    paid, verdict = step(looked, PAY, "refuse")
    assert (verdict, status(paid)) == (OK, "complete")
    assert close(paid, at=2)[1] == OK


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "open"])
def test_the_same_event_is_refused_where_the_protocol_is_asked(kind):
    here = begin(accord.compile(f"{KINDS[kind]}\n{RULE}"), None, 0)
    assert step(here, FOUND, "refuse")[1] == OK
    _, verdict = step(here, FOUND._replace(to_rules=False), "refuse")
    assert isinstance(verdict, Violation) and verdict.clause == "protocol P"


def test_nothing_is_remembered_of_it():
    contract = accord.compile('protocol P = !pay.end\nrule "few" { at most 2 ?look }')
    here = begin(contract, None)
    looked, _ = step(here, Event("?", "look", to_rules=True), "refuse")
    assert not here.stage.receives and not here.stage.careful_receives
    assert quick_step(here, Event("?", "look")) is None
    assert isinstance(step(here, Event("?", "look"), "refuse")[1], Violation)
    again, _ = step(looked, Event("?", "look", to_rules=True), "refuse")
    assert isinstance(step(again, Event("?", "look", to_rules=True), "refuse")[1], Violation)


def test_no_link_is_used_for_it():
    contract = accord.compile("protocol P = rec L.{?look.!pay.L, end}")
    here = begin(contract, None)
    assert step(here, Event("?", "look"), "refuse")[0].state == 1
    assert quick_step(here, Event("?", "look")).state == 1
    assert quick_step(here, Event("?", "look", to_rules=True)) is None
    assert step(here, Event("?", "look", to_rules=True), "refuse")[0].state == 0


def test_one_that_holds_several_possibilities():
    text = 'protocol P = (!a(x as r).!b(x == r) | !a(x as s).!c(x == s)).end\nrule "few" { at most 1 ?look }'
    here = begin(accord.compile(text), None)
    here, _ = step(here, Event("!", "a", payload={"x": 1}), "refuse")
    looked, verdict = step(here, Event("?", "look", to_rules=True), "refuse")
    assert (verdict, looked.holding, looked.allowed) == (OK, here.holding, here.allowed)
    assert isinstance(step(looked, Event("?", "look", to_rules=True), "refuse")[1], Violation)


def test_a_refusal_says_what_would_make_it_legal():
    contract = accord.compile('protocol P = !ask.?ask.!pay.end\nrule "after" { before ?look require ask }')
    _, verdict = step(begin(contract, None), Event("?", "look", to_rules=True), "refuse")
    assert isinstance(verdict, Violation)
    assert "First call `ask`." in verdict.explain()


def test_without_its_payload_it_is_the_same():
    assert FOUND.bare == FOUND._replace(payload={})
    assert FOUND.bare.to_rules
