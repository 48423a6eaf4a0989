"""The short way of a LangChain step makes what the long way makes, or leaves it to that."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from accord.errors import UsageError
from accord.integrations.exchange import ToolCall
from accord.integrations.guard import reserving
from accord.integrations.guard.guard import Guard
from accord.integrations.guard.looking import look_at
from accord.integrations.guard.state import Desk, Done, State
from accord.langchain import shortcut
from accord.monitor.step import begin
from tests.properties.generate_data import random_payload
from tests.properties.guard_contracts import LABELS, contract_for_tools

FLAVOURS = ("plain", "people", "data", "rules", "data and rules")


def walk(contract, random, seen):
    """One session of calls that return one after the other; wherever the short way answers, it answers right."""
    policy = Guard(contract)._session.policy
    state = State(begin(contract, None, None))
    for number in range(12):
        legal = [word[1:2] for word in state.settled.allowed if word.startswith("!")]
        name = random.choice(legal if legal and random.random() < 0.8 else LABELS)
        call = ToolCall(name, random_payload(random), random.choice(("", "i", f"c{number}", f"c{number}")))
        (claim,) = look_at([call], None, strict=True)
        if random.random() < 0.3:
            state = state._replace(desk=random_desk(random))
        long = reserving.reserve(policy, state, [claim], None)
        short = shortcut.reserve_one(policy, state, claim)
        seen["reserved" if short is not None else "left"] += 1
        assert short in (None, long.state)
        state = long.state
        for logged in state.log:
            result = {"error": None, **random_payload(random)}
            settled = reserving.settle(policy, state, logged.ticket, result, None)
            short = shortcut.settle_one(policy, state, logged.ticket, result)
            seen["settled" if short is not None else "not settled"] += 1
            assert short in (None, settled.state)
            state = settled.state


def random_desk(random):
    done = tuple(Done(f"c{n}", "0" * 8) for n in range(random.randrange(3)))
    refusals = (("a", 1),) if random.random() < 0.1 else ()
    return Desk(done, refusals, stopped="tired" if random.random() < 0.05 else None)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_it_makes_what_the_long_way_makes(flavour, soak, health):
    random, seen = Random(7), Counter()
    for _ in range(4_000 if soak else 60):
        contract = contract_for_tools(random, flavour)
        for _ in range(2):  # the second time, where it leads is known
            try:
                walk(contract, Random(random.random()), seen)
            except UsageError:
                seen["no walk"] += 1
    health(f"the short way, {flavour}: {dict(sorted(seen.items()))}")
    assert min(seen["reserved"], seen["settled"], seen["left"]) > 50


def what_has_run_is_forgotten(monkeypatch):
    monkeypatch.setattr(shortcut, "remember_done", lambda desk, _: desk)


def what_is_bound_is_forgotten(monkeypatch):
    original = shortcut.quick_step

    def step(here, event):
        after = original(here, event)
        return None if after is None else after._replace(holding=here.holding)

    monkeypatch.setattr(shortcut, "quick_step", step)


@pytest.mark.parametrize("plant", [what_has_run_is_forgotten, what_is_bound_is_forgotten])
def test_a_planted_bug_is_found(plant, monkeypatch):
    plant(monkeypatch)
    random = Random(7)
    with pytest.raises(AssertionError):  # noqa: PT012 - somewhere on the way
        for _ in range(200):
            contract = contract_for_tools(random, "data")
            walk(contract, Random(1), Counter())
            walk(contract, Random(1), Counter())
