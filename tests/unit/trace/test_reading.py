"""Traces in files: odd lines, bad lines, long lines."""

from __future__ import annotations

import gzip
import io

import pytest

from accord.errors import UsageError
from accord.trace import JsonlSink, TraceEvent, read_trace, reading


def read(data):
    return list(read_trace(io.BytesIO(data)))


def test_odd_lines_are_read():
    data = (
        b'\xef\xbb\xbf{"seq":0,"kind":"a"}\r\n\n   \n'
        b'{"kind":"b","payload":{"t":"\\ud800","n":123456789012345678901234567890},"seq":1,"run_id":7,"more":[1]}\n'
        b'{"seq":2,"kind":"c","payload":null,"example_id":"e"}'
    )
    assert read(data) == [
        TraceEvent(0, "a"),
        TraceEvent(1, "b", {"t": "\ud800", "n": 123456789012345678901234567890}, 7),
        TraceEvent(2, "c", {}, None, "e"),
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "no JSON"),
        (b"[1]", "expected an event"),
        (b'{"seq":"0","kind":"a"}', "`seq` is a `str`"),
        (b'{"seq":true,"kind":"a"}', "`seq` is a `bool`"),
        (b'{"kind":"a"}', "`seq` is missing"),
        (b'{"seq":0}', "`kind` is missing"),
        (b'{"seq":0,"kind":"a","run_id":[]}', "`run_id` is a `list`"),
        (b'{"seq":0,"kind":"a","payload":{"x":NaN}}', "NaN is no JSON number"),
        (b'{"seq":0,"kind":"a","payload":{"x":1e999}}', "out of range"),
        (b'{"seq":0,"kind":"a","payload":{"x":"\xff"}}', "not UTF-8"),
        (b'{"seq":0,"kind":"a","payload":{},"p\xff":1}', "not UTF-8"),  # where nobody looks
        (b'{"seq":0,"kind":"a","payload":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deep"),
        (b'{"seq":0,"kind":"a","payload":{"n":' + b"9" * 10_000 + b"}}", "an integer has 10000 digits"),
    ],
    ids=lambda value: value[:30] if isinstance(value, bytes) else "",
)
def test_bad_lines_are_named(line, why):
    good = b'{"seq":0,"kind":"a"}\n'
    with pytest.raises(UsageError, match=f"<trace>:3: .*{why}"):
        read(good + good + line + b"\n" + good)


class Pipe(io.RawIOBase):
    """What can be read once."""

    def __init__(self, data):
        self._data = io.BytesIO(data)

    def readable(self):
        return True

    def read(self, size=-1):
        return self._data.read(size)


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf"], ids=["", "bom"])
def test_the_number_of_a_bad_line_counts_every_line(before):
    good = b'{"seq":0,"kind":"a","payload":{"t":"' + b"x" * 100 + b'"}}\n'
    data = before + (good + b"\n" + b"  \r\n") * 2000 + b"[1]\n" + good
    assert len(data) > 5 * reading._PIECE
    file = io.BytesIO(b"not this" + data)
    file.seek(8)
    with pytest.raises(UsageError, match=r"^<trace>:6001: expected an event"):
        list(read_trace(file))
    with pytest.raises(UsageError, match=f"^<trace>: byte {len(data) - len(before + good) - 4}: expected an event"):
        list(read_trace(Pipe(data)))


def test_files_that_cannot_be_read_to_their_end(tmp_path):
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"seq":0,"kind":"a"}\n' * 10_000)[:-20])
    with gzip.open(path) as file, pytest.raises(UsageError, match=r"cannot read .*t.jsonl.gz: .*end-of-stream"):
        list(read_trace(file))
    with pytest.raises(UsageError, match=r"t.jsonl.gz:1: it is not UTF-8"):
        list(read_trace(path))
    with pytest.raises(UsageError, match="cannot read"):
        list(read_trace(tmp_path))


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_LINE", 1 << 20)
    with pytest.raises(UsageError, match="the line at byte 0 is longer"):
        read(b'{"seq":0,"kind":"' + b"x" * (3 << 20))


def test_lines_longer_than_a_piece_are_whole():
    sink = io.BytesIO()
    events = [TraceEvent(n, "k", {"text": "é" * n * 100_000}) for n in range(8)]
    writer = JsonlSink(sink)
    for event in events:
        writer.write(event)
    assert read(sink.getvalue()) == events


def test_what_json_cannot_hold_is_not_written():
    for value in (float("nan"), {1: 2}, {"a": object()}, 10**5000):
        with pytest.raises(UsageError, match=r"event 3 cannot be written: .* at `/payload/x"):
            JsonlSink(io.BytesIO()).write(TraceEvent(3, "k", {"x": value}))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="cannot read"):
        list(read_trace(tmp_path / "no.jsonl"))
