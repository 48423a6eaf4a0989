from __future__ import annotations

import io
import tracemalloc

import pytest
from tests.ledgers import body_of, check, forge, honest

from accord import UsageError
from accord.canonical import encode
from accord.ledger.chain import BadEntryError, Head, Walk, walk
from accord.ledger.entries import BEFORE_FIRST, LONGEST, frame, seal
from accord.ledger.reading import bounded_lines, lines_as_they_come

KEY = b"secret"


def test_an_honest_ledger_is_whole():
    for attempts in (0, 1, 7, 30):
        for key in (None, KEY):
            lines = honest(attempts, key)
            result = check(lines, key)
            assert result.ok
            assert result.entries == attempts + 1 == len(lines)
            assert result.head == f"{attempts}:{seal(body_of(lines[-1]), key)}"
            assert check(lines, key, head=result.head).ok


def found(lines, key=None, head=None):
    result = check(lines, key, head)
    assert not result.ok
    assert result.finding.line == result.finding.entry + 1
    assert result.entries <= result.finding.entry
    return result.finding.entry, result.finding.fault, result.finding.reason


def test_a_changed_entry():
    lines = honest()
    lines[3] = lines[3].replace(b"Nonsense", b"Nonsenze", 1)
    assert found(lines)[:2] == (3, "changed")


def test_a_deleted_entry():
    lines = honest()
    assert found(lines[:4] + lines[5:])[:2] == (4, "out of order")
    assert "entry 5 stands here" in found(lines[:4] + lines[5:])[2]
    assert found(lines[1:])[:2] == (0, "out of order")


def test_entries_in_another_order():
    lines = honest()
    lines[2], lines[5] = lines[5], lines[2]
    assert found(lines)[:2] == (2, "out of order")


def test_an_inserted_entry():
    lines = honest()
    assert found([*lines[:4], lines[3], *lines[4:]])[:2] == (4, "out of order")
    assert found([*lines, lines[-1]])[:2] == (len(lines), "out of order")
    assert found([*lines, lines[0]])[:2] == (len(lines), "out of order")


def test_an_entry_of_another_ledger():
    lines, other = honest(identity="one"), honest(identity="two")
    assert found([*lines[:4], other[4], *lines[5:]])[:2] == (4, "out of order")
    assert "does not follow" in found([*lines[:4], *other[4:]])[2]
    assert found([other[0], *lines[1:]])[:2] == (1, "out of order")


def test_a_cut_off_end_is_found_against_a_head():
    lines = honest(8)
    head = check(lines).head
    assert check(lines[:5]).ok, "a shorter ledger is a ledger too"
    number, fault, reason = found(lines[:5], head=head)
    assert (number, fault) == (5, "missing")
    assert "the head names entry 8" in reason
    early = check(lines[:5]).head
    assert check(lines, head=early).ok, "an earlier head stays on the chain"


def test_another_history_is_found_against_a_head():
    lines = honest(8)
    head = check(lines[:5]).head
    rewritten = forge(lines, 3, lambda body: body.replace(b"Nonsense", b"Nonsenze"))
    assert check(rewritten).ok, "without a key a forger can write the whole history anew"
    assert found(rewritten, head=head)[:2] == (4, "other history")
    assert found(rewritten[:4], head=check(lines[:4]).head)[:2] == (3, "other history")


def test_a_key():
    keyed, plain = honest(key=KEY), honest()
    assert found(keyed)[:2] == (0, "key")
    assert "does not verify without it" in found(keyed)[2]
    assert found(plain, KEY)[:2] == (0, "key")
    assert "could be forged" in found(plain, KEY)[2]
    assert found(keyed, b"other")[:2] == (0, "changed")
    assert "the key is another one" in found(keyed, b"other")[2]
    assert found(forge(keyed, 3, lambda body: body.replace(b"Nonsense", b"Nonsenze"), key=b"guess"), KEY)[0] == 0
    # The forger says that there never was a key.
    forged = forge(keyed, 0, lambda body: body.replace(b'"keyed":true', b'"keyed":false'))
    assert found(forged, KEY)[:2] == (0, "key")
    # The forger has no key and claims one.
    claimed = forge(plain, 0, lambda body: body.replace(b'"keyed":false', b'"keyed":true'))
    assert found(claimed)[:2] == (0, "key")
    for key in (b"", "text", 3):
        with pytest.raises(UsageError, match="a key is"):
            Walk(key)


