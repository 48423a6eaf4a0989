"""What may happen now, where no protocol tells it: what the rules name."""

from __future__ import annotations

import pytest

from accord.choreography.compiling import compile_contract
from accord.monitor.step import begin
from accord.stepping.events import read_one
from accord.stepping.happenings import happen
from accord.stepping.moves import actions

WAITS = 'rule "r" { before !b require a }'


def offered(text, *events):
    situation = begin(compile_contract(text), None)
    for position, event in enumerate(events):
        situation, _ = happen(situation, read_one(event), "refuse", position)
    return [symbol.word for symbol in actions(situation)]


@pytest.mark.parametrize(
    ("rules", "events", "words"),
    [
        ('rule "s" { at most 3 b }', (), ["!a", "?b"]),
        ('rule "s" { at most 3 b }', ("!a",), ["!a", "!b"]),
        ('rule "s" { at most 1 b }', ("?b",), ["!a"]),
        ('rule "s" { at most 3 b by human }', (), ["!a", "?b"]),
        ('rule "s" { each k: at most 3 b }', (), ["!a", "?b"]),
        ("", (), ["!a"]),
    ],
)
def test_a_bare_label_is_offered_in_the_direction_that_may_happen(rules, events, words):
    """Sent if that is legal; what arrives is the same to a rule, and may be legal where sending is not."""
    assert offered(f"{WAITS}\n{rules}", *events) == words


@pytest.mark.parametrize("rule", ["at most 3 b", "each k: at most 3 b"])
def test_the_result_of_a_call_is_no_bare_label(rule):
    contract = f'rule "r" {{ before each !b require a }}\nrule "s" {{ {rule} }}'
    assert offered(contract, "!a", '!b {"k": 1}') == ["!a"]
