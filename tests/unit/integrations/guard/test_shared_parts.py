"""Values that share their parts cost what they are made of, and not what they would be if they were written out."""

from __future__ import annotations

import asyncio

import pytest

from accord import Guard, MemoryStore, Monitor, ProtocolViolationError, ToolCall, ToolMiddleware, UsageError
from accord.integrations.logs import LogObserver
from accord.ledger.represent import own_copy
from accord.projection import plain

SIXTY = 60
"""Ways to the end of a value double so many times: whoever follows them all is never back."""


def lists():
    value = [1]
    for _ in range(SIXTY):
        value = [value, value]
    return value


def tuples():
    value = (1,)
    for _ in range(SIXTY):
        value = (value, value)
    return value


def objects():
    value = {"a": 1}
    for _ in range(SIXTY):
        value = {"a": value, "b": value}
    return value


def mixed():
    value = (1,)
    for _ in range(SIXTY // 3):
        value = {"a": [(value, value)] * 2, "b": value}
    return value


shared = pytest.mark.parametrize("make", [lists, tuples, objects, mixed])
TOO_MANY = "it is made of more than 2,000 values"


@pytest.fixture(autouse=True)
def _soon_too_many(monkeypatch):
    """So that what is too much is reached soon."""
    monkeypatch.setattr(plain, "LARGEST", 2000)


@shared
def test_a_copy_shares_what_was_shared(make):
    value = make()
    copy = own_copy(value)
    assert copy is not value
    seen, waiting = set(), [copy]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list | tuple | dict) and id(each) not in seen:
            seen.add(id(each))
            waiting += each.values() if isinstance(each, dict) else each
    assert len(seen) <= 4 * SIXTY


def test_a_copy_of_values_that_are_made_when_they_are_asked_for():
    class Making(dict):
        """Each of its values is new, and lies where the one before it has lain."""

        def keys(self):
            return range(200)

        def __getitem__(self, number):
            return {"number": [number]}

    from collections import UserDict

    value = UserDict({number: {"number": [number]} for number in range(200)})
    assert own_copy(value) == dict(value)
    assert own_copy({"a": Making()})["a"] == dict(Making())


@shared
@pytest.mark.parametrize("stored", [False, True])
def test_a_tool_may_return_it(make, stored):
    kept = {"store": MemoryStore(), "key": "s1"} if stored else {}
    guard = Guard("rec L.!pay.?pay(error == null).L", tools={"pay": make}, observers=[LogObserver()], **kept)
    (result,) = guard.run([ToolCall("pay", {}, "c1")])
    assert TOO_MANY in result.error and result.withheld is not None
    (result,) = asyncio.run(guard.arun([ToolCall("pay", {}, "c2")]))
    assert TOO_MANY in result.error
    assert guard.tool(name="pay")(make)() is not None
    assert guard.allowed() == ["!pay"]


@shared
@pytest.mark.parametrize("stored", [False, True])
def test_a_tool_may_be_called_with_it(make, stored):
    kept = {"store": MemoryStore(), "key": "s1"} if stored else {}
    guard = Guard("rec L.!pay.L", tools={"pay": lambda **_: None}, observers=[LogObserver()], **kept)
    assert TOO_MANY in guard.run([ToolCall("pay", {"x": make()}, "c1")])[0].error
    assert guard.run([ToolCall("pay", {"x": make()})])[0].ok is not stored
    pay = guard.tool(name="pay")(lambda x: x and "paid")
    if stored:
        with pytest.raises(ProtocolViolationError, match=TOO_MANY):
            pay(make())
    else:
        assert pay(make()) == "paid"
    with pytest.raises(UsageError, match=TOO_MANY):
        guard.send("pay", {"x": make()})


@shared
def test_the_middleware_may_be_given_it(make):
    tools = ToolMiddleware(Monitor("rec L.?pay.!pay.L"), {"pay": lambda x: x})
    assert TOO_MANY in tools.execute(ToolCall("pay", {"x": make()})).error
