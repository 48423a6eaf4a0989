from __future__ import annotations

import json
import math
from collections import OrderedDict, UserDict
from enum import IntEnum, StrEnum

import pytest

from accord.canonical import encode
from accord.ledger.represent import DEEPEST, KEPT, own_copy, represent


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    BIG = 3


class Hostile:
    def __repr__(self):
        raise RuntimeError("no")


class HostileMapping(UserDict):
    def items(self):
        raise RuntimeError("no")


class Lying:
    @property
    def __class__(self):
        raise RuntimeError("no")


PLAIN = [
    None, True, False, 0, -1, 2**63 - 1, -(2**63), 1.5, 1e300, "", "text", "\u202e\x00\x7f", "😀", [], {}, [[]],
    {"a": {"b": [1, "x", None]}},
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_json_is_kept_as_it_is(value):
    assert represent(value) == value
    assert json.loads(encode(represent(value))) == value


ODD = [
    (float("nan"), {"$accord": "float", "value": "nan"}),
    (float("inf"), {"$accord": "float", "value": "inf"}),
    (-math.inf, {"$accord": "float", "value": "-inf"}),
    (-0.0, {"$accord": "float", "value": "-0.0"}),
    (2**63, {"$accord": "int", "value": "0x8000000000000000"}),
    (-(2**63) - 1, {"$accord": "int", "value": "-0x8000000000000001"}),
    ("a\ud800", {"$accord": "text", "value": "a\\ud800"}),
    ("\\ud800", "\\ud800"),
    (b"\x00\xff", {"$accord": "bytes", "value": "AP8="}),
    (bytearray(b"\x00"), {"$accord": "bytes", "value": "AA=="}),
    ({1: 2}, {"$accord": "mapping", "items": [[1, 2]]}),
    ({"a": 1, None: 2}, {"$accord": "mapping", "items": [["a", 1], [None, 2]]}),
    ({"\ud800": 1}, {"$accord": "mapping", "items": [[{"$accord": "text", "value": "\\ud800"}, 1]]}),
    ({"$accord": "float"}, {"$accord": "mapping", "items": [["$accord", "float"]]}),
    ({1}, {"$accord": "object", "type": "builtins.set", "repr": "{1}"}),
    (1j, {"$accord": "object", "type": "builtins.complex", "repr": "1j"}),
    (Hostile(), {"$accord": "unreadable", "type": f"{__name__}.Hostile", "error": "builtins.RuntimeError"}),
    (HostileMapping(), {"$accord": "unreadable", "type": f"{__name__}.HostileMapping",
                        "error": "builtins.RuntimeError"}),
    (Lying(), {"$accord": "unreadable", "type": f"{__name__}.Lying", "error": "builtins.RuntimeError"}),
    ((1, 2), [1, 2]),
    (OrderedDict(a=1), {"a": 1}),
    (UserDict(a=1), {"a": 1}),
    (Colour.RED, "red"),
    (Size.BIG, 3),
]  # fmt: skip


@pytest.mark.parametrize(("value", "kept"), ODD, ids=lambda v: ascii(type(v).__name__))
def test_what_json_cannot_hold_is_marked(value, kept):
    assert represent(value) == kept
    assert represent({"x": [value]}) == {"x": [kept]}
    encode(represent(value)).decode("utf-8")


def test_kinds_of_values_stay_apart():
    """No two values that differ as JSON have the same representation."""
    values = [*PLAIN, *(value for value, kept in ODD if isinstance(kept, dict) and "$accord" in kept)]
    # As a caller could try to fake a mark:
    values += [kept for _, kept in ODD if isinstance(kept, dict) and "$accord" in kept]
    kept = [encode(represent(value)) for value in values]
    assert len(set(kept)) == len(kept)


def test_cycles_say_how_far_out_they_lead():
    inner: list[object] = []
    outer = {"a": [inner]}
    inner.append(outer)
    inner.append(inner)
    assert represent(outer) == {"a": [[{"$accord": "cycle", "up": 3}, {"$accord": "cycle", "up": 1}]]}


def test_the_same_value_twice_is_no_cycle():
    shared = [1]
    assert represent([shared, shared]) == [[1], [1]]


def test_deep_nesting_ends_with_a_mark():
    value: object = "core"
    for _ in range(10_000):
        value = [value]
    kept = represent(value)
    for _ in range(DEEPEST):
        kept = kept[0]
    assert kept == {"$accord": "left out", "why": f"it is nested deeper than {DEEPEST}"}


def test_large_values_leave_their_digest():
    import hashlib

    value = {"text": "x" * KEPT}
    data = encode(value)
    assert represent(value) == {
        "$accord": "left out",
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    almost = {"text": "x" * (KEPT - len('{"text":""}'))}
    assert represent(almost) == almost
    assert represent("ü" * (KEPT // 2)) != "ü" * (KEPT // 2)


def test_values_without_end_are_left_out():
    for end, why in (("x" * 10_000, "it is larger than 64 MiB"), ("x", "it is made of more than 1,000,000 values")):
        value: object = [end]
        for _ in range(60):
            value = [value, value]
        assert represent(value) == {"$accord": "left out", "why": why}
    assert represent(1 << (1 << 30))["$accord"] == "left out"


def test_a_huge_integer_is_exact():
    kept = represent(10**10_000)
    assert int(kept["value"], 16) == 10**10_000


def test_a_long_repr_is_cut():
    kept = represent(set(range(10_000)))
    assert len(kept["repr"]) == 1000
    assert kept["repr"].endswith("…")


def test_an_own_copy_does_not_follow_the_original():
    inner = {"b": [1]}
    value = {"a": inner, "t": (inner, 2), "m": UserDict(x=1)}
    value["self"] = value
    copy = own_copy(value)
    inner["b"].append(2)
    value["new"] = 1
    assert copy["a"] == {"b": [1]}
    assert copy["t"] == ({"b": [1]}, 2)
    assert copy["m"] == {"x": 1}
    assert copy["self"] is copy
    assert "new" not in copy
    marker = object()
    assert own_copy([marker])[0] is marker
