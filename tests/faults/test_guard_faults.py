"""A guard whose store breaks at any point: no tool runs that was not kept, and none that has run is forgotten."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product

import pytest

from accord import Guard, MemoryStore, ToolCall, compile
from accord.integrations.guard.reading import guarded_session
from accord.testing import Fault, FaultyStore

CONTRACT = compile("rec L.{!pay.?pay.L, !check.L, ?Approval by human.!wire.L, !look.L, !stop.end}")
BATCH = [ToolCall(name, {}, name) for name in ("check", "pay", "wire", "look")]


class Workshop:
    """A session in a store that breaks when it is told to, and tools that look whether they may run."""

    def __init__(self, plan):
        self.inner = MemoryStore()
        self.ran, self.unkept = [], []
        self.guard = Guard(
            CONTRACT,
            store=FaultyStore(self.inner, plan),
            key="s1",
            tools={call.name: lambda name=call.name: self.work(name) for call in BATCH},
            clock=lambda: 0,
            events=["stop"],
        )

    def work(self, name):
        kept = guarded_session(self.inner, "s1")
        if kept is None or [out.started for out in kept.out if out.ticket == name] != [True]:
            self.unkept.append(name)  # an error would only be taken for one of the tool
        self.ran.append(name)
        if name == "check" and self.ran.count(name) == 1:
            raise ValueError("busy")
        return f"{name} done"

    def try_all(self):
        """Run the batch and let a person allow the rest; the results, or what was raised."""
        try:
            results = self.guard.run(BATCH)
            for review in self.guard.reviews():
                self.guard.decide(review.id, "allow", by="ana")
            if results[2].error is not None:
                results[2:3] = self.guard.run(BATCH[2:3])
        except (KeyboardInterrupt, Exception) as error:
            return error
        return results


def operations():
    """How often the store is asked if nothing breaks."""
    shop = Workshop([])
    shop.try_all()
    assert sorted(shop.ran) == ["check", "look", "pay", "wire"]
    return shop.guard._session.home._store.met[Fault.NONE]


OPERATIONS = operations()
PLANS = [(fault, place) for fault, place in product(Fault, range(OPERATIONS)) if fault is not Fault.NONE]


@pytest.mark.parametrize(("fault", "place"), PLANS, ids=lambda value: getattr(value, "name", str(value)))
def test_whatever_breaks_nothing_runs_unkept_and_nothing_that_ran_is_forgotten(fault, place):
    shop = Workshop([Fault.NONE] * place + [fault])
    told = shop.try_all()
    first = list(shop.ran)
    kept = guarded_session(shop.inner, "s1")
    returned = {note["detail"]["call"] for note in notes(shop.inner, "call returned")} | results(shop.inner)
    for name in set(first) - {"check"}:
        out = kept is not None and name in {call.ticket for call in kept.out}
        assert out or name in returned, f"{name} has run, and nobody knows"
        if out and not isinstance(told, BaseException):
            (result,) = (each for each in told if each.tool_call_id == name)
            assert not result.ok and result.withheld == f"{name} done", "the caller is told, and has the result"
    for _ in range(3):
        shop.try_all()
    assert shop.unkept == []
    ran = Counter(shop.ran)
    assert all(ran[name] <= 1 for name in ("pay", "wire", "look")), ran
    assert shop.inner.session("s1") is None or shop.inner.verify("s1").ok


def notes(store, what):
    if store.session("s1") is None:
        return []
    entries = [json.loads(line)["entry"] for line in store.ledger("s1")]
    return [entry for entry in entries if entry["act"] == "note" and entry["what"] == what]


def results(store):
    if store.session("s1") is None:
        return set()
    entries = [json.loads(line)["entry"] for line in store.ledger("s1")]
    return {e["meta"]["call"] for e in entries if e["act"] == "attempt" and e["event"] == "?pay" and "meta" in e}


def test_every_fault_is_met_and_every_operation_is_reached():
    """Else the plans above would prove nothing."""
    met = Counter()
    for fault, place in PLANS:
        shop = Workshop([Fault.NONE] * place + [fault])
        shop.try_all()
        met[fault] += shop.guard._session.home._store.met[fault]
    assert {met[fault] for fault in Fault if fault is not Fault.NONE} == {OPERATIONS}
    assert OPERATIONS >= 8


def test_a_fault_while_a_person_decides_decides_nothing_or_all():
    for fault in Fault:
        shop = Workshop([])
        shop.guard.run(BATCH)
        (review,) = shop.guard.reviews()
        shop.guard._session.home._store._plan = iter([fault])
        try:
            shop.guard.decide(review.id, "allow", by="ana")
            answered = True
        except (KeyboardInterrupt, Exception):
            answered = False
        (kept,) = guarded_session(shop.inner, "s1").reviews
        assert kept.state in {"open", "allowed"}
        assert not answered or kept.state == "allowed", fault
