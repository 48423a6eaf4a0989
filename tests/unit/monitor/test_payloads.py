"""Payloads, gates and registers through `Monitor`, whatever callers pass."""

import enum
import math
from collections import UserDict, defaultdict
from collections.abc import Mapping
from types import MappingProxyType

import pytest

import accord
from accord import Blocked, Limits, Monitor, Ok, UsageError, Violation

OK = Ok()
BOUND = "?a(x as r).rec L.!{b(x == r).L, c.L}"


def bound(value, contract=BOUND):
    monitor = Monitor(contract, mode="refuse")
    assert monitor.receive("a", {"x": value}) == OK
    return monitor


# -- what a payload can be ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", ["x", b"x", 1, True, [], [("x", 1)], ("x",), {"x"}, object(), iter([])])
@pytest.mark.parametrize(
    "contract", ["!a(x == 1)", "!a", 'rule "r" { at most 3 a(x == 1) }', 'rule "r" { at most 3 a }']
)
def test_a_payload_that_is_no_mapping_is_a_usage_error_and_changes_nothing(payload, contract):
    monitor = Monitor(contract, mode="refuse")
    for ask in (monitor.send, monitor.peek_send):
        with pytest.raises(UsageError, match="a payload is a mapping"):
            ask("a", payload)
    assert monitor.trace == []
    assert monitor.send("a", {"x": 1}) == OK


class Fields(Mapping):
    """A mapping that is no dictionary."""

    def __init__(self, fields):
        self.fields = fields

    def __getitem__(self, key):
        return self.fields[key]

    def __iter__(self):
        return iter(self.fields)

    def __len__(self):
        return len(self.fields)


class FieldsDict(dict):
    """A subclass of `dict`."""


@pytest.mark.parametrize("kind", [Fields, UserDict, MappingProxyType, FieldsDict, dict])
def test_every_mapping_is_a_payload(kind):
    payload = kind({"x": kind({"y": kind({"z": 1})})})
    monitor = Monitor("?a(x.y as r, x.y.z == 1).!b(x == r)", mode="refuse")
    assert monitor.receive("a", payload) == OK
    assert isinstance(monitor.send("b", {"x": {"z": 2}}), Violation)
    assert monitor.send("b", {"x": {"z": 1.0}}) == OK


def test_a_default_dictionary_is_left_as_it_is():
    payload = defaultdict(lambda: defaultdict(int))
    monitor = Monitor("!{a(x == 0), b(x.y == 0), c(x as r), d(x into s)}", mode="refuse")
    for label in "abcd":
        assert isinstance(monitor.send(label, payload), Violation)
    assert payload == {}
    rules = Monitor('rule "r" { before a(x > 0) require b(y.z == 1) }', mode="refuse")
    assert isinstance(rules.send("a", payload), Violation)
    assert rules.send("b", payload) == OK
    assert payload == {}


class Liar(dict):
    def get(self, *_):
        raise RuntimeError("boo")

    def __contains__(self, key):
        raise RuntimeError("boo")


class Broken(Liar):
    def __getitem__(self, key):
        raise RuntimeError("boo")


CONTRACTS = ["!a(x == 1)", "!a(x.y == 1)", 'rule "r" { at most 3 a(x == 1) }']


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_payload_of_a_class_of_its_own_is_read_once(contract):
    payload = Liar(x={"y": 1}) if "x.y" in contract else Liar(x=1)
    assert Monitor(contract).send("a", payload) == OK


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_payload_that_cannot_be_read_is_no_payload(contract):
    monitor = Monitor(contract, mode="refuse")
    with pytest.raises(UsageError, match=r"`Broken` cannot be read: RuntimeError\('boo'\)"):
        monitor.send("a", Broken(x=1))
    assert monitor.trace == []


@pytest.mark.parametrize("contract", ["!a(x.y == 1)", 'rule "r" { at most 3 a(x.y == 1) }'])
def test_if_a_payload_fails_inside_the_answer_is_no(contract):
    monitor = Monitor(contract, mode="refuse")
    verdict = monitor.send("a", {"x": Liar(y=1)})
    assert isinstance(verdict, Blocked)
    assert "RuntimeError" in verdict.reason
    assert monitor.status in {"running", "complete"}
    assert monitor.send("a", {"x": {"y": 1}}) == OK


