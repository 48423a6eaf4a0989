"""What a contract sees of live values, whatever they do when they are looked at; and that logs say the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random

import pytest

from accord.canonical import encode
from accord.projection import Happening, payloads
from accord.projection.plain import DEEPEST, LARGEST
from accord.sources.model import Message

CALL = Happening("call", "t", {"x": 1}, "c1")
OF_CALL = {"call": {"x": 1}, "call_id": "c1"}


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ({"a": 1}, {"a": 1, "error": None}),
        ('{"a": 1}', {"a": 1, "error": None}),
        (json.dumps('{"a": 1}'), {"a": 1, "error": None}),
        ({"error": "sold out"}, {"error": "sold out"}),
        ({"error": None, "call": {"x": 9}, "call_id": "c9"}, {"error": None}),
        ("fine", {"text": "fine", "error": None}),
        ('"fine"', {"text": '"fine"', "error": None}),
        ("", {"text": "", "error": None}),
        (None, {"text": "null", "error": None}),
        ("null", {"text": "null", "error": None}),
        ([1, {"b": 2, "a": 1}], {"text": '[1,{"a":1,"b":2}]', "error": None}),
        ('[1, {"b": 2, "a": 1}]', {"text": '[1,{"a":1,"b":2}]', "error": None}),
        ((1, "é"), {"text": '[1,"é"]', "error": None}),
        ([], {"text": "[]", "error": None}),
        (1.0, {"text": "1", "error": None}),
        (True, {"text": "true", "error": None}),
        ([{"type": "text", "text": "hello"}], {"text": "hello", "error": None}),
        ([{"type": "text", "text": '{"a": 1}'}], {"a": 1, "error": None}),
        ([{"type": "flight", "id": 1}], {"text": '[{"id":1,"type":"flight"}]', "error": None}),
    ],
)
def test_what_a_tool_returned(value, fields):
    assert Happening("result", "t", value, call=CALL).payload == {**fields, **OF_CALL}
    if not isinstance(value, tuple):
        call = Message("call", 0, {"x": 1}, "t", "c1")
        assert Message("result", 1, value, "t", "c1", call).payload == {**fields, **OF_CALL}


@pytest.mark.parametrize(
    ("reason", "fields"),
    [
        ("sold out", {"text": "sold out", "error": "sold out"}),
        ('{"code": 5, "error": null}', {"code": 5, "error": '{"code": 5, "error": null}'}),
        ({"code": 5}, {"code": 5, "error": '{"code":5}'}),
        ([{"type": "text", "text": "boom"}], {"text": "boom", "error": "boom"}),
        (None, {"text": "failed", "error": "failed"}),
        ("", {"text": "failed", "error": "failed"}),
    ],
)
def test_why_a_call_failed(reason, fields):
    assert Happening("error", "t", reason, call=CALL).payload == {**fields, **OF_CALL}
    call = Message("call", 0, {"x": 1}, "t", "c1")
    assert Message("error", 1, reason, "t", "c1", call).payload == {**fields, **OF_CALL}


def test_an_end_without_a_call_has_neither_call_nor_id():
    assert Happening("result", "t", {"call": 1, "call_id": 2}).payload == {"error": None}
    assert Happening("error", "t", "half \ud800", call=None).payload == {"text": "half �", "error": "half �"}


class Hostile(Mapping):
    """Raises whatever is done with it."""

    def __getitem__(self, key):
        raise RuntimeError("no")

    __iter__ = __len__ = __contains__ = __getitem__


class Lying:
    @property
    def __class__(self):
        raise RuntimeError("no")


class Text(str):
    __slots__ = ()

    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = str.__hash__
    isascii = lstrip = strip = property(lambda _: 1 / 0)


def deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


HOSTILE = [
    Hostile(), Lying(), object(), float("nan"), {"a": float("inf")}, {1: 2}, {"a": Hostile()}, [Lying()], b"x", {1, 2},
    "\ud800", deep(DEEPEST + 2), deep(50_000), [0] * (LARGEST + 1), {"a": "\udfff"}, Exception("x"), 10**5000,
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_nothing_raises_whatever_a_value_does(number):
    value = HOSTILE[number]
    for kind in ("result", "error", "call", "event", "user", "agent"):
        payload = Happening(kind, "t", value, call=Happening("call", "t", value, "c")).payload
        json.dumps(payload)
        assert "error" in payload or kind not in {"result", "error"}
    assert isinstance(Happening("user", value=value).text, str)


def test_of_what_json_cannot_hold_only_that_there_was_no_error():
    assert Happening("result", "t", object(), call=CALL).payload == {"error": None, **OF_CALL}
    assert payloads.of_arguments({"a": 1, "b": object()}) == {"a": 1}


def test_a_string_that_holds_more_than_may_be_looked_at_is_text():
    text = "[" * 200 + "]" * 200
    assert Happening("result", "t", f'{{"a": {text}}}').payload == {"text": f'{{"a": {text}}}', "error": None}


def test_texts_of_other_classes_are_what_json_would_write():
    payload = Happening("result", "t", {"a": Text("b")}).payload
    assert type(payload["a"]) is str and payload["a"] == "b"
    assert Happening("result", "t", Text("b")).payload == {"text": "b", "error": None}


def test_a_payload_is_a_copy():
    value = {"a": {"b": [1]}}
    Happening("result", "t", value).payload["a"]["b"].append(2)
    Message("result", 0, value, "t").payload["c"] = 1
    assert value == {"a": {"b": [1]}}


def test_live_and_recorded_agree(soak, health):
    """What is given live, and the same in a log as JSON, or as the JSON of it in a string, are one payload."""
    rng, rounds = Random(19), 20_000 if soak else 2_000

    def any_value(depth=0):
        kind = rng.randrange(9 if depth < 3 else 6)
        if kind < 6:
            number = rng.choice([0.5, 1.0, 1e-9, 1e300, 10**30])
            return [None, rng.choice([True, False]), rng.randrange(-5, 5), number, "text", "é {"][kind]
        if kind == 6:
            return [any_value(depth + 1) for _ in range(rng.randrange(3))]
        return {
            rng.choice(["error", "call", "call_id", "text", "a"]): any_value(depth + 1) for _ in range(rng.randrange(4))
        }

    for _ in range(rounds):
        value, kind = any_value(), rng.choice(["result", "error"])
        live = Happening(kind, "t", value, call=CALL).payload
        call = Message("call", 0, '{"x": 1}', "t", "c1")
        assert Message(kind, 1, value, "t", "c1", call).payload == live
        if kind == "result" and not isinstance(value, dict | str):
            assert live["text"] == encode(value).decode()
        if kind == "result" and isinstance(value, dict | list):
            assert Message(kind, 1, json.dumps(value), "t", "c1", call).payload == live
    health(f"payloads: {rounds:,} random values, live and recorded, are seen as the same")
