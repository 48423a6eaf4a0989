"""Sessions of several roles at rest, and in a ledger."""

import itertools
import json

import pytest

import accord
from accord import Ledger, MemorySink, Ok, RecordedSession, Session, UsageError, Violation

TEXT = """
protocol P { A -> B: x; C -> B: y; B -> A: z }
rule "once" { at most 1 x }
"""
PLAIN = TEXT.split("rule", maxsplit=1)[0]


@pytest.mark.parametrize("text", [TEXT, PLAIN])
@pytest.mark.parametrize("key", [None, b"secret"])
def test_a_restored_session_goes_on(text, key):
    session = Session(text, mode="refuse")
    assert session["C"].send("y", to="B") == Ok()
    snapshot = json.loads(json.dumps(session.snapshot(key=key)))
    again = Session.restore(text, snapshot, key=key)
    assert (again.states, again.under_way, again.mode, again.status) == (
        session.states,
        session.under_way,
        "refuse",
        "running",
    )
    assert again["A"].send("x", to="B") == again["B"].receive(sender="A") == again["B"].receive(sender="C") == Ok()
    assert again["B"].send(to="A") == again["A"].receive(sender="B") == again.close() == Ok()
    assert Session.restore(text, again.snapshot(key=key), key=key).status == "complete"


def test_rules_are_in_the_snapshot():
    session = Session('protocol P { rec X { A -> B: x; continue X } } rule "once" { at most 1 x }', mode="refuse")
    assert session.observe("A", "B", "x") == Ok()
    again = Session.restore(session.contract, session.snapshot())
    assert again.observe("A", "B", "x").clause == 'rule "once"'
    assert again.observe("A", "B", "x").position == 2


def changed(snapshot, **change):
    from accord.monitor.snapshot import sealed

    body = {**snapshot, **change}
    body.pop("checksum")
    return sealed(body, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": [0]}, "in no states"),
        ({"states": [0, 99, 0]}, "in no states"),
        ({"under_way": [["A", "B", ["nothing"]]]}, "what is under way"),
        ({"under_way": [["A", "B", []]]}, "what is under way"),
        ({"under_way": [["C", "B", ["y"]], ["A", "B", ["x"]]]}, "what is under way"),
        ({"contract": "sha256:0"}, "another contract"),
        ({"version": 2}, "version"),
        ({"phase": "puzzled"}, "no snapshot"),
        ({"protocol": "Q"}, "declares no protocol"),
        ({"rules": {"format": "x"}}, "other rules"),
        ({"more": 1}, "no snapshot"),
    ],
)
def test_damage_is_found(change, message):
    snapshot = Session(PLAIN).snapshot()
    with pytest.raises(UsageError, match=message):
        Session.restore(PLAIN, changed(snapshot, **change))
    with pytest.raises(UsageError, match="checksum"):
        Session.restore(PLAIN, {**snapshot, **change})


def test_forgery_is_found():
    snapshot = Session(PLAIN).snapshot(key=b"k")
    for key in (None, b"other"):
        with pytest.raises(UsageError):
            Session.restore(PLAIN, snapshot, key=key)
    with pytest.raises(UsageError, match="not accepted"):
        Session.restore(PLAIN, Session(PLAIN).snapshot(), key=b"k")


def test_every_attempt_is_in_the_ledger():
    sink = MemorySink()
    recorded = RecordedSession(Session(TEXT, mode="refuse"), Ledger(sink), session="s1")
    assert recorded.observe("A", "B", "x", {"n": 1}, meta={"shown": "x"}) == Ok()
    assert isinstance(recorded.observe("A", "B", "x"), Violation)
    with pytest.raises(UsageError):
        recorded.observe("A", "Z", "x")
    assert isinstance(recorded.close(), Violation)
    assert recorded.ledger.verify().ok
    assert answers(sink) == ["ok", "violation", "misuse", "violation"]


def answers(sink):
    entries = [json.loads(line)["entry"] for line in sink.data.splitlines()[1:]]
    return [entry["verdict"] for entry in entries if entry["act"] == "attempt"]


def test_what_is_recorded_is_what_was_answered_whoever_it_is_between():
    """Of two roles only one may send to the other, and of two labels one is next."""
    sink = MemorySink()
    recorded = RecordedSession(Session(TEXT, mode="refuse"), Ledger(sink))
    said = []
    for _ in range(2):
        for label in "xyz":
            for sender, receiver in itertools.permutations("ABC", 2):
                verdict = recorded.observe(sender, receiver, label)
                said.append("ok" if verdict == Ok() else "violation")
    assert answers(sink) == said
    assert said.count("ok") == 3
    assert recorded.watched.status == "complete"


def test_endpoints_are_recorded():
    recorded = RecordedSession(Session(PLAIN), Ledger(MemorySink()))
    assert recorded["C"].send("y", to="B") == recorded["A"].send("x", to="B") == Ok()
    assert recorded["B"].receive(sender="A") == Ok()
    assert recorded.watched.trace == ["C: B!y", "A: B!x", "B: A?x"]
    assert recorded.ledger.verify().ok


def test_what_cannot_be_recorded_is_not_done():
    class Filling(MemorySink):
        full = False

        def write(self, start, line):
            if self.full:
                raise OSError(28, "No space left on device")
            super().write(start, line)

    session, sink = Session(PLAIN), Filling()
    recorded = RecordedSession(session, Ledger(sink))
    sink.full = True
    assert "ledger cannot be written" in recorded.observe("A", "B", "x").reason
    assert session.trace == []


def test_wrong_usage():
    with pytest.raises(UsageError, match="recorded in a `Ledger`"):
        RecordedSession(accord.Monitor("!a.end"), Ledger(MemorySink()))
