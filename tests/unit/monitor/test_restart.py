"""A protocol begins again; everything beside it stays."""

from __future__ import annotations

import pytest

from accord import Monitor, compile
from accord.machine.events import Event
from accord.monitor import snapshot
from accord.monitor.restart import is_done, restart
from accord.monitor.step import begin, close, status, step
from accord.monitor.verdicts import Ok


def walk(text, *events, at=None):
    """A session after events; each is a word, or a word and its payload."""
    situation = begin(compile(text), None, at)
    for number, each in enumerate(events):
        word, payload = each if isinstance(each, tuple) else (each, {})
        event = Event(word[0], word[1:], None, payload, None, None if at is None else at + number)
        situation, verdict = step(situation, event, "refuse")
        assert type(verdict) is Ok, verdict
    return situation


def allows(situation, word, payload=None, at=None):
    return type(step(situation, Event(word[0], word[1:], None, payload or {}, None, at), "refuse")[1]) is Ok


@pytest.mark.parametrize(
    ("text", "events", "done"),
    [
        ("!a.!b.end", [], False),
        ("!a.!b.end", ["!a"], False),
        ("!a.!b.end", ["!a", "!b"], True),
        ("!a.{!b.end, end}", ["!a"], False),  # complete, and not over
        ("rec L.{!a.L, end}", ["!a"], False),
        ("(!a.end | !b.end)", ["!a", "!b"], True),
        ("protocol P = each k: !a.end", [("!a", {"k": 1})], False),
        ('rule "r" { at most 1 a }', ["!a"], False),
        ('protocol P = !a.end rule "r" { after a require c }', ["!a"], True),  # a rule owes something, and goes on to
    ],
)
def test_when_a_protocol_is_done(text, events, done):
    assert is_done(walk(text, *events)) is done


def test_the_protocol_is_where_it_began_with_empty_registers():
    situation = walk("!a(x as first).!b(x == first).end", ("!a", {"x": 1}), ("!b", {"x": 1}))
    again = restart(situation)
    assert not allows(again, "!b", {"x": 1})
    assert allows(again, "!a", {"x": 2})
    after, _ = step(again, Event("!", "a", None, {"x": 2}), "refuse")
    assert not allows(after, "!b", {"x": 1})
    assert allows(after, "!b", {"x": 2})


def test_rules_go_on_counting():
    text = 'protocol P = !a.end rule "twice" { at most 2 a }'
    situation = walk(text, "!a")
    situation, verdict = step(restart(situation), Event("!", "a"), "refuse")
    assert type(verdict) is Ok
    assert not allows(restart(situation), "!a")


def test_instances_of_rules_and_their_deadlines_stay():
    text = 'protocol P = !a.end rule "once each" { each k: at most 1 a } rule "soon" { within 10s after a require b }'
    situation = restart(walk(text, ("!a", {"k": 1}), at=100), 105)
    assert not allows(situation, "!a", {"k": 1}, 106)
    assert allows(situation, "!a", {"k": 2}, 106)
    assert not allows(situation, "!a", {"k": 2}, 111)  # `b` was due


def test_deadlines_of_the_protocol_run_from_then():
    situation = walk("!a within 10s else (end)", at=0)
    late = restart(walk("!a within 10s else (!late.end)", "!a", at=0), 100)
    assert allows(late, "!a", None, 109)
    assert not allows(late, "!a", None, 111)
    assert restart(situation) == situation


def test_instances_of_a_sliced_protocol_stay_finished():
    situation = walk("protocol P = each k: !a.end", ("!a", {"k": 1}))
    assert restart(situation) == situation
    assert not allows(restart(situation), "!a", {"k": 1})


def test_a_session_that_was_closed_as_complete_goes_on():
    situation, _ = close(walk("!a.end", "!a"))
    assert is_done(situation)
    assert status(restart(situation)) == "running"
    owing, _ = close(walk("!a.!b.end", "!a"))
    assert not is_done(owing)


def test_it_can_be_kept():
    text = 'protocol P = !a(x as x).!b within 5s else (end).end rule "r" { each x: at most 2 a }'
    contract = compile(text)
    situation = begin(contract, None, 0)
    for event in (Event("!", "a", None, {"x": 1}, None, 1), Event("!", "b", None, {}, None, 2)):
        situation, _ = step(situation, event, "refuse")
    again = restart(situation, 7)
    written = snapshot.write(again, contract, "P", "refuse", 0, None)
    assert snapshot.read(written, contract, None)[0] == again
    assert type(Monitor.restore(contract, written).send("a", {"x": 1}, at=8)) is Ok