# -- what a field can be -----------------------------------------------------------------------------------------------


def ring():
    value = {}
    value["again"] = [value]
    return value


def deep(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [b"x", {1}, object(), 1j, {1: 2}, [object()], ring(), deep(100), deep(100_000), [[0] * 400] * 400]
)
@pytest.mark.parametrize(
    "contract",
    [
        "?a(x as r)",
        "?a(x into s)",
        "?a(x == 1)",
        "?a(x != null)",
        "?a(x in [1])",
        'rule "r" { at most 9 a(x == 1) }',
        'rule "r" { before b require a(x == 1) }',
    ],
)
def test_a_field_that_is_no_json_is_a_usage_error_and_changes_nothing(value, contract):
    monitor = Monitor(contract, mode="refuse")
    with pytest.raises(UsageError, match="payload"):
        monitor.receive("a", {"x": value})
    with pytest.raises(UsageError, match="payload"):
        monitor.peek_receive("a", {"x": value})
    assert monitor.trace == []
    assert monitor.receive("a", {"x": 1}) == OK


def test_what_no_clause_looks_at_may_be_anything():
    assert Monitor("!a(x == 1)").send("a", {"x": 1, "y": object(), 3: ring()}) == OK
    assert Monitor("!a").send("a", {"y": object()}) == OK


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize(("value", "plain"), [(Colour.RED, "red"), (Level.HIGH, 3), ((1, 2), [1, 2]), (1.0, 1)])
def test_a_bound_value_is_the_json_value(value, plain):
    assert bound(value).send("b", {"x": plain}) == OK
    assert bound(plain).send("b", {"x": value}) == OK


def test_texts_of_other_classes_are_searched():
    monitor = Monitor('rec L.!a(x matches "^r").L', mode="refuse")
    assert monitor.send("a", {"x": Colour.RED}) == OK


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_nan_equals_nothing():
    monitor = bound(math.nan)
    assert isinstance(monitor.send("b", {"x": math.nan}), Violation)
    for text in ("!a(x == 1)", "!a(x < 1)", "!a(x >= 1)", "!a(x in [1])"):
        assert isinstance(Monitor(text).send("a", {"x": math.nan}), Violation), text
    for text in ("!a(x != 1)", "!a(x not in [1])"):
        assert Monitor(text).send("a", {"x": math.nan}) == OK, text
    monitor = Monitor("?a(x into s).!b(x in s)", mode="refuse")
    assert monitor.receive("a", {"x": [math.nan, math.nan]}) == OK
    assert isinstance(monitor.send("b", {"x": math.nan}), Violation)


def test_nan_does_not_dodge_a_rule():
    """It is not ordered, so whether the rule applies cannot be told."""
    monitor = Monitor('rule "r" { before Pay(amount > 100) require Approval }', mode="refuse")
    assert isinstance(monitor.send("Pay", {"amount": math.nan}), Violation)
    assert isinstance(monitor.send("Pay", {"amount": math.inf}), Violation)


def test_nan_in_a_list_is_in_no_set():
    monitor = bound([math.nan, 1])
    assert isinstance(monitor.send("b", {"x": [math.nan, 1]}), Violation)


@pytest.mark.parametrize("number", [10**400, -(10**400), 10**5000], ids=["large", "small", "huge"])
def test_a_huge_number_is_refused_like_any_other(number):
    monitor = Monitor("!a(x == 1)", mode="refuse")
    verdict = monitor.send("a", {"x": number})
    assert isinstance(verdict, Violation)
    assert len(verdict.explain()) < 600
    assert bound(number).send("b", {"x": number}) == OK
    wrong = bound(number).send("b", {"x": number + 1})
    assert isinstance(wrong, Violation)
    assert "does not hold" in wrong.explain()


# -- values are copied -------------------------------------------------------------------------------------------------


