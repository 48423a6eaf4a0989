"""Snapshots of sessions with deadlines and slices: what comes back, what damage is refused, and what they weigh."""

from __future__ import annotations

import json
from random import Random
from time import perf_counter

import pytest
from tests.damage import changed, places, sealed

import accord
from accord import Monitor, UsageError, Violation

EVERYTHING = """
protocol P = each k: ?a(x as r).({!b, end} within 5s else !c | !d(x == r)).rec L.{!e.?f within 2s else L, end}
rule "in time" { within 5s after a require d }
rule "in time, each" { each k: within 7s after a require all of [b, d] }
rule "answered" { each k: after each e require f }
rule "order" { each k: forbid b then d ... e }
rule "few" { at most 9 e }
"""
PLAIN = """
protocol P = ?a(x as r).({!b, end} within 5s else !c | !d(x == r) within 9s else !c).rec L.!e.?f within 2s else L
rule "in time" { within 50s after e require f }
"""
UNTIMED = """
protocol P = each k: ?a(x as r).!b(x == r).{!c, end}
rule "order" { each k: before each b require a }
"""
CONTRACTS = {name: accord.compile(text) for name, text in (("all", EVERYTHING), ("plain", PLAIN), ("untimed", UNTIMED))}
KEYS = (1, 2.5, "1", True, None, [1, [None]], {"n": 1, "m": [2.0**60]}, 2**70, 2.0**63, "\ud800", "")


def tell(monitor, random_, now):
    """Something happens, most often what may."""
    label = random_.choice("aaabbcddeeff")
    payload = {"k": random_.choice(KEYS), "x": random_.choice((1, "t", [True]))}
    return (monitor.receive if label in "af" else monitor.send)(label, payload, at=now)


def session(contract, seed=0, events=40, mode="refuse"):
    random_, now = Random(seed), 0.0
    monitor = Monitor(contract, mode=mode, at=0)
    for _ in range(events):
        now += random_.choice((0, 0, 0.25, 1, 2))
        tell(monitor, random_, now)
    return monitor, now


def snapshot(contract, seed=0):
    return json.loads(json.dumps(session(contract, seed)[0].snapshot()))


def facts(verdict):
    if isinstance(verdict, Violation):
        return "violation", tuple(verdict.expected), verdict.got, verdict.clause
    return (type(verdict).__name__, getattr(verdict, "reason", ""))


# -- there and back ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONTRACTS)
@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_a_restored_session_goes_on_exactly(name, mode, health):
    contract, events, accepted = CONTRACTS[name], 0, 0
    for seed in range(30):
        random_, again, now = Random(seed), Random(seed), 0.0
        plain, restored = (Monitor(contract, mode=mode, at=0) for _ in range(2))
        for _ in range(30):
            now += Random(f"{seed} {events}").choice((0, 0.25, 1, 3))
            restored = Monitor.restore(contract, json.dumps(restored.snapshot()))
            said = tell(plain, random_, now)
            assert facts(tell(restored, again, now)) == facts(said)
            assert (restored.next_due(), restored.allowed()) == (plain.next_due(), plain.allowed())
            assert restored.status == plain.status
            events += 1
            accepted += isinstance(said, accord.Ok)
        closed = plain.close(at=now + 4)
        assert facts(restored.close(at=now + 4)) == facts(closed)
        assert facts(Monitor.restore(contract, restored.snapshot()).close(at=now + 9)) == facts(closed)
    assert accepted > (100 if mode == "refuse" else 5)
    health(f"snapshots over time: {events:,} events restored around each, {accepted:,} accepted ({name}, {mode})")


@pytest.mark.parametrize("text", [EVERYTHING, PLAIN])
def test_a_session_that_has_not_begun_can_rest(text):
    monitor = Monitor(text)
    restored = Monitor.restore(text, json.dumps(monitor.snapshot()))
    assert restored.next_due() is None
    assert restored.snapshot() == monitor.snapshot()
    assert restored.tick(1e6) == accord.Ok()


# -- damage ------------------------------------------------------------------------------------------------------------

