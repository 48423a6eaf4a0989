"""Snapshots of sessions with registers, sets, possibilities and rules: what goes on, and what is refused."""

import json
import math
import os
import random
import subprocess
import sys

import pytest
from tests.damage import changed, places, sealed

import accord
from accord import Monitor, Ok, UsageError, Violation

OK = Ok()
EVERYTHING = """
protocol P = (?a(x as r, y into s).!go | ?a(x as q, y into t).!go)
    .rec L.{!b(x == r, y in s).L, ?Approval by human.L, !Pay.L, !d.L, end}
rule "one" { before each Pay require Approval by human }
rule "limit" { at most 3 Pay }
rule "then" { forbid d then Pay ... d }
rule "owed" { after each d require Pay }
rule "two" { before d require 2 of [a, Pay, not b(x > 5)] }
"""
CONTRACT = accord.compile(EVERYTHING)


def travelled(monitor, key=None):
    """The monitor after a journey through JSON text."""
    return Monitor.restore(monitor.contract, json.dumps(monitor.snapshot(key=key)), key=key)


VALUES = (1, 1.5, "t", True, None, [1, [True]], {"k": {"l": [None]}}, 2**70, "\u202e")


def random_event(random_):
    label = random_.choice(("a", "a", "go", "b", "Approval", "Pay", "d", "Unrecognized", "x"))
    payload = {"x": random_.choice(VALUES), "y": random_.choice(([1, 2], 3, "t", [[1]]))}
    receives = label in {"a", "Approval"} or random_.random() < 0.1
    return ("?" if receives else "!"), label, payload, random_.choice((None, "ana"))


def tell(monitor, event):
    direction, label, payload, by = event
    return monitor.send(label, payload) if direction == "!" else monitor.receive(label, payload, by=by)


def facts(verdict):
    if isinstance(verdict, Violation):
        return "violation", tuple(verdict.expected), verdict.got, verdict.clause, verdict.position
    return (type(verdict).__name__,)


@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_a_restored_session_goes_on_exactly(mode, health):
    random_ = random.Random(1)
    events = accepted = 0
    for _ in range(40):
        plain, restored = Monitor(CONTRACT, mode=mode), Monitor(CONTRACT, mode=mode)
        story = [("?", "a", {"x": 1, "y": [1, 2]}, None), ("?", "a", {"x": "t", "y": 3}, None), ("!", "go", {}, None)]
        for event in [*story[: random_.randrange(4)], *(random_event(random_) for _ in range(20))]:
            restored = travelled(restored, key=random_.choice((None, b"key")))
            said = tell(plain, event)
            assert facts(tell(restored, event)) == facts(said)
            assert restored.allowed() == plain.allowed()
            assert restored.status == plain.status
            events += 1
            accepted += said == OK
        assert facts(travelled(restored).close()) == facts(plain.close())
    assert accepted > events // 20
    health(f"snapshots: {events:,} events with data, gates and rules, restored around each ({mode})")


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 0, 1, -1, 2**53 + 1, 2**63, 2**64, 2**70 + 1, -(2**70), 10**100, 0.1, 1e22, 1e-9, -0.0),
        *(math.inf, -math.inf, "", "é", "e\u0301", "\x00", "\u2028", "\U0001f600", "set", "unbound"),
        *([], {}, [[]], {"": None}, {"set": []}, {"unbound": True}, {"float": "nan"}, ["list", []], ["bool", True]),
        *({"b": 1, "a": [True, 1, 1.0, "1", None]}, [{"z": [0.5]}, 3]),
    ],
    ids=repr,
)
def test_every_value_comes_back(value):
    monitor = Monitor("?a(x as r, x into s).rec L.!{b(x == r).L, c(x in s).L}", mode="refuse")
    assert monitor.receive("a", {"x": value}) == OK
    again = travelled(monitor)
    assert again.send("b", {"x": value}) == OK
    assert isinstance(again.send("b", {"x": [value]}), Violation)
    for element in value if isinstance(value, list) else [value]:
        assert again.send("c", {"x": element}) == OK


def test_nan_comes_back_and_equals_nothing():
    monitor = Monitor("?a(x as r).!{b(x == r), c(x != r)}", mode="refuse")
    monitor.receive("a", {"x": [math.nan, {"y": math.nan}]})
    again = travelled(monitor)
    assert isinstance(again.send("b", {"x": [math.nan, {"y": math.nan}]}), Violation)
    assert again.send("c", {"x": 1}) == OK


@pytest.mark.parametrize("value", ["\ud800", ["a\udfff"], {"\ud800": 1}])
def test_half_of_a_surrogate_pair_comes_back(value):
    """A payload may hold it: JSON can write it, and Python reads it."""
    monitor = Monitor("?a(x as r).!b(x == r)", mode="refuse")
    monitor.receive("a", {"x": value})
    again = Monitor.restore(monitor.contract, monitor.snapshot())
    assert again.send("b", {"x": value}) == OK


