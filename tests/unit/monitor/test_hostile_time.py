"""Keys, times and machines that somebody made to break a session with slices or deadlines."""

from __future__ import annotations

from collections import UserDict
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

import pytest
from tests.properties.differential_time import reference_of

import accord
from accord import ContractError, Limits, Monitor, Ok, UsageError, Violation
from accord.diagnostics import Source
from accord.language import examine
from accord.limits import DEFAULT_LIMITS
from accord.machine.codec import decode_machine, encode_machine
from accord.machine.identity import machine_digest

NAN = float("nan")
SHIP = accord.compile("protocol P = each k: !ship.end")


def deep(levels, inside=1, wrap=lambda value: [value]):
    for _ in range(levels):
        inside = wrap(inside)
    return inside


# -- keys --------------------------------------------------------------------------------------------------------------


class Colour(IntEnum):
    RED = 1


class Text(str):
    """A string that says it equals everything."""

    __slots__ = ()

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


LOOK_ALIKES = [
    (1, 1.0, Colour.RED),
    (True,),
    ("1", Text("1")),
    ("true",),
    (None,),
    ("",),
    (0, 0.0, -0.0),
    (False,),
    ([],),
    ({},),
    ([1], (1.0,)),
    ([True],),
    (["1"],),
    ([[1]],),
    ({"a": 1}, UserDict(a=1.0)),
    ({"a": True},),
    ({"a": 1, "b": 2}, {"b": 2.0, "a": 1}),
    (["list", [1]],),
    (["bool", True],),
    (["map", []],),
    ({"list": [1]},),
    ({"float": "nan"},),
    ({"unbound": True},),
    (2**53, 2.0**53),
    (2**53 + 1,),
    (2.0**63, 2**63),
    (9223372036854776000,),
    (10**30,),
    (1e30,),
    (10**400,),
    (-(10**5000),),
    (5e-324,),
    (float("inf"),),
    (float("-inf"),),
    ("\ud800",),
    ("\udc00",),
    ("\u0000",),
    ("\u202e`",),
    ("e\u0301",),
    ("\u00e9",),
    ("x" * 1_000_000,),
    (deep(60),),
    (list(range(50_000)),),
]


def test_look_alikes_are_as_many_keys_as_the_language_says(health):
    """Every group is one key and no group is another, in one session and after a rest."""
    monitor = Monitor(SHIP, mode="refuse")
    for group in LOOK_ALIKES:
        for number, key in enumerate(group):
            assert (monitor.send("ship", {"k": key}) == Ok()) == (number == 0), repr(key)[:60]
    restored = Monitor.restore(SHIP, monitor.snapshot())
    for session in (monitor, restored):
        assert len(session._held.course.instances) == len(LOOK_ALIKES)
        for group in LOOK_ALIKES:
            for key in group:
                refused = session.send("ship", {"k": key})
                assert isinstance(refused, Violation), repr(key)[:60]
                assert len(refused.explain()) < 2_000
                assert refused.to_dict()
    health(f"hostile keys: {sum(map(len, LOOK_ALIKES))} values are {len(LOOK_ALIKES)} keys, also after a rest")


@pytest.mark.parametrize("key", [NAN, [NAN], [1, [NAN]], {"a": NAN}, {"a": [NAN]}, [{"a": {"b": [1, NAN]}}]], ids=repr)
def test_nan_anywhere_makes_no_key(key):
    text = 'protocol P = each k: !ship.end\nrule "r" { each k: before ship require paid }'
    document = examine(Source(text), DEFAULT_LIMITS)[0]
    monitor, reference = Monitor(text, mode="refuse"), reference_of(document, "refuse", None)
    for _ in range(2):
        assert reference.send("ship", {"k": key}).kind == "violation"
        assert "NaN" in monitor.send("ship", {"k": key}).explain()
    assert not monitor._held.course.instances
    assert isinstance(monitor.receive("paid", {"k": key}), Violation)


def cyclic():
    value = [1]
    value.append(value)
    return value


def cyclic_object():
    value = {}
    value["a"] = value
    return value


@pytest.mark.parametrize(
    "key",
    [
        cyclic(),
        cyclic_object(),
        deep(100_000),
        deep(65),
        deep(30, wrap=lambda value: [value, value]),
        [0] * 200_000,
        {1: 2},
        {1, 2},
        b"1",
        Decimal(1),
        Fraction(1),
        object(),
        1j,
        lambda: 1,
    ],
    ids=lambda key: type(key).__name__,
)
def test_what_is_no_json_is_a_usage_error_that_changes_nothing(key):
    monitor = Monitor('protocol P = each k: !a.?b within 5s else !c\nrule "r" { each k: at most 1 a }', mode="refuse")
    monitor.send("a", {"k": 1}, at=1)
    before = monitor.snapshot()
    for at in (1, 100):
        with pytest.raises(UsageError):
            monitor.send("a", {"k": key}, at=at)
    assert monitor.snapshot() == before
    assert monitor.next_due() == 6


