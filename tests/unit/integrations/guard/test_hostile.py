"""Attempts to get a tool to run that should not, or to have it run with what was not judged."""

from __future__ import annotations

import copy
import math
import pickle
from collections import UserDict
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

import pytest

from accord import Guard, MemoryStore, ProtocolViolationError, ToolCall, UsageError

PAY = "!pay(amount <= 10).end"


class AlwaysEqual(str):
    """A text that is equal to every other, and hashes like the one it wants to be taken for."""

    __slots__ = ("like",)

    def __new__(cls, text, like):
        self = super().__new__(cls, text)
        self.like = like
        return self

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash(self.like)

    def __str__(self):
        return self.like


class Small(int):
    """A number that says it is small whenever it is compared."""

    def __le__(self, other):
        return True

    def __int__(self):
        return 1

    def __index__(self):
        return 1

    __lt__ = __eq__ = __ge__ = __le__
    __hash__ = int.__hash__


class Growing(dict):
    """Arguments that are others each time they are read."""

    reads = 0

    def _now(self):
        self.reads += 1
        return {"amount": 1 if self.reads < 3 else 1_000}

    def __getitem__(self, key):
        return self._now()[key]

    def items(self):
        return self._now().items()

    def keys(self):
        return self._now().keys()

    def values(self):
        return self._now().values()


class TwoFaced(ToolCall):
    """A call whose name changes when it is asked for again."""

    asked = 0

    @property
    def name(self):
        type(self).asked += 1
        return "search" if type(self).asked == 1 else "pay"


@pytest.fixture(name="paid")
def _paid():
    return []


@pytest.fixture(name="paying")
def _paying(guard_of, paid):
    return guard_of(PAY, tools={"pay": lambda amount: paid.append(amount) or amount}, patience=99)


@pytest.mark.parametrize("identity", ["c1", ""])
@pytest.mark.parametrize("amount", [Small(1000), math.inf, 2**200, "1", [1], {"amount": 1}, None, True, 10.000001])
def test_what_is_no_small_number_is_not_paid(paying, paid, amount, identity):
    assert not paying.run([ToolCall("pay", {"amount": amount}, identity)])[0].ok
    assert paid == []


def test_a_function_is_not_called_with_a_number_that_only_says_it_is_small(paid):
    guard = Guard(PAY)
    pay = guard.tool(name="pay")(lambda amount: paid.append(amount) or amount)
    with pytest.raises(ProtocolViolationError):
        pay(Small(1000))
    assert paid == []


@pytest.mark.parametrize("amount", [math.nan, {1}, b"1", object(), "\ud800", 1j])
def test_what_is_no_json_is_not_paid(paying, paid, amount):
    assert not paying.run([ToolCall("pay", {"amount": amount}, "c1")])[0].ok
    assert paid == []


@pytest.mark.parametrize("kind", [Growing, lambda: MappingProxyType({"amount": 1}), lambda: UserDict(amount=1)])
def test_what_is_judged_is_what_is_paid(paying, paid, kind):
    paying.run([ToolCall("pay", kind(), "c1")])
    assert paid in ([], [1])


def test_a_name_that_is_two_names_is_one(paid):
    guard = Guard(
        "!search.end", tools={"pay": lambda: paid.append(1), "search": lambda: None}, labels={"search": "search"}
    )
    results = guard.run([ToolCall(AlwaysEqual("pay", like="search")), ToolCall(AlwaysEqual("pay", like="pay"))])
    assert [r.ok for r in results] == [False, False]
    assert paid == []


def test_a_call_is_read_once(paid):
    guard = Guard("!search.end", tools={"pay": lambda: paid.append(1), "search": lambda: None})
    call = TwoFaced.__new__(TwoFaced)
    object.__setattr__(call, "arguments", {})
    object.__setattr__(call, "id", "")
    guard.run([call])
    assert paid == []


