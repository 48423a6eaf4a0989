"""The normal form of payloads, redaction, fingerprints."""

from __future__ import annotations

import enum

import pytest

from accord.errors import UsageError
from accord.trace import Redaction, TraceEvent, TracePayloadNormaliser, TraceRecorder, trace_fingerprint
from accord.trace.drift import compare
from accord.trace.fingerprint import Fingerprinter, fingerprint_events
from accord.trace.reading import Line
from accord.trace.run_summary import RunSummary, TraceSummary


def hashed(value):
    return TracePayloadNormaliser((), (), ["x"], None).normalise({"x": value})["x"]


def test_noise_is_dropped_at_any_depth():
    normalise = TracePayloadNormaliser(["noise"], ["^tmp_"], [], None).normalise
    assert normalise({"noise": 1, "a": [{"noise": 2, "b": {"tmp_x": 3, "c": 4}}], "not_tmp_": 5}) == {
        "a": [{"b": {"c": 4}}],
        "not_tmp_": 5,
    }


def test_what_is_dropped_has_no_part_in_digests():
    normalise = TracePayloadNormaliser().normalise
    one, two = ({"result": [{"id": 7, "timestamp": at, "in": {"latency_ms": at}}]} for at in (1, 2))
    assert normalise(one) == normalise(two) != normalise({"result": [{"id": 8, "in": {}}]})
    by_pointer = TracePayloadNormaliser(hash_paths=["/a/*/raw"]).normalise
    one, two = ({"a": [{"raw": {"x": 1, "created": at}}]} for at in (1, 2))
    assert by_pointer(one) == by_pointer(two)
    assert by_pointer(one)["a"][0]["raw"]["$accord"] == "hashed"


def test_long_texts_are_hashed():
    normal = TracePayloadNormaliser(hash_strings_over=3, hash_paths=[]).normalise(
        {"a": "abc", "b": ["abcd"], "c": {"d": "abcde"}}
    )
    assert normal == {"a": "abc", "b": [hashed("abcd")], "c": {"d": hashed("abcde")}}


def test_hash_paths_are_keys_or_pointers():
    value = {"result": 1, "deep": {"result": 2, "raw": [3]}, "a/b": 4}
    normal = TracePayloadNormaliser(hash_paths=["result", "/deep/raw", "a/b"]).normalise(value)
    assert normal == {"result": hashed(1), "deep": {"result": 2, "raw": hashed([3])}, "a/b": hashed(4)}
    everywhere = TracePayloadNormaliser(hash_paths=["/**/result"]).normalise(value)
    assert everywhere == {"result": hashed(1), "deep": {"result": hashed(2), "raw": [3]}, "a/b": 4}


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


def test_one_value_has_one_form():
    normalise = TracePayloadNormaliser((), (), (), None).normalise
    assert normalise({"a": (1, 2.0), "b": Colour.RED, "c": Level.HIGH, "d": -0.0}) == {
        "a": [1, 2],
        "b": "red",
        "c": 3,
        "d": 0,
    }
    prints = {
        trace_fingerprint([TraceEvent(0, "k", {"v": value})])
        for value in (1, 1.0, True, "1", None, 2**70, 2.0**70, 1e300, [1])
    }
    assert len(prints) == 8  # 1 and 1.0 are one number


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"a": [0, {"b": float("nan")}]}, "/payload/a/1/b"),
        ({"a": {"b": float("-inf")}}, "/payload/a/b"),
        ({"result": {"x": object()}}, "/payload/result/x"),
        ({"a": {1: 2}}, "/payload/a"),
        ({"a": b"x"}, "/payload/a"),
        ({"a": [{"b": {1, 2}}]}, "/payload/a/0/b"),
    ],
)
def test_what_json_cannot_hold_is_an_error_with_its_place(payload, place):
    with pytest.raises(UsageError, match=f"event 4 has no fingerprint: .* at `{place}"):
        trace_fingerprint([{"seq": 4, "kind": "k", "payload": payload}])


def test_dropped_values_are_not_looked_at():
    trace_fingerprint([{"seq": 0, "kind": "k", "payload": {"timestamp": object()}}])


def test_endless_and_huge_values_are_errors():
    loop: dict = {}
    loop["a"] = [loop]
    for value in (loop, 10**5000):
        with pytest.raises(UsageError, match="has no fingerprint"):
            trace_fingerprint([{"seq": 0, "kind": "k", "payload": {"v": value}}])