FRAMES = [
    (lambda line: line.replace(b"\n", b"\r\n"), "CR LF"),
    (lambda line: b"\xef\xbb\xbf" + line, "byte order mark"),
    (lambda line: b"\n" + line, "blank"),
    (lambda line: b" \t\n" + line, "blank"),
    (lambda line: b"garbage\n" + line, "a line begins with"),
    (lambda line: b"\x1b[31m\xff\n" + line, "a line begins with"),
    (lambda line: b" " + line, "a line begins with"),
    (lambda line: line[:-1] + b" \n", "a line ends with"),
    (lambda line: line[:-1] + b"x\n", "a line ends with"),
    (lambda line: line[:-1] + b",\n", "a line ends with"),
    (lambda line: line.replace(b',"hash"', b', "hash"'), "a line ends with"),
    (lambda line: line.replace(b',"hash"', b',"Hash"'), "a line ends with"),
    (lambda line: line.replace(b'{"entry"', b'{ "entry"'), "a line begins with"),
    (lambda line: line[:-3] + b'0"}\n', "a line ends with"),
    (lambda _: b'{"entry":"}\n', "a line ends with"),
    (lambda line: b'{"entry":' + b"x" * LONGEST + line, "longer than"),
    (lambda _: b"\0" * (LONGEST + 5), "longer than"),
]


@pytest.mark.parametrize("number", [0, 4, 8])
@pytest.mark.parametrize(("change", "reason"), FRAMES, ids=range(len(FRAMES)))
def test_lines_that_are_none(number, change, reason):
    lines = honest(8)
    lines[number] = change(lines[number])
    entry, fault, why = found(lines)
    assert (entry, fault) == (number, "not a line")
    assert reason in why
    assert why.isprintable()


def test_upper_case_digits_are_another_hash():
    lines = honest()
    lines[2] = lines[2][:-67] + lines[2][-67:].upper()
    assert found(lines)[:2] == (2, "changed")


CONTENT = [
    (lambda body: body.replace(b'"session":"s1"', b'"session": "s1"'), "not canonical"),
    (lambda body: body.replace(b'"act":"attempt",', b"")[:-1] + b',"act":"attempt"}', "not canonical"),
    (lambda body: body.replace(b'"session":"s1"', b'"session":"s1","session":"s1"'), "`session` stands twice"),
    (lambda body: body[:-1] + b',"zzz":1}', "unknown field `zzz`"),
    (lambda body: body.replace(b'"verdict":"ok"', b'"verdict":3'), "Expected"),
    (lambda body: body.replace(b'"session":"s1",', b""), "missing required field `session`"),
    (lambda body: body.replace(b"Ask", b"A\xff"), "not UTF-8"),
    (lambda body: body.replace(b'"n":1', b'"n":NaN'), "NaN is no JSON"),
    (lambda body: body.replace(b'"n":1', b'"n":1.0'), "not canonical"),
    (lambda body: body.replace(b'"n":1', b'"n":' + b"[" * 9000 + b"]" * 9000), "nested too deep"),
    (lambda body: body.replace(b'"n":1', b'"n":'), "no JSON"),
    (lambda body: body.replace(b'"n":1', b'"n":1e999'), "not canonical"),
    (lambda body: body.replace(b'"n":1', b'"n":"\\ud800"'), "not canonical"),
    (lambda body: body + b" ", "not canonical"),
    (lambda body: body + b"x", "no JSON"),
    (lambda _: b"", "no JSON"),
    (lambda _: b"{}", "no entry"),
    (lambda _: b"[]", "no entry"),
    (lambda body: body.replace(b'"session":"s1"', b'"session":{"x":1}'), "no mark"),
]


@pytest.mark.parametrize(("change", "reason"), CONTENT, ids=range(len(CONTENT)))
def test_content_that_is_none_though_its_hashes_are_right(change, reason):
    lines = honest(8)
    assert change(body_of(lines[1])) != body_of(lines[1])
    entry, fault, why = found(forge(lines, 1, change))
    assert (entry, fault) == (1, "malformed")
    assert reason in why


