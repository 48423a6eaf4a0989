"""Where nothing is left to decide nothing is decided: a session goes on from one remembered place to the next."""

from __future__ import annotations

import asyncio

import pytest

from accord import Guard, ToolCall, compile
from accord.integrations.guard.homes import MemoryHome
from accord.integrations.guard.observing import Observer

TEXT = "rec L.{!a.?a.L, !pay(amount <= 10).L, !stop.end}"
ASKING = {
    "status": lambda guard: guard.status,
    "out": Guard.out,
    "allowed": Guard.allowed,
    "visible": Guard.visible,
    "explain": Guard.explain,
    "a message that is no event": lambda guard: guard.user_says("hello"),
}


def tools():
    return {"a": lambda n=1: n, "pay": lambda amount: amount, "stop": lambda: None}


@pytest.fixture(name="guard")
def _guard():
    """In a session that goes where others of its contract have been."""
    contract = compile(TEXT)
    for _ in range(3):
        other = Guard(contract, tools=tools())
        for name, given in (("a", {}), ("pay", {"amount": 1}), ("a", {}), ("stop", {})):
            assert other.run([ToolCall(name, given)])[0].ok
    return Guard(contract, tools=tools())


WAYS = {
    "a batch": lambda guard, calls: guard.run(calls),
    "a batch in an event loop": lambda guard, calls: asyncio.run(guard.arun(calls)),
    "functions": lambda guard, calls: [guard.tool(name=c.name)(tools()[c.name])(**c.arguments) for c in calls],
}


@pytest.mark.parametrize("ask", ["nothing", *ASKING])
@pytest.mark.parametrize("way", WAYS)
def test_calls_go_out_and_return_without_a_step_of_the_session(guard, way, ask, monkeypatch):
    if ask != "nothing":
        ASKING[ask](guard)
    monkeypatch.setattr(MemoryHome, "change", lambda *_: pytest.fail("it was decided about"))
    WAYS[way](guard, [ToolCall("a")])
    WAYS[way](guard, [ToolCall("pay", {"amount": 3})])
    WAYS[way](guard, [ToolCall("a", {"n": 2})])
    assert guard.allowed() == ["!a", "!pay(amount <= 10)", "!stop"]
    monkeypatch.undo()
    assert not guard.run([ToolCall("pay", {"amount": 11})])[0].ok


@pytest.mark.parametrize("identity", ["", "c"])
def test_what_is_taken_from_there_is_what_the_long_way_has(identity):
    """While two calls are out, and when one of them has returned."""
    contract, seen = compile("rec L.!a.L"), []

    def asked(**options):
        guard = Guard(contract, **options)
        guard.register("a", lambda n: seen.append(guard._session.state()) or n)
        guard.run([ToolCall("a", {"n": n}, identity and f"{identity}{n}") for n in range(2)])

    for _ in range(3):
        asked()
    seen.clear()
    asked()
    asked(observers=[Observer()])
    assert seen[:2] == seen[2:]
    assert [len(state.running()) for state in seen] == [2, 1] * 2
