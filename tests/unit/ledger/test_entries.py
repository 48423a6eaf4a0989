from __future__ import annotations

import hashlib
import json
import math
import random
import struct

import pytest
from tests.ledgers import body_of, honest

from accord.canonical import encode
from accord.ledger import Attempt, entries
from accord.ledger.entries import (
    BEFORE_FIRST,
    AttemptEntry,
    BeginEntry,
    MendEntry,
    fields_of,
    frame,
    is_canonical,
    read_entry,
    seal,
    show_entry,
)

CONTRACT = "sha256:" + "ab" * 32


def body(**fields):
    return encode({"act": "attempt", "contract": CONTRACT, "event": "!a", "prev": BEFORE_FIRST, "seq": 1,
                   "session": "s", "verdict": "ok", **fields})  # fmt: skip


@pytest.mark.parametrize("kind", [BeginEntry, AttemptEntry, MendEntry])
def test_fields_stand_in_canonical_order(kind):
    assert list(kind.__struct_fields__) == sorted(kind.__struct_fields__)
    assert all(name > "act" for name in kind.__struct_fields__)


def test_a_line_can_be_checked_with_tools_of_the_trade():
    for line in honest():
        whole = json.loads(line)
        assert set(whole) == {"entry", "hash"}
        assert line == b'{"entry":%b,"hash":"%b"}\n' % (body_of(line), whole["hash"].encode())
        assert hashlib.sha256(body_of(line)).hexdigest() == whole["hash"]
        assert encode(whole) + b"\n" == line


def test_every_field_is_written_and_read():
    attempt = Attempt(
        session="s", contract=CONTRACT, event="!a", verdict="violation", protocol="P", payload={"x": 1.5}, by="ana",
        at=3, clause="protocol P", expected=["!b"], explanation="no", given={"label": 3}, meta={"shown": "x"},
    )  # fmt: skip
    written = encode({**fields_of(attempt), "seq": 1, "prev": BEFORE_FIRST})
    read_entry(written)
    entry = show_entry(written)
    for name in Attempt.__slots__:
        assert getattr(entry, name) == getattr(attempt, name), name


def test_the_cheap_check_of_strings_is_the_canonical_form():
    """Every character, as msgspec and as canonical JSON write it."""
    for start in range(0, 0x110000, 0x400):
        text = "".join(chr(c) for c in range(start, start + 0x400) if not 0xD800 <= c <= 0xDFFF)
        assert entries._ENCODER.encode(text) == encode(text)


def test_the_cheap_check_of_floats_is_the_canonical_form():
    rng = random.Random(1)
    numbers = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(20_000)]
    numbers += [rng.uniform(-1, 1) * 10 ** rng.randint(-25, 25) for _ in range(20_000)]
    numbers += [1e16, 1e15, 1.5e15, 123456789012345680.0, 1e21, 1e22, 1e-6, 1e-7, 0.0001, 0.00001, 5e-324]
    seen = 0
    for number in filter(math.isfinite, numbers):
        canonical = encode(number).decode()
        if any(c in canonical for c in ".e"):
            assert bytes(entries._canonical_float(canonical)) == canonical.encode()
            seen += 1
        for other in {repr(number), f"{number:.20e}", f"{canonical}0" if "e" not in canonical else "1e+0"} - {
            canonical
        }:
            if any(c in other for c in ".e"):
                with pytest.raises(ValueError, match="canonical"):
                    entries._canonical_float(other)
    assert seen > 30_000


def test_keys_beyond_the_first_plane_are_sorted_as_utf16():
    good = body(payload={"\U0001f600": 1, "\uffff": 2})
    assert good.index("\U0001f600".encode()) < good.index("\uffff".encode())
    read_entry(good)
    swapped = good.replace('"\U0001f600":1,"\uffff":2'.encode(), '"\uffff":2,"\U0001f600":1'.encode())
    assert swapped != good
    assert not is_canonical(swapped)
    with pytest.raises(ValueError, match="canonical"):
        read_entry(swapped)


