"""Contracts as JSON: what comes back, and what damage of every kind is told."""

import copy
import json
import random

import pytest
from tests.damage import changed, places
from tests.unit.language.random_documents import Random

import accord
from accord import ContractError, UsageError
from accord.language import parse, print_document
from accord.language.interchange import clause_from_json, clause_to_json, document_from_json, document_to_json

FULL = """
protocol P = ?quote(total as t, refs into seen).Bank!pay(amount <= t, "unit price" in [1, "a", null, [true]])
    .rec L.?{ok by human.(!a | !b(x matches "c")).L, stop.end}
rule "before" { before each Pay(amount > 1.5) require (A or not B) and 2 of [C, D, at least 2 E] }
rule "after" { after A require all of [B, any of [C, at most 0 D]] }
rule "never" { after ?A forbid !B by human }
rule "most" { at most 3 A }
rule "chain" { forbid A then B ... C }
"""


OVER_TIME = """
protocol P = each order."unit price": !a.?{b by human, c.end} within 24h else (!x.?y within 1ms else end).!z
rule "in time" { each id: within 100000d after A(x > 1) require B and at least 2 C }
rule "plain" { each id: at most 1 A }
"""


def written(text=FULL):
    return json.loads(json.dumps(document_to_json(parse(text))))


def test_a_contract_over_time_comes_back():
    document = parse(OVER_TIME)
    value = written(OVER_TIME)
    assert value["version"] == 2
    assert document_from_json(value).items == document.items
    assert value["items"][0]["each"] == ["order", "unit price"]
    assert value["items"][0]["body"]["steps"][1]["milliseconds"] == 86_400_000


def test_an_open_protocol_comes_back():
    text = "protocol P open = each id: !a\nprotocol Q open = !a\nprotocol R = !a"
    value = written(text)
    assert value["version"] == 4
    assert [item.get("open") for item in value["items"]] == [True, True, None]
    assert document_from_json(value).items == parse(text).items
    with pytest.raises(UsageError, match="version 3 has no tools, no `as named otherwise` and no"):
        document_from_json({**value, "version": 3})


@pytest.mark.parametrize(("change", "wrong"), [({"open": 1}, "true or false"), ({"name": None}, "has a name - at")])
def test_what_is_no_open_protocol(change, wrong):
    value = written("protocol P open = !a")
    value["items"][0] |= change
    with pytest.raises(UsageError, match=wrong):
        document_from_json(value)


@pytest.mark.parametrize("text", ["!a", 'rule "r" { at most 1 A }', FULL])
def test_a_contract_is_written_in_the_oldest_version_that_holds_it(text):
    value = written(text)
    assert value["version"] == 1
    assert document_from_json({**value, "version": 2}).items == parse(text).items


@pytest.mark.parametrize("text", ["each id: !a", "?a within 5s else end", 'rule "r" { within 5s after A require B }'])
def test_the_first_version_has_neither_deadlines_nor_slices(text):
    value = written(text)
    assert value["version"] == 2
    with pytest.raises(UsageError, match=r"version 1 has neither deadlines nor slices - at `\$\.version`"):
        document_from_json({**value, "version": 1})


@pytest.mark.parametrize(
    ("path", "new", "says"),
    [
        (("items", 0, "each"), "id", "a list, got `str` - at `$.items[0].each`"),
        (("items", 0, "each"), [], "at least 1, got 0 - at `$.items[0].each`"),
        (("items", 0, "each"), [1], "a path is a list of texts - at `$.items[0].each`"),
        (("items", 0, "each"), ["\ud800"], "surrogate pair is no character - at `$.items[0].each`"),
        (("items", 1, "each", 0), None, "a path is a list of texts - at `$.items[1].each`"),
        (("items", 0, "body", "steps", 1, "milliseconds"), 0, "from 1 up to 8640000000000, got 0"),
        (("items", 0, "body", "steps", 1, "milliseconds"), 8640000000001, "got 8640000000001 - at `$.items[0].body"),
        (("items", 0, "body", "steps", 1, "milliseconds"), 1.5, "a number, got `float`"),
        (("items", 0, "body", "steps", 1, "milliseconds"), True, "a number, got `bool`"),
        (("items", 0, "body", "steps", 1, "milliseconds"), ..., "a number, got `NoneType`"),
        (("items", 0, "body", "steps", 1, "else"), ..., "an object, got `NoneType`"),
        (
            ("items", 0, "body", "steps", 1, "step"),
            {"kind": "end"},
            "a message or a choice - at `$.items[0].body.steps",
        ),
        (("items", 0, "body", "steps", 1, "more"), 1, "unknown field 'more'"),
        (("items", 1, "body", "milliseconds"), -1, "from 1 up to 8640000000000, got -1"),
        (("items", 1, "body", "each"), True, "unknown field 'each'"),
        (("items", 1, "body", "require"), ..., "an object, got `NoneType`"),
    ],
)
def test_an_error_over_time_names_the_place(path, new, says):
    with pytest.raises(UsageError) as caught:
        document_from_json(changed(written(OVER_TIME), path, new))
    assert says in str(caught.value)