def test_a_huge_number_comes_back():
    monitor = Monitor("?a(x as r).!b(x == r)", mode="refuse")
    monitor.receive("a", {"x": 10**5000})
    again = Monitor.restore(monitor.contract, monitor.snapshot())
    assert again.send("b", {"x": 10**5000}) == OK


def test_what_is_unbound_stays_unbound():
    monitor = Monitor("?{a(x as r), w}.!{b(x == r), c(x != r), d}", mode="refuse")
    monitor.receive("w")
    again = travelled(monitor)
    assert "nothing has bound" in again.send("b", {"x": None}).explain()
    assert isinstance(again.send("c", {"x": 1}), Violation)


def test_possibilities_stay_apart():
    monitor = Monitor("(?a(x as r) | ?a(x as s)).!go.!use(x == r, y == s)", mode="refuse")
    for number in (1, 2):
        monitor.receive("a", {"x": number})
        monitor = travelled(monitor)
    assert monitor.send("go") == OK
    monitor = travelled(monitor)
    for wrong in ({"x": 1, "y": 1}, {"x": 2, "y": 2}):
        assert isinstance(monitor.peek_send("use", wrong), Violation)
    for right in ({"x": 1, "y": 2}, {"x": 2, "y": 1}):
        assert monitor.peek_send("use", right) == OK


# -- size --------------------------------------------------------------------------------------------------------------


def size(monitor):
    snapshot = monitor.snapshot()
    return len(json.dumps({**snapshot, "events": 0}))


def test_the_size_does_not_depend_on_the_number_of_events():
    contract = """protocol P = rec L.{?a(x as r, x into s).L, !b(x == r).L, !Pay.L, ?Approval by human.L}
    rule "one" { before each Pay require Approval by human }
    rule "limit" { at most 900 b }
    rule "then" { forbid a then b then a }"""
    monitor = Monitor(contract, mode="refuse")
    sizes = set()
    for number in range(800):
        monitor.receive("a", {"x": number % 10})
        monitor.send("b", {"x": number % 10})
        monitor.receive("Approval", by="ana")
        monitor.send("Pay")
        if number in {99, 799}:
            sizes.add(size(monitor))
    assert max(sizes) - min(sizes) <= 2
    assert max(sizes) < 1500


def test_a_set_is_kept_once_however_often_it_was_filled():
    monitor = Monitor("rec L.?a(x into s).L")
    monitor.receive("a", {"x": list(range(100))})
    before = size(monitor)
    for _ in range(50):
        monitor.receive("a", {"x": list(range(100))})
    assert size(monitor) == before


# -- many messages in a rule -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [10, 61, 62, 65, 200])
def test_a_rule_of_many_messages(count):
    labels = [f"L{i}" for i in range(count)]
    monitor = Monitor(f'rule "r" {{ before X require all of [{", ".join(labels)}] }}', mode="refuse")
    for label in labels:
        assert monitor.send(label) == OK
    assert travelled(monitor).send("X") == OK


@pytest.mark.parametrize("count", [5, 21, 22, 23, 50])
def test_a_long_sequence(count):
    labels = [f"L{i}" for i in range(count)]
    monitor = Monitor(f'rule "r" {{ forbid {" ... ".join(labels)} }}', mode="refuse")
    for label in labels[:-1]:
        assert monitor.send(label) == OK
    assert isinstance(travelled(monitor).send(labels[-1]), Violation)


# -- damage ------------------------------------------------------------------------------------------------------------


def snapshot():
    monitor = Monitor(CONTRACT, mode="refuse")
    monitor.receive("a", {"x": [1, {"k": True}], "y": [1, "2"]})
    monitor.receive("a", {"x": 2.5, "y": None})
    return json.loads(json.dumps(monitor.snapshot()))


WRONG = (
    None,
    True,
    -1,
    7,
    10**30,
    1.5,
    "x",
    "\ud800",
    [],
    [0],
    {},
    {"set": []},
    {"unbound": True},
    ["map", [[1, 2]]],
    ...,
)


def test_any_damage_is_noticed():
    value = snapshot()
    count = 0
    for path, old in places(value):
        if path:
            for new in WRONG:
                if new is ... or json.dumps(new) != json.dumps(old):
                    with pytest.raises(UsageError):
                        Monitor.restore(CONTRACT, changed(value, path, new))
                    count += 1
    assert count > 500


