from __future__ import annotations

import json

import pytest
from tests.ledgers import check, fill, honest
from tests.racing import THREADS, all_at_once, frantic_switching

from accord import FileSink, Ledger, MemorySink, UsageError
from accord.ledger import Attempt

CONTRACT = "sha256:" + "ab" * 32


def attempt(**changed):
    return Attempt(**{"session": "s", "contract": CONTRACT, "event": "!a", "verdict": "ok", **changed})


def test_a_ledger_begins_by_saying_what_it_is():
    sink = MemorySink()
    ledger = Ledger(sink, key=b"secret")
    (line,) = sink.data.splitlines()
    entry = json.loads(line)["entry"]
    assert entry | {"id": "…"} == {
        "act": "begin", "format": "accord.ledger", "id": "…", "keyed": True, "prev": "0" * 64, "seq": 0, "version": 1,
    }  # fmt: skip
    assert len(ledger) == 1
    assert bool(ledger)
    assert repr(ledger) == "<Ledger of 1 entries>"


def test_a_path_is_no_sink(tmp_path):
    for path in ("a.ledger", tmp_path / "a.ledger"):
        with pytest.raises(UsageError, match=r"a file is `FileSink\(path\)`"):
            Ledger(path)


def test_no_two_ledgers_are_alike():
    assert Ledger(MemorySink()).head != Ledger(MemorySink()).head
    assert Ledger(MemorySink(), identity="x").head == Ledger(MemorySink(), identity="x").head


@pytest.mark.parametrize("key", [None, b"secret"])
def test_a_ledger_is_continued(tmp_path, key):
    path = tmp_path / "ledger"
    heads = []
    for _ in range(4):
        with Ledger(FileSink(path), key=key) as ledger:
            assert not ledger.mended
            fill(ledger, 5)
            heads.append(ledger.head)
            assert all(ledger.verify(head=head).ok for head in heads)
    assert check(path.read_bytes(), key, heads[1]).entries == 21


def test_append_gives_the_head():
    sink = MemorySink()
    ledger = Ledger(sink)
    assert ledger.append(attempt()) == ledger.head
    assert check(sink.data).head == ledger.head


def test_what_is_no_attempt_is_not_written():
    sink = MemorySink()
    ledger = Ledger(sink)
    before = sink.data
    for changed in ({"verdict": "fine"}, {"contract": "x"}, {"contract": object()}, {"session": None}, {"meta": [1]}):
        with pytest.raises(UsageError, match="cannot be recorded"):
            ledger.append(attempt(**changed))
    assert sink.data == before
    ledger.append(attempt())
    assert ledger.verify().entries == 2


def test_any_text_and_any_value_can_be_written():
    ledger = Ledger(MemorySink())
    odd = ["\ud800", "\x00\x1b[31m\u202e", "x" * 3_000_000, "😀" * 2000, ""]
    for text in odd:
        ledger.append(attempt(session=text, event=text, by=text, clause=text, explanation=text, expected=[text],
                              protocol=text, at=text, payload={text: text}, meta={text: [text]},
                              given={text: text}))  # fmt: skip
    for number in (float("nan"), 1e22, -0.0, 10**5000, 2**64, 1.0, 1e-7):
        ledger.append(attempt(payload={"x": number}, at=number))
    assert ledger.verify().ok
    assert len(ledger) == 13


TORN_BEGINNINGS = [b"{", b'{"entry":', b'{"entry":{"act":"begin","format":"accord.ledger","id":"x"']


@pytest.mark.parametrize("torn", TORN_BEGINNINGS)
def test_a_torn_beginning_is_mended(tmp_path, torn):
    path = tmp_path / "ledger"
    path.write_bytes(torn)
    with Ledger(FileSink(path)) as ledger:
        assert ledger.mended == len(torn)
        assert ledger.verify().entries == 2


@pytest.mark.parametrize(
    "content",
    [b"hello", b"hello\n", b"\n", b"\0" * 50, b"# notes\nof mine\n", b'{"entry":{"act":"attempt"', b'{"entry":{}}\n'],
)
def test_other_files_are_left_alone(tmp_path, content):
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"no ledger|cannot be continued"):
        Ledger(FileSink(path))
    assert path.read_bytes() == content


