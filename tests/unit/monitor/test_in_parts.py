"""An event that has happened, although some part of the session refuses it, is taken by all others."""

from __future__ import annotations

import pytest

import accord
from accord.machine.events import Event
from accord.monitor.in_parts import take_in_parts
from accord.monitor.step import begin, close, step
from accord.monitor.verdicts import Ok

RULES = 'rule "once" {{ {each}at most 1 ?x }} rule "thrice" {{ {each}at most 3 ?x }}'
EVENT = Event("?", "x", None, {"k": 1})


def taken(situation, event=EVENT):
    after, verdict = step(situation, event, "refuse")
    return after if type(verdict) is Ok else None


@pytest.mark.parametrize("each", ["", "each k: "], ids=["whole", "sliced"])
def test_each_part_takes_what_it_does_not_refuse(each):
    contract = accord.compile(f"protocol P = ?x.?x.?x.?y.end {RULES.format(each=each)}")
    once = taken(begin(contract, None))
    assert taken(once) is None  # by the first rule
    twice = take_in_parts(once, EVENT)
    thrice = take_in_parts(twice, EVENT)
    assert len({here.state for here in (once, twice, thrice)}) == 3  # the protocol has gone on
    for here in (twice, thrice):  # the first rule is as it was, the second has counted
        assert here.rules[0] == once.rules[0]
    states = [here.holding.slices if each else here.rules[1:] for here in (once, twice, thrice)]
    assert len({repr(state) for state in states}) == 3


def test_a_protocol_that_refuses_stays_where_it_is():
    contract = accord.compile(f"protocol P = ?y.?x.end {RULES.format(each='')}")
    here = begin(contract, None)
    for event in (EVENT, EVENT._replace(to_rules=True)):
        after = take_in_parts(here, event)
        assert after.standing == here.standing and after.rules != here.rules


def test_time_passes_for_all_parts():
    contract = accord.compile('protocol P = ?y within 5s else ?x.end rule "once" { at most 1 ?x }')
    here = begin(contract, None, 0)
    after = take_in_parts(here, EVENT._replace(at=9))
    assert after.holding.now == 9 and after.rules != here.rules and after.complete


def test_what_is_over_stays_over():
    contract = accord.compile("?x.end")
    over, _ = close(taken(begin(contract, None)))
    assert take_in_parts(over, EVENT) is over
