"""Observers watch: they change nothing, and what they break breaks nothing."""

from __future__ import annotations

import pytest

from accord import Guard, MemoryStore, ToolCall
from accord.integrations.guard.observing import Observer
from accord.testing import Fault, FaultyStore


def spoil(call):
    call.arguments["order"]["total"] = 1_000_000


class Meddling(Observer):
    """Changes whatever it can get at."""

    def decided(self, _watched, decisions, _seconds):
        for decision in decisions:
            spoil(decision.call)
        decisions.clear()

    def running(self, _watched, decision):
        spoil(decision.call)

    def returned(self, _watched, call, *_):
        spoil(call)

    def failed(self, _watched, call, _error):
        spoil(call)


class Broken(Observer):
    """Fails at everything."""

    def decided(self, *_):
        raise RuntimeError

    running = returned = failed = decided


@pytest.mark.parametrize("observer", [Meddling, Broken])
def test_an_observer_changes_nothing(guard_of, observer):
    got = []
    tools = {"send": lambda order: got.append(order) or "sent", "more": lambda total: total}
    contract = "!send(order.total as t).!more(total <= t).end"
    guard = guard_of(contract, tools=tools, observers=[observer()])
    results = guard.run([ToolCall("send", {"order": {"total": 5}}, "a"), ToolCall("more", {"total": 500}, "b")])
    assert [r.ok for r in results] == [True, False]
    assert got == [{"total": 5}]


def test_what_was_entered_around_a_tool_is_left_and_nothing_else(guard_of):
    """The first cannot be entered, the second cannot be left."""
    seen = []

    class Around:
        def __init__(self, name, broken):
            self.name, self.broken = name, broken

        def __enter__(self):
            self.note("entered")

        def __exit__(self, kind, *_):
            self.note(f"left after {kind.__name__}")

        def note(self, what):
            seen.append(f"{self.name} {what}")
            if what.startswith(self.broken):
                raise RuntimeError

    class Entering(Observer):
        def __init__(self, *about):
            self.about = about

        def running(self, *_):
            return Around(*self.about)

    def a():
        seen.append("ran")
        raise TimeoutError

    observers = [Entering("first", "entered"), Entering("second", "left"), Entering("third", "never")]
    guard = guard_of("!a.end", tools={"a": a}, observers=observers)
    assert not guard.run([ToolCall("a")])[0].ok
    assert seen == [
        "first entered", "second entered", "third entered", "ran",
        "third left after TimeoutError", "second left after TimeoutError",
    ]  # fmt: skip


@pytest.mark.parametrize("fault", [Fault.BUG, Fault.UNREACHABLE, Fault.CORRUPT])
def test_that_somebody_watches_does_not_keep_a_return_from_being_kept(fault):
    store = FaultyStore(MemoryStore(), [Fault.NONE, fault])  # the reservation, and what is asked for the observer
    guard = Guard("!a.end", store=store, key="s1", tools={"a": lambda: 1}, observers=[Observer()])
    assert guard.run([ToolCall("a", {}, "c1")])[0].ok
    assert guard.status == "complete"
