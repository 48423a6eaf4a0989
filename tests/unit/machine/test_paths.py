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