def test_the_input_is_not_changed_and_not_shared():
    payload = {"a": {"b": [1]}, "timestamp": 1, "result": 2}
    normal = TracePayloadNormaliser().normalise(payload)
    normal["a"]["b"].append(2)
    assert payload == {"a": {"b": [1]}, "timestamp": 1, "result": 2}


# -- redaction ---------------------------------------------------------------------------------------------------------


def test_every_copy_goes():
    redaction = Redaction(["/arguments/key"])
    payload = {
        "arguments": {"key": "s3cret", "note": "the s3cret is s3cret"},
        "s3cret": ["s3cret", {"deep": "xs3crety"}],
        "short": "s3c",
    }
    assert redaction.redact(payload) == {
        "arguments": {"key": "<redacted>", "note": "the <redacted> is <redacted>"},
        "<redacted>": ["<redacted>", {"deep": "x<redacted>y"}],
        "short": "s3c",
    }


def test_wildcards():
    value = {"a": [{"k": "aaaa"}, {"k": "bbbb"}], "b": {"c": {"k": "cccc"}}, "k": "dddd"}
    assert Redaction(["/a/*/k"]).redact(value) == {
        "a": [{"k": "<redacted>"}] * 2,
        "b": {"c": {"k": "cccc"}},
        "k": "dddd",
    }
    assert Redaction(["/a/0/k"]).redact(value)["a"] == [{"k": "<redacted>"}, {"k": "bbbb"}]
    assert "cccc" not in str(Redaction(["/**/k"]).redact(value))
    assert "dddd" not in str(Redaction(["/**/k"]).redact(value))
    assert Redaction(["/b"]).redact({"b": {"x": ["eeee"], "n": 5}, "c": "eeee!", "n": 5}) == {
        "b": "<redacted>", "c": "<redacted>!", "n": 5,
    }  # fmt: skip


def test_short_ones_go_in_their_place_only():
    assert Redaction(["/k"]).redact({"k": "abc", "t": "abcabc", "n": 1}) == {"k": "<redacted>", "t": "abcabc", "n": 1}


def test_copies_in_json_that_is_a_text():
    redaction = Redaction(["/k"])
    redacted = redaction.redact({"k": 'a"b\né', "raw": '{"k": "a\\"b\\n\\u00e9"}', "raw2": '{"k": "a\\"b\\né"}'})
    assert redacted["raw"] == redacted["raw2"] == '{"k": "<redacted>"}'


def test_keys_that_become_equal_stay_two():
    assert Redaction(["/**/k"]).redact({"a": [{"k": "aaaa"}, {"k": "bbbb"}], "aaaa": 1, "bbbb": 2}) == {
        "a": [{"k": "<redacted>"}] * 2, "<redacted>": 1, "<redacted> (2)": 2,
    }  # fmt: skip


def test_copies_in_other_events_go_too_even_in_earlier_ones():
    prints = set()
    for token in ("tok-1111", "tok-2222"):
        recorder = TraceRecorder()
        recorder.record_generate_start(f"use {token}")
        recorder.record_tool_call("login", {"token": token})
        recorder.record_generate_end(f"{token} works")
        prints.add(trace_fingerprint(recorder.events, TracePayloadNormaliser(redact=["/arguments/token"])))
    assert len(prints) == 1


def test_lone_surrogates_and_patterns_are_plain_text():
    assert Redaction(["/k"]).redact({"k": "\ud800.*x", "t": "a\ud800.*xb", "u": "\ud800..x"}) == {
        "k": "<redacted>", "t": "a<redacted>b", "u": "\ud800..x",
    }  # fmt: skip


def test_many_secrets():
    redaction = Redaction(["/items/*/key"])
    payload = {
        "items": [{"key": f"secret-number-{number:06}"} for number in range(20_000)],
        "texts": [f"this is secret-number-{number:06} and more" for number in range(20_000)],
    }
    redacted = redaction.redact(payload)
    assert set(redacted["texts"]) == {"this is <redacted> and more"}


@pytest.mark.parametrize("pointer", ["", "/", "key", "/a/**", 7])
def test_pointers_that_are_none(pointer):
    with pytest.raises(UsageError, match="JSON pointer"):
        Redaction([pointer])


