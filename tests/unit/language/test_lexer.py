"""Text to tokens: every kind of token, every thing that cannot be read, and no text that makes the lexer fail."""

import random

import pytest

from accord.diagnostics import Source
from accord.language.lexer import tokenise
from accord.limits import DEFAULT_LIMITS, Limits


def lex(text, limits=DEFAULT_LIMITS):
    return tokenise(Source(text), limits)


def pieces(text):
    return [(token.kind, token.value) for token in lex(text)[0][:-1]]


def values(text):
    return [token.value for token in lex(text)[0][:-1]]


def problems(text):
    return [(d.code, d.span) for d in lex(text)[2]]


def test_kinds_of_tokens():
    assert pieces('rec X.!a?{b,"c d"}') == [
        ("word", "rec"),
        ("word", "X"),
        ("sign", "."),
        ("sign", "!"),
        ("word", "a"),
        ("sign", "?"),
        ("sign", "{"),
        ("word", "b"),
        ("sign", ","),
        ("string", "c d"),
        ("sign", "}"),
    ]


def test_the_last_token_is_the_end_of_the_text():
    for text in ("", "!a", "!a  ", "// only a comment"):
        last = lex(text)[0][-1]
        assert (last.kind, last.start, last.end) == ("end of text", len(text), len(text))


def test_tokens_know_where_they_stand():
    text = ' !"a\\nb" . café '
    for token in lex(text)[0]:
        written = text[token.start : token.end]
        assert written == token.value or token.kind == "string"
    assert [tuple(token.span) for token in lex(text)[0]] == [(1, 2), (2, 8), (9, 10), (11, 15), (16, 16)]


def test_joints_are_signs_of_their_own():
    assert values("a-b:c") == ["a", "-", "b", ":", "c"]


@pytest.mark.parametrize(
    "word", ["café", "Größe1", "aé", "éa", "aéb_1", "名前", "naïve", "x٣", "a\u0301b", "_é", "ABCdéf"]
)
def test_a_word_is_one_token_wherever_its_letters_come_from(word):
    assert len(values(word)) == 1


def test_words_are_in_normal_form_c():
    assert values("cafe\u0301") == ["caf\u00e9"]


def test_quoted_texts_are_taken_as_they_are():
    """They may be literals, which are compared as they stand; labels are brought into normal form by the parser."""
    assert values('"cafe\u0301"') == ["cafe\u0301"]
    assert values(r'"cafe\u0301"') == ["cafe\u0301"]


def test_digits_start_a_word_too():
    assert pieces("2nd") == [("word", "2nd")]


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\r\n", "  \n\t "])
def test_white_space_separates(space):
    assert values(f"a{space}b") == ["a", "b"]


def test_comments_are_kept_apart():
    tokens, comments, found = lex("// one\n!a // two  \n  // three\n.!b")
    assert [t.value for t in tokens] == ["!", "a", ".", "!", "b", ""]
    assert [(c.text, c.own_line) for c in comments] == [("// one", True), ("// two", False), ("// three", True)]
    assert found == []


def test_a_comment_sign_inside_quotes_is_text():
    assert values('"http://x"') == ["http://x"]


def test_a_byte_order_mark_is_skipped_at_the_start_only():
    assert values("\ufeffa") == ["a"]
    assert [code for code, _ in problems("a\ufeff")] == ["E010"]


@pytest.mark.parametrize(
    ("quoted", "label"),
    [
        (r'"a\"b"', 'a"b'),
        (r'"a\\"', "a\\"),
        (r'"\u0041\/"', "A/"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        ('"\t"', None),
        (r'"\x41"', None),
        (r'"\u12"', None),
        ('""', ""),
        (r'"\ud800"', None),
        (r'"\udc00x"', None),
    ],
)
def test_quoted_labels_have_the_escapes_of_json(quoted, label):
    if label is None:
        assert problems(quoted) == [("E012", (0, len(quoted)))]
        assert len(pieces(quoted)) == 1  # the parser still finds a label
    else:
        assert pieces(quoted) == [("string", label)]
        assert problems(quoted) == []


@pytest.mark.parametrize("text", ['"', '"abc', '"abc\\"', '"abc\n"d"', '"abc\\\n"'])
def test_a_quote_that_is_not_closed_ends_with_its_line(text):
    code, span = problems(text)[0]
    assert code == "E011"
    assert span == (0, text.find("\n") if "\n" in text else len(text))


def test_what_has_no_meaning_is_reported_once_per_run():
    assert problems("a$$$b#") == [("E010", (1, 4)), ("E010", (5, 6))]
    assert values("a$$$b#") == ["a", "b"]


@pytest.mark.parametrize(
    ("character", "help_"),
    [
        ("#", "comments start with `//`"),
        ("/", "comments start with `//`"),
        ("'", "quotes are double"),
        ("“", "straight quotes"),
        ("\u00a0", "no-break space"),
        ("\uff01", "full-width"),
        ("→", "`->`"),
        ("$", "in quotes"),
    ],
)
def test_unexpected_characters_come_with_help(character, help_):
    (problem,) = lex(character)[2]
    assert help_ in problem.help


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\u202e", "\u200b", "\ud800", "\U000e0041"])
def test_hidden_characters_are_not_shown_raw(character):
    (problem,) = lex(character)[2]
    assert problem.code == "E010"
    assert character not in problem.message


def test_a_text_that_is_too_long_is_not_read():
    limits = Limits(source_characters=3)
    assert lex("!abc", limits)[2][0].code == "E014"
    assert len(lex("!abc", limits)[0]) == 1
    assert lex("!ab", limits)[2] == []


def test_no_text_makes_the_lexer_fail():
    random_ = random.Random(7)
    alphabet = '!?{}()|.,=:-"\\/ \n\t\raé1_\u0301\u202e\x00\ud800名"'
    for _ in range(3000):
        text = "".join(random_.choices(alphabet, k=random_.randrange(25)))
        tokens, comments, found = lex(text)
        at = 0
        for token in tokens:
            assert at <= token.start <= token.end
            at = token.end
        assert all(0 <= d.span.start <= d.span.end <= len(text) for d in found)
        assert all(text[c.span.start :].startswith("//") for c in comments)


def test_long_texts_take_linear_time():
    # a quadratic lexer would need minutes for this
    assert len(lex("é" * 200_000)[0]) == 2
    assert len(lex('"' * 100_001)[2]) > 0
    assert len(lex("a" * 500_000 + "é")[0]) == 2
