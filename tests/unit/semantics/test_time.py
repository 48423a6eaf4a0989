"""Time in the reference interpreter: what counts as a time, and what does not move."""

import math

import pytest

from accord.language import parse
from accord.semantics import Misuse, Session
from accord.semantics.clocks import age, next_due
from accord.semantics.places import moves, start
from accord.semantics.words import word

TIMED = "!a.?b within 5s else !c"


def session(text, mode="halt", at=None):
    document = parse(text)
    first = document.declarations[0] if document.declarations else None
    body, each, is_open = (first.body, first.each, first.is_open) if first else (None, None, False)
    return Session(body, mode, rules=document.rules, each=each, at=at, is_open=is_open)


@pytest.mark.parametrize("at", [True, False, math.nan, math.inf, -math.inf, "5", b"5", [5], 1j, 10**400])
@pytest.mark.parametrize("text", [TIMED, "!a"])
def test_what_is_no_time_is_a_misuse(text, at):
    running = session(text)
    for attempt in (
        lambda: running.send("a", at=at),
        lambda: running.receive("b", at=at),
        lambda: running.tick(at),
        lambda: running.close(at),
        lambda: session(text, at=at),
    ):
        with pytest.raises(Misuse):
            attempt()
    assert running.allowed() == ["!a"]
    assert running.next_due() is None


def test_a_tick_needs_a_time():
    with pytest.raises(Misuse):
        session(TIMED).tick(None)


def test_whole_numbers_and_fractions_are_one_kind_of_time():
    running = session(TIMED)
    running.send("a", at=1)
    assert running.next_due() == 6
    assert running.receive("b", at=6.0).kind == "ok"


def test_a_deadline_is_computed_from_the_time_as_it_was_told():
    for told in (0, 0.1, 1e9 + 0.7, -3, 2**53):
        running = session("!a.?b within 100ms else !c")
        running.send("a", at=told)
        assert running.next_due() == told + 100 / 1000


def offered(state):
    return sorted(map(word, moves(state)))


def test_ageing_goes_from_deadline_to_deadline():
    state = start(parse("?a within 1s else ?b within 2s else !c").declarations[0].body, 10)
    assert [next_due(age(state, at)) for at in (10, 11, 11.5, 13, 13.5)] == [11, 11, 13, 13, None]
    assert [offered(age(state, at)) for at in (11, 13, 14)] == [["?a"], ["?b"], ["!c"]]
    assert age(age(state, 12), 14) == age(state, 14)


def test_ageing_to_the_same_moment_changes_nothing():
    state = start(parse("(?a within 1s else !x | ?b within 2s else !y)").declarations[0].body, 0)
    assert age(state, 1) == state
    late = age(state, 1.5)
    assert age(late, 1.5) == late
    assert offered(late) == ["!x", "?b"]


def test_asking_changes_nothing():
    running = session(TIMED)
    running.send("a", at=0)
    for _ in range(3):
        assert (running.next_due(), running.allowed(), running.status) == (5, ["?b"], "running")


def test_rules_forget_nothing_that_came_in_time():
    running = session('rule "r" { within 5s after A require B and C }', mode="refuse")
    assert [running.send(label, at=at).kind for label, at in (("A", 0), ("B", 4), ("C", 5))] == ["ok"] * 3
    assert running.next_due() is None


def test_a_key_must_equal_itself():
    running = session("each k: !a.!b", mode="refuse")
    for key in (math.nan, [math.nan], {"x": math.nan}):
        assert running.send("a", {"k": key}).kind == "violation"
    assert running.status == "complete"
    assert running.send("a", {"k": [1]}).kind == "ok"


def test_a_key_is_a_copy():
    running = session("each k: !a.!b", mode="refuse")
    key = [1]
    assert running.send("a", {"k": key}).kind == "ok"
    key.append(2)
    assert running.send("b", {"k": [1]}).kind == "ok"


def test_a_rule_does_not_fall_back_on_the_payload_where_the_call_has_an_odd_key():
    running = session('rule "r" { each k: at most 1 ?a }', mode="refuse")
    assert running.receive("a", {"k": 1, "call": {"k": math.nan}}).kind == "violation"
    assert running.receive("a", {"call": {"k": 1}}).kind == "ok"
    assert running.receive("a", {"call": {"k": 1}}).kind == "violation"
