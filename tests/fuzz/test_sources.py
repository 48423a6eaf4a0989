"""Any bytes give runs or broken records from any reader: nothing else is raised, and all that is read can be used."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest

from accord.choreography.compiling import compile_contract
from accord.projection.projection import projection_of
from accord.sources import READERS, Broken, Run, detect
from tests.census import Census
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


def places_in(value):
    """Each value within one, as its container and its key there."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places_in(value[key])


def replaced(rng, container, key):
    container[key] = rng.choice(LEAVES)


def dropped(_, container, key):
    del container[key]


def doubled(rng, container, key):
    """There twice; in an object under the name of something else."""
    if isinstance(container, list):
        container.insert(key, container[key])
    else:
        container[rng.choice(list(container))] = container[key]


def reversed_(_, container, key):
    if isinstance(container[key], list):
        container[key].reverse()
    elif isinstance(container[key], dict):
        container[key] = dict(reversed(container[key].items()))
    else:
        container[key] = [container[key]]


CHANGES = {"value replaced": replaced, "value gone": dropped, "value twice": doubled, "order changed": reversed_}


def mutated(rng, data, change):
    """JSON lines in which a few values were changed."""
    lines = [json.loads(line) for line in data.splitlines()]
    for _ in range(rng.choice((1, 1, 3))):
        places = list(places_in(lines))
        if places:
            change(rng, *rng.choice(places))
    return b"\n".join(json.dumps(line).encode() for line in lines)


PIECES = {
    "bytes gone": lambda _, __: b"",
    "bytes replaced": lambda rng, _: rng.choice([b"\xff", b"\x00", b'"', b"{", b"]", b"\n", b"\\u"]),
    "bytes twice": lambda _, piece: piece * 2,
}


def torn(rng, data, piece):
    """Bytes in which a few pieces were changed."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 3))):
        at = rng.randrange(len(data))
        end = min(len(data), at + rng.choice([1, 1, 3, 40]))
        data[at:end] = piece(rng, bytes(data[at:end]))
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
            projection_of(CONTRACT).event(message)
            counts["messages"] += 1


FOUND = ("runs", "broken", "messages")
FORMATS = {**SAMPLES, "csv": b'run,label,payload,at\n1,!a,{},3\n2,?b,,\n1,?a,"{""x"": 1}",4\n'}


def test_any_bytes_can_be_read(soak, health):
    never = {("csv", change): "it is no JSON" for change in CHANGES}
    table = Census("files of recorded runs", tuple(FORMATS), (*PIECES, *CHANGES, *FOUND), never)
    for name, sample in FORMATS.items():
        rng, counts = Random(name), Counter()
        ways = [*PIECES, *(CHANGES if name in SAMPLES else ())]
        for number in range(3_000 if soak else 120):
            way = ways[number % len(ways)]
            data = torn(rng, sample, PIECES[way]) if way in PIECES else mutated(rng, sample, CHANGES[way])
            use(read(data, name), counts)
            table.counts[name, way] += 1
            reader = detect(data)
            if reader is not None and reader.name != name:
                use(read(data, reader.name), counts)
        table.counts.update({(name, what): counts[what] for what in FOUND})
    table.check(10)
    health(table.table())


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
