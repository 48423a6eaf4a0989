"""The shortest way that a refusal tells is a way: whoever follows it can do what was refused.

Random contracts with slices and deadlines, that look at neither data nor people: the search takes it that what fits can
be chosen.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import fields, is_dataclass
from random import Random

import pytest

from accord import Monitor, Ok, Violation, compile
from accord.errors import ContractError, UsageError
from accord.language.rules import Pattern
from accord.language.tree import Action, Document
from accord.machine.paths import Wait
from accord.monitor.explain import find_way
from accord.monitor.explain_way import tell_way
from tests.properties.generate import random_action
from tests.properties.generate_time import random_contract_over_time, random_time
from tests.properties.made import tables_of

KEYS = (1, 2, "`x`\x1b")
MOMENT = 1 / 1024


def tell(monitor, direction, label, partner, payload, by, at):
    if direction == "!":
        return monitor.send(label, payload, partner, at)
    return monitor.receive(label, payload, partner, by, at)


def bare(node):
    """A part of a contract without its clauses, guards and gates."""
    if isinstance(node, Pattern):
        return Pattern(node.label, node.direction)
    if isinstance(node, Action):
        return Action(node.direction, node.label, node.partner)
    if type(node) is tuple:
        return tuple(map(bare, node))
    if is_dataclass(node):
        return type(node)(**{field.name: bare(getattr(node, field.name)) for field in fields(node) if field.init})
    return node


def tells(refusal, way, text):
    """Whether a sentence tells this way."""
    event = refusal.event
    got = refusal.vocabulary.name(event.direction, event.label, event.partner)
    return tell_way(refusal, way, got).removeprefix("first ") in text.replace("First ", "first ").partition("first ")[2]


def follow(contract, snapshot, refusal, now, payload, seen):
    """Go the way on a copy of the session, then try again what was refused."""
    monitor = Monitor.restore(contract, snapshot)
    way = find_way(refusal)
    for step in way:
        if isinstance(step, Wait):
            now += step.seconds + MOMENT
            verdict = monitor.tick(now)
            seen["a deadline on the way"] += 1
        else:
            verdict = tell(monitor, step.direction, step.label, step.partner, payload, None, now)
        if isinstance(verdict, Violation) and verdict._facts.missed:
            seen["a rule was late on the way"] += 1  # in another instance, which the search does not look at
            return
        assert verdict == Ok(), (str(contract.document), way, step, verdict.explain())
    event = refusal.event
    verdict = tell(monitor, event.direction, event.label, event.partner, payload, event.by, now)
    assert verdict == Ok(), (str(contract.document), way, verdict.explain())
    seen["followed"] += 1
    seen["of several steps"] += len(way) > 1


def walk(rng, contract, seen):
    monitor = Monitor(contract, mode="refuse", at=0)
    now = 0.0
    for _ in range(12):
        now = random_time(rng, now, monitor.next_due())
        key = rng.choice(KEYS)
        payload = {"k": key, "o": {"k": key}}
        action = random_action(rng)
        if rng.random() < 0.7 and (words := monitor.allowed()):
            word = rng.choice(words).removesuffix(" by human")
            at = max(word.find("!"), word.find("?"))
            action = type(action)(word[at], word[at + 1 :].strip('"'), word[:at] or None)
        by = "ana" if action.direction == "?" and rng.random() < 0.5 else None
        try:
            verdict = tell(monitor, action.direction, action.label, action.partner, payload, by, now)
        except UsageError:
            continue
        if not isinstance(verdict, Violation):
            continue
        text = verdict.explain()
        assert text.endswith(".")
        assert text.isprintable()
        assert len(text) < 2500
        assert text.count("`") % 2 == 0
        if verdict._facts.event is not None and (way := find_way(verdict._facts)):
            # Whoever reads the sentence is told the way, with every step of it.
            assert tells(verdict._facts, way, text) or verdict._facts.reasons
            with suppress(UsageError):  # a partner that was left open
                follow(contract, monitor.snapshot(), verdict._facts, now, payload, seen)
    text = getattr(monitor.close(now), "explain", lambda: ".")()
    assert text.endswith(".")
    assert text.isprintable()


@pytest.mark.parametrize("flavour", ["time", "slices", "slices time"])
def test_a_way_is_a_way(flavour, soak, health):
    seen, (protocols, *_) = Counter(), tables_of(flavour)
    rng = Random(f"ways {flavour}")
    most = 8_000 if soak else 400
    for number in range(2 * most):
        if number >= most and not protocols.census.lacking(1):  # it goes on where something was not met
            break
        document, _ = random_contract_over_time(rng, flavour)
        document = Document(bare(document.items))
        try:
            contract = compile(document)
        except ContractError:  # branches that only guards told apart
            continue
        seen["contracts"] += 1
        protocols.census.add(protocols.cells(document))
        walk(rng, contract, seen)
    assert seen["contracts"] > 250
    assert seen["followed"] > 60
    assert seen["of several steps"] > 30
    assert "time" not in flavour or seen["a deadline on the way"] > 5
    protocols.census.check(1)
    health(f"ways, {flavour}: {dict(sorted(seen.items()))}\n{protocols.census.table()}")
