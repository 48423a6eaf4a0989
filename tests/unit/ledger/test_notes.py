"""What happened to a session beside attempts stands in its ledger as firmly as they do."""

from __future__ import annotations

import random

import pytest

from accord import Guard, MemoryStore, ToolCall
from accord.ledger.chain import BadEntryError, Walk


def broken():
    raise ValueError("no account")


@pytest.fixture(name="lines")
def _lines():
    """A ledger with every kind of note that a guard makes in a short life."""
    store = MemoryStore()
    contract = "rec L.{!fail.L, ?Approval by human.!pay.L}"
    guard = Guard(contract, store=store, key="s", tools={"pay": lambda amount: amount, "fail": broken}, patience=2)
    guard.run([ToolCall("fail", {}, "c1")])
    guard.run([ToolCall("pay", {"amount": 3}, "c2")])
    guard.decide(guard.reviews()[0].id, "allow", by="ana", reason="fine")
    guard.run([ToolCall("pay", {"amount": 3}, "c3")])
    guard.run([ToolCall("other", {}, "c4")])
    guard.run([ToolCall("other", {}, "c5")])
    guard.resume(by="ana", reason="go on")
    return list(store.ledger("s"))


def verifies(lines):
    walking = Walk(None, None)
    try:
        for line in lines:
            walking.take(line)
        walking.end()
    except BadEntryError:
        return False
    return True


def test_it_is_whole(lines):
    assert verifies(lines)
    notes = [line for line in lines if b'"act":"note"' in line]
    assert len(notes) >= 5


def test_every_single_edit_of_a_note_is_found(lines):
    dice = random.Random(5)
    places = [number for number, line in enumerate(lines) if b'"act":"note"' in line]
    for _ in range(3_000):
        number = dice.choice(places)
        line = bytearray(lines[number])
        place, value = dice.randrange(len(line)), dice.randrange(256)
        if line[place] == value:
            continue
        line[place] = value
        assert not verifies([*lines[:number], bytes(line), *lines[number + 1 :]])


def test_notes_cannot_be_taken_out_moved_or_repeated(lines):
    for number in range(1, len(lines) - 1):
        assert not verifies(lines[:number] + lines[number + 1 :])
        assert not verifies([*lines[:number], lines[number + 1], lines[number], *lines[number + 2 :]])
        assert not verifies([*lines[: number + 1], lines[number], *lines[number + 1 :]])
