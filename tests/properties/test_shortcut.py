"""The short way of a LangChain step makes what the long way makes, or leaves it to that."""

from __future__ import annotations

from random import Random

import pytest

from accord.integrations.exchange import ToolCall
from accord.integrations.guard import ending, reserving
from accord.integrations.guard.guard import Guard
from accord.integrations.guard.looking import look_at
from accord.integrations.guard.state import Desk, Done, State
from accord.langchain import shortcut
from accord.monitor.events import make_event
from accord.monitor.step import begin
from accord.projection.payloads import of_result
from tests.census import Census
from tests.properties.generate_data import random_payload
from tests.properties.guard_contracts import CONSTRUCTS, LABELS, STRANGER, constructs, contract_for_tools

FLAVOURS = ("plain", "people", "data", "rules", "data and rules", "slices", "life")
ENDS = (
    "short", "long", "refused", "asked", "busy desk", "known id", "settled short",
    "result too", "settled long",
)  # fmt: skip
SHORT = ("short", "settled short", "result too")
NEVER = {
    ("timed", "*"): "a session that is told the time takes the long way at its first step",
    **{("in a slice", end): "where there are slices, every step takes the long way" for end in SHORT},
    ("unknown", "asked"): "no approval makes it legal",
    ("unknown", "result too"): "nobody looks at what it returns",
}


def table():
    return Census("one call at a time", CONSTRUCTS, ENDS, NEVER)


def walk(contract, random, seen):
    """One session of calls that return one after the other; wherever the short way answers, it answers right."""
    policy = Guard(contract)._session.policy
    kinds = constructs(contract.document)
    state = State(begin(contract, None, None))
    for number in range(random.choice((4, 12, 12, 40))):
        state = hear(state, random)
        legal = [word[1:2] for word in state.settled.allowed if word.startswith("!")]
        name = random.choice(legal if legal and random.random() < 0.8 else (*LABELS, *kinds, STRANGER))
        payload = random_payload(random) | {"k": random.randrange(2)}
        call = ToolCall(name, payload, random.choice(("", "i", f"c{number}", f"c{number}", f"c{number}")))
        (claim,) = look_at([call], None, strict=True)
        is_busy = random.random() < 0.2
        if is_busy:
            state = state._replace(desk=random_desk(random))
        long = reserving.reserve(policy, state, [claim], None)
        short = shortcut.reserve_one(policy, state, claim)
        end = "busy desk" if is_busy else "known id" if call.id == "i" else "long"
        if short is not None:
            end = "short"
        elif end == "long" and long.answer[0].status != "admitted":
            end = "asked" if long.answer[0].status == "review" else "refused"
        what = [end]
        assert short in (None, long.state)
        state = long.state
        for logged in state.log:
            result = of_result(random_payload(random), None, None)
            settled = ending.settle(policy, state, logged.ticket, result, None)
            short = shortcut.settle_one(policy, state, logged.ticket, result)
            is_result = bool(policy.tools.ends(name, policy.tools.failure(name, name)))
            what.append("settled long" if short is None else "result too" if is_result else "settled short")
            assert short in (None, settled.state)
            state = settled.state
        if state.desk.reviews or state.desk.refusals:  # with those, everything takes the long way from here on
            state = state._replace(desk=Desk(state.desk.done))
        meant = f"fails {contract.failure_of(name, name)}"
        seen.add((kind, end) for kind in (*kinds.get(name, ("unknown",)), meant) for end in what)


def hear(state, random):
    """The state after something has reached the agent, be it the step of a person."""
    words = [word for word in state.settled.allowed if word.startswith("?")]
    if not words or random.random() < 0.2:
        return state
    word = random.choice(words)
    by = "ana" if word.endswith(" by human") else None
    event = make_event("?", word[1:].split("(")[0].split(" ")[0], random_payload(random), None, by)
    return reserving.happen(state, event, None).state


def random_desk(random):
    done = tuple(Done(f"c{n}", "0" * 8) for n in range(random.randrange(3)))
    refusals = (("a", 1),) if random.random() < 0.1 else ()
    return Desk(done, refusals, stopped="tired" if random.random() < 0.05 else None)


def untimed_contract(random, flavour):
    while (contract := contract_for_tools(random, flavour)).stages(None).is_timed:
        pass
    return contract


def test_it_makes_what_the_long_way_makes(soak, health):
    random, seen = Random(7), table()
    for flavour in FLAVOURS:
        for _ in range(4_000 if soak else 30):
            contract = untimed_contract(random, flavour)
            for _ in range(2):  # the second time, where it leads is known
                walk(contract, Random(random.random()), seen)
    health(seen.table())
    seen.check(1)


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
            walk(contract, Random(1), table())
            walk(contract, Random(1), table())