WRONG = (
    None,
    True,
    -1,
    0,
    7,
    1.5,
    -1e300,
    1e308,
    10**30,
    10**400,
    "x",
    "\ud800",
    [],
    [0],
    [[0]],
    [0, [], 5],
    [0, [[0], [1]], 0],
    {},
    {"float": "nan"},
    {"float": "1e400"},
    {"int": "0x7"},
    {"unbound": True},
    {"possibilities": []},
    ["map", [["b", 1], ["a", 1]]],
    ["list", [{"float": "nan"}]],
    ...,
)


@pytest.mark.parametrize("name", CONTRACTS)
def test_damage_with_a_checksum_that_fits_is_refused_or_harmless(name, health, soak):
    """Whoever can write checksums can write sessions; but nothing they write may crash, then or later."""
    contract = CONTRACTS[name]
    refused = taken = 0
    for seed in range(12 if soak else 2):
        value = snapshot(contract, seed)
        body = {key: item for key, item in value.items() if key != "checksum"}
        for path, old in places(body):
            for new in WRONG if path else ():
                if new is not ... and json.dumps(new) == json.dumps(old):
                    continue
                try:
                    monitor = Monitor.restore(contract, sealed(changed(value, path, new)))
                except UsageError:
                    refused += 1
                    continue
                taken += 1
                check_that_it_works(monitor, (path, new))
    assert refused > 1_000
    health(f"snapshots over time: {refused:,} kinds of sealed damage refused, {taken:,} that are sessions too ({name})")


def check_that_it_works(monitor, what):
    """The session takes events, rests, and closes, without an answer that something failed inside."""
    now, random_ = monitor._held.now or 0, Random(0)
    assert monitor.next_due() is None or monitor.next_due() >= now or monitor.status in {"incomplete", "violated"}, what
    verdicts = []
    for step in (0, 0.5, 3):
        verdicts += [tell(monitor, random_, now + step), monitor.peek_tick(now + step), monitor.tick(now + step)]
    repr(monitor), monitor.allowed(), monitor.status
    verdicts.append(Monitor.restore(monitor.contract, monitor.snapshot()).close(at=now + 5))
    verdicts.append(monitor.close(at=now + 5))
    for verdict in verdicts:
        assert "failed inside" not in getattr(verdict, "reason", ""), (what, verdict)


def first(items):
    return next(iter(items))


def resting():
    """One instance waits for `!b`, another for `?f`; a rule waits for both, and another for the answer."""
    monitor = Monitor(CONTRACTS["all"], mode="refuse", at=0)
    for number, word in enumerate(("?a", "!d", "!b", "!e")):
        tell_it = monitor.receive if word[0] == "?" else monitor.send
        assert tell_it(word[1:], {"k": 2, "x": 1}, at=number / 4) == accord.Ok()
    assert monitor.receive("a", {"k": 1, "x": 1}, at=1) == accord.Ok()
    return json.loads(json.dumps(monitor.snapshot()))