def test_arguments_cannot_be_changed_once_they_are_judged(guard_of):
    got = []
    order = {"lines": [1]}
    guard = guard_of("!a.!send(order.lines != [2]).end", tools={"send": lambda order: got.append(order) or "sent"})
    guard.register("a", lambda: order["lines"].__setitem__(0, 2))
    guard.run([ToolCall("a", {}, "a"), ToolCall("send", {"order": order}, "b")])
    assert got == [{"lines": [1]}]


class Row(list):
    """A list of a class of its own."""


@pytest.mark.parametrize("identity", ["c1", ""])
def test_lists_of_other_classes_are_copied_too(guard_of, identity):
    rows = Row([1])
    (decision,) = guard_of("!send.end").reserve([ToolCall("send", {"rows": rows}, identity)])
    rows.append(2)
    assert decision.call.arguments == {"rows": [1]}


def test_what_was_admitted_can_be_changed_by_its_owner_alone(guard_of):
    guard = guard_of("!send(order.n as n).!more(m <= n).end")
    (decision,) = guard.reserve([ToolCall("send", {"order": {"n": 1}}, "c1")])
    decision.call.arguments["order"]["n"] = 1_000
    (again,) = guard.reserve([ToolCall("send", {"order": {"n": 1}}, "c1")])
    assert again.call.arguments == {"order": {"n": 1}}
    guard.settle("c1")
    assert not guard.reserve([ToolCall("more", {"m": 500})])[0].admitted


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


def shared(depth):
    value = [1]
    for _ in range(depth):
        value = [value, value]
    return value


def cyclic():
    value = {}
    value["again"] = value
    return value


@pytest.mark.parametrize(
    "value", [nested(200), nested(50_000), shared(60), cyclic()], ids=["deep", "deeper", "shared", "cyclic"]
)
def test_endless_arguments_are_refused(guard_of, value):
    guard = guard_of("rec L.!send(x != 1).L", tools={"send": lambda **_: None})
    refused, fine = guard.run([ToolCall("send", {"x": value}, "c1"), ToolCall("send", {"x": 2}, "c2")])
    assert (refused.ok, fine.ok) == (False, True)


@pytest.mark.parametrize("value", [nested(200), cyclic()], ids=["deep", "cyclic"])
def test_a_value_the_contract_cannot_compare_is_a_refusal_and_no_error(value):
    guard = Guard("rec L.!send(x != 1).L", tools={"send": lambda **_: None})
    refused, fine = guard.run([ToolCall("send", {"x": value}), ToolCall("send", {"x": 2})])
    assert (refused.ok, fine.ok) == (False, True)


def test_a_large_payload_is_kept(guard_of):
    guard = guard_of("!send.end", tools={"send": lambda x: 1 * len(x)})
    assert guard.run([ToolCall("send", {"x": "x" * 5_000_000}, "c1")])[0].result == 5_000_000


def test_labels_cannot_be_changed_afterwards(paid):
    labels = {"look": "look", "pay": "pay"}
    guard = Guard("!look.end", tools={"pay": lambda: paid.append(1)}, labels=labels, events=["look"])
    labels["pay"] = "look"
    assert not guard.run([ToolCall("pay")])[0].ok
    assert paid == []


def test_a_tool_that_is_replaced_meanwhile_is_not_the_one_that_runs(guard_of, paid):
    guard = guard_of("!a.!b.end")
    guard.register("a", lambda: guard.register("b", lambda amount=1000: paid.append(amount)))
    guard.register("b", lambda amount=1: paid.append(amount))
    assert all(r.ok for r in guard.run([ToolCall("a", {}, "a"), ToolCall("b", {}, "b")]))
    assert paid == [1]


def test_a_tool_may_call_the_guard(guard_of, paid):
    """It sees itself running, and what rests on it is refused."""
    seen = []

    def outer():
        seen.extend(out.name for out in guard.out())
        seen.append(guard.run([ToolCall("pay", {}, "inner")])[0].ok)
        seen.append(guard.run([ToolCall("outer", {}, "outer")])[0].ok)

    guard = guard_of("!outer.!pay.end", tools={"outer": outer, "pay": lambda: paid.append(1)})
    assert guard.run([ToolCall("outer", {}, "outer")])[0].ok
    assert (seen, paid) == (["outer", False, False], [])
    assert guard.run([ToolCall("pay", {}, "p")])[0].ok


