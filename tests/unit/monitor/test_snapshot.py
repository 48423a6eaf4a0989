"""Sessions at rest: what comes back, and everything that must not."""

import hashlib
import hmac
import json

import pytest

import accord
from accord import Monitor, Ok, UsageError, Violation
from accord.canonical import encode

ASK = "rec L.!Ask.?{Answer, Refuse.end}.!Thanks.{!More.L, end}"
FORKED = "!go.(!a.!b | ?c.?d).!e"
KEY = b"secret"


def started(contract=ASK, words=("!Ask",), mode="halt"):
    monitor = Monitor(contract, mode=mode)
    for word in words:
        (monitor.send if word[0] == "!" else monitor.receive)(word[1:])
    return monitor


def snapshot(key=None):
    return json.loads(json.dumps(started().snapshot(key=key)))


def reseal(value, key=None):
    """A snapshot with a checksum that fits: what somebody writes who knows the format, but not the key."""
    body = {name: item for name, item in value.items() if name != "checksum"}
    if key is None:
        return {**body, "checksum": "sha256:" + hashlib.sha256(encode(body)).hexdigest()}
    return {**body, "checksum": "hmac-sha256:" + hmac.new(key, encode(body), hashlib.sha256).hexdigest()}


# -- there and back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, KEY])
@pytest.mark.parametrize("form", [lambda s: s, json.dumps, lambda s: json.dumps(s).encode()])
@pytest.mark.parametrize(
    ("contract", "words", "close"),
    [
        (ASK, [], False),
        (ASK, ["!Ask", "?Answer"], False),
        (ASK, ["!Ask", "?Refuse"], False),
        (ASK, ["!Ask", "!Ask"], False),
        (ASK, ["!Ask", "?Unrecognized"], False),
        (ASK, ["!Ask", "?Unrecognized"], True),
        (ASK, ["!Ask"], True),
        (ASK, ["!Ask", "?Refuse"], True),
        (FORKED, ["!go", "?c", "!a"], False),
        ("(!s.?x | !s.?y)", ["!s"], False),
        ("rec L.(!a | !b).L", ["!a", "!b"], False),
    ],
)
@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_there_and_back(contract, words, close, form, key, mode):
    monitor = started(contract, words, mode)
    if close:
        monitor.close()
    restored = Monitor.restore(contract, form(monitor.snapshot(key=key)), key=key)
    for name in ("status", "current_state", "is_terminal", "is_halted", "mode", "protocol"):
        assert getattr(restored, name) == getattr(monitor, name), name
    assert restored.allowed() == monitor.allowed()
    assert restored.snapshot(key=key) == monitor.snapshot(key=key)
    assert restored.close() == monitor.close()


def test_a_snapshot_does_not_grow():
    monitor = Monitor("rec L.!a.?b.L")
    sizes = set()
    for _ in range(100):
        monitor.send("a")
        monitor.receive("b")
        sizes.add(len(json.dumps({**monitor.snapshot(), "events": 0})))
    assert len(sizes) == 1


def test_a_snapshot_is_json_and_says_what_it_is():
    value = snapshot()
    assert set(value) == {
        "format",
        "version",
        "contract",
        "protocol",
        "mode",
        "phase",
        "configurations",
        "events",
        "checksum",
    }
    assert (value["format"], value["version"], value["mode"], value["events"]) == ("accord.snapshot", 1, "halt", 1)
    assert value["contract"] == accord.compile(ASK).digest


def test_the_contract_may_be_written_differently():
    restored = Monitor.restore("  rec Again . !Ask.{?Refuse, ?Answer.!Thanks.!{end, More.Again}} ", snapshot())
    assert restored.allowed() == ["?Answer", "?Refuse"]


def test_one_of_several_protocols_is_remembered():
    text = "protocol One = !a.?b\nprotocol Two = !a.?b"
    monitor = Monitor(text, protocol="Two")
    monitor.send("a")
    assert Monitor.restore(text, monitor.snapshot()).protocol == "Two"


def test_a_halted_session_stays_halted():
    monitor = started(words=["!Thanks"])
    assert Monitor.restore(ASK, monitor.snapshot()).is_halted


def test_restoring_leaves_the_snapshot_alone():
    value = snapshot()
    before = json.dumps(value)
    Monitor.restore(ASK, value)
    assert json.dumps(value) == before


# -- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        7,
        "",
        b"",
        "{}",
        "null",
        "[]",
        "{",
        b"\xff",
        "[" * 100_000,
        '{"a":' * 50_000,
        {"checksum": None},
        {"trace": []},
    ],
    ids=lambda value: repr(value)[:20],
)
@pytest.mark.parametrize("key", [None, KEY])
def test_what_is_no_snapshot_at_all(value, key):
    with pytest.raises(UsageError):
        Monitor.restore(ASK, value, key=key)


def edit(name, value):
    return pytest.param(name, value, id=f"{name}={value!r}"[:60])