@pytest.mark.parametrize(
    "wrong", [{"drop_keys": "created"}, {"drop_key_regex": ["("]}, {"hash_strings_over": -1}, {"hash_paths": [1]},
              {"hash_strings_over": True}]
)  # fmt: skip
def test_misuse_is_told(wrong):
    with pytest.raises(UsageError):
        TracePayloadNormaliser(**wrong)


# -- fingerprints ------------------------------------------------------------------------------------------------------


def trace(**changes):
    recorder = TraceRecorder(changes.get("run_id", "r"))
    recorder.record_generate_start("hi", temperature=0)
    recorder.record_tool_call("search", {"q": changes.get("q", "x"), "timestamp": changes.get("at", 0)})
    recorder.record_tool_result("search", changes.get("result", [1]))
    return recorder.events


def test_a_fingerprint_is_stable():
    """Whoever changes this text makes every baseline of every user drift."""
    assert trace_fingerprint(trace()) == "sha256:c0cc721469d143d2acebbb3e11cd5fb51d55cab58760145afc5d18e569823ef2"


def test_noise_and_the_names_of_runs_do_not_matter():
    assert trace_fingerprint(trace(at=99, run_id="other")) == trace_fingerprint(trace())
    assert trace_fingerprint(trace(q="y")) != trace_fingerprint(trace()) != trace_fingerprint(trace(result=[2]))


def test_the_first_difference_is_found():
    base = fingerprint_events(trace())
    assert len(base) == 3 and str(base) == base.value

    def first(events):
        both = (
            TraceSummary("t", "events", {"r": RunSummary("r", None, None, len(one), one.value, tuple(one.hashes))})
            for one in (base, fingerprint_events(events))
        )
        (found,) = compare(*both)
        return found.status, found.place

    assert first(trace(q="y")) == ("drift", 1)
    assert first(trace()) == ("same", None)
    assert first(trace()[:2]) == ("drift", 2)


@pytest.mark.parametrize("changed", [0, 900, 1_024, 2_499, None])
def test_a_long_trace_that_is_not_kept_has_the_fingerprint_of_one_that_is(changed):
    """Longer than what waits, with more kinds than are remembered: nothing of it gets lost on the way."""
    events = [Line(seq, f"kind {seq % 1_250}", {"n": seq}, None, None) for seq in range(2_500)]
    kept = Fingerprinter()
    kept.extend(events)
    if changed is not None:
        events[changed] = Line(changed, events[changed].kind, {"n": -1}, None, None)
    ways = [Fingerprinter(keep=False) for _ in range(3)]
    for event in events:
        ways[0].add(event.seq, event.kind, event.payload)
    ways[1].extend(events)
    for start in range(0, len(events), 7):
        ways[2].extend(events[start : start + 7])
    (value,) = {one.value for one in ways}
    assert (value == kept.value) is (changed is None)
    assert len(kept.finish()) == len(kept.finish().hashes) == ways[2].count == 2_500
    assert ways[2].finish().digests == b""


@pytest.mark.parametrize("normaliser", [None, lambda payload: {**payload, "more": 1}])
def test_what_an_event_carries_counts_whatever_it_is(normaliser):
    odd = [[], [1], "text", 7, False, {"a": 1}, {"a": 2}]
    prints = [trace_fingerprint([Line(0, "note", payload, None, None)], normaliser) for payload in [*odd, None, {}]]
    assert prints.pop() == prints[-1]
    assert len(set(prints)) == len(prints)


def test_algorithms():
    for algorithm in ("sha256", "sha512", "sha3_256", "blake2b"):
        assert trace_fingerprint(trace(), algorithm=algorithm).startswith(f"{algorithm}:")
    with pytest.raises(UsageError, match="md5"):
        trace_fingerprint(trace(), algorithm="md5")


def test_a_normaliser_of_ones_own():
    assert trace_fingerprint(trace(), lambda _: {}) == trace_fingerprint(trace(q="y"), lambda _: {})
    with pytest.raises(UsageError, match="made a `int` of the payload"):
        trace_fingerprint(trace(), lambda _: 7)
    with pytest.raises(UsageError, match="/payload/a"):
        trace_fingerprint(trace(), lambda _: {"a": float("nan")})
