"""Bodies that a forger hashed anew: whatever the quick check of an entry accepts, a slow and plain one accepts too."""

from __future__ import annotations

import json
import random
from typing import NamedTuple

from accord.canonical import encode
from accord.ledger import entries
from accord.ledger.entries import AttemptEntry, BeginEntry, MendEntry, NoteEntry, read_entry
from tests.census import Census
from tests.ledgers import KINDS, assorted, body_of, check, forge

FIELDS = {
    "begin": set(BeginEntry.__struct_fields__),
    "attempt": set(AttemptEntry.__struct_fields__),
    "mend": set(MendEntry.__struct_fields__),
    "note": set(NoteEntry.__struct_fields__),
}
TOKENS = {
    "numbers as they are written": (b"0", b"1", b"-1", b"1.5", b"1e+21", b"0.1", b"1e-7", b"123456789012345680000"),
    "numbers written otherwise": (b"-0", b"1.0", b"1e5", b"1E5", b"1e21", b"0.0000001"),
    "numbers that are none": (b"1e999", b"NaN", b"01", b"1."),
    "wholes too large": (b"9223372036854775808", b"18446744073709551616"),
    "truths": (b"true", b"false"),
    "null": (b"null",),
    "texts as they are written": (
        b'""',
        b'"a"',
        b'"\\n"',
        b'"\\u001f"',
        b'"\x7f"',
        '"ü😀"'.encode(),
        b'"ok"',
        b'"note"',
    ),
    "texts written otherwise": (b'"\\u0061"', b'"\\/"', b'"\\u000a"', b'"\\u001F"', b'"\\ud83d\\ude00"'),
    "texts that are none": (b'"\\ud800"', b'"\xff"', b'"\n"'),
    "texts as long as hashes": (b'"%s"' % (b"e" * 64), b'"sha256:%s"' % (b"e" * 64)),
    "nothing in it": (b"{}", b"[]"),
    "objects as they are written": ('{"😀":1,"\uffff":2}'.encode(), b'{"$accord":"text","value":"x"}', b'{"a":[1,2]}'),
    "objects in another order": (b'{"b":1,"a":2}', '{"\uffff":1,"😀":2}'.encode()),
    "objects with a key twice": (b'{"a":1,"a":2}',),
    "with spaces": (b'{"a":1, "b":2}', b"[1,2 ]"),
}
"""What is written for a value, by what it is."""
BODIES = list(zip(KINDS, map(body_of, assorted(KINDS[1:])), strict=True))
BYTE, INSIDE = "some byte", "inside a value"
ANSWERS = ("refused", "accepted")


class Forgery(NamedTuple):
    body: bytes
    field: str
    token: str


def a_forgery(rng, body):
    """A forgery that changes something."""
    while True:
        forgery = a_try(rng, body)
        if forgery.body != body:
            return forgery


def a_try(rng, body):
    """One value replaced, or a byte."""
    if rng.random() < 0.8:
        field, start, end = rng.choice(list(values_in(json.loads(body))))
        token = rng.choice(list(TOKENS))
        return Forgery(body[:start] + rng.choice(TOKENS[token]) + body[end:], field, token)
    changed = bytearray(body)
    changed[rng.randrange(len(changed))] = rng.choice(b'"\\{}[],: 0a\xe9\x00')
    return Forgery(bytes(changed), BYTE, BYTE)


def values_in(value, start=0, field=None):
    """Where each value stands within the canonical bytes of one, with the field of the entry if it is one."""
    start += 1
    items = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, item in items:
        start += 0 if key is None else len(encode(key)) + 1
        end = start + len(encode(item))
        name = key if field is None else INSIDE
        yield name, start, end
        if isinstance(item, dict | list):
            yield from values_in(item, start, name)
        start = end + 1


def plainly_good(body):
    def once(pairs):
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    value = json.loads(body, object_pairs_hook=once)
    return encode(value) == body and set(value) - {"act"} <= FIELDS[value["act"]] and None not in value.values()


def censuses():
    """Forgeries by the entry that was forged, by the field, and by what was written there."""
    fields = (*sorted(set().union(*FIELDS.values(), {"act"})), INSIDE, BYTE)
    unfit = dict.fromkeys(
        (*((token, "accepted") for token in TOKENS if "otherwise" in token or "none" in token),
         *((token, "accepted") for token in ("objects in another order", "objects with a key twice", "with spaces"))),
        "it is not canonical",
    )  # fmt: skip
    return (
        Census("forged entries", KINDS, tuple(f"{what} {answer}" for what in ("value", "byte") for answer in ANSWERS)),
        Census("forged fields", fields, ANSWERS, {("act", "accepted"): "the fields are those of another act"}),
        Census("forged into", (*TOKENS, BYTE), ANSWERS, unfit),
    )


def accepted_wrongly(count, seed):
    rng = random.Random(seed)
    tables = entries_of, fields, tokens = censuses()
    wrong = []
    for _ in range(count):
        kind, body = rng.choice(BODIES)
        forgery = a_forgery(rng, body)
        try:
            read_entry(forgery.body)
        except (ValueError, RecursionError, OverflowError):
            answer = "refused"
        else:
            answer = "accepted"
        entries_of.add([(kind, f"{'byte' if forgery.field == BYTE else 'value'} {answer}")])
        fields.add([(forgery.field, answer)])
        tokens.add([(forgery.token, answer)])
        if answer == "refused":
            continue
        try:
            good = plainly_good(forgery.body)
        except (ValueError, AssertionError):
            good = False
        if not good:
            wrong.append(forgery)
    return wrong, tables


def test_the_quick_check_accepts_nothing_that_a_plain_one_refuses(soak, health):
    count = 1_000_000 if soak else 20_000
    wrong, tables = accepted_wrongly(count, 4)
    assert wrong == []
    for table in tables:
        table.check(count // 10_000)
        health(table.table())


def test_a_check_that_trusts_msgspec_is_noticed(monkeypatch):
    import msgspec

    with monkeypatch.context() as patch:
        patch.setattr(entries, "_CHECKING", msgspec.json.Decoder(entries.Entry))
        assert accepted_wrongly(5_000, 4)[0], "floats"
    with monkeypatch.context() as patch:
        patch.setattr(entries, "_BEYOND", entries.re.compile(b"(?!)"))
        assert accepted_wrongly(5_000, 4)[0], "the order of keys beyond U+FFFF"
    with monkeypatch.context() as patch:
        patch.setattr(entries, "_check_defaults", lambda *_: None)
        assert accepted_wrongly(5_000, 4)[0], "fields that are null"
    assert not accepted_wrongly(5_000, 4)[0]


def test_no_forgery_makes_the_verifier_fail():
    rng = random.Random(5)
    lines = assorted(KINDS[1:])
    for _ in range(2_000):
        number = rng.randrange(len(lines))
        forged = forge(lines, number, lambda body: a_forgery(rng, body).body)
        result = check(forged)
        assert result.ok or result.finding.reason.isprintable()
