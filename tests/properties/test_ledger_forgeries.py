"""Bodies that a forger hashed anew: whatever the quick check of an entry accepts, a slow and plain one accepts too."""

from __future__ import annotations

import json
import random

from accord.canonical import encode
from accord.ledger import entries
from accord.ledger.entries import AttemptEntry, BeginEntry, MendEntry, read_entry
from tests.ledgers import body_of, check, forge, honest

FIELDS = {
    "begin": set(BeginEntry.__struct_fields__),
    "attempt": set(AttemptEntry.__struct_fields__),
    "mend": set(MendEntry.__struct_fields__),
}
TOKENS = (
    b"0", b"1", b"-0", b"-1", b"1.0", b"1.5", b"1e5", b"1E5", b"1e+21", b"1e21", b"0.1", b"1e-7", b"0.0000001",
    b"1e999",
    b"9223372036854775808", b"18446744073709551616", b"123456789012345680000", b"null", b"true", b"NaN", b"{}", b"[]",
    b'""', b'"a"', b'"\\u0061"', b'"\\/"', b'"\\n"', b'"\\u000a"', b'"\\u001f"', b'"\\u001F"', b'"\x7f"',
    b'"\\ud83d\\ude00"',
    b'"\\ud800"', '"ü😀"'.encode(), b'{"b":1,"a":2}', b'{"a":1,"a":2}', '{"😀":1,"\uffff":2}'.encode(),
    '{"\uffff":1,"😀":2}'.encode(), b'{"a":1, "b":2}', b"[1,2 ]", b'{"$accord":"text","value":"x"}',
)  # fmt: skip


def a_forgery(rng, body):
    """One value replaced, or some bytes changed."""
    if rng.random() < 0.7:
        colons = [i + 1 for i, byte in enumerate(body) if byte == ord(":")]
        start = rng.choice(colons)
        try:
            _, end = json.JSONDecoder().raw_decode(body[start:].decode())
        except ValueError:
            end = 1
        end = len(body[start:].decode()[:end].encode())
        return body[:start] + rng.choice(TOKENS) + body[start + end :]
    changed = bytearray(body)
    changed[rng.randrange(len(changed))] = rng.choice(b'"\\{}[],: 0a\xe9\x00')
    return bytes(changed)


def plainly_good(body):
    def once(pairs):
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    value = json.loads(body, object_pairs_hook=once)
    return encode(value) == body and set(value) - {"act"} <= FIELDS[value["act"]] and None not in value.values()


def accepted_wrongly(count, seed):
    rng = random.Random(seed)
    bodies = [body_of(line) for line in honest(7)]
    wrong, accepted = [], 0
    for _ in range(count):
        forged = a_forgery(rng, rng.choice(bodies))
        try:
            read_entry(forged)
        except (ValueError, RecursionError, OverflowError):
            continue
        accepted += 1
        try:
            good = plainly_good(forged)
        except (ValueError, AssertionError):
            good = False
        if not good:
            wrong.append(forged)
    return wrong, accepted


def test_the_quick_check_accepts_nothing_that_a_plain_one_refuses(soak, health):
    count = 1_000_000 if soak else 10_000
    wrong, accepted = accepted_wrongly(count, 4)
    assert wrong == []
    assert count / 20 < accepted < count / 2
    health(f"ledger: {count:,} forged entries, {accepted:,} of them in good form, none accepted wrongly")


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
    lines = honest(7)
    for _ in range(2_000):
        number = rng.randrange(len(lines))
        forged = forge(lines, number, lambda body: a_forgery(rng, body))
        result = check(forged)
        assert result.ok or result.finding.reason.isprintable()
