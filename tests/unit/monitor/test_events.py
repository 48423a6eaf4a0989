"""Events as text: `WORD [JSON] [by WHO]`."""

import pytest

from accord.machine.events import Event
from accord.monitor.events import read_event


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("!Ask", Event("!", "Ask")),
        ("B?a", Event("?", "a", "B")),
        ('!pay {"amount": 3}', Event("!", "pay", None, {"amount": 3})),
        ('!pay{"amount":3}', Event("!", "pay", None, {"amount": 3})),
        ("?Approval by ana", Event("?", "Approval", None, {}, "ana")),
        ('?Approval by "Ana M."', Event("?", "Approval", None, {}, "Ana M.")),
        ('?a {"x": "} by bo"} by ana', Event("?", "a", None, {"x": "} by bo"}, "ana")),
        ('?a {"x": "} by bo"}', Event("?", "a", None, {"x": "} by bo"})),
        ('?"2nd try" {"by": 1}  by  ana ', Event("?", "2nd try", None, {"by": 1}, "ana")),
        ('?"a {b} by c"', Event("?", "a {b} by c")),
        ("!my tool", Event("!", "my tool")),
        ("!a {}", Event("!", "a", None, {})),
        ('Bank!pay {"a": {"b": [1, {}]}}', Event("!", "pay", "Bank", {"a": {"b": [1, {}]}})),
    ],
)
def test_an_event_is_read(text, event):
    assert read_event(text) == event


@pytest.mark.parametrize(
    "text", ["", "Ask", "!", '!""', '!"a', '!a {"x": }', "!a {x}", '?a by ""', "2!a", None, 3, b"!a"]
)
def test_what_is_no_event_is_told(text):
    with pytest.raises(ValueError, match=r"."):
        read_event(text)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_json_does_not_have_is_no_payload(constant):
    with pytest.raises(ValueError, match="JSON"):
        read_event(f'!a {{"x": {constant}}}')


@pytest.mark.parametrize("by", ["ana", "Ana M.", 'o "x"', "é", "by", "a\nb", "a}b", "\u202e"])
def test_what_is_printed_is_read(by):
    event = Event("?", "2nd {try}", "Bank", {}, by)
    assert read_event(event.word) == event


def test_a_payload_nested_deeply_is_no_crash():
    with pytest.raises(ValueError, match="JSON"):
        read_event('!a {"x": ' + "[" * 100_000 + "]" * 100_000 + "}")


def test_reading_takes_linear_time():
    for text in ("!a " + "{" * 50_000, '!a "' + "\\" * 50_000, "?a by " + '"' * 20_001, "!" + " by" * 20_000):
        try:
            read_event(text)
        except ValueError:
            continue
