"""Machines as JSON: the way there and back, and every kind of damage on the way."""

import contextlib
import copy
import json

import pytest

import accord
from accord import UsageError
from accord.canonical import digest
from accord.limits import DEFAULT_LIMITS
from accord.machine.codec import decode_machine, encode_machine, machine_digest
from accord.machine.standing import Standings

TEXTS = [
    "end",
    "!a.?b.end",
    "rec X.!a.?{b.X, c}",
    "rec X.!a.X",
    "(!a.!b | ?c | rec X.!d.X)",
    "rec L.((!a | !b) | {!c, end}).L",
    'Bank!"2nd try".User?{é, "\\ud83d\\ude00"}',
    "protocol Named = !a.?b",
]


def machine(text="!a.{?b.(!c | !d), ?e, end}"):
    return accord.compile(text).machine()


def good():
    return json.loads(json.dumps(encode_machine(machine())))


def resealed(value):
    """The damaged tables with a digest that fits them: what somebody writes who knows the format."""
    tables = {key: value[key] for key in ("format", "version", "symbols", "states") if key in value}
    return {**value, "digest": digest(tables)}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("way", [lambda v: v, json.dumps, lambda v: json.dumps(v, indent=2).encode()])
def test_there_and_back(text, way):
    there = machine(text)
    back = decode_machine(way(encode_machine(there)))
    assert back == there
    assert back.name == there.name
    assert machine_digest(back) == machine_digest(there)


@pytest.mark.parametrize("text", TEXTS)
def test_encoding_is_stable(text):
    once = encode_machine(machine(text))
    assert encode_machine(decode_machine(json.dumps(once))) == once


def test_the_digest_is_the_identity_of_the_behaviour():
    same = ["!a.?{b, c.end}", "!a.?{c, b}.end", "(!a).{?b.end, ?c}", "protocol P = rec X.!a.?{b, c}"]
    assert len({machine_digest(machine(text)) for text in same}) == 1
    different = [
        "!a.?{b, c}",
        "!a.?{b, d}",
        "!a.!{b, c}",
        "!a.?{b, c.!d}",
        "!a.{?b, ?c, end}",
        "B!a.?{b, c}",
        "rec X.!a.?{b.X, c}",
    ]
    assert len({machine_digest(machine(text)) for text in different}) == len(different)


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        [],
        {},
        "",
        b"",
        "null",
        "{",
        "[]",
        b"\xff\xfe",
        b'{"format": "\xff"}',
        "[" * 100_000,
        '{"format": ' + '{"a":' * 50_000,
        "NaN",
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_machine_at_all(value):
    with pytest.raises(UsageError):
        decode_machine(value)


EDITS = []


def edit(name):
    def register(function):
        EDITS.append(pytest.param(function, id=name))
        return function

    return register


def fork(value):
    return next(state for state in value["states"] if "parts" in state)


def END(value):  # noqa: N802 - the number of the state in which everything is over
    return next(n for n, s in enumerate(value["states"]) if s.get("edges") == [] and s.get("stop") == "end")


@edit("another format")
def _(v):
    v["format"] = "accord.snapshot"


@edit("a later version")
def _(v):
    v["version"] = 2


@edit("version true")
def _(v):
    v["version"] = True


@edit("an unknown field")
def _(v):
    v["more"] = 1


@edit("an unknown field in a state")
def _(v):
    v["states"][0]["more"] = 1


@edit("no states")
def _(v):
    v["states"] = []


@edit("an edge to nowhere")
def _(v):
    v["states"][0]["edges"][0][1] = 99


@edit("an edge to a negative state")
def _(v):
    v["states"][0]["edges"][0][1] = -1


@edit("an edge of an unknown symbol")
def _(v):
    v["states"][0]["edges"][0][0] = 99


@edit("an edge of a negative symbol")
def _(v):
    v["states"][0]["edges"][0][0] = -1


@edit("two edges of one symbol")
def _(v):
    v["states"][0]["edges"] *= 2


@edit("an edge of three")
def _(v):
    v["states"][0]["edges"][0].append(0)


