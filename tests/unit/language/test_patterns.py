"""Patterns behind `matches`: the syntax of RE2, linear time, and texts that are none."""

import time

import pytest

from accord.language.patterns import PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("", "", True),
        ("b", "abc", True),
        ("^b", "abc", False),
        ("a.c", "a\nc", False),
        ("(?s)a.c", "a\nc", True),
        ("(?i)É", "é", True),
        (r"\bfoo\b", "a foo b", True),
        (r"\d{3}", "12", False),
        (r"^\p{Greek}+$", "λόγος", True),
        ("a|b", "xb", True),
        ("\x00", "a\x00b", True),
        ("😀", "a😀", True),
        ("^$", "", True),
        (r"\.env$", "x/.env", True),
    ],
)
def test_a_pattern_searches(pattern, text, found):
    assert compile_pattern(pattern)(text) is found


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "[a", "a**", "*", r"\1", "(?=a)", "(?!a)", "(?<=a)b", r"(a)\1", "(?P<n>", "a{2,1}", "a{100000}", "\\"],
)
def test_what_is_no_pattern_says_why(pattern):
    with pytest.raises(PatternError) as caught:
        compile_pattern(pattern)
    assert str(caught.value)


def test_a_pattern_that_would_need_too_much_memory_is_refused():
    with pytest.raises(PatternError):
        compile_pattern("((a{100}){100}){100}")


def test_half_of_a_surrogate_pair_is_no_text():
    assert compile_pattern("a")("a\ud800") is False
    assert compile_pattern("")("\udfff") is False
    with pytest.raises(PatternError):
        compile_pattern("\ud800")


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|a)*$", "(a*)*b", "(.*a){20}$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_patterns_that_hang_others_take_linear_time(pattern):
    search = compile_pattern(pattern)
    text = "a" * 50_000 + "!"
    started = time.process_time()
    assert search(text) is False
    assert time.process_time() - started < 2


def test_a_long_text_is_searched_to_its_end():
    assert compile_pattern("needle")("hay" * 500_000 + "needle") is True