def test_a_key_that_is_changed_afterwards_stays_what_it_was():
    monitor, key = Monitor(SHIP, mode="refuse"), {"id": [1]}
    payload = {"k": key}
    assert monitor.send("ship", payload) == Ok()
    key["id"].append(2)
    assert monitor.send("ship", payload) == Ok()
    assert isinstance(monitor.send("ship", {"k": {"id": [1]}}), Violation)
    payload.clear()
    assert len(monitor._held.course.instances) == 2


class Shifty(UserDict):
    """A mapping that has another key each time it is asked."""

    asked = 0

    def __getitem__(self, name):
        self.asked += 1
        return self.asked


def test_a_payload_that_changes_while_it_is_read_has_one_key():
    monitor = Monitor('protocol P = each k: !a.end\nrule "r" { each k: after each a require b }', mode="refuse")
    assert monitor.send("a", Shifty(k=0)) == Ok()
    (instance,) = monitor._held.course.instances
    assert list(monitor._held.slices[0].instances) == [instance]


# -- times -------------------------------------------------------------------------------------------------------------

TIMED = accord.compile('protocol P = !a.?b within 5s else !c\nrule "r" { within 5s after a require b or c }')


@pytest.mark.parametrize(
    "at",
    [
        NAN,
        float("inf"),
        float("-inf"),
        10**309,
        10**5000,
        True,
        False,
        "1",
        b"1",
        Decimal(1),
        Fraction(1),
        1j,
        [1],
        object(),
    ],
    ids=lambda at: repr(at)[:12] if not isinstance(at, int) or at < 10**300 else "huge",
)
def test_what_is_no_time_is_a_usage_error_that_changes_nothing(at):
    monitor = Monitor(TIMED, mode="refuse", at=0)
    monitor.send("a", at=1)
    before = monitor.snapshot()
    tries = (monitor.tick, monitor.close, monitor.reset, monitor.peek_tick, monitor.peek_close)
    for act in (*tries, lambda at: monitor.receive("b", at=at), lambda at: Monitor(TIMED, at=at)):
        with pytest.raises(UsageError):
            act(at)
    assert monitor.snapshot() == before
    with pytest.raises(UsageError):
        Monitor("!a.?b").send("a", at=at)


@pytest.mark.parametrize("at", [-1e308, -5, -0.0, 5e-324, 2**53, 2**53 + 1, 1e20, 10**20, 10**300, 1e308], ids=repr)
def test_at_the_ends_of_the_line_nothing_is_due_before_it_began(at):
    monitor = Monitor(TIMED, mode="refuse", at=at)
    assert monitor.send("a", at=at) == Ok()
    due = monitor.next_due()
    assert due >= at - 1 and due - at <= max(5, abs(at) / 2**50)
    assert Monitor.restore(TIMED, monitor.snapshot()).next_due() == due
    assert monitor.tick(at) == Ok()
    assert monitor.receive("b", at=due) == Ok()
    assert monitor.close(at=due) == Ok()


def test_tiny_steps_add_up_to_nothing_more():
    monitor = Monitor(TIMED, mode="refuse", at=0)
    monitor.send("a", at=0)
    for number in range(1, 1_001):
        assert monitor.tick(5 * number / 1_000) == Ok()
    assert monitor.receive("b", at=5) == Ok()


def test_a_great_many_ticks_leave_nothing_behind(soak):
    monitor = Monitor("protocol P = each k: rec L.!Ask.?Reply within 1s else L", mode="refuse", at=0)
    monitor.send("Ask", {"k": 1}, at=0)
    first = len(str(monitor.snapshot()))
    for number in range(1_000_000 if soak else 20_000):
        monitor.tick(2 + number)
    assert monitor.trace == ["!Ask"]
    assert len(str(monitor.snapshot())) <= first + 10
    assert monitor._held.course.dues.size <= 1


# -- contracts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [10, 5_000])
def test_a_chain_of_deadlines_expires_in_one_step(length):
    text = "!go.?z" + "".join(f" within 1s else ?a{number}" for number in range(length))
    monitor = Monitor(text, mode="refuse", at=0)
    assert monitor.send("go", at=0) == Ok()
    assert monitor.tick(length / 2 + 0.5) == Ok()
    assert monitor.allowed() == [f"?a{length // 2 - 1}"]
    assert monitor.tick(length * 2) == Ok()
    assert monitor.allowed() == [f"?a{length - 1}"]
    assert monitor.next_due() is None


@pytest.mark.parametrize("length", [3, 3_000])
def test_a_row_of_interleavings_that_may_be_over_can_begin(length):
    row = ".".join(["({!a, end} | {!b, end})"] * length)
    monitor = Monitor(f"!go.{row}.?z within 5s else end", mode="refuse", at=0)
    assert monitor.send("go", at=0) == Ok()
    assert monitor.allowed() == ["!a", "!b", "?z"]
    assert monitor.receive("z", at=5) == Ok()
    assert Monitor(f"{row}.?z within 5s else end", at=0).next_due() == 5


