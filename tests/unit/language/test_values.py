"""Values as the language compares them, whatever Python objects they come in."""

import enum
import math
from collections import ChainMap, OrderedDict, UserDict, defaultdict
from itertools import product
from types import MappingProxyType

import pytest

from accord import UsageError
from accord.language.clauses import OPERATORS
from accord.language.values import DEEPEST, LARGEST, MISSING, comparison, freeze, lookup, thaw
from accord.semantics.data import compare
from accord.semantics.data import freeze as reference_freeze

NAN = math.nan


class Text(str):
    __slots__ = ()

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __str__(self):
        return "something else"


class Size(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


class Colour(enum.Enum):
    RED = "red"


class Shade(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


VALUES = [
    *(None, True, False, 0, 1, -1, 2, 10**400, -(10**400), 0.0, -0.0, 1.0, 0.5, 1e308, math.inf, -math.inf, NAN),
    *("", "1", "a", "b", "true", "null", "é", "e\u0301", "\ud800", "\x00"),
    *([], [1], [1.0], [True], [[]], [None], ["1"], [1, 2], [2, 1], [NAN], [{}]),
    *({}, {"a": 1}, {"a": 1.0}, {"a": True}, {"a": None}, {"b": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": NAN}),
]


def test_every_comparison_of_every_pair_agrees_with_the_reference():
    for left, right in product(VALUES, repeat=2):
        for operator in OPERATORS:
            if operator != "matches":
                expected = compare(reference_freeze(left), operator, reference_freeze(right))
                assert comparison(operator)(freeze(left), freeze(right)) is expected, (left, operator, right)


def test_frozen_values_that_are_equal_have_equal_hashes():
    for left, right in product(VALUES, repeat=2):
        one, other = freeze(left), freeze(right)
        if one == other:
            assert hash(one) == hash(other)
    assert len({freeze(value) for value in (1, 1.0, True, "1", [1], [True], None)}) == 6


def test_nan_equals_nothing_not_even_the_same_nan():
    for value in (NAN, [NAN], {"a": [NAN]}):
        assert comparison("==")(freeze(value), freeze(value)) is False
        assert comparison("!=")(freeze(value), freeze(value)) is True
        assert comparison("in")(freeze(value), freeze([value])) is False
        assert comparison("not in")(freeze(value), freeze([value])) is True
    for operator in ("<", "<=", ">", ">="):
        assert comparison(operator)(freeze(NAN), freeze(NAN)) is None


def test_what_is_thawed_is_what_was_frozen():
    for value in VALUES:
        if "nan" not in repr(value):
            assert thaw(freeze(value)) == value
            assert type(thaw(freeze(value))) is type(value)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Text("a"), "a"),
        (Size(3), 3),
        (Shade.RED, "red"),
        (Level.HIGH, 3),
        ((1, 2), [1, 2]),
        (OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
        (UserDict(a=1), {"a": 1}),
        (MappingProxyType({"a": (Text("b"),)}), {"a": ["b"]}),
        (ChainMap({"a": 1}, {"a": 2, "b": 3}), {"a": 1, "b": 3}),
        (defaultdict(list, a=1), {"a": 1}),
        ({Text("k"): 1}, {"k": 1}),
    ],
)
def test_look_alikes_are_what_they_look_like(value, plain):
    frozen = freeze(value)
    assert frozen == freeze(plain)
    assert freeze(plain) == frozen
    assert type(frozen) in {str, int, tuple}


def test_a_subclass_cannot_lie_about_equality():
    assert comparison("==")(freeze(Text("a")), freeze("b")) is False
    assert comparison("==")(freeze(Size(3)), freeze(4)) is False
    assert comparison("in")(freeze([Text("a")]), freeze([["b"]])) is False


@pytest.mark.parametrize(
    "value",
    [
        b"bytes",
        bytearray(b"x"),
        {1, 2},
        frozenset(),
        object(),
        Colour.RED,
        1j,
        range(3),
        iter([]),
        len,
        [object()],
        {"a": b""},
        {1: 2},
        {None: 1},
        {"a": {2: 3}},
        {("a",): 1},
    ],
)
def test_what_json_cannot_hold_is_a_usage_error(value):
    with pytest.raises(UsageError, match="payload"):
        freeze(value)


def nested(depth, make):
    value = 1
    for _ in range(depth):
        value = make(value)
    return value


@pytest.mark.parametrize("make", [lambda v: [v], lambda v: (v,), lambda v: {"a": v}])
def test_depth_is_bounded(make):
    freeze(nested(DEEPEST, make))
    for depth in (DEEPEST + 1, 5_000):
        with pytest.raises(UsageError, match="nested deeper"):
            freeze(nested(depth, make))


def test_what_holds_itself_is_refused():
    loop, ring = [], {}
    loop.append(loop)
    ring["again"] = {"and": [ring]}
    for value in (loop, ring, [1, loop]):
        with pytest.raises(UsageError, match="holds itself"):
            freeze(value)


def test_a_value_that_grows_without_bound_is_refused():
    value = [0] * 10
    for _ in range(8):
        value = [value] * 10
    with pytest.raises(UsageError, match=f"more than {LARGEST}"):
        freeze(value)
    freeze([0] * (LARGEST - 1))
    with pytest.raises(UsageError, match=f"more than {LARGEST}"):
        freeze([0] * LARGEST)


def test_frozen_values_are_copies():
    inner = [1, {"a": [2]}]
    frozen = freeze(inner)
    inner[1]["a"].append(3)
    inner.append(4)
    assert frozen == freeze([1, {"a": [2]}])


def test_huge_numbers_are_exact():
    huge = 10**5000
    assert comparison("==")(freeze(huge), freeze(huge)) is True
    assert comparison("<")(freeze(huge), freeze(huge + 1)) is True
    assert comparison(">")(freeze(huge), freeze(1e308)) is True
    assert comparison("<")(freeze(huge), freeze(math.inf)) is True
    assert comparison("==")(freeze(2**53 + 1), freeze(float(2**53))) is False


# -- paths -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "path", "found"),
    [
        ({"a": 1}, ("a",), 1),
        ({"a": None}, ("a",), None),
        ({"a": {"b": {"": 2}}}, ("a", "b", ""), 2),
        ({}, ("a",), MISSING),
        ({"a": 1}, ("a", "b"), MISSING),
        ({"a": None}, ("a", "b"), MISSING),
        ({"a": [{"b": 1}]}, ("a", "0"), MISSING),
        ({"a": "text"}, ("a", "upper"), MISSING),
        ({"a.b": 1}, ("a", "b"), MISSING),
        ({1: 2}, ("1",), MISSING),
        (UserDict(a=MappingProxyType({"b": 3})), ("a", "b"), 3),
    ],
)
def test_a_path_leads_into_mappings_and_nowhere_else(payload, path, found):
    assert lookup(payload, path) == found or found is MISSING
    assert (lookup(payload, path) is MISSING) == (found is MISSING)


def test_looking_does_not_make_what_it_looks_for():
    payload = defaultdict(lambda: defaultdict(int))
    assert lookup(payload, ("a", "b")) is MISSING
    assert payload == {}
    payload["a"] = defaultdict(int)
    assert lookup(payload, ("a", "b")) is MISSING
    assert payload == {"a": {}}


def test_missing_shows_what_it_is():
    assert repr(MISSING) == "MISSING"