def test_a_payload_that_changes_afterwards_does_not_change_the_session():
    payload = {"x": [1, {"y": [2]}]}
    monitor = Monitor("?a(x as r, x into s).rec L.!{b(x == r).L, c(x in s).L}", mode="refuse")
    assert monitor.receive("a", payload) == OK
    payload["x"][1]["y"].append(3)
    payload["x"].append(4)
    payload.clear()
    assert monitor.send("b", {"x": [1, {"y": [2]}]}) == OK
    assert monitor.send("c", {"x": {"y": [2]}}) == OK
    assert isinstance(monitor.send("c", {"x": 4}), Violation)


def test_a_payload_that_changes_afterwards_does_not_change_a_verdict():
    payload = {"x": 2}
    verdict = Monitor("!a(x == 1)").send("a", payload)
    payload["x"] = 3
    assert "`x` is 2" in verdict.explain()


def test_peeking_binds_nothing():
    monitor = Monitor("?a(x as r, y into s).!b(x == r, y in s)", mode="refuse")
    assert monitor.peek_receive("a", {"x": 1, "y": 1}) == OK
    assert monitor.peek_receive("a", {"x": 2, "y": 2}) == OK
    assert monitor.receive("a", {"x": 3, "y": 3}) == OK
    assert isinstance(monitor.peek_send("b", {"x": 1, "y": 1}), Violation)
    assert isinstance(monitor.peek_send("b", {"x": 3, "y": 2}), Violation)
    assert monitor.send("b", {"x": 3, "y": 3}) == OK


def test_reset_forgets_registers_sets_and_rules():
    contract = 'protocol P = rec L.{?a(x as r, x into s).L, !b(x == r).L, !c(x in s).L, end}\nrule "r" { at most 1 a }'
    monitor = Monitor(contract, mode="refuse")
    assert monitor.receive("a", {"x": 1}) == OK
    assert isinstance(monitor.receive("a", {"x": 1}), Violation)
    monitor.reset()
    assert isinstance(monitor.send("b", {"x": 1}), Violation)
    assert isinstance(monitor.send("c", {"x": 1}), Violation)
    assert monitor.receive("a", {"x": 2}) == OK
    assert monitor.send("b", {"x": 2}) == OK


def test_sessions_of_one_contract_do_not_see_each_other():
    contract = accord.compile('protocol P = rec L.{?a(x into s).L, !b(x in s).L}\nrule "r" { before each b require a }')
    one, other = (Monitor(contract, mode="refuse") for _ in range(2))
    assert one.receive("a", {"x": 1}) == OK
    assert isinstance(other.send("b", {"x": 1}), Violation)
    assert other.receive("a", {"x": 2}) == OK
    assert isinstance(other.send("b", {"x": 1}), Violation)
    assert one.send("b", {"x": 1}) == OK
    assert isinstance(one.send("b", {"x": 1}), Violation)
    assert other.send("b", {"x": 2}) == OK


def test_one_session_answers_as_the_next():
    """A contract remembers the steps that its sessions take; what it remembers must not change an answer."""
    contract = accord.compile('rule "r" { forbid Delete then Commit }')
    story = [("!", "Delete"), ("?", "Note"), ("!", "Check"), ("!", "Commit"), ("!", "Delete"), ("!", "Commit")]
    answers = []
    for _ in range(4):
        monitor = Monitor(contract, mode="refuse")
        answers.append([type((monitor.send if d == "!" else monitor.receive)(label)) for d, label in story])
    assert answers == [[Ok, Ok, Ok, Ok, Ok, Violation]] * 4


def test_labels_that_look_alike_are_not_confused():
    """A label in quotes and a label of which the quotes are part."""
    contract = accord.compile(r'rule "r" { before "2nd try" require "\"2nd try\"" }')
    first = Monitor(contract, mode="refuse")
    assert isinstance(first.send("2nd try"), Violation)
    assert first.send('"2nd try"') == OK
    second = Monitor(contract, mode="refuse")
    assert isinstance(second.send("2nd try"), Violation)
    assert isinstance(second.send("2nd try"), Violation)


