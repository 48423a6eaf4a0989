from __future__ import annotations

import io

import pytest

from accord.errors import UsageError
from accord.machine.events import Event
from accord.stepping import events
from accord.stepping.events import events_in_arguments, events_in_stream, read_one
from accord.stepping.happenings import Close, Tick


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


def test_what_stands_behind_a_word_belongs_to_it():
    pay = Event("!", "pay", None, {"amount": 3, "to": {"a": '} by " {'}})
    assert arguments(r'!pay{"amount": 3, "to": {"a": "} by \" {"}} ?ok by ana B!x {} by "Ana B." end') == [
        pay,
        Event("?", "ok", None, {}, "ana"),
        Event("!", "x", "B", {}, "Ana B."),
        Close(),
    ]
    assert arguments('?ok by ana {"a": 1} !b') == [Event("?", "ok", None, {"a": 1}, "ana"), Event("!", "b")]


def test_what_stands_behind_a_word_may_be_an_argument_of_its_own():
    assert arguments("!pay", '{"amount": 3}', "?ok", "by", "ana", "!by") == [
        Event("!", "pay", None, {"amount": 3}),
        Event("?", "ok", None, {}, "ana"),
        Event("!", "by"),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("!pay {", "the payload is no JSON object"),
        ("!pay {amount: 3}", "the payload is no JSON object"),
        ("!pay {'amount': 3}", "the payload is no JSON object"),
        ('!pay {"a": NaN}', "the payload is no JSON object"),
        ('!pay {"a": 1e999}', "the payload is no JSON object"),
        ('!pay {"a": ' + "[" * 5000 + "]" * 5000 + "}", "nested too deep"),
        ('!pay {"a": "\ud800"}', "the payload is no JSON object"),
        ("!pay {} {}", "an event is written|one event at a time"),
        ("{}", "an event is written"),
        ("end {}", "an event is written"),
        ("?ok by", "the name of a person"),
        ("?ok by !pay", "the name of a person"),
        ("?ok by ana by bob", "the name of a person"),
        ('?ok by "ana', "the quoted name is not valid"),
        ('?ok by " "', "names the person"),
        ('?ok by "a"b', "the name of a person"),
    ],
)
def test_what_cannot_stand_behind_a_word(text, complaint):
    with pytest.raises(UsageError, match=complaint):
        arguments(text)
    with pytest.raises(ValueError, match=complaint):
        read_one(text)


def test_one_event():
    assert read_one(' !pay {"a": [1, 2]} by ana ') == Event("!", "pay", None, {"a": [1, 2]}, "ana")
    assert read_one("end") == Close()
    with pytest.raises(ValueError, match="`tool` follows; odd labels are quoted"):
        read_one("!my tool")
    with pytest.raises(ValueError, match="there is no event"):
        read_one(" ")


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


def test_json_lines_with_payload_and_person():
    text = r"""
        {"send": "pay", "payload": {"amount": 3}}
        {"receive": "ok", "by": "Ana B."}
        {"event": "!pay {\"amount\": 3}"}
        {"event": "?ok by ana", "payload": {"a": null}}
        {"event": "?ok {\"a\": null}", "by": "ana"}
    """
    pay = Event("!", "pay", None, {"amount": 3})
    approved = Event("?", "ok", None, {"a": None}, "ana")
    assert stream(text) == [pay, Event("?", "ok", None, {}, "Ana B."), pay, approved, approved]