def test_damage_with_a_checksum_that_fits_is_refused_or_harmless(health):
    """Whoever can write checksums can write sessions; but nothing they write may crash, then or later."""
    value = snapshot()
    random_ = random.Random(2)
    refused = taken = 0
    for path, old in places({key: item for key, item in value.items() if key != "checksum"}):
        if not path:
            continue
        for new in WRONG:
            if new is not ... and json.dumps(new) == json.dumps(old):
                continue
            try:
                monitor = Monitor.restore(CONTRACT, sealed(changed(value, path, new)))
            except UsageError:
                refused += 1
                continue
            taken += 1
            for _ in range(4):
                verdict = tell(monitor, random_event(random_))
                assert "failed inside" not in getattr(verdict, "reason", ""), (path, new, verdict)
            assert Monitor.restore(CONTRACT, monitor.snapshot()).status == monitor.status
            assert "failed inside" not in getattr(monitor.close(), "reason", "")
    assert refused > 300
    health(f"snapshots: {refused:,} kinds of sealed damage refused, {taken:,} that are sessions too")


@pytest.mark.parametrize(
    ("path", "new"),
    [
        (("holding",), ...),
        (("holding",), []),
        (("holding",), {"possibilities": []}),
        (("holding", "possibilities", 0), [[0]]),
        (("holding", "possibilities", 0, 0), [999]),
        (("holding", "possibilities", 0, 1), []),
        (("holding", "possibilities", 0, 1, 0), {"set": []}),
        (("holding", "possibilities", 0, 1, 0), ["bool", 1]),
        (("holding", "possibilities", 0, 1, 0), ["list", 1]),
        (("holding", "possibilities", 0, 1, 0), ["map", [["k"]]]),
        (("holding", "possibilities", 0, 1, 0), ["set", []]),
        (("holding", "possibilities", 0, 1, 0), {"float": "1"}),
        (("holding", "possibilities", 0, 1, 0), True),
        (("holding", "possibilities", 0, 1, 2), 1),
        (("holding", "possibilities", 0, 1, 2), {"unbound": True}),
        (("holding", "possibilities", 0, 1, 2), {"set": [True]}),
        (("rules",), ...),
        (("rules",), []),
        (("rules", 0), [0, [0]]),
        (("rules", 0, 0), -1),
        (("rules", 0, 0), True),
        (("rules", 0, 1), []),
        (("rules", 0, 1, 0), -1),
        (("rules", 0, 2), -1),
        (("rules", 0, 2), 1.5),
    ],
)
def test_sealed_damage_that_must_be_refused(path, new):
    with pytest.raises(UsageError):
        Monitor.restore(CONTRACT, sealed(changed(snapshot(), path, new)))


@pytest.mark.parametrize("depth", [80, 3_000])
def test_a_register_nested_too_deeply_is_refused(depth):
    value = 1
    for _ in range(depth):
        value = ["list", [value]]
    damaged = changed(snapshot(), ("holding", "possibilities", 0, 1, 0), value)
    text = '{"checksum": "sha256:x", "holding": ' + "[" * depth + "]" * depth + "}"
    with pytest.raises(UsageError):
        Monitor.restore(CONTRACT, text)
    if depth < 100:
        with pytest.raises(UsageError):
            Monitor.restore(CONTRACT, sealed(damaged))


@pytest.mark.parametrize(
    "other",
    [
        EVERYTHING.replace("at most 3 Pay", "at most 4 Pay"),
        EVERYTHING.replace('"limit"', '"limits"'),
        EVERYTHING.replace("x == r", "x != r"),
        EVERYTHING.replace("?Approval by human", "?Approval"),
        EVERYTHING.replace("as r", "as rr").replace("== r", "== rr"),
        EVERYTHING.split("rule", maxsplit=1)[0],
    ],
    ids=range(6),
)
def test_a_snapshot_belongs_to_its_contract(other):
    assert other != EVERYTHING
    with pytest.raises(UsageError, match="another contract"):
        Monitor.restore(accord.compile(other), snapshot())


def test_a_contract_that_means_the_same_takes_the_snapshot():
    value = json.loads(json.dumps(CONTRACT.to_json()))
    assert Monitor.restore(accord.compile(value), snapshot()).status == "running"


SEVERAL = """
from accord import Monitor
m = Monitor("(!a(x as r) | !a(y as s)).!c(z == r, w == s).end")
m.send("a", {"x": "one", "y": "two"})
m.send("a", {"x": "three", "y": "four"})
print(m.snapshot())
"""


def test_a_snapshot_of_several_possibilities_is_the_same_in_every_process():
    printed = {
        subprocess.run(
            [sys.executable, "-c", SEVERAL], env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True,
            text=True, check=True,
        ).stdout
        for seed in range(8)
    }  # fmt: skip
    assert len(printed) == 1
    assert "possibilities" in printed.pop()
