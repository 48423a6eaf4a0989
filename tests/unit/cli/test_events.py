from __future__ import annotations

import io

import pytest

from accord.cli import events
from accord.cli.events import Close, events_in_arguments, events_in_stream
from accord.errors import UsageError
from accord.monitor.step import Event


def arguments(*texts):
    return [told.event for told in events_in_arguments(texts)]


def stream(text):
    return [told.event for told in events_in_stream(io.StringIO(text))]


def test_words():
    assert arguments("!a ?b", 'B!"two words"  end', '?"say \\"hi\\""') == [
        Event("!", "a"),
        Event("?", "b"),
        Event("!", "two words", "B"),
        Close(),
        Event("?", 'say "hi"'),
    ]


def test_labels_are_compared_in_normal_form():
    assert arguments("!e\u0301") == [Event("!", "\u00e9")]


@pytest.mark.parametrize("text", ["a", "!", '!"a', '!"a\\', '"', "!a b", "1!a", '!""', "!a \\"])
def test_what_is_no_word(text):
    with pytest.raises(UsageError):
        arguments(text)
    with pytest.raises(UsageError, match=r"^line 2: "):
        stream(f"!ok\n{text}\n")


def test_lines_of_words_and_of_json():
    text = '!a ?b\n\n  {"event": "B!c"}\n{"send": "d", "to": "B"}\r\n{"receive": "e", "sender": "C"}\n{"close": true}'
    assert stream(text) == [
        Event("!", "a"),
        Event("?", "b"),
        Event("!", "c", "B"),
        Event("!", "d", "B"),
        Event("?", "e", "C"),
        Close(),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "{",
        '{"send": 1}',
        '{"send": "a", "receive": "b"}',
        '{"send": "a", "sender": "b"}',
        '{"receive": "a", "to": "b"}',
        '{"event": "!a", "to": "b"}',
        '{"event": "a"}',
        '{"send": ""}',
        '{"send": "a", "to": "1"}',
        '{"send": "a", "to": ""}',
        '{"close": false}',
        '{"close": 1}',
        '{"unknown": "a"}',
        '{"send": "a"} {"send": "b"}',
        "[1]",
    ],
)
def test_what_is_no_json_line(line):
    with pytest.raises(UsageError, match=r"^line 3: "):
        stream(f"!ok\n\n{line}\n")


def test_a_line_of_any_length_is_read_in_pieces(monkeypatch):
    monkeypatch.setattr(events, "_PIECE", 7)
    words = ["!a", '!"with spaces and \\" quotes"', "?bcd", "B!efghijklmnop", "end"]
    expected = arguments(*words)
    for spaces in range(1, 9):
        assert stream((" " * spaces).join(words)) == expected
        assert stream((" " * spaces).join(words) + "\n!x") == [*expected, Event("!", "x")]


def test_an_endless_line_is_not_kept():
    class Endless(io.StringIO):
        left = 12

        def readline(self, size=-1, /):
            self.left -= 1
            return "!a " * (size // 3) if self.left else ""

    count = sum(1 for _ in events_in_stream(Endless()))
    assert count == 11 * (events._PIECE // 3)


@pytest.mark.parametrize("start", ["!", '!"', '{"send": "'])
def test_an_endless_event_is_refused(start):
    with pytest.raises(UsageError, match="line 1: one event takes more than"):
        stream(start + "a" * 2_000_000)


def test_bytes_that_are_no_text():
    with pytest.raises(UsageError, match=r"^line 2 is not UTF-8"):
        stream("!a\n!\udcff\n")


def test_a_byte_order_mark_is_passed_over():
    assert stream("\ufeff!a") == [Event("!", "a")]
