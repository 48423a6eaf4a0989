"""Fingerprints against a slow and obvious reading of their definition, against another language, and against answers
that must never change."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accord.trace import event_hashes, trace_fingerprint
from tests.census import Census
from tests.properties.test_traces import PAYLOADS

DROPPED = {"request_id", "response_id", "created", "timestamp", "latency_ms"}


def written(value):
    """RFC 8785, by the book."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{written(key)}:{written(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(map(character, value)) + '"'
    if isinstance(value, float):
        return number(value)
    return json.dumps(value)


def character(char):
    named = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    code = ord(char)
    return named.get(char) or (f"\\u{code:04x}" if code < 0x20 or 0xD800 <= code < 0xE000 else char)


def number(value):
    """As ECMAScript says it in Number::toString."""
    if value == 0:
        return "0"
    if value < 0:
        return "-" + number(-value)
    _, all_digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits = "".join(map(str, all_digits))
    k, n = len(digits), len(digits) + exponent
    if k <= n <= 21:
        return digits + "0" * (n - k)
    if 0 < n <= 21:
        return f"{digits[:n]}.{digits[n:]}"
    if -6 < n <= 0:
        return f"0.{'0' * -n}{digits}"
    power = f"e{'+' if n > 0 else '-'}{abs(n - 1)}"
    return digits + power if k == 1 else f"{digits[0]}.{digits[1:]}{power}"


def hashed(value):
    return {"$accord": "hashed", "sha256": hashlib.sha256(written(value).encode()).hexdigest()}


def is_mark(value):
    return (
        isinstance(value, dict)
        and set(value) == {"$accord", "sha256"}
        and value["$accord"] == "hashed"
        and isinstance(value["sha256"], str)
        and len(value["sha256"]) == 64
        and set(value["sha256"]) <= set("0123456789abcdef")
    )


def normal(value):
    if is_mark(value):
        return value
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items() if key not in DROPPED}
    if isinstance(value, list):
        return [normal(item) for item in value]
    return hashed(value) if isinstance(value, str) and len(value) > 512 else value


def obvious(events):
    digests = []
    for event in events:
        payload = {key: normal(item) for key, item in event["payload"].items() if key not in DROPPED}
        for key in {"result", "raw"} & set(payload):
            payload[key] = payload[key] if is_mark(payload[key]) else hashed(payload[key])
        data = written({"kind": event["kind"], "payload": payload, "seq": event["seq"]})
        digests.append(hashlib.sha256(data.encode()).digest())
    whole = hashlib.sha256(b"accord.trace/1\n" + b"".join(digests)).hexdigest()
    return f"sha256:{whole}", [digest.hex() for digest in digests]


