"""Normal forms and fingerprints on random payloads."""

from __future__ import annotations

import json
import random
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from accord.canonical import encode, encode_plain
from accord.trace import TracePayloadNormaliser, trace_fingerprint
from accord.trace.normaliser import DROP_KEYS
from tests.census import Census

KEYS = st.one_of(st.sampled_from([*DROP_KEYS, "result", "raw", "a", "b", "$accord", "sha256"]), st.text(max_size=5))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
    st.sampled_from(["<redacted>", "redacted", "hashed", "sha256", "x" * 512, "é" * 513]),
)
MARKS = st.builds(lambda digit: {"$accord": "hashed", "sha256": digit * 64}, st.sampled_from("0afAg"))
VALUES = st.recursive(
    SCALARS | MARKS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
PAYLOADS = st.dictionaries(KEYS, VALUES | SCALARS, max_size=5)
NORMALISERS = st.builds(
    TracePayloadNormaliser,
    drop_keys=st.sampled_from([DROP_KEYS, (), ("a", "sha256", "$accord")]),
    drop_key_regex=st.sampled_from([(), ("^.$",), ("acc",)]),
    hash_paths=st.sampled_from([("result", "raw"), (), ("/a/*", "/**/b"), ("/*",)]),
    hash_strings_over=st.sampled_from([None, 0, 3, 512]),
    redact=st.sampled_from([(), ("/a",), ("/**/b", "/result/*")]),
)


KINDS = (
    "null", "boolean", "whole number", "huge number", "fraction", "whole fraction", "text", "long text", "list",
    "object", "mark", "nothing inside",
)  # fmt: skip
PLACES = ("top", "in a list", "in an object", "deep", "dropped", "digested")


def kinds(value):
    """What a JSON value is."""
    if isinstance(value, list | dict):
        yield "list" if isinstance(value, list) else "mark" if set(value) == {"$accord", "sha256"} else "object"
        yield from [] if value else ["nothing inside"]
    elif isinstance(value, str):
        yield "text" if len(value) <= 512 else "long text"
    elif isinstance(value, float):
        yield "whole fraction" if value.is_integer() else "fraction"
    elif value is None or isinstance(value, bool):
        yield "null" if value is None else "boolean"
    else:
        yield "whole number" if abs(value) < 2**53 else "huge number"


def cells(value, path=()):
    """Each value of a payload, with where it stands."""
    if path:
        places = ["top" if len(path) == 1 else "in a list" if isinstance(path[-1], int) else "in an object"]
        places += ["deep"] if len(path) > 2 else []
        places += ["dropped"] if {*DROP_KEYS} & {*path} else []
        places += ["digested"] if path[0] in {"result", "raw"} else []
        yield from ((kind, place) for kind in kinds(value) for place in places)
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from cells(inner, (*path, key))


def test_payloads_are_of_every_kind(health):
    seen = Census("value in a random payload", KINDS, PLACES)

    @settings(max_examples=1_000, deadline=None, database=None, derandomize=True)
    @given(PAYLOADS)
    def look(payload):
        seen.add(cells(payload))

    look()
    health(seen.table())
    seen.check(1)


def event(payload):
    return {"seq": 0, "kind": "k", "payload": payload}


@given(NORMALISERS, PAYLOADS)
@settings(max_examples=150, deadline=None)
def test_normalising_twice_is_normalising_once(normaliser, payload):
    once = normaliser.normalise(payload)
    assert normaliser.normalise(once) == once
    assert encode(normaliser.normalise(once)) == encode(once)


def shuffled(value, chance):
    if isinstance(value, dict):
        items = [(key, shuffled(item, chance)) for key, item in value.items()]
        chance.shuffle(items)
        return dict(items)
    return [shuffled(item, chance) for item in value] if isinstance(value, list) else value


@given(PAYLOADS, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_keys_does_not_matter(payload, chance):
    assert trace_fingerprint([event(shuffled(payload, chance))]) == trace_fingerprint([event(payload)])


def with_noise(value, chance):
    if isinstance(value, dict):
        found = {key: with_noise(item, chance) for key, item in value.items()}
        for key in DROP_KEYS:
            if chance.random() < 0.3:
                found[key] = chance.random()
        return found
    return [with_noise(item, chance) for item in value] if isinstance(value, list) else value


@given(PAYLOADS, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_dropped_keys_do_not_matter(payload, chance):
    clean = TracePayloadNormaliser(hash_paths=(), hash_strings_over=None).normalise(payload)
    assert trace_fingerprint([event(with_noise(clean, chance))]) == trace_fingerprint([event(clean)])


def same_json(one, two):
    """Whether two values are one JSON value once noise is dropped; marks of digests are left to other tests."""
    plain = TracePayloadNormaliser(hash_paths=(), hash_strings_over=None)
    return encode(plain.normalise(one)) == encode(plain.normalise(two))


@given(PAYLOADS, PAYLOADS)
@settings(max_examples=100, deadline=None)
def test_any_other_change_is_seen(one, two):
    assert (trace_fingerprint([event(one)]) == trace_fingerprint([event(two)])) == same_json(one, two)


def changed(value, chance):
    """The value with one change somewhere."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(sorted(value))
        return {**value, key: changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        place = chance.randrange(len(value))
        return [*value[:place], changed(value[place], chance), *value[place + 1 :]]
    if isinstance(value, bool) or value is None:
        return 17
    if isinstance(value, int):
        return value + 1
    return {"changed": [value]}


@given(PAYLOADS, st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_any_one_change_is_seen(payload, chance):
    other = {key: changed(value, chance) for key, value in payload.items()}
    assert (trace_fingerprint([event(payload)]) == trace_fingerprint([event(other)])) == same_json(payload, other)


@given(VALUES)
@settings(max_examples=150, deadline=None)
def test_the_quick_canonical_form_is_the_canonical_form(value):
    """For what it is made for: what comes out of a normaliser that met no odd number."""
    odd: list = []
    normal = TracePayloadNormaliser((), (), (), None)._normal({"v": value}, None, odd)
    if not odd:
        assert encode_plain(normal) == encode({"v": value})


CHILD = """
import sys, json
from accord.trace import trace_fingerprint
for line in sys.stdin:
    print(trace_fingerprint([{"seq": 0, "kind": "k", "payload": json.loads(line)}]))
"""


def test_hash_seeds_do_not_matter(health):
    chance = random.Random(7)
    payloads = [
        {
            chance.choice("abcdefé😀\uff00"): chance.choice([1, 1.5, 1e22, "x", None, {"z": 1, "y": [2]}])
            for _ in range(6)
        }
        for _ in range(200)
    ]
    text = "\n".join(map(json.dumps, payloads))
    outputs = {
        subprocess.run(
            [sys.executable, "-c", CHILD],
            input=text,
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1 and len(set(outputs.pop().split())) > 100
    health("fingerprints of 200 payloads are the same under three hash seeds")