QUESTIONS = {
    "status": lambda guard: guard.status,
    "out": Guard.out,
    "reviews": Guard.reviews,
    "allowed": Guard.allowed,
    "explain": Guard.explain,
    "send": lambda guard: guard.send("a"),
    "run": lambda guard: guard.run([ToolCall("a")]),
    "close": Guard.close,
}


@pytest.mark.parametrize("ask", QUESTIONS)
def test_who_comes_in_the_middle_of_a_step_is_told_so(ask):
    """As a finalizer or the handler of a signal can, in the thread that takes the step."""
    guard = Guard("!a.end", tools={"a": lambda: 1}, events=["a"])
    with guard._session.home._lock, pytest.raises(UsageError, match="one step at a time"):
        QUESTIONS[ask](guard)
    assert (guard.status, guard.run([ToolCall("a")])[0].ok) == ("running", True)


def test_a_function_told_of_violations_may_call_the_guard(guard_of, tools_named):
    def told(decision):
        if decision.call.name == "nope":
            guard.run([ToolCall("a", {}, "again")])

    tools = tools_named("a", "nope")
    guard = guard_of("!a.end", tools=tools, on_violation=told)
    results = guard.run([ToolCall("a", {}, "c1"), ToolCall("nope", {}, "c2")])
    assert [r.ok for r in results] == [True, False]
    assert tools.ran == ["a"]


def test_threads_pay_once(guard_of):
    paid = []
    guard = guard_of("!pay.end", tools={"pay": lambda: paid.append(1)}, patience=999)
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda n: guard.run([ToolCall("pay", {}, f"c{n % 8}")])[0].ok, range(64)))
    assert (sum(results), len(paid)) == (1, 1)


def test_threads_that_reserve_the_same_call_start_it_once(guard_of):
    guard = guard_of("!pay.end", patience=999)

    def work(_):
        (decision,) = guard.reserve([ToolCall("pay", {}, "c1")])
        return decision.admitted and guard.start("c1")

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(work, range(64))) == 1


@pytest.mark.parametrize("make", [pickle.dumps, copy.deepcopy])
@pytest.mark.parametrize("store", [None, MemoryStore()])
def test_a_guard_cannot_be_doubled(make, store):
    """Two of one session would each pay once."""
    guard = Guard("!pay.end", store=store, key=None if store is None else "s1")
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        make(guard)


def test_copies_of_a_guard_share_its_session(paid):
    guard = Guard("!pay.end", tools={"pay": lambda: paid.append(1)})
    other = copy.copy(guard)
    assert [g.run([ToolCall("pay")])[0].ok for g in (guard, other)] == [True, False]


@pytest.mark.parametrize("name", ["pay ", " pay", "PAY", "pay\u200b", "p\u0430y", "pay\x00", "!pay", "?pay", "pay.end"])
def test_names_that_look_alike_are_others(guard_of, paid, name):
    guard = guard_of("!pay.end", tools={"pay": lambda: paid.append(1)})
    assert not guard.run([ToolCall(name)])[0].ok
    assert not guard_of("!pay.end").reserve([ToolCall(name)])[0].admitted
    assert paid == []


@pytest.mark.parametrize("label", ["Approval", "Unrecognized", "#1", "tick", "close"])
def test_no_call_makes_a_step_of_a_person(guard_of, paid, label):
    guard = guard_of("?Approval by human.!pay.end", tools={"pay": lambda: paid.append(1), label: lambda: None})
    assert not guard.run([ToolCall(label, {"by": "ana"})])[0].ok
    assert not guard.run([ToolCall("pay", {})])[0].ok
    assert paid == []


def test_a_message_with_a_label_that_is_none_is_misuse():
    guard = Guard("!a.end")
    for bad in (None, 3, "", AlwaysEqual("a", like="a")):
        with pytest.raises(UsageError):
            guard.send(bad)
    assert guard.allowed() == ["!a"]