@given(st.lists(PAYLOADS, max_size=3), st.text(min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_fingerprints_are_what_they_are_said_to_be(payloads, kind):
    events = [{"seq": seq, "kind": kind, "payload": payload} for seq, payload in enumerate(payloads)]
    assert (trace_fingerprint(events), event_hashes(events)) == obvious(events)


EVENTS = [
    {"seq": 0, "kind": "generate_start", "payload": {"prompt": "Refund order 7", "params": {"temperature": 0.2}}},
    {"seq": 1, "kind": "generate_end", "payload": {"response": "é😀\ud800\u2028\x07", "usage": {"latency_ms": 12}}},
    {"seq": 2, "kind": "tool_call_start", "payload": {"tool_name": "f", "arguments": {"n": 2**70, "x": [1e22, 1e-7]}}},
    {"seq": 3, "kind": "tool_result", "payload": {"tool_name": "f", "result": {"created": 1, "b": [1.0, -0.0, None]}}},
    {"seq": 4, "kind": "note", "payload": {"text": "x" * 513, "\uff00": 1, "😀": 2, "timestamp": 3}},
]  # fmt: skip
HASHES = [
    "bce356d95ce803c8e6ce3fb3a2f477cfb1211978ab2f34700d82d381d2b1f79e",
    "1b6ec52e54ef53a029a9ee3e4d570ca12b0ad718ec6faded5a0c0945a48e5677",
    "c287efa47bf4afaed65e6b07c25b1abb1f2d5f1eeaad93deda3c825b1b4e72d8",
    "bb5063495c366d40992f7b5a4d25dc32e84c346cefa8cbb36f4dbfcbf879c196",
    "ee68e2fd4a06db11d98ddd890525632c49d6627a64d2e7909209437a92eb6aaa",
]
PRINT = "sha256:6ae9bea85f22d89f786a659d9f75cb2ed170a67c05547169342399412eb63715"


def test_answers_that_never_change():
    """If this fails, the baselines of all users are worth nothing: make a new version of the normal form instead."""
    assert obvious(EVENTS) == (PRINT, HASHES)
    assert (trace_fingerprint(EVENTS), event_hashes(EVENTS)) == (PRINT, HASHES)


PLANTED = {
    "keys in the order of code points": (
        "accord.canonical._utf16",
        lambda key: key.encode("utf-32-be", "surrogatepass"),
    ),
    "numbers as Python writes them": ("accord.canonical._number", repr),
    "control characters as they are": (
        "accord.canonical._string",
        lambda text: f'"{text}"'.replace("\ud800", "\\ud800"),
    ),
    "keys above the basic plane as they come": ("accord.canonical._has_ascii_keys", lambda _: True),
    "whole floats as floats": ("accord.trace.normaliser._float", lambda value, odd: odd.append(value) or value + 0.5),
    "digests of nothing": ("accord.trace.normaliser._hashed", lambda *_: {}),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_are_caught(bug, monkeypatch):
    monkeypatch.setattr(*PLANTED[bug])
    assert trace_fingerprint(EVENTS) != PRINT


NODE = r"""
const crypto = require("crypto");
const sha = (text) => crypto.createHash("sha256").update(text).digest("hex");
const write = (v) => v === null || typeof v !== "object" ? JSON.stringify(v)
  : Array.isArray(v) ? "[" + v.map(write).join(",") + "]"
  : "{" + Object.keys(v).sort().map((k) => JSON.stringify(k) + ":" + write(v[k])).join(",") + "}";
const lines = require("fs").readFileSync(0, "utf8").split("\n").filter(Boolean);
for (const line of lines) console.log(sha(write({seq: 0, kind: "k", payload: JSON.parse(line)})));
"""


def random_value(chance, depth=0):
    if depth < 3 and chance.random() < 0.5:
        names = ["a", "b", "z", "é", "\uff00", "😀", "\ud83d", "10", "9", "", "\x7f", '"']
        if chance.random() < 0.5:
            return [random_value(chance, depth + 1) for _ in range(chance.randrange(4))]
        return {name: random_value(chance, depth + 1) for name in chance.sample(names, chance.randrange(5))}
    return chance.choice(
        [
            None, True, False, 0, -1, 2**53 - 1, 1.0, -0.0, 0.1, 1e21, 1e20, 123456789.125, 5e-324,
            1.7976931348623157e308, chance.random(), chance.uniform(-1, 1) * 10 ** chance.randrange(-30, 30),
            chance.getrandbits(50),
            "", "a\u2028b", "\x00\x1f\x7f", "\ud800", "😀", "x" * chance.randrange(40),
        ]
    )  # fmt: skip


VALUES = ("null", "truth", "whole", "fraction", "text", "empty", "list", "object")
PLACES = ("in the payload", "in a list", "in an object", "three deep")


def cells(value, place="in the payload", depth=0):
    """Each value of a payload by where it stands."""
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list):
            kind = "empty" if not item else "list" if isinstance(item, list) else "object"
            inside = "in a list" if isinstance(item, list) else "in an object"
            yield from cells(item, inside, depth + 1)
        else:
            kind = {bool: "truth", int: "whole", float: "fraction", str: "text"}.get(type(item), "null")
        yield kind, place if depth < 3 else "three deep"


def test_another_language_writes_the_same(health):
    node = shutil.which("node")
    if node is None:
        health("!!! FINGERPRINTS WERE NOT COMPARED WITH JAVASCRIPT'S: node is not installed here !!!")
        pytest.skip("node is not installed")
    chance = random.Random(5)
    payloads = [{"v": random_value(chance), "w": random_value(chance)} for _ in range(1000)]
    text = "\n".join(map(json.dumps, payloads))
    run = subprocess.run([node, "-e", NODE], input=text, capture_output=True, text=True, check=True)
    ours = [event_hashes([{"seq": 0, "kind": "k", "payload": payload}])[0] for payload in payloads]
    assert run.stdout.split() == ours
    never = {(kind, "three deep"): "nothing is deeper" for kind in ("list", "object", "empty")}
    table = Census("payloads that JavaScript wrote", VALUES, PLACES, never)
    for payload in payloads:
        table.add(cells(payload))
    table.check(len(payloads) // 100)
    health(table.table())
    health(f"fingerprints of {len(payloads):,} payloads are those that JavaScript makes")