def test_a_contract_comes_back():
    document = parse(FULL)
    assert document_from_json(written()).items == document.items
    contract = accord.compile(written())
    assert contract.digest == accord.compile(FULL).digest
    assert contract.document.items == document.items


def test_random_documents_come_back(health):
    make = Random(random.Random(1))
    count = 250
    for _ in range(count):
        document = make.document()
        value = document_to_json(document)
        assert document_from_json(value).items == document.items
        assert document_from_json(json.loads(json.dumps(value))).items == document.items
    health(f"interchange: {count:,} random documents written as JSON and read")


def test_random_clauses_come_back():
    make = Random(random.Random(2))
    for _ in range(1000):
        clause = make.clause()
        assert clause_from_json(json.loads(json.dumps(clause_to_json(clause)))) == clause


def shown(path):
    """A place as errors name it."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


WRONG = (None, True, 7, -1, 1.5, "wrong", "", "\ud800", [], [None], {}, {"kind": "wrong"}, ...)


def test_damage_of_every_kind_is_refused_or_still_a_contract(health):
    """Whatever stands at any place instead: a `UsageError` that names a place, or a contract that prints and reads."""
    refused = taken = 0
    whole = (written(), written(OVER_TIME))
    for value, path, old in [(contract, *place) for contract in whole for place in places(contract)]:
        if not path:
            continue
        for new in WRONG:
            if new == old and type(new) is type(old):
                continue
            damaged = changed(value, path, new)
            try:
                document = document_from_json(damaged)
            except UsageError as error:
                said = str(error)
                if "`$" not in said and "accord.contract" not in said:
                    pytest.fail(f"no place in {said!r} for {new!r} at {shown(path)}")
                refused += 1
                continue
            taken += 1
            assert document_from_json(document_to_json(document)).items == document.items
            if "\ud800" not in json.dumps(damaged, ensure_ascii=False):
                try:
                    assert parse(print_document(document)).items == document.items
                except ContractError as error:
                    # What the checks say about a contract that can be read; the text itself is in order.
                    if {d.code for d in error.diagnostics} & {"E010", "E011", "E012", "E016"}:
                        pytest.fail(f"cannot be read with {new!r} at {shown(path)}: {error}")
    assert refused > 1500
    health(f"interchange: {refused:,} kinds of damage refused, {taken:,} that are contracts too")


@pytest.mark.parametrize(
    ("path", "new", "says"),
    [
        (("format",), "x", "accord.contract version 1 to 4"),
        (("version",), 5, "accord.contract version 1 to 4"),
        (("version",), True, "expected a number, got `bool` - at `$.version`"),
        (("items",), [], "at least 1, got 0 - at `$.items`"),
        (("items",), {}, "a list, got `dict` - at `$.items`"),
        (("items", 0), "x", "an object, got `str` - at `$.items[0]`"),
        (
            ("items", 0, "kind"),
            "x",
            "a protocol, a rule, events, tools, a record or an enum, got 'x' - at `$.items[0].kind`",
        ),
        (("items", 0, "name"), "2x", "a name, got '2x' - at `$.items[0].name`"),
        (("items", 0, "name"), None, "a protocol without a name stands alone - at `$.items`"),
        (("items", 0, "more"), 1, "unknown field 'more' - at `$.items[0]`"),
        (("items", 0, "body", "steps"), [], "at least 1, got 0 - at `$.items[0].body.steps`"),
        (("items", 0, "body", "steps", 0, "label"), "", "a label, got '' - at `$.items[0].body.steps[0].label`"),
        (("items", 0, "body", "steps", 0, "clauses", 0, "path"), [1], "list of texts - at `$.items[0].body.steps[0]"),
        (("items", 0, "body", "steps", 0, "clauses", 0, "path"), [], "at least 1, got 0"),
        (("items", 0, "body", "steps", 0, "clauses", 0, "kind"), "x", "unknown kind of clause 'x'"),
        (("items", 0, "body", "steps", 0, "clauses", 0, "register"), "a b", "a name, got 'a b'"),
        (("items", 0, "body", "steps", 1, "clauses", 0, "operator"), "=~", "unknown operator '=~'"),
        (("items", 0, "body", "steps", 1, "clauses", 0, "value"), 1, "unknown field 'value'"),
        (("items", 0, "body", "steps", 1, "clauses", 0, "register"), ..., "expected a value or a register"),
        (("items", 0, "body", "steps", 1, "clauses", 1, "value"), {}, "a literal, got `dict`"),
        (("items", 0, "body", "steps", 1, "clauses", 1, "value", 0), float("nan"), "a literal, got `float`"),
        (("items", 0, "body", "steps", 2, "kind"), "x", "unknown kind of protocol 'x'"),
        (("items", 1, "body", "each"), 1, "true or false, got `int` - at `$.items[1].body.each`"),
        (("items", 1, "body", "trigger", "direction"), "up", 'expected "send" or "receive", got \'up\''),
        (("items", 1, "body", "trigger", "by"), "robot", "expected \"human\", got 'robot'"),
        (("items", 1, "body", "require", "kind"), "x", "unknown kind of condition 'x'"),
        (("items", 1, "body", "require", "of"), [], "at least 2, got 0"),
        (
            ("items", 1, "body", "trigger", "clauses", 0),
            {"kind": "bind", "path": ["x"], "register": "r"},
            "no registers",
        ),
        (("items", 4, "body", "number"), 1_000_001, "up to 1000000, got 1000001"),
        (("items", 4, "body", "number"), -1, "up to 1000000, got -1"),
        (("items", 5, "body", "adjacent"), [True], "one true or false between each two messages"),
        (("items", 5, "body", "adjacent", 0), 1, "one true or false between each two messages"),
        (("items", 5, "body", "kind"), "x", "unknown kind of rule 'x'"),
    ],
)
def test_an_error_names_the_place(path, new, says):
    with pytest.raises(UsageError) as caught:
        document_from_json(changed(written(), path, new))
    assert says in str(caught.value)


@pytest.mark.parametrize("value", [None, 1, "x", [], [1], b"{}"])
def test_what_is_no_object_is_refused(value):
    with pytest.raises(UsageError):
        document_from_json(value)


def test_a_choice_wants_branches_that_begin_with_an_action():
    inner = {"kind": "choice", "branches": [{"kind": "jump", "to": "L"}]}
    value = {"format": "accord.contract", "version": 1, "items": [{"kind": "protocol", "body": inner}]}
    with pytest.raises(UsageError, match=r"at `\$\.items\[0\]\.body`"):
        document_from_json(value)


@pytest.mark.parametrize("name", ["true", "false", "null"])
def test_a_register_is_never_taken_for_a_literal(name):
    """`x == true` compares with a literal, so no register can have that name, in whatever form it comes."""
    guard = {"kind": "guard", "path": ["x"], "operator": "==", "register": name}
    with pytest.raises(UsageError):
        clause_from_json(guard)


@pytest.mark.parametrize(
    "path",
    [
        ("items", 0, "body", "steps", 0, "clauses", 0, "path", 0),
        ("items", 0, "body", "steps", 1, "clauses", 1, "value", 1),
        ("items", 1, "name"),
    ],
)
def test_half_of_a_surrogate_pair_is_refused(path):
    with pytest.raises((UsageError, ContractError)):
        accord.compile(changed(written(), path, "\ud800"))


@pytest.mark.parametrize("depth", [100, 200, 300, 400, 499])
@pytest.mark.parametrize(("opening", "closing"), [("{!b.(", ")}"), ("rec X.!a.(", ")")])
def test_deep_contracts_are_written_and_read_or_refused(depth, opening, closing):
    contract = accord.compile("!a." + opening * depth + "!c" + closing * depth)
    try:
        value = contract.to_json()
    except UsageError:
        return
    try:
        read = accord.compile(value)
    except UsageError as error:
        pytest.fail(f"written but not read: {error}")
    assert read.digest == contract.digest


@pytest.mark.parametrize("depth", [1_500, 5_000])
def test_json_nested_too_deeply_is_refused(depth):
    body = {"kind": "send", "label": "a"}
    condition = {"kind": "happened", "message": {"label": "a"}}
    value = 1
    for _ in range(depth):
        body = {"kind": "loop", "name": "L", "body": body}
        condition = {"kind": "not", "condition": condition}
        value = [value]
    clause = {"kind": "guard", "path": ["x"], "operator": "==", "value": value}
    action = {"kind": "send", "label": "a", "clauses": [clause]}
    rule = {"kind": "before", "each": False, "trigger": {"label": "a"}, "require": condition}
    for item in (
        {"kind": "protocol", "body": body},
        {"kind": "rule", "name": "r", "body": rule},
        {"kind": "protocol", "body": action},
    ):
        with pytest.raises((UsageError, ContractError)):
            accord.compile({"format": "accord.contract", "version": 1, "items": [item]})


def test_a_huge_number_is_refused_in_words():
    value = changed(written(), ("items", 0, "body", "steps", 1, "clauses", 1, "value", 0), 10**5000)
    with pytest.raises((UsageError, ContractError)):
        accord.compile(value)


def test_the_value_given_is_not_changed():
    value = written()
    before = copy.deepcopy(value)
    accord.compile(value)
    assert value == before


def test_a_file_of_json(tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(written()))
    assert accord.load(path).digest == accord.compile(FULL).digest
    path.write_text("[1]")
    with pytest.raises(UsageError, match="expected an object"):
        accord.load(path)
    path.write_text("{")
    with pytest.raises(UsageError, match="no JSON"):
        accord.load(path)
    path.write_text("[" * 100_000)
    with pytest.raises(UsageError, match="no JSON"):
        accord.load(path)
