"""Any bytes give runs or broken records from any reader: nothing else is raised, and all that is read can be used."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest

from accord.machine.contract import compile_contract
from accord.sources import READERS, Broken, Run, detect
from tests.recorded import SAMPLES, read

CONTRACT = compile_contract(
    """
    events {
        A      when user says matches "(?i)yes|no"
        B      when call in [search, book] where to != "x", call.to == 3
        ignore when result of search where text matches "."
        C      when error of pay where call.amount > 1
        D      otherwise
    }
    rule "r" { before A require B or C or D }
    """
)
LEAVES = [
    None,
    True,
    False,
    0,
    -1,
    2**70,
    1.5,
    1e300,
    "",
    "x",
    "\ud83d",
    "é",
    "{",
    '{"a": 1}',
    [],
    {},
    [[]],
    [{}],
    "9" * 30,
]


def mutated(rng, value):
    """A JSON value with some of it replaced, dropped, doubled or moved."""
    if rng.random() < 0.004:
        return rng.choice(LEAVES)
    if isinstance(value, dict):
        found = {}
        for name, inner in value.items():
            if rng.random() > 0.01:
                other = rng.choice(list(value)) if rng.random() < 0.01 else name
                found[other] = mutated(rng, inner)
        return found
    if isinstance(value, list):
        found = [mutated(rng, inner) for inner in value if rng.random() > 0.01]
        return found * 2 if rng.random() < 0.02 else found[::-1] if rng.random() < 0.02 else found
    return value


def torn(rng, data):
    """Bytes with a piece cut out, flipped, doubled or replaced."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice([1, 1, 3, 40]))
        piece = rng.choice([b"", b"\xff", b"\x00", b'"', b"{", b"]", b"\n", b"\\u", bytes(data[at:end]) * 2])
        data[at:end] = piece
    return bytes(data)


def use(found, counts):
    for run in found:
        if isinstance(run, Broken):
            assert run.reason
            assert run.line is None or run.line >= 1
            counts["broken"] += 1
            continue
        assert isinstance(run, Run)
        counts["runs"] += 1
        json.dumps(run.metadata)
        for message in run.messages:
            assert isinstance(message.text, str)
            assert isinstance(message.payload, dict)
            assert message.at is None or message.at == message.at
            CONTRACT.labeller.label(message)
            counts["messages"] += 1


@pytest.mark.parametrize("name", [*SAMPLES, "csv"])
def test_any_bytes_can_be_read(name, soak, health):
    rng = Random(name)
    sample = SAMPLES.get(name, b'run,label,payload,at\n1,!a,{},3\n2,?b,,\n1,?a,"{""x"": 1}",4\n')
    counts = Counter()
    for number in range(3_000 if soak else 120):
        data = torn(rng, sample)
        if number % 2 and name in SAMPLES:
            lines = [json.loads(line) for line in sample.splitlines()]
            changed = [mutated(rng, line) for line in lines]
            data = b"\n".join(json.dumps(line).encode() for line in changed)
        use(read(data, name), counts)
        reader = detect(data)
        if reader is not None and reader.name != name:
            use(read(data, reader.name), counts)
    assert counts["runs"] > 10
    assert counts["broken"] > 10
    assert counts["messages"] > 80
    health(f"{name}: {dict(counts)}")


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"null",
        b"[]",
        b"{}",
        b"[[]]",
        b"[null, 1, {}]",
        b"{}\n[]\nnull\n",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'[{"messages": ' * 3_000,
        b"\xff\xfe",
        b'"\\ud800"',
        b'{"traj": [{"role": "\\ud800"}]}',
        b"NaN",
        b'{"messages": NaN}',
        b"\x00" * 1000,
    ],
    ids=range(17),
)
def test_hostile_bytes(reader, data):
    counts = Counter()
    use(read(data, reader.name), counts)


def test_deep_spans_and_messages_do_not_end_the_stack():
    deep = {"spans": []}
    span = {"attributes": {"gen_ai.operation.name": "execute_tool"}}
    for _ in range(150):
        span = {"child_spans": [span], "attributes": {"x": {"y": [[[{}]]]}}}
    deep["spans"] = [span]
    use(read(json.dumps(deep).encode(), "openinference"), Counter())
    value = "x"
    for _ in range(6):
        value = json.dumps(value)
    use(read(json.dumps({"messages": [{"role": "user", "content": value}]}).encode(), "openai-chat"), Counter())