EDITS = [
    edit("format", "accord.machine"),
    edit("version", 2),
    edit("contract", "sha256:0"),
    edit("protocol", "Other"),
    edit("mode", "refuse"),
    edit("phase", "complete"),
    edit("configurations", [[0]]),
    edit("configurations", []),
    edit("events", 0),
]


@pytest.mark.parametrize(("name", "value"), EDITS)
@pytest.mark.parametrize("key", [None, KEY])
def test_an_edited_snapshot_is_refused(name, value, key):
    damaged = {**snapshot(key), name: value}
    with pytest.raises(UsageError, match="does not match its checksum"):
        Monitor.restore(ASK, damaged, key=key)


@pytest.mark.parametrize("name", sorted(snapshot()))
@pytest.mark.parametrize("key", [None, KEY])
def test_a_snapshot_with_a_field_missing_is_refused(name, key):
    damaged = snapshot(key)
    del damaged[name]
    with pytest.raises(UsageError):
        Monitor.restore(ASK, damaged, key=key)


def test_a_snapshot_with_a_field_added_is_refused():
    with pytest.raises(UsageError):
        Monitor.restore(ASK, {**snapshot(), "more": 1})
    with pytest.raises(UsageError):
        Monitor.restore(ASK, reseal({**snapshot(), "more": 1}))


def test_a_snapshot_cut_short_anywhere_is_refused():
    text = json.dumps(snapshot())
    for cut in range(len(text)):
        with pytest.raises(UsageError):
            Monitor.restore(ASK, text[:cut])


def test_a_snapshot_with_any_byte_changed_is_refused():
    contract = accord.compile(ASK)
    data = json.dumps(snapshot()).encode()
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1
        with pytest.raises(UsageError):
            Monitor.restore(contract, bytes(damaged))


def test_an_emptied_snapshot_does_not_un_halt_a_session():
    halted = started(words=["!Thanks"]).snapshot()
    for damaged in ({}, {**halted, "configurations": []}, {**halted, "phase": "running"}, {**halted, "events": 0}):
        with pytest.raises(UsageError):
            Monitor.restore(ASK, damaged)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        edit("format", "accord.machine"),
        edit("version", 2),
        edit("version", "1"),
        edit("contract", "sha256:0"),
        edit("protocol", "Other"),
        edit("protocol", 7),
        edit("mode", "strict"),
        edit("phase", "asleep"),
        edit("configurations", []),
        edit("configurations", [[99]]),
        edit("configurations", [[-1]]),
        edit("configurations", [[True]]),
        edit("configurations", [["0"]]),
        edit("configurations", [[]]),
        edit("configurations", [[0, [], 1]]),
        edit("configurations", [[0, [[1]]]]),
        edit("configurations", [[0, []]]),
        edit("configurations", [0]),
        edit("configurations", None),
        edit("configurations", [[10**30]]),
        edit("events", -1),
        edit("events", "1"),
        edit("events", None),
    ],
)
def test_a_snapshot_that_cannot_be_is_refused_although_its_checksum_fits(name, value):
    with pytest.raises(UsageError):
        Monitor.restore(ASK, reseal({**snapshot(), name: value}))


@pytest.mark.parametrize(
    "place",
    [
        [0, [[0], [0]]],
        [99, [[1], [2]]],
        [-1, [[1], [2]]],
        [0, [[99], [1]]],
        [0, [[1, [[1, [[1, [[1]]]]]]]]],
    ],
)
def test_places_that_no_interleaving_has_are_refused(place):
    value = started(FORKED, ["!go"]).snapshot()
    with pytest.raises(UsageError):
        Monitor.restore(FORKED, reseal({**value, "configurations": [place]}))


@pytest.mark.parametrize(
    "value", [10**5000, 0.5, float("nan"), {1: 2}, {1, 2}, object(), "\ud800", b"x"], ids=lambda v: type(v).__name__
)
@pytest.mark.parametrize("name", ["events", "mode", "checksum", "more"])
def test_values_no_json_has_are_refused(name, value):
    with pytest.raises(UsageError):
        Monitor.restore(ASK, {**snapshot(), name: value})


def test_numbers_of_many_digits_are_refused():
    text = json.dumps(snapshot()).replace('"events": 1', '"events": ' + "1" * 5000)
    with pytest.raises(UsageError):
        Monitor.restore(ASK, text)


def test_a_snapshot_nested_without_bound_is_refused():
    value = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(UsageError):
        Monitor.restore(ASK, {**snapshot(), "configurations": value})


# -- another contract ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contract", ["!Ask.?Answer", ASK.replace("!More.L", "!More"), f"protocol P = {ASK}", "end"])
def test_a_snapshot_belongs_to_its_contract(contract):
    with pytest.raises(UsageError, match="another contract"):
        Monitor.restore(contract, snapshot())


# -- keys ------------------------------------------------------------------------------------------------------------


def test_a_key_must_be_the_same():
    assert Monitor.restore(ASK, snapshot(KEY), key=KEY).receive("Answer") == Ok()
    with pytest.raises(UsageError, match="does not match its checksum"):
        Monitor.restore(ASK, snapshot(KEY), key=b"another")