@pytest.mark.parametrize(
    ("change", "number", "fault"),
    [
        (lambda body: body.replace(b'"seq":3', b'"seq":4'), 3, "out of order"),
        (lambda body: body.replace(b'"seq":3', b'"seq":99999999999999'), 3, "out of order"),
        (lambda body: body.replace(b'"seq":3', b'"seq":99999999999999999999999'), 3, "malformed"),
        (lambda body: body.replace(b'"seq":3', b'"seq":' + b"9" * 5000), 3, "malformed"),
        (lambda _: encode({"act": "begin", "format": "accord.ledger", "id": "x", "keyed": False,
                              "prev": BEFORE_FIRST, "seq": 3, "version": 1}), 3, "out of order"),
    ],
)  # fmt: skip
def test_places_that_are_none_though_the_hashes_are_right(change, number, fault):
    assert found(forge(honest(8), 3, change))[:2] == (number, fault)


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.replace(b'"version":1', b'"version":2'),
        lambda body: body.replace(b"accord.ledger", b"accord.legder"),
    ],
)
def test_another_format_or_version(change):
    assert found(forge(honest(8), 0, change))[:2] == (0, "malformed")


def test_the_first_entry_has_nothing_before_it():
    body = body_of(honest(0)[0]).replace(BEFORE_FIRST.encode(), b"1" * 64)
    assert found([frame(body, seal(body, None))])[:2] == (0, "out of order")


def test_the_first_entry_begins():
    body = body_of(honest(1)[1])
    body = body.replace(b'"seq":1', b'"seq":0').replace(body[body.index(b'"prev":"') + 8 :][:64], b"0" * 64)
    assert found([frame(body, seal(body, None))])[:2] == (0, "out of order")


def test_nothing_is_no_ledger():
    assert found(b"")[:2] == (0, "missing")
    assert found(b"hello")[:2] == (0, "not a line")
    assert found(b"\0" * 100)[:2] == (0, "not a line")


def test_a_torn_line_is_told_from_a_bad_one():
    lines = honest(3)
    whole = b"".join(lines)
    for cut in range(1, len(lines[3])):
        number, fault, _ = found(whole[:-cut])
        assert (number, fault) == (3, "cut off")
    for cut in range(1, len(lines[0])):
        assert found(lines[0][:-cut])[:2] == (0, "cut off")


def test_heads_are_read_strictly():
    good = "12:" + "0f" * 32
    assert str(Head.read(good)) == good
    for text in ("", "12", "12:", "x", good.upper(), f" {good}", f"{good}\n", good[:-1], f"0{good}", f"-{good}", None,
                 "9" * 30 + good[2:], "１２:" + "0f" * 32):  # fmt: skip
        with pytest.raises(UsageError, match="a head is written"):
            Head.read(text)


def test_looking_at_a_ledger_without_its_key():
    lines = honest(key=KEY)
    walking = Walk(just_looking=True)
    assert len(list(walk(lines, walking))) == len(lines)
    assert not walking.checks_hashes
    with pytest.raises(BadEntryError, match="entry 3 stands here"):
        list(walk([*lines[:2], *lines[3:]], Walk(just_looking=True)))
    walking = Walk(just_looking=True)
    plain = honest()
    list(walk(plain, walking))
    assert walking.checks_hashes
    plain[1] = plain[1].replace(b"s1", b"s2")
    with pytest.raises(BadEntryError, match="does not match its hash"):
        list(walk(plain, Walk(just_looking=True)))


def test_memory_does_not_grow_with_the_ledger():
    lines = honest(700)
    data = b"".join(lines)

    def peak(content):
        stream = io.BytesIO(content)
        tracemalloc.start()
        try:
            check_stream(stream)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def check_stream(stream):
        for _ in walk(bounded_lines(stream), Walk()):
            pass

    check_stream(io.BytesIO(data))
    small = peak(b"".join(lines[:20]))
    assert peak(data) < small + 20_000


def test_a_line_without_end_is_not_held():
    class Endless(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    line = next(bounded_lines(io.BufferedReader(Endless())))
    assert len(line) == LONGEST + 1
    assert len(next(lines_as_they_come(io.BufferedReader(Endless())))) == LONGEST + 1


def test_a_growing_file_gets_a_moment():
    lines = honest(3)

    class Growing(io.RawIOBase):
        def __init__(self):
            self.pieces = [b"".join(lines[:3]), lines[3][:40], b"", b"", lines[3][40:]]

        def readable(self):
            return True

        def readinto(self, buffer):
            piece = self.pieces.pop(0) if self.pieces else b""
            buffer[: len(piece)] = piece
            return len(piece)

    assert list(lines_as_they_come(io.BufferedReader(Growing()))) == lines