def test_torn_at_every_byte(tmp_path):
    lines = honest(3)
    whole, last = b"".join(lines[:-1]), lines[-1]
    for cut in range(1, len(last)):
        sink = MemorySink(whole + last[:cut])
        ledger = Ledger(sink)
        assert ledger.mended == cut
        assert sink.data.startswith(whole)
        mend = json.loads(sink.data.splitlines()[-1])["entry"]
        assert (mend["act"], mend["bytes"]) == ("mend", cut)
        assert check(sink.data).entries == 4
        fill(ledger, 1)
        assert check(sink.data).entries == 5
    assert Ledger(MemorySink(whole + last)).mended == 0


@pytest.mark.parametrize("piece", [b"\0" * 4096, b"\xff\xfe garbage", b"{" * 100_000], ids=["zeros", "garbage", "long"])
def test_whatever_a_crash_left_behind_the_last_line_goes(piece):
    whole = b"".join(honest(3))
    sink = MemorySink(whole + piece)
    assert Ledger(sink).mended == len(piece)
    assert sink.data.startswith(whole)
    assert check(sink.data).entries == 5


def test_what_is_longer_than_a_line_is_not_cut_off():
    data = b"".join(honest(3)) + b"x" * (40 << 20)
    sink = MemorySink(data)
    with pytest.raises(UsageError, match="longer than any entry"):
        Ledger(sink)
    assert sink.size == len(data)


def test_a_bad_last_entry_is_not_continued():
    lines = honest(3)
    for bad in (
        [*lines[:-1], lines[-1].replace(b"s1", b"s2")],
        [*lines, lines[0]],
        [*lines, b"\n"],
        [*lines, b"garbage\n"],
        [lines[0].replace(b"test", b"tast"), *lines[1:]],
    ):
        sink = MemorySink(b"".join(bad))
        with pytest.raises(UsageError, match="entry is bad"):
            Ledger(sink)
        assert sink.data == b"".join(bad)


def test_a_ledger_wants_its_own_key():
    keyed = MemorySink(b"".join(honest(3, key=b"secret")))
    with pytest.raises(UsageError, match="written with a key"):
        Ledger(keyed)
    with pytest.raises(UsageError, match="the key is another one"):
        Ledger(keyed, key=b"other")
    with pytest.raises(UsageError, match="without a key"):
        Ledger(MemorySink(b"".join(honest(3))), key=b"secret")
    with pytest.raises(UsageError, match="a key is"):
        Ledger(MemorySink(), key=b"")
    Ledger(keyed, key=b"secret")


def test_long_entries_at_the_end_are_found():
    sink = MemorySink()
    ledger = Ledger(sink)
    ledger.append(attempt(payload={"x": "y" * 1_000_000}, meta={"x": "y" * 1_000_000}))
    sink.write(sink.size, b'{"entry":' + b"x" * 300_000)
    again = Ledger(sink)
    assert again.mended == 300_009
    assert again.verify().entries == 3


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_many_threads_write_one_chain(tmp_path, kind):
    sink = MemorySink() if kind == "memory" else FileSink(tmp_path / "ledger", fsync="never")
    with Ledger(sink) as ledger, frantic_switching():
        results = all_at_once(lambda n: [ledger.append(attempt(session=f"s{n}")) for _ in range(40)])
        heads = [head for result in results for head in result]
        assert len(set(heads)) == THREADS * 40
        result = ledger.verify()
        assert result.ok
        assert result.entries == THREADS * 40 + 1
        assert all(ledger.verify(head=head).ok for head in heads[::37])


def test_an_interrupt_leaves_the_chain_whole():
    """Whatever happens after the sink has kept a line: if it was not acknowledged, the next one takes its place."""
    sink = MemorySink()
    ledger = Ledger(sink)
    plain = sink.write

    class Interrupted:
        size, read, close = sink.size, staticmethod(sink.read), staticmethod(sink.close)

        def write(self, start, line):
            plain(start, line)
            raise KeyboardInterrupt

    ledger._sink = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        ledger.append(attempt(event="!lost"))
    ledger._sink = sink
    ledger.append(attempt(event="!kept"))
    assert b"!lost" not in sink.data
    assert check(sink.data).entries == 2


def test_notes_are_entries_of_the_chain():
    sink = MemorySink()
    ledger = Ledger(sink)
    head = ledger.note("s1", "sha256:" + "0" * 64, None, "person asked", {"shown": "pay 3?", "odd": object})
    assert head == ledger.head
    assert (len(ledger), ledger.verify().ok) == (2, True)
    assert b'"what":"person asked"' in sink.data
    sink._data[-90:-80] = b"0123456789"
    assert not ledger.verify().ok