def test_a_snapshot_with_a_key_is_not_read_without():
    with pytest.raises(UsageError, match="was written with a key"):
        Monitor.restore(ASK, snapshot(KEY))


def test_a_snapshot_without_a_key_is_not_accepted_with_one():
    with pytest.raises(UsageError, match="written without a key"):
        Monitor.restore(ASK, snapshot(), key=KEY)


def test_forgery_is_found():
    forged = reseal({**snapshot(KEY), "phase": "complete"}, b"guessed")
    with pytest.raises(UsageError, match="does not match"):
        Monitor.restore(ASK, forged, key=KEY)


def test_taking_the_key_off_is_found():
    downgraded = reseal({**snapshot(KEY), "mode": "refuse"})
    with pytest.raises(UsageError, match="without a key"):
        Monitor.restore(ASK, downgraded, key=KEY)


@pytest.mark.parametrize("key", ["secret", b"", bytearray(b"secret"), 7])
def test_a_key_is_bytes(key):
    with pytest.raises(UsageError, match="a key is"):
        Monitor(ASK).snapshot(key=key)
    with pytest.raises(UsageError, match="a key is"):
        Monitor.restore(ASK, snapshot(), key=key)


# -- traces ----------------------------------------------------------------------------------------------------------


def test_to_dict_is_exactly_the_trace():
    monitor = started(words=["!Ask", "?Unrecognized", "!Nonsense", "?Answer"])
    assert monitor.to_dict() == {"trace": ["!Ask", "?Unrecognized", "!Nonsense", "?Answer"]}
    restored = Monitor.from_dict(ASK, monitor.to_dict())
    assert restored.is_halted
    assert restored.trace == monitor.trace
    assert restored.to_dict() == monitor.to_dict()


def test_words_of_every_kind_are_replayed():
    text = '!"2nd try".Bank?"a\\"b".!é'
    monitor = Monitor(text)
    assert [monitor.send("2nd try"), monitor.receive('a"b', sender="Bank"), monitor.send("e\u0301")] == [Ok()] * 3
    assert monitor.to_dict() == {"trace": ['!"2nd try"', 'Bank?"a\\"b"', "!é"]}
    assert Monitor.from_dict(text, monitor.to_dict()).status == "complete"


def test_from_dict_chooses_the_protocol():
    text = "protocol One = !a\nprotocol Two = !b"
    assert Monitor.from_dict(text, {"trace": ["!b"]}, protocol="Two").status == "complete"
    with pytest.raises(UsageError, match="say which"):
        Monitor.from_dict(text, {"trace": []})


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {},
        "trace",
        {"trace": None},
        {"trace": "!a"},
        {"trace": ("!a",)},
        {"trace": [], "more": 1},
        {"Trace": []},
        {"trace": [None]},
        {"trace": [7]},
        {"trace": [["!a"]]},
        {"trace": [b"!a"]},
        {"trace": ["a"]},
        {"trace": [""]},
        {"trace": ["!"]},
        {"trace": ['!""']},
        {"trace": ['!"a']},
        {"trace": ["not a role!a"]},
    ],
    ids=repr,
)
def test_what_is_no_trace(state):
    with pytest.raises(UsageError, match=r"trace|entry"):
        Monitor.from_dict(ASK, state)


def test_the_error_names_the_entry():
    with pytest.raises(UsageError, match="entry 1 of the trace"):
        Monitor.from_dict(ASK, {"trace": ["!Ask", "oops"]})


def test_an_ambiguous_entry_is_a_usage_error():
    with pytest.raises(UsageError, match="could be with"):
        Monitor.from_dict("{B!x, C!x}", {"trace": ["!x"]})


@pytest.mark.parametrize(
    "monitor",
    [
        pytest.param(lambda: started(mode="refuse"), id="refusing"),
        pytest.param(lambda: Monitor.restore(ASK, started().snapshot()), id="restored"),
        pytest.param(lambda: closed(started()), id="closed too early"),
        pytest.param(lambda: closed(started(words=["!Ask", "?Refuse"])), id="closed"),
        pytest.param(lambda: closed(started(words=["?Unrecognized"])), id="closed while puzzled"),
    ],
)
def test_where_replay_could_not_restore_it_is_a_usage_error(monitor):
    with pytest.raises(UsageError, match=r"snapshot\(\)"):
        monitor().to_dict()


def closed(monitor):
    monitor.close()
    return monitor


def test_a_halted_session_that_was_told_to_close_can_be_replayed():
    monitor = closed(started(words=["!Thanks"]))
    assert Monitor.from_dict(ASK, monitor.to_dict()).is_halted


def test_an_edited_trace_is_judged_anew():
    restored = Monitor.from_dict(ASK, {"trace": ["!Thanks"]})
    assert restored.is_halted
    assert isinstance(Monitor.from_dict(ASK, {"trace": []}).peek_send("Thanks"), Violation)
