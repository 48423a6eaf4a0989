"""W054: results that can never come in the order in which a protocol names them."""

from __future__ import annotations

import pytest

from accord.choreography.compiling import examine_contract
from accord.diagnostics import Source


def found(text):
    _, contract, findings = examine_contract(Source(text))
    assert contract is not None
    return [text[d.span.start : d.span.end] + f"@{d.span.start}" for d in findings if d.code == "W054"]


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ("!a.!b.?a.?b.end", ["!b@16"]),
        ("!a.!b.?b.?a.end", ["!b@16"]),
        ("!a.!a.?a.?a.end", ["!a@16"]),
        ("!a.?note.!b.?a.end", ["!b@22"]),
        ("!a.!{b.?a, c.?a}.end", ["b@18", "c@24"]),
        ("rec L.{!a.!b.?{a, b}.L, end}", ["!b@23"]),
        ("!b.!a.!b.?a.end", ["!b@19"]),
        ("(!a.!b.?a | !c).end", ["!b@17"]),
        # the result can come at once
        ("(!a.?a | !b.?b).end", []),
        ("!a.?a.!b.?b.end", []),
        ("!a.{?a, !b.?a}.end", []),
        ("rec L.{!a.L, ?a.L, !b.L, end}", []),
        ("!a.(!b | ?a).end", []),
        # the result is not waited for
        ("!a.!b.?b.end", []),
        ("!a.!b.!a.?a.end", []),
        ("!a.!b.?a by human.end", []),
    ],
)
def test_calls_that_wait_for_what_comes_behind_them(body, places):
    assert found(f"protocol P = {body}") == places


def test_a_failed_call_that_was_made_holds_up_nothing():
    assert found("protocol P = !a.!b.?a.?b.end\ntools { a fails done }") == []
    assert found("protocol P = !a.!b.?a.?b.end\ntools { otherwise fails unknown }") == ["!b@16"]
    assert found('protocol P = !a.!b.?a.?b.end\nrule "r" { at most 3 a }') == ["!b@16"]


def test_with_events_a_result_need_not_have_the_label_of_its_call():
    assert found('events { a when call x b when call y a when user says "" }\nprotocol P = !a.!b.?a.end') == []


def test_what_it_says():
    _, _, findings = examine_contract(Source("protocol P = !a.!b.?a.?b.end"))
    assert findings[0].message == "`!b` waits for the result of `!a`, which comes only behind it"
    assert findings[0].help == "let them run side by side, `(!a.?a | !b.?b)`, or say `tools { a fails done }`"