def test_an_unrecognised_word_is_never_accepted_by_habit():
    monitor = Monitor('rule "r" { at most 1 Pay }')
    for _ in range(3):
        assert type(monitor.send("Unrecognized")).__name__ == "Unrecognized"
        assert type(monitor.receive("Unrecognized")).__name__ == "Unrecognized"
        assert monitor.send("Other") == OK


# -- gates -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["", " ", "\n", 1, True, b"ana", ["ana"], object()])
def test_nobody_is_not_a_person(by):
    monitor = Monitor("?a by human.end", mode="refuse")
    with pytest.raises(UsageError, match="by"):
        monitor.receive("a", by=by)
    with pytest.raises(UsageError, match="by"):
        monitor.peek_receive("a", by=by)
    assert monitor.trace == []
    assert monitor.receive("a", by="ana") == OK


def test_the_trace_says_who_it_was():
    monitor = Monitor("?a by human.?b(x == 1) by human.?c", mode="refuse")
    monitor.receive("a")
    monitor.receive("a", by="ana")
    monitor.receive("b", {"x": 1}, by="Ana M.")
    monitor.receive("c", by="é")
    assert monitor.trace == ["?a", "?a by ana", '?b by "Ana M."', "?c by é"]


def test_a_session_with_people_but_without_gates_can_be_replayed():
    monitor = Monitor("?a.?b")
    monitor.receive("a", by='o "x" by y')
    monitor.receive("b", by="ana")
    again = Monitor.from_dict("?a.?b", monitor.to_dict())
    assert again.trace == monitor.trace == ['?a by "o \\"x\\" by y"', "?b by ana"]
    assert again.status == "complete"


@pytest.mark.parametrize(
    ("contract", "needs"),
    [
        ("!a(x == 1)", "data"),
        ("?a by human", "gates"),
        ('rule "r" { at most 1 a(x == 1) }', "data"),
        ('rule "r" { at most 1 a by human }', "gates"),
    ],
)
def test_what_a_trace_cannot_hold_is_not_written(contract, needs):
    with pytest.raises(UsageError, match=needs):
        Monitor(contract).to_dict()


# -- limits ------------------------------------------------------------------------------------------------------------


def test_a_set_is_bounded():
    contract = accord.compile("rec L.?a(x into s).L", limits=Limits(set_members=3))
    monitor = Monitor(contract, mode="refuse")
    assert monitor.receive("a", {"x": [1, 2, 3, 1.0]}) == OK
    verdict = monitor.receive("a", {"x": 4})
    assert isinstance(verdict, Violation)
    assert "the set `s` would hold more than 3 values" in verdict.explain()
    assert monitor.receive("a", {"x": [3, 2]}) == OK


def test_what_was_refused_takes_no_room_in_a_set():
    contract = accord.compile("rec L.{?a(x into s, ok == true).L, !b(x in s).L}", limits=Limits(set_members=2))
    monitor = Monitor(contract, mode="refuse")
    for number in range(10):
        assert isinstance(monitor.receive("a", {"x": number, "ok": False}), Violation)
    assert monitor.receive("a", {"x": [10, 11], "ok": True}) == OK
    assert isinstance(monitor.send("b", {"x": 3}), Violation)


def test_possibilities_are_bounded():
    parts = " | ".join(f"?a(x as r{i})" for i in range(5))
    monitor = Monitor(accord.compile(f"({parts}).!b(x == r0)", limits=Limits(configurations=20)), mode="refuse")
    assert monitor.receive("a", {"x": 0}) == OK
    verdict = monitor.receive("a", {"x": 1})
    if isinstance(verdict, Ok):
        verdict = monitor.receive("a", {"x": 2})
    assert isinstance(verdict, Violation)
    assert "possibilities" in verdict.explain()


def test_rules_remember_a_bounded_number_of_states():
    contract = accord.compile('rule "r" { after each Q require A }', limits=Limits(remembered_standings=5))
    monitor = Monitor(contract)
    for _ in range(50):
        assert monitor.receive("Q") == OK
    for _ in range(49):
        assert monitor.send("A") == OK
    assert monitor.status == "running"
    assert monitor.send("A") == OK
    assert monitor.close() == OK
    assert len(contract.rules.machines[0]._nodes) <= 5
