"""Machines with clauses and gates as JSON: what comes back, and what must not be run."""

import json

import pytest

import accord
from accord import Limits, UsageError
from accord.canonical import digest
from accord.machine.codec import decode_machine, encode_machine
from accord.machine.identity import tables_of
from accord.machine.standing import Standings

TEXT = '?a(x as r, y into s, z matches "q", w in [1, 1.0, true, null, "1", [2]]) by human.!b(x != r, y in s).end'


def encoded(text=TEXT):
    return json.loads(json.dumps(encode_machine(accord.compile(text).machine())))


def resealed(value):
    """With the digest that fits: what somebody writes who knows the format."""
    body = {key: item for key, item in value.items() if key not in {"digest", "name"}}
    return {**value, "digest": digest(body)}


def test_there_and_back():
    machine = accord.compile(TEXT).machine()
    again = decode_machine(json.dumps(encode_machine(machine)))
    assert again == machine
    assert tables_of(again) == tables_of(machine)
    assert again.registers == ("r", "s")
    assert again.sets == {"s"}


def test_any_change_of_a_clause_is_noticed():
    for change in ('"path": ["x"]', '"register": "r"', '"operator": "!="', '"kind": "bind"', ", true]"):
        text = json.dumps(encoded())
        assert change in text
        replaced = text.replace(
            change,
            change.replace('"x"', '"v"')
            .replace('"r"', '"q"')
            .replace("!=", "==")
            .replace('"bind"', '"collect"')
            .replace("true", "false"),
            1,
        )
        with pytest.raises(UsageError):
            decode_machine(replaced)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda s: s[0].append(1), "3 or 5 fields"),
        (lambda s: s[0].pop(), "3 or 5 fields"),
        (lambda s: s[0].__setitem__(4, 1), "clauses and a gate"),
        (lambda s: s[0].__setitem__(3, {}), "clauses and a gate"),
        (lambda s: s.__setitem__(0, [*s[0][:3], [], False]), "clauses and a gate"),
        (lambda s: s[0][3][0].__setitem__("kind", "x"), r"\$\.symbols\[0\]\[3\]\[0\]"),
        (lambda s: s[0][3][0].__setitem__("register", ""), "expected a name"),
        (lambda s: s[0][3][0].__setitem__("more", 1), "unknown field"),
        (lambda s: s[0].__setitem__(0, "x"), "direction and a label"),
        (lambda s: s[0].__setitem__(1, ""), "direction and a label"),
    ],
)
def test_what_is_no_symbol_is_refused(change, says):
    value = encoded()
    change(value["symbols"])
    with pytest.raises(UsageError, match=says):
        decode_machine(resealed(value))


def test_a_literal_nested_deeply_is_a_usage_error():
    value = encoded("!a(x == 1)")
    for _ in range(600):
        value["symbols"][0][3][0]["value"] = [value["symbols"][0][3][0]["value"]]
    with pytest.raises(UsageError):
        decode_machine(json.dumps(value))


@pytest.mark.parametrize(
    "clauses",
    [
        [{"kind": "guard", "path": ["x"], "operator": "matches", "value": "("}],
        [
            {"kind": "bind", "path": ["x"], "register": "r"},
            {"kind": "collect", "path": ["x"], "register": "r"},
        ],
    ],
    ids=["pattern that is none", "register used in two ways"],
)
def test_clauses_that_no_contract_can_have_are_refused(clauses):
    """Reading trusts nothing: such a machine would fail when it is run."""
    value = encoded("!a(x == 1)")
    value["symbols"][0][3] = clauses
    with pytest.raises(UsageError):
        Standings(decode_machine(resealed(value)), Limits())
