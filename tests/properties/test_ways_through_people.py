"""The search for the people whom a call needs against an obvious one, which tries everything in order of length."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import product
from math import inf
from random import Random

import pytest

from accord import ContractError, Ok
from accord.calls import ways
from accord.choreography.compiling import compile_contract
from accord.language import print_document
from accord.machine import rule_forms
from accord.machine.events import Event
from accord.monitor.step import begin, step

GATES = "ABCD"
LONGEST = 4
PAYLOADS = ({"id": 1, "x": 0}, {"id": 2, "x": 1}, {"x": 1})


def condition(rng, depth=2):
    kind = rng.choice((5, 5, 6, 7, 7)) if depth == 2 else rng.randrange(9 if depth else 5)
    gate = f"{rng.choice(GATES)}{rng.choice(('', '', '(x > 0)'))} by human"
    if kind < 2:
        return gate
    if kind < 4:
        return f"at least {rng.randint(1, 4)} {gate}"
    if kind == 4:
        return rng.choice(("look", "not look", f"not {gate}", f"at most {rng.randint(1, 2)} {gate}"))
    parts = [condition(rng, depth - 1) for _ in range(rng.randint(2, 3))]
    if kind == 5:
        return f"({' and '.join(parts)})"
    if kind == 6:
        return f"({' or '.join(parts)})"
    return f"{rng.randint(2, len(parts))} of [{', '.join(parts)}]" if kind == 7 else f"not ({parts[0]})"


def contract_of(rng):
    while True:
        rules = []
        for number in range(rng.randint(1, 3)):
            each = rng.choice(("", "", "each id: "))
            body = rng.choice((
                f"before{rng.choice(('', ' each'))} pay require {condition(rng)}",
                f"before{rng.choice(('', ' each'))} pay require {condition(rng)}",
                f"at most {rng.randint(1, 2)} {rng.choice(GATES)}",
                f"after {rng.choice(GATES)} by human forbid {rng.choice((*GATES, 'pay'))}",
                f"forbid {rng.choice(GATES)} {rng.choice(('then', '...'))} {rng.choice((*GATES, 'pay'))}",
                f"after each {rng.choice(GATES)} require look",
            ))  # fmt: skip
            rules.append(f'rule "r{number}" {{ {each}{body} }}')
        loops = [f"?{gate}{rng.choice(('', '', '(x > 0)'))} by human.L" for gate in GATES if rng.random() < 0.8]
        first = rng.choice(("", "?A by human."))
        loop = f"protocol P = {rng.choice(('', 'each id: '))}rec L.{{{', '.join([*loops, f'{first}!pay.L'])}}}"
        with suppress(ContractError):
            return compile_contract("\n".join([*rng.choice(((), (loop,))), *rules]))


def obvious(world, steps, call):
    for length in range(1, LONGEST + 1):
        for way in product(range(len(steps)), repeat=length):
            there, verdict = world, Ok()
            for event in [*(steps[number] for number in way), call]:
                there, verdict = step(there, event, "refuse")
                if verdict != Ok():
                    break
            else:
                return way
    return None


def differences(seed, times):
    """Where the two disagree, if they do; how long the ways were, and how often there was none."""
    rng, met = Random(f"people {seed}"), Counter()
    for _ in range(times):
        contract, payload = contract_of(rng), rng.choice(PAYLOADS)
        world = begin(contract, None)
        for _ in range(rng.choice((0, 0, 1, 2))):
            past = Event("?", rng.choice(GATES), None, payload, "ana") if rng.random() < 0.7 else Event("!", "look")
            world = step(world, past, "refuse")[0]
        steps, call = [Event("?", gate, None, payload, "ana") for gate in GATES], Event("!", "pay", None, payload)
        found, expected = ways.shortest_way([world], steps, call), obvious(world, steps, call)
        if found.cut_short or (found.way != expected and not (expected is None and len(found.way or ()) > LONGEST)):
            return f"{found}, expected {expected}, of {payload} under {print_document(contract.document)}", met
        met["none" if expected is None else len(expected)] += 1
    return None, met


def test_the_search_finds_what_trying_everything_finds(soak):
    difference, met = differences(1, 3_000 if soak else 400)
    assert difference is None
    assert all(met[length] > 3 for length in ("none", 1, 2, 3)), met


def too_far(monkeypatch):
    original = rule_forms._BeforeForm.lacks
    monkeypatch.setattr(rule_forms._BeforeForm, "lacks", lambda *rest: 3 * original(*rest))


def some_are_too_far(monkeypatch):
    original = rule_forms._BeforeForm.lacks
    monkeypatch.setattr(rule_forms._BeforeForm, "lacks", lambda *rest: inf if original(*rest) > 1 else original(*rest))


def protocols_are_deaf(monkeypatch):
    monkeypatch.setattr(ways._Search, "through_protocol", lambda _self, _start: None)


def the_last_come_first(monkeypatch):
    original = ways._Search.__init__

    def init(self, steps, call):
        original(self, steps[::-1], call)

    monkeypatch.setattr(ways._Search, "__init__", init)


@pytest.mark.parametrize(
    "plant", [too_far, the_last_come_first, some_are_too_far, protocols_are_deaf], ids=lambda p: p.__name__
)
def test_planted_bugs_are_caught(plant, monkeypatch):
    plant(monkeypatch)
    assert differences(1, 400)[0] is not None