@edit("an edge of text")
def _(v):
    v["states"][0]["edges"][0][0] = "0"


@edit("a huge number")
def _(v):
    v["states"][0]["edges"][0][1] = 10**30


@edit("a fraction")
def _(v):
    v["states"][0]["edges"][0][1] = 0.5


@edit("a fork to nowhere")
def _(v):
    fork(v)["parts"][0] = 99


@edit("a join nowhere")
def _(v):
    fork(v)["join"] = -1


@edit("a fork without a join")
def _(v):
    del fork(v)["join"]


@edit("a fork with edges")
def _(v):
    fork(v)["edges"] = []


@edit("a state of nothing")
def _(v):
    v["states"][0] = {}


@edit("an unknown stop")
def _(v):
    v["states"][0]["stop"] = "halt"


@edit("an unknown direction")
def _(v):
    v["symbols"][0][0] = "#"


@edit("an empty label")
def _(v):
    v["symbols"][0][1] = ""


@edit("a label of null")
def _(v):
    v["symbols"][0][1] = None


@edit("a partner that is no name")
def _(v):
    v["symbols"][0][2] = "not a name"


@edit("an empty partner")
def _(v):
    v["symbols"][0][2] = ""


@edit("a name of number")
def _(v):
    v["name"] = 7


# What follows can be read, but nothing that runs it would be right, or come back.
@edit("the same symbol twice")
def _(v):
    v["symbols"].append(v["symbols"][0])
    v["states"][0]["edges"].append([len(v["symbols"]) - 1, 0])


@edit("a fork that is its own part")
def _(v):
    fork(v)["parts"][0] = v["states"].index(fork(v))


@edit("a fork that is its own join")
def _(v):
    fork(v)["parts"] = [END(v), END(v)]
    fork(v)["join"] = v["states"].index(fork(v))


@edit("a fork without parts")
def _(v):
    fork(v)["parts"] = []


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_machine_is_refused(edit):
    value = good()
    edit(value)
    assert json.dumps(value) != json.dumps(good())
    with pytest.raises(UsageError):
        decode_machine(value)
    with pytest.raises(UsageError):
        decode_machine(json.dumps(value))


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_machine_with_a_fitting_digest_is_refused(edit):
    value = good()
    edit(value)
    with contextlib.suppress(TypeError):  # no digest fits a fraction
        value = resealed(value)
    with pytest.raises(UsageError):
        Standings(decode_machine(value), DEFAULT_LIMITS)


def test_an_edit_that_keeps_the_form_is_found_by_the_digest():
    value = good()
    value["states"][0]["stop"] = "end"
    with pytest.raises(UsageError, match="does not match its digest"):
        decode_machine(value)
    value = good()
    value["symbols"][0][1] = "z"
    with pytest.raises(UsageError, match="does not match its digest"):
        decode_machine(value)


def test_every_missing_field_is_missed():
    for field in ("format", "version", "digest", "symbols", "states"):
        value = good()
        del value[field]
        with pytest.raises(UsageError):
            decode_machine(value)


def test_a_text_cut_short_anywhere_is_refused():
    text = json.dumps(good())
    for cut in range(len(text)):
        with pytest.raises(UsageError):
            decode_machine(text[:cut])


def test_a_text_with_any_byte_changed_is_refused_or_means_the_same():
    there = machine()
    data = json.dumps({**encode_machine(there), "name": "P"}).encode()
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1
        try:
            back = decode_machine(bytes(damaged))
        except UsageError:
            continue
        assert back == there


def test_decoding_leaves_its_input_alone():
    value = good()
    before = copy.deepcopy(value)
    decode_machine(value)
    assert value == before


def test_the_slice_is_read_back_and_sealed():
    sliced = accord.compile("protocol P = each order.id: !a.end").machine()
    value = encode_machine(sliced)
    assert value["each"] == ["order", "id"]
    assert decode_machine(value) == sliced
    for other in (["id"], None):
        with pytest.raises(UsageError, match="does not match its digest"):
            decode_machine(value | {"each": other})
    with pytest.raises(UsageError, match="sliced by no field"):
        decode_machine(value | {"each": []})
