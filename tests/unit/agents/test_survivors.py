"""Who waits in vain when a role has crashed, although it does not wait for that role alone."""

from __future__ import annotations

import accord
from accord.agents.survivors import going_on
from accord.choreography import compile_choreography

BACK_AGAIN = """
protocol P {
    C -> B: x
    B -> A: x
    choice at A { A -> B: y } or { A -> D: z; D -> B: z; D -> C: z; C -> A: y } or crash A { D -> B: x }
    A -> C: x
}
"""


def at(choreography, role, *words):
    """The state of a role after some steps."""
    machine, state = choreography.machines[role], 0
    for word in words:
        state = next(target for symbol, target in machine.states[state].edges if machine.symbols[symbol].word == word)
    return state


def test_nothing_comes_to_one_who_waits_for_the_crashed_or_for_what_it_would_have_caused():
    choreography = compile_choreography(accord.compile(BACK_AGAIN))
    waiting = at(choreography, "C", "B!x")
    assert waiting not in going_on(choreography, "C", frozenset({"A"}))
    assert waiting in going_on(choreography, "C", frozenset())


def test_those_who_still_have_to_speak_of_it_go_on():
    choreography = compile_choreography(accord.compile(BACK_AGAIN))
    assert at(choreography, "D") in going_on(choreography, "D", frozenset({"A"}))
    assert at(choreography, "D", "A?crash") in going_on(choreography, "D", frozenset({"A"}))
    assert at(choreography, "B", "C?x", "A!x") in going_on(choreography, "B", frozenset({"A"}))


def test_what_was_sent_before_the_crash_still_comes():
    text = "protocol P { A -> B: x; choice at A { A -> C: y } or crash A { C -> B: z } }"
    choreography = compile_choreography(accord.compile(text))
    assert at(choreography, "B") in going_on(choreography, "B", frozenset({"A"}))
