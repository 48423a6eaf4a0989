"""The short way of a plain attempt and the long one keep the same bytes."""

from __future__ import annotations

import random

import msgspec
import pytest

import accord
from accord import MemoryStore, StoredSession
from accord.ledger.represent import is_plain_number, plain_copy, represent
from accord.stores import judging
from accord.stores.record import read, write

CONTRACTS = [
    "rec X.!{a.?b.X, c.?d.X}",
    'protocol P = rec X.{!a.X, ?b.X, !c.X}\nrule "some" { at most 5 a }\nrule "first" { before c require b }',
    "protocol P = ?b(total as t).rec X.{!a(amount <= t).X, !c.?d.X}",
    'rule "any" { after a forbid c }',
    "protocol P = (rec X.!a.X | rec Y.?b.Y)",
]
PAYLOADS = [
    None, {}, {"amount": 1}, {"total": 5, "amount": 2.5}, {"x": 1.0}, {"x": 1e300}, {"x": "ü"}, {"$accord": 1},
    {"x": [1, {"y": None, "z": [True, "s"]}]}, {"x": float("nan")}, {"x": 2**63}, {"x": 2**62 - 1}, {"x": -0.0},
    {"x": [[[[[1]]]]]}, {"b": 1, "a": 2, "ab": {"d": 1, "c": '\x7f\x00"\\/'}}, {"x": 0.001}, {"x": 123456789.125},
]  # fmt: skip


def session_on(text, monkeypatch, *, quick):
    """A session whose ledger has the same beginning each time."""
    monkeypatch.setattr(judging.secrets, "token_hex", lambda _: "0" * 32)
    if not quick:
        monkeypatch.setattr(judging, "_quick", lambda *_: None)
    return StoredSession(MemoryStore(), text, "s1")


@pytest.mark.parametrize("text", CONTRACTS)
def test_both_ways_keep_the_same(text, monkeypatch, health):
    dice = random.Random(text)
    contract = accord.compile(text)
    steps = [
        (dice.choice("!?"), dice.choice(["a", "b", "c", "d", "e", "Unrecognized"]), dice.choice(PAYLOADS),
         dice.choice([None, None, 3, 4.5, 5.0]))
        for _ in range(600)
    ]  # fmt: skip
    kept, short = [], 0
    plain = judging._quick

    def counted(*arguments):
        nonlocal short
        outcome = plain(*arguments)
        short += outcome is not None
        return outcome

    for quick in (True, False):
        with monkeypatch.context() as patch:
            patch.setattr(judging, "_quick", counted)
            session = session_on(contract, patch, quick=quick)
            answers = []
            for direction, label, payload, at in steps:
                act = session.send if direction == "!" else session.receive
                answers.append(act(label, payload, at=at))
            assert session.verify().ok
            kept.append((answers, session.store.row("s1"), list(session.store.ledger("s1"))))
    assert kept[0] == kept[1]
    assert short or "total" in text or "|" in text
    health(f"stores: {short} of {len(steps)} attempts went the short way and kept the same bytes")


def test_what_is_plain_is_represented_as_it_is():
    for payload in PAYLOADS[1:]:
        copy = plain_copy(payload)
        if copy is not None:
            assert represent(payload) == payload == copy
            assert copy is not payload
    assert sum(plain_copy(payload) is not None for payload in PAYLOADS) >= 7


def test_the_largest_plain_payload_is_kept_whole():
    text = "\x01" * 500
    largest = {chr(65 + n) * 500: {chr(97 + m) * 500: text for m in range(12)} for n in range(12)}
    assert plain_copy(largest) == represent(largest) == largest
    largest["A" * 500]["more"] = 1
    assert plain_copy(largest) is None


def test_a_plain_copy_shares_nothing_that_can_change():
    payload = {"x": [1], "y": {"z": 1}}
    copy = plain_copy(payload)
    payload["x"].append(2)
    payload["y"]["z"] = 2
    assert copy == {"x": [1], "y": {"z": 1}}


@pytest.mark.parametrize("value", [True, "1", None, 2**62, 1.0, 1e16, 1e-9, float("inf"), float("nan"), -0.0])
def test_what_is_no_plain_number(value):
    assert not is_plain_number(value) or value == 2**62


def test_a_record_that_contradicts_itself():
    """Its seal is right, so somebody who knows the secret has made it; still nothing is done with it."""
    store = MemoryStore()
    for key, mode in (("s1", "refuse"), ("s2", "halt")):
        StoredSession(store, "rec X.!a.X", key, mode=mode).send("a")
    mine, other = (read(key, store.row(key), None) for key in ("s1", "s2"))
    forged = write(msgspec.structs.replace(mine, session=other.session), None)
    store._sessions["s1"] = forged, *store._sessions["s1"][1:]
    answer = StoredSession(store, "rec X.!a.X", "s1").send("a")
    assert "its record contradicts itself" in answer.reason