def damage_of_everything():
    value = resting()
    extent = value["extent"]
    course, (within, answered, _) = extent["course"], extent["slices"]
    timed = first(i for i, c in enumerate(course) if any(len(p) == 3 for p in c[1]))
    here = first(i for i, p in enumerate(course[timed][1]) if len(p) == 3)
    place = ("extent", "course", timed, 1, here, 2)
    now = extent["now"]
    yield "no time at all", ("extent", "now"), None
    yield "a time too large", ("extent", "now"), 10**309
    yield "a time that is none", ("extent", "now"), True
    yield "now before what has begun", ("extent", "now"), -100
    yield "now after what was due", ("extent", "now"), 1e9
    yield "a clock that was started in the future", place, now + 6
    yield "a clock that was due before", place, now - 0.25
    yield "a due time too large", place, 10**400
    yield "an instance twice", ("extent", "course"), [*course, course[0]]
    yield "a key that is NaN", ("extent", "course", 0, 0), {"float": "nan"}
    yield "a key with NaN in it", ("extent", "course", 0, 0), ["list", [{"float": "nan"}]]
    yield "a key whose fields are out of order", ("extent", "course", 0, 0), ["map", [["b", 1], ["a", 1]]]
    yield "a key with a field twice", ("extent", "course", 0, 0), ["map", [["a", 1], ["a", 2]]]
    yield "a key that is no frozen value", ("extent", "course", 0, 0), True
    yield "a float that is written as one and need not be", ("extent", "course", 0, 0), {"float": "5.0"}
    yield "an instance that stands nowhere", ("extent", "course", 0, 1), []
    yield "an instance of a rule twice", ("extent", "slices", 0, 1), [*within[1], within[1][0]]
    yield "an instance of a rule at its beginning", ("extent", "slices", 1, 1, 0, 1), [0, [], 0]
    yield "an instance that knows what was called", ("extent", "slices", 1, 1, 0, 1), [1, [], 1]
    yield "labels called that there are not", ("extent", "slices", 1, 0), 1 << 20
    yield "more counted than is counted", ("extent", "slices", 0, 1, 0, 1, 1), [9, 9]
    yield "counted although nothing is open", ("extent", "slices", 0, 1, 0, 1), [0, [1, 0], 0]
    yield "a rule that is open for too long", ("extent", "slices", 0, 1, 0, 1, 3), now + 7.25
    yield "a deadline of a rule that has none", ("extent", "slices", 1, 1, 0, 1), [0, [], 1, now]
    yield "a sliced rule with a state of its own", ("rules", 2), [0, [], 1]
    yield "a rule past its limit", ("rules", 4), [0, [], 10]
    yield "registers beside the extent", ("holding",), []
    yield "no extent", ("extent",), None
    yield "an unknown field", ("extent", "more"), 1
    yield "slices missing", ("extent", "slices"), extent["slices"][:2]
    yield "answers owed below nothing", ("extent", "slices", 1, 1, 0, 1, 2), -len(answered)


@pytest.mark.parametrize(("path", "new"), [pytest.param(p, n, id=name) for name, p, n in damage_of_everything()])
def test_sealed_damage_that_must_be_refused(path, new):
    value = resting()
    Monitor.restore(CONTRACTS["all"], sealed(value))
    with pytest.raises(UsageError):
        Monitor.restore(CONTRACTS["all"], sealed(changed(value, path, new)))


def test_a_session_does_not_forget_what_it_owes_by_not_having_begun():
    contract = accord.compile('rule "answered" { each k: after each e require f }')
    monitor = Monitor(contract)
    monitor.send("e", {"k": 1})
    with pytest.raises(UsageError, match="no time"):
        Monitor.restore(contract, sealed(changed(monitor.snapshot(), ("extent", "now"), None)))


def test_an_extent_is_refused_where_there_is_none():
    monitor = Monitor("!a.?b")
    with pytest.raises(UsageError, match="does not hold"):
        Monitor.restore("!a.?b", sealed({**monitor.snapshot(), "extent": {"now": 0}}))


# -- what they weigh ---------------------------------------------------------------------------------------------------

COMING_AND_GOING = accord.compile("""
rule "answered" { each k: after each e require f }
rule "in time" { each k: within 7s after e require f }
""")


def weight(events):
    """A session with ten open instances after so many events: its snapshot, and the time to write and restore it."""
    monitor = Monitor(COMING_AND_GOING, mode="refuse", at=0)
    for key in range(10):
        monitor.send("e", {"k": key}, at=0)
    for number in range((events - 10) // 2):
        monitor.send("e", {"k": f"{number}"}, at=0)
        monitor.receive("f", {"k": f"{number}"}, at=0)
    start = perf_counter()
    value = monitor.snapshot()
    Monitor.restore(COMING_AND_GOING, value)
    return value, perf_counter() - start


def test_a_snapshot_does_not_depend_on_history(health, soak):
    many = 100_000 if soak else 5_000
    (few, short), (more, long) = weight(10), weight(many)
    assert more["events"] == many
    assert few["extent"]["now"] == more["extent"]["now"]
    for one, other in zip(few["extent"]["slices"], more["extent"]["slices"], strict=True):
        assert one[0] == other[0] | 0
        assert sorted(map(str, one[1])) == sorted(map(str, other[1]))
    assert len(json.dumps({**few, "events": 0})) == len(json.dumps({**more, "events": 0}))
    health(
        f"snapshots over time: written and restored in {short * 1e3:.2f} ms after 10 and {long * 1e3:.2f} ms "
        f"after {many:,} events, with the same ten instances"
    )