GOOD = body(payload={"a": 1, "b": [1.5, "ü"]}, meta={"m": 1}, at=1.25, protocol="P")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"a":1', b'"a": 1'),
        (b'"a":1', b'"a":1.0'),
        (b'"a":1', b'"a":01'),
        (b'"a":1', b'"a":1e0'),
        (b'"a":1', b'"a":-0'),
        (b'"a":1', b'"a":1e999'),
        (b'"a":1', b'"a":-1e999'),
        (b'"a":1', b'"a":NaN'),
        (b'"a":1', b'"a":Infinity'),
        (b'"a":1', b'"a":1,"a":1'),
        (b'"a":1', b'"a":2,"a":1'),
        (b'"a":1', b'"c":1'),
        (b'"a":1', b'"\\u0061":1'),
        (b'"a":1', b'"a":"\\/"'),
        (b'"a":1', b'"a":"\\u0001\\u001F"'),
        (b'"a":1', b'"a":"\\ud800"'),
        (b'"a":1', b'"a":"\xed\xa0\x80"'),
        (b'"a":1', b'"a":"\xff"'),
        (b'"a":1', b'"a":"\n"'),
        (b"1.5", b"1.50"),
        (b"1.5", b"15e-1"),
        (b"1.5", b"-0.0"),
        (b"1.25", b"1.250"),
        (b"1.25", b"[1]"),
        (b"1.25", b"true"),
        (b"1.25", b"{}"),
        ("ü".encode(), b"\\u00fc"),
        (b'"seq":1', b'"seq":1.0'),
        (b'"seq":1', b'"seq":"1"'),
        (b'"seq":1', b'"seq":true'),
        (b'"seq":1', b'"seq":-1'),
        (b'"seq":1', b'"seq":null'),
        (b'"session":"s"', b'"session":3'),
        (b'"session":"s"', b'"session":{}'),
        (b'"session":"s"', b'"session":{"$accord":3}'),
        (b'"verdict":"ok"', b'"verdict":"fine"'),
        (b'"verdict":"ok"', b'"verdict":"ok","zzz":1'),
        (b'"verdict":"ok"', b'"verdict":"ok","verdict":"ok"'),
        (b'"session":"s",', b""),
        (b'"protocol":"P"', b'"protocol":null'),
        (b'"payload":{"a":1,"b":[1.5,"\xc3\xbc"]}', b'"payload":null'),
        (b'"act":"attempt"', b'"act":"begin"'),
        (b'"act":"attempt"', b'"act":"dance"'),
        (b'"act":"attempt",', b""),
        (b'"meta":{"m":1}', b'"meta":[1]'),
        (b"sha256:", b"sha1:"),
        (b"}", b"} "),
        (b'{"act"', b' {"act"'),
        (GOOD, b""),
        (GOOD, b"null"),
        (GOOD, b"[" * 100_000),
        (GOOD, GOOD[:-1]),
        (b'"a":1', b'"a":' + b"[" * 5000 + b"]" * 5000),
        (b'"a":1', b'"a":' + b"9" * 5000),
    ],
    ids=lambda v: ascii(v[:30]),
)  # fmt: skip
def test_whatever_is_not_exactly_an_entry_is_none(old, new):
    read_entry(GOOD)
    assert GOOD.count(old) >= 1
    with pytest.raises((ValueError, RecursionError)):
        read_entry(GOOD.replace(old, new, 1) if old != b"}" else GOOD + b" ")


def test_hashes_are_those_of_the_standard():
    assert seal(b"abc", None) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    # RFC 4231, test case 2
    keyed = seal(b"what do ya want for nothing?", b"Jefe")
    assert keyed == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert frame(b"{}", "0" * 64) == b'{"entry":{},"hash":"' + b"0" * 64 + b'"}\n'
