"""The labeller against the reference: random events, random messages, the same labels; planted bugs are found."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest

from accord.diagnostics import Source
from accord.language import examine, print_document
from accord.language.events import Says
from accord.language.interchange import document_from_json, document_to_json
from accord.language.tree import Document
from accord.projection import labels as labeller_module
from accord.projection.labels import Labeller
from accord.semantics.events import label_of
from accord.sources.model import KINDS, Message
from tests.properties.generate_data import as_json
from tests.properties.generate_events import NAMES, TEXTS, VALUES, random_events
from tests.properties.made_events import MadeEvents


def random_body(rng):
    if rng.random() < 0.4:
        return rng.choice(TEXTS)
    body = {"x": rng.choice(VALUES), "y": {"z": rng.choice(VALUES)}, "text": rng.choice(VALUES), "call": {"x": 1}}
    body = {name: value for name, value in body.items() if rng.random() < 0.7}
    return json.dumps(body) if rng.random() < 0.3 else body


def random_message(rng, events):
    """Anything, or something that one of the lines is about and that may fit its guards too."""
    line = rng.choice(events.lines) if events is not None and rng.random() < 0.6 else None
    origin = None if line is None else line.origin
    kind = rng.choice(KINDS) if origin is None else origin.kind
    if kind in {"user", "agent"}:
        return Message(kind, 0, rng.choice(TEXTS))
    call_id = rng.choice([None, "", "12", "yes"])
    name = rng.choice([*NAMES, None] if origin is None else origin.names)
    message = Message(kind, 0, random_body(rng), name, call_id)
    if line is not None and rng.random() < 0.7:
        message = Message(kind, 0, {"x": 1, "y": {"z": 1}, **fields_of(rng, line)}, name, call_id)
    if kind in {"result", "error"} and rng.random() < 0.7:
        message.answers = Message(rng.choice(["call", "user call"]), 0, random_body(rng), name, call_id)
    return message


def fields_of(rng, line):
    """Fields that have what the guards of a line name, or are in the list that they name."""
    fields = {}
    for guard in line.guards:
        value = as_json(guard.operand.scalar)
        value = rng.choice(value) if guard.operator == "in" and value else value
        fields |= {guard.path[0]: value if len(guard.path) == 1 else {guard.path[1]: value}}
    return fields


def differences(rng, rounds, made):
    """What the two disagree on, and how often each outcome was met."""
    seen: Counter[str] = Counter()
    for _ in range(rounds):
        events = None if rng.random() < 0.1 else random_events(rng)
        labeller = Labeller(events)
        if events is not None:
            made.add(events)
        for _ in range(12):
            message = random_message(rng, events)
            answers_user = message.answers is not None and message.answers.kind == "user call"
            right = label_of(events, message.kind, message.name, message.payload, answers_user=answers_user)
            if events is not None and right is not None:
                made.decided(events.lines[right[2]])
            label = labeller.label(message)
            found = None if label is None else (label.direction, label.label, label.line)
            seen["unmatched" if right is None else "ignored" if right[1] is None else "labelled"] += 1
            if found != right:
                yield events, message, found, right
    yield seen


def test_the_labeller_says_what_the_events_mean(soak, health):
    rounds = 20_000 if soak else 1_500
    made = MadeEvents()
    *wrong, seen = differences(Random(8), rounds, made)
    assert wrong == []
    made.check()
    assert min(seen.values()) > rounds / 10, seen
    health(f"events: {rounds:,} random blocks, {sum(seen.values()):,} messages, {dict(seen)}\n{made.table()}")


REAL = {
    name: getattr(labeller_module, name) for name in ("_test", "_guarding", "_is_about", "_candidates", "normalise")
}

BUGS = {
    "guards are forgotten": ("_guarding", lambda _guards: lambda _message: True),
    "one guard is enough": ("_guarding", lambda guards: REAL["_guarding"](guards[:1])),
    "the last line decides": ("_candidates", lambda lines, kind, name: REAL["_candidates"](lines[::-1], kind, name)),
    "otherwise is forgotten": (
        "_is_about",
        lambda line, kind: line.origin is not None and REAL["_is_about"](line, kind),
    ),
    "names are compared as they are": ("normalise", lambda text: text),
    "texts are compared whole": (
        "_test",
        lambda line: (
            (lambda message: message.text == line.origin.text)
            if isinstance(line.origin, Says) and not line.origin.is_pattern and line.origin.text
            else REAL["_test"](line)
        ),
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug, monkeypatch):
    name, replacement = BUGS[bug]
    monkeypatch.setattr(labeller_module, name, replacement)
    found = next(differences(Random(8), 1_500, MadeEvents()))
    assert not isinstance(found, Counter)


def test_events_are_printed_and_read(soak, health):
    rng = Random(5)
    rounds = 10_000 if soak else 800
    for _ in range(rounds):
        document = Document((random_events(rng),))
        for width in (88, 20):
            text = print_document(document, width=width)
            again, findings = examine(Source(text))
            assert not [finding for finding in findings if finding.code not in {"E058", "W059", "E045"}], text
            assert again.items == document.items, text
            assert print_document(again, width=width) == text
        assert document_from_json(json.loads(json.dumps(document_to_json(document)))).items == document.items
    health(f"events: {rounds:,} random blocks printed in two widths and read, and written as JSON and read")