@pytest.mark.parametrize(
    "line",
    [
        '{"send": "a", "payload": 1}',
        '{"send": "a", "payload": [1]}',
        '{"send": "a", "payload": {"a": NaN}}',
        '{"send": "a", "payload": {"a": ' + "[" * 5000 + "]" * 5000 + "}}",
        '{"receive": "a", "by": ""}',
        '{"receive": "a", "by": 1}',
        '{"event": "?a by ana", "by": "bob"}',
        '{"event": "!a {\\"a\\": 1}", "payload": {"b": 1}}',
        '{"event": "!a {", "by": "bob"}',
        '{"event": "!a !b"}',
        '{"event": ""}',
        '{"event": "end", "by": "bob"}',
        '{"close": true, "payload": {}}',
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
    words = [
        "!a",
        '!"with spaces and \\" quotes"',
        "?bcd",
        "B!efghijklmnop by ana",
        '!pay {"a": {"b": "}"}, "c": [1, 2, 3, 4]} by "Ana B."',
        "?x{}",
        "end",
    ]
    expected = arguments(*words)
    assert len(expected) == len(words)
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


@pytest.mark.parametrize("start", ["!", '!"', '{"send": "', '!a {"b": "', '!a by "'])
def test_an_endless_event_is_refused(start):
    with pytest.raises(UsageError, match="line 1: one event takes more than"):
        stream(start + "a" * 2_000_000)


def test_a_piece_of_words_is_never_taken_for_json(monkeypatch):
    monkeypatch.setattr(events, "_PIECE", 7)
    with pytest.raises(UsageError, match="an event is written"):
        stream('!a {"b": 1} {"send": "c"} {"send": "d"}')
    assert stream('      {"send": "c"}') == [Event("!", "c")]


def test_bytes_that_are_no_text():
    with pytest.raises(UsageError, match=r"^line 2 is not UTF-8"):
        stream("!a\n!\udcff\n")


def test_a_byte_order_mark_is_passed_over():
    assert stream("\ufeff!a") == [Event("!", "a")]


class TestTimes:
    def test_a_time_belongs_to_the_event_behind_it(self):
        assert arguments('@12.5 !a {"x": 1} by ana @20 tick ?b', "@-3", "end") == [
            Event("!", "a", None, {"x": 1}, "ana", 12.5),
            Tick(20),
            Event("?", "b"),
            Close(-3),
        ]
        assert arguments("!a{}@5 !b") == [Event("!", "a"), Event("!", "b", at=5)]

    def test_whole_numbers_stay_whole(self):
        at = [event.at for event in arguments("@5 !a @5.0 !a @1e2 !a")]
        assert (at, [type(time) for time in at]) == ([5, 5, 100], [int, float, float])

    def test_labels_and_people_may_begin_with_the_sign(self):
        assert arguments('!"@5" ?ok by @ana') == [Event("!", "@5"), Event("?", "ok", None, {}, "@ana")]

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("@5", "behind `@5` stands what happens then"),
            ("@5 @6 !a", "behind `@5` stands what happens then"),
            ("!a @5", "one event at a time|behind `@5` stands what happens"),
            ("@ !a", "`` is no time"),
            ("@x !a", "`x` is no time; a time is a number of seconds"),
            ("@1e999 !a", "no time that a clock can show"),
            ("@nan !a", "`nan` is no time"),
            ("@+5 !a", "is no time"),
            ("@1_000 !a", "is no time"),
            ("@٣ !a", "is no time"),
            ("@" + "9" * 5000 + " !a", "is no time"),
            ("@5!a", "stands apart"),
            ('@5 {"a": 1}', "an event is written"),
            ("tick", "`tick` needs the time in front of it"),
            ("@5 tick {}", "an event is written"),
            ("@5 by", "the name of a person"),
        ],
    )
    def test_what_is_no_time(self, text, complaint):
        with pytest.raises(UsageError, match=complaint):
            arguments(text)
        with pytest.raises(ValueError, match=complaint):
            read_one(text)

    def test_json_lines(self):
        lines = [
            '{"send": "a", "at": 1}',
            '{"receive": "b", "at": 2.5}',
            '{"event": "@3 !c"}',
            '{"event": "!d", "at": 4, "payload": {"x": 1}}',
            '{"tick": 5}',
            '{"event": "@7 tick"}',
            '{"close": true, "at": 8}',
            '{"event": "end", "at": 9}',
        ]
        assert stream("\n".join(lines)) == [
            Event("!", "a", at=1),
            Event("?", "b", at=2.5),
            Event("!", "c", at=3),
            Event("!", "d", None, {"x": 1}, at=4),
            Tick(5),
            Tick(7),
            Close(8),
            Close(9),
        ]

    @pytest.mark.parametrize(
        ("line", "complaint"),
        [
            ('{"event": "@3 !c", "at": 4}', "the time is given twice"),
            ('{"tick": 3, "at": 4}', "the time is given twice"),
            ('{"tick": true}', "Expected"),
            ('{"tick": "3"}', "Expected"),
            ('{"send": "a", "at": "3"}', "Expected"),
            ('{"send": "a", "at": true}', "Expected"),
            ('{"send": "a", "at": 1e999}', "line 1"),
            ('{"tick": 3, "payload": {}}', "`tick` has no"),
            ('{"tick": 3, "send": "a"}', "exactly one of"),
            ('{"at": 3}', "exactly one of"),
        ],
    )
    def test_json_lines_that_are_wrong(self, line, complaint):
        with pytest.raises(UsageError, match=complaint):
            stream(line)

    def test_a_time_is_not_torn_from_its_event_in_a_long_line(self, monkeypatch):
        monkeypatch.setattr(events, "_PIECE", 7)
        text = " ".join(f'@{n} !a{n} {{"x": {n}}}' for n in range(40))
        assert stream(text) == [Event("!", f"a{n}", None, {"x": n}, at=n) for n in range(40)]