MANY = "(" + " | ".join(["({!a, end} | {!b, end}).{!c, end}"] * 20) + ")"


def test_more_possibilities_than_anybody_can_mean_are_refused_at_once():
    with pytest.raises(ContractError, match="E028"):
        accord.compile(f"{MANY}.?z within 5s else end")
    with pytest.raises(ContractError, match="E028"):
        accord.compile(f"protocol P = each k: {MANY}.?z within 5s else end")
    with pytest.raises(ContractError, match="E028"):
        accord.compile("({!a, end} | {!b, end}).?z within 5s else end", limits=Limits(configurations=1))
    monitor = Monitor(f"!go.{MANY}.?z within 5s else end", mode="refuse", at=0)
    assert "possibilities" in monitor.send("go", at=0).explain()
    assert monitor.tick(100) == Ok()


@pytest.mark.parametrize("sliced", ["", "each k: "])
def test_time_that_cannot_pass_within_the_limits_is_refused(sliced):
    monitor = Monitor(f"protocol P = {sliced}!go.?z within 5s else {MANY}", mode="refuse", at=0)
    assert monitor.send("go", {"k": 1}, at=0) == Ok()
    assert isinstance(monitor.peek_tick(6), Violation)
    for verdict in (monitor.tick(6), monitor.send("a", {"k": 1}, at=6), monitor.close(at=6), monitor.close(at=7)):
        assert isinstance(verdict, Violation), verdict
    assert monitor.status == "incomplete"
    assert Monitor.restore(monitor.contract, monitor.snapshot()).close(at=8) == monitor.close(at=8)


def test_parts_that_take_the_same_message_are_followed_up_to_the_limit():
    parts = " | ".join(f"?a.?a.?a within {number + 1}s else ?a" for number in range(12))
    contract = accord.compile(f"!go.({parts}).!done", limits=Limits(configurations=500))
    monitor = Monitor(contract, mode="refuse", at=0)
    monitor.send("go", at=0)
    answers = [monitor.receive("a", at=0) for _ in range(6)]
    assert Ok() in answers
    assert "more than 500 possibilities" in answers[-1].explain()


# -- machines from JSON ------------------------------------------------------------------------------------------------


def machine_of(states, symbols=(("!", "a", None),)):
    """A machine of these states as JSON; its digest is looked at last of all."""
    value = encode_machine(accord.compile("!a.?b within 5s else !c").machine())
    return {**value, "symbols": [list(symbol) for symbol in symbols], "states": states, "digest": "sha256:0"}


END = {"edges": [], "stop": "end"}


@pytest.mark.parametrize(
    "states",
    [
        [{"edges": [[0, 1]], "late": [0, 1]}, END],
        [{"edges": [[0, 1]], "late": [-5, 1]}, END],
        [{"edges": [[0, 1]], "late": [10**30, 1]}, END],
        [{"edges": [[0, 1]], "late": [5.5, 1]}, END],
        [{"edges": [[0, 1]], "late": [True, 1]}, END],
        [{"edges": [[0, 1]], "late": ["5", 1]}, END],
        [{"edges": [[0, 1]], "late": [5]}, END],
        [{"edges": [[0, 1]], "late": [5, 1, 1]}, END],
        [{"edges": [[0, 1]], "late": [5, 2]}, END],
        [{"edges": [[0, 1]], "late": [5, -1]}, END],
        [{"edges": [], "late": [5, 1]}, END],
        [{"late": [5, 1]}, END],
        [{"parts": [1, 1], "join": 1, "late": [5, 1]}, END],
        [{"edges": [[0, 1]], "late": [5, 0]}, END],
        [{"edges": [[0, 2]], "late": [5, 1]}, {"edges": [[0, 2]], "late": [5, 0]}, END],
        [{"edges": [[0, 2]], "late": [5, 1]}, {"parts": [2, 2], "join": 0}, END],
        [{"edges": [[0, 2]], "late": [5, 1]}, {"parts": [3, 2], "join": 0}, END, {"edges": [[0, 2]], "late": [1, 2]}],
        [{"parts": [1, 2], "join": 2}, {"edges": [[0, 2]], "late": [5, 0]}, END],
    ],
    ids=range(18),
)
def test_a_machine_with_deadlines_that_cannot_be_is_refused(states):
    with pytest.raises(UsageError) as caught:
        decode_machine(machine_of(states))
    assert "does not match its digest" not in str(caught.value), "it is refused for what is wrong with it"


def test_a_machine_with_a_long_chain_of_deadlines_is_read():
    length = 20_000
    states = [{"edges": [[0, length]], "late": [5, number + 1]} for number in range(length)]
    with pytest.raises(UsageError, match="does not match its digest"):
        decode_machine(machine_of([*states, END]))


def test_a_machine_with_deadlines_comes_back():
    machine = accord.compile("!a.?b within 5s else (!c | !d within 2s else end).!e").machine()
    assert machine_digest(decode_machine(encode_machine(machine))) == machine_digest(machine)
