"""Names, labels and words."""

import random
import unicodedata

import pytest

from accord.diagnostics import Source
from accord.language import examine
from accord.language.labels import is_name, normalise, parse_word, print_label, print_word, why_suspicious


@pytest.mark.parametrize("name", ["a", "_", "_1", "A1", "été", "名前", "a\u0301", "rec1", "protocol"])
def test_names(name):
    assert is_name(name)


@pytest.mark.parametrize(
    "name", ["", "1a", "a-b", "a:b", "a b", "rec", "end", "each", "a.b", "\u0301a", "a\n", "é-", "²"]
)
def test_what_is_no_name(name):
    assert not is_name(name)


@pytest.mark.parametrize(
    "label", ["Ask", "_", "a-b", "ToolUse:search", "a-1:2", "été-名", "end-game", "each:one", "x٣"]
)
def test_plain_labels(label):
    assert print_label(label) == label


@pytest.mark.parametrize(
    ("label", "printed"),
    [
        ("2nd try", '"2nd try"'),
        ("end", '"end"'),
        ("rec", '"rec"'),
        ("each", '"each"'),
        ("-a", '"-a"'),
        ("a-", '"a-"'),
        ("a--b", '"a--b"'),
        ('a"b', '"a\\"b"'),
        ("a\\b", '"a\\\\b"'),
        ("a\nb", '"a\\nb"'),
        ("a\x1bb", '"a\\u001bb"'),
        ("a\x7fb", '"a\\u007fb"'),
        ("a\u200bb", '"a\\u200bb"'),
        ("a\u2028b", '"a\\u2028b"'),
        ("\u202eabc", '"\\u202eabc"'),
        ("\U000e0041", '"\\udb40\\udc41"'),
        ("é x", '"é x"'),
        ("😀", '"😀"'),
        ("x²", '"x²"'),
        ("a.b", '"a.b"'),
        ("", '""'),
    ],
)
def test_other_labels_are_quoted(label, printed):
    assert print_label(label) == printed


def random_labels(count):
    random_ = random.Random(3)
    alphabet = 'aZ_09-:.!? "\\/\n\t\x00\x1b\x7fé\u0301\u0308²名😀\u200b\u202e\u2028\ufeff\ue000\U000e0041'
    for _ in range(count):
        yield "".join(random_.choices(alphabet, k=random_.randrange(1, 8)))


def test_a_printed_label_reads_as_the_label_it_was():
    for label in map(normalise, random_labels(3000)):
        for direction, partner in (("!", None), ("?", "Bank")):
            word = print_word(direction, label, partner)
            assert word.isprintable()
            assert parse_word(word) == (direction, label, partner)
            document, findings = examine(Source(word))
            assert not [d for d in findings if d.severity == "error"], ascii(label)
            action = document.declarations[0].body
            assert (action.direction, action.label, action.partner) == (direction, label, partner)


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("!a", ("!", "a", None)),
        ("?a", ("?", "a", None)),
        ("Bank!pay", ("!", "pay", "Bank")),
        ("!my tool", ("!", "my tool", None)),
        ('?"2nd try"', ("?", "2nd try", None)),
        ('!"what?!"', ("!", "what?!", None)),
        ("!what?!", ("!", "what?!", None)),
        ("!a\nb", ("!", "a\nb", None)),
        ('!a"b', ("!", 'a"b', None)),
        (r'!"é"', ("!", "é", None)),
        ("!end", ("!", "end", None)),
    ],
)
def test_words(word, parts):
    assert parse_word(word) == parts


@pytest.mark.parametrize(
    "word", ["", "a", "!", "?", '!""', '!"a', '!"a"b', r'!"\q"', "A B!c", "1!a", "end!a", "-!a", '"a"!b']
)
def test_what_is_no_word(word):
    with pytest.raises(ValueError, match=r"\S"):
        parse_word(word)


@pytest.mark.parametrize("word", [None, 7, b"!a", ["!a"]])
def test_a_word_is_text(word):
    with pytest.raises((TypeError, ValueError)):
        parse_word(word)


def test_normal_form_c():
    for label in random_labels(500):
        assert normalise(label) == unicodedata.normalize("NFC", label)


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("p\u0430y", "it mixes Cyrillic and Latin letters"),
        ("\u03b1lpha", "it mixes Greek and Latin letters"),
        ("pay\u200b", "it holds characters that cannot be seen"),
        ("a\nb", "it holds characters that cannot be seen"),
        ("a\x7f", "it holds characters that cannot be seen"),
        ("\u202eyap", "it holds characters that change the direction of text"),
        ("a\u2066b", "it holds characters that change the direction of text"),
    ],
)
def test_suspicious_labels(label, reason):
    assert why_suspicious(label) == reason


@pytest.mark.parametrize("label", ["pay", "2nd try", "été", "добро", "αβγ", "検索Tool", "😀", "naïve café"])
def test_labels_above_suspicion(label):
    assert why_suspicious(label) is None
