"""Sessions of a hundred thousand events: what a session holds follows its contract, not its history."""

from __future__ import annotations

import gc
import json
import tracemalloc

import pytest

import accord
from accord import Limits, Monitor, Ok, Violation

EVENTS = 100_000
POINTER = 8


def browsing(number: int):
    """Each snapshot of the page has references of its own; what is clicked is on the latest."""
    refs = [f"e{number}-{index}" for index in range(5)]
    return [("receive", "snapshot", {"refs": refs}), ("send", "click", {"ref": refs[number % 5]})]


def working(number: int):
    """Each kind of call that a rule is about, and the approval that it needs first."""
    kind = number % 28
    return [("receive", f"approve{kind}", {"amount": number}), ("send", f"call{kind}", {"amount": number})]


BROWSING = "rec L.{?snapshot(refs as last).L, !click(ref in last).L}"
THIRTY_RULES = "\n".join(
    [
        *(f'rule "r{n}" {{ before each call{n} require approve{n} }}' for n in range(26)),
        'rule "small amounts" { before call26(amount >= 0) require approve26 }',
        'rule "every one" { after each call27 require approve27 }',
        'rule "not too often" { at most 1000000 call1 }',
        'rule "not at once" { forbid call1 then call0 }',
    ]
)


@pytest.mark.parametrize(
    ("contract", "events", "forbidden"),
    [
        pytest.param(BROWSING, browsing, ("click", {"ref": "e0-0"}), id="a register that is bound again and again"),
        pytest.param(THIRTY_RULES, working, ("call0", {}), id="thirty rules"),
    ],
)
def test_memory_does_not_grow_with_history(contract, events, forbidden, health):
    # Rules that count meet new counts all the time; what is remembered of them is bounded, here tightly.
    compiled = accord.compile(contract, limits=Limits(remembered_standings=2_000))
    monitor = Monitor(compiled, mode="refuse")
    told = 0

    def run(until: int) -> int:
        nonlocal told
        while told < until:
            for method, label, payload in events(told // 2):
                assert type(getattr(monitor, method)(label, payload)) is Ok, (told, label)
                told += 1
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        early = run(20_000)
        snapshot = len(json.dumps(monitor.snapshot()))
        late = run(EVENTS)
    finally:
        tracemalloc.stop()
    assert told == EVENTS == len(monitor.trace)
    trace = POINTER * (EVENTS - 20_000) * 9 // 8  # lists grow by an eighth ahead
    assert late - early < trace + 1_000_000, f"{late - early:,} bytes for {EVENTS - 20_000:,} events"
    assert len(json.dumps(monitor.snapshot())) < snapshot + 100
    assert isinstance(monitor.send(*forbidden), Violation), "the contract is still in force"
    second = Monitor(compiled, mode="refuse")
    assert isinstance(second.send(*forbidden), Violation)
    health(f"long sessions: {EVENTS:,} events, {late - early:,} bytes more after the last 80,000 (trace {trace:,})")
