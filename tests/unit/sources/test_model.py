"""Bodies, moments, payloads, and which call a result answers."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import msgspec
import pytest

from accord.projection.bodies import as_object, as_text
from accord.projection.open_calls import OpenCalls
from accord.sources.metadata import scalars
from accord.sources.model import Message
from accord.sources.moments import as_seconds, iso_seconds
from accord.sources.records import Keys

TWICE = json.dumps(json.dumps({"x": 1}))


@pytest.mark.parametrize(
    ("body", "text", "payload"),
    [
        (None, "", {}),
        ("", "", {}),
        ("  ", "  ", {}),
        ("hello", "hello", {"text": "hello"}),
        ('{"x": 1}', '{"x": 1}', {"x": 1}),
        (TWICE, TWICE, {"x": 1}),
        (json.dumps(TWICE), json.dumps(TWICE), {"x": 1}),
        ('{"x": 1', '{"x": 1', {"text": '{"x": 1'}),
        ("[1, 2]", "[1, 2]", {"text": "[1,2]"}),
        ("12", "12", {"text": "12"}),
        ({"x": 1}, '{"x":1}', {"x": 1}),
        ({"type": "text", "text": "hi"}, "hi", {"type": "text", "text": "hi"}),
        ([{"type": "text", "text": "a"}, {"type": "image", "url": "u"}, "b"], "a\nb", {"text": "a\nb"}),
        ([{"type": "text", "content": '{"x": 1}'}], '{"x": 1}', {"x": 1}),
        ([{"type": "output_text", "text": {"value": "v"}}], "v", {"text": "v"}),
        ([{"type": "image"}], "", {}),
        ([{"url": "u"}], '[{"url":"u"}]', {"text": '[{"url":"u"}]'}),
        ([], "", {"text": ""}),
        (3, "3", {"text": "3"}),
        (True, "true", {"text": "true"}),
        ("[" * 5000, "[" * 5000, {"text": "[" * 5000}),
        ("\ud800", "\ud800", {"text": "\ud800"}),
    ],
)
def test_bodies(body, text, payload):
    assert as_text(body) == text
    assert as_object(body) == payload
    if not (isinstance(body, str) and "\ud800" in body):
        raw = msgspec.Raw(json.dumps(body).encode())
        assert (as_text(raw), as_object(raw)) == (text, payload)


def test_bytes_that_are_no_json_are_text():
    assert as_text(msgspec.Raw(b"{oops \xff")) == "{oops \ufffd"


def test_payload_of_a_result():
    call = Message("call", 0, '{"x": 1}', "t", "c1")
    answer = Message("result", 1, '{"ok": true, "call": {"x": 2}, "call_id": "c9"}', "t", "c1", call)
    assert answer.payload == {"ok": True, "error": None, "call": {"x": 1}, "call_id": "c1"}
    alone = Message("error", 1, '{"call": {"x": 2}, "call_id": "c9"}', "t")
    assert alone.payload == {"error": '{"call": {"x": 2}, "call_id": "c9"}'}
    assert Message("result", 1, {}, "t", "c7").payload == {"error": None, "call": {}, "call_id": "c7"}
    assert Message("result", 1, {}, "t", None, call).payload == {"error": None, "call": {"x": 1}, "call_id": "c1"}
    assert Message("result", 1, "", "t").payload == {"text": "", "error": None}
    assert Message("result", 1, None, "t").payload == {"text": "null", "error": None}
    assert Message("result", 1, {}, "t").payload == {"error": None}
    assert Message("result", 1, "{}", "t").payload == {"error": None}


def test_a_row_that_was_recorded_as_an_event_is_as_it_was_judged():
    row = Message("result", 1, {"x": 1, "call": {"y": 2}, "call_id": "c1"}, "t", labelled=True)
    assert row.payload == {"x": 1, "error": None, "call": {"y": 2}, "call_id": "c1"}


def test_a_payload_is_new_each_time():
    message = Message("call", 0, '{"x": {"y": 1}}', "t")
    message.payload["x"]["y"] = 2
    assert message.payload == {"x": {"y": 1}}


@pytest.mark.parametrize(
    ("moment", "seconds"),
    [
        (None, None),
        (True, None),
        (12, 12.0),
        (1.5, 1.5),
        (1_700_000_000, 1_700_000_000.0),
        (1_700_000_000_000, 1_700_000_000.0),
        (1_700_000_000_000_000_000, 1_700_000_000.0),
        ("1700000000000000000", 1_700_000_000.0),
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01T00:00:10", 10.0),
        ("1970-01-01T01:00:10.5+01:00", 10.5),
        ("soon", None),
        ("", None),
        ("9" * 400, None),
        (10**400, None),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_moments(moment, seconds):
    assert as_seconds(moment) == seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("PT1M48.75S", 108.75), ("P1DT1H", 90_000.0), ("PT0.000047S", 0.000047), ("P", 0.0), ("1h", None), ("PT", 0.0)],
)
def test_durations(text, seconds):
    assert iso_seconds(text) == seconds


def test_keys_are_unique():
    keys = Keys()
    assert [keys.unique(key) for key in ("a", "a", "b", "a", "a#2", "a#2")] == [
        "a",
        "a#2",
        "b",
        "a#3",
        "a#2#2",
        "a#2#3",
    ]


def test_metadata_are_scalars():
    found = scalars({"a": 1, "b": None, "c": [1], "d": {"e": 1}, "f": "x" * 501}, None, [1], {"a": 2, "g": True, 3: 4})
    assert found == {"a": 1, "g": True}
    assert len(scalars({f"k{n}": n for n in range(1000)})) == 64


# -- calls -------------------------------------------------------------------------------------------------------------


def slow_answer(open_calls, call_id, name):
    """The first open call that fits best: by id and name, by id; where an id is missing, by name, or by order."""
    ranks = [
        lambda c: bool(call_id) and c.call_id == call_id and name in {None, c.name},
        lambda c: bool(call_id) and c.call_id == call_id,
        lambda c: bool(call_id) and not c.call_id and c.name == name,
        lambda c: not call_id and name is not None and c.name == name,
        lambda _c: not call_id and name is None,
    ]
    for rank in ranks:
        for call in open_calls:
            if rank(call):
                open_calls.remove(call)
                return call
    return None


def test_results_find_their_calls(soak, health):
    rng = Random(3)
    rounds = 20_000 if soak else 2_000
    met = Counter()
    for _ in range(rounds):
        calls, slow = OpenCalls(), []
        for number in range(rng.randint(1, 14)):
            call_id, name = rng.choice([None, "", "1", "2"]), rng.choice(["a", "b", None])
            if rng.random() < 0.55:
                call = Message("call", number, None, name, call_id)
                calls.add(call)
                slow.append(call)
            else:
                right = slow_answer(slow, call_id, name)
                assert calls.answer(call_id, name) is right
                met["answered" if right is not None else "unanswered"] += 1
    assert min(met.values()) > rounds / 4
    health(f"calls: {rounds:,} random runs, {dict(met)}")


def test_an_id_that_comes_again_for_another_tool():
    calls = OpenCalls()
    first, second = Message("call", 0, None, "a", "1"), Message("call", 1, None, "b", "1")
    calls.add(first)
    calls.add(second)
    assert calls.answer("1", "b") is second
    assert calls.answer("1", None) is first


def test_a_run_made_to_be_slow_is_bounded():
    calls = OpenCalls()
    for number in range(5_000):
        calls.add(Message("call", number, None, "a", str(number)))
    assert calls.answer("0", None) is None
    assert calls.answer("4999", None).index == 4999
    assert len(calls._open) < 300
