"""Slices in text: what they make, how they are printed, and what is said about mistakes."""

import pytest

from accord.diagnostics import Source
from accord.language import examine, parse, print_document


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("each id: !a", ("id",)),
        ("each id:!a", ("id",)),
        ("each order.id: !a", ("order", "id")),
        ('each "odd name".x: !a', ("odd name", "x")),
        ("each each: !a", ("each",)),
        ("each end.rec: !a", ("end", "rec")),
        ('each "": !a', ("",)),
        ("each é: !a", ("é",)),
    ],
)
def test_the_path_of_a_slice(text, path):
    for whole in (text, f"protocol P = {text}"):
        document = parse(whole)
        assert document.declarations[0].each == path
        assert parse(print_document(document)) == document
    rule = f'rule "r" {{ {text.split(":")[0]}: at most 1 a }}'
    assert parse(rule).rules[0].each == path
    assert parse(print_document(parse(rule))) == parse(rule)


def test_what_is_not_sliced_has_no_path():
    document = parse('protocol P = !a\nrule "r" { before each a require b }')
    assert [item.each for item in document.items] == [None, None]


def test_slices_tell_declarations_apart():
    assert parse("each id: !a") != parse("!a")
    assert parse("each id: !a") != parse("each order.id: !a")
    assert parse("each id: !a") == parse('each "id" : !a')
    assert parse('rule "r" { each id: at most 1 a }') != parse('rule "r" { at most 1 a }')


def test_a_sliced_protocol_is_printed():
    assert print_document(parse("protocol P=each id:!a.?b")) == "protocol P = each id: !a.?b\n"
    assert print_document(parse("each id:!a")) == "each id: !a\n"
    long = ".".join(f"!message{i}" for i in range(12))
    for head in ("protocol P = each order.id:", "each order.id:"):
        lines = print_document(parse(f"{head} {long}")).splitlines()
        assert lines[:3] == [head, "    !message0", "    .!message1"]


def test_a_sliced_rule_is_printed():
    text = 'rule "r" {each  id :before each Pay require Approval}'
    assert print_document(parse(text)) == 'rule "r" { each id: before each Pay require Approval }\n'
    long = f'rule "{"r" * 60}" {{ each id: before each Pay require Approval }}'
    assert print_document(parse(long)).splitlines()[1:] == [
        "    each id:",
        "    before each Pay",
        "    require Approval",
        "}",
    ]


def test_comments_in_a_slice_are_kept():
    text = 'protocol P = each // 1\n id // 2\n : // 3\n !a // 4\nrule "r" { each // 5\n x // 6\n : at most 1 a }'
    tidy = print_document(parse(text))
    assert [c.text for c in parse(tidy).comments] == [f"// {i}" for i in range(1, 7)]
    assert parse(tidy) == parse(text)
    assert print_document(parse(tidy)) == tidy


@pytest.mark.parametrize(
    ("text", "says", "helps"),
    [
        ("each id !a", "expected `:` behind the field of `each`; found `!`", "each order_id: …"),
        ("each id", "expected `:` behind the field of `each`; found the end", "each order_id: …"),
        ("each", "expected the name of a field", "`object.field`"),
        ("each 2nd: !a", "expected the name of a field", 'put it in quotes: "2nd"'),
        ("!a.each id: !b", "in front of a whole protocol or rule", 'stands in quotes: `!"each"`'),
        ("each a: each b: !x", "one instance per value of one field", "one field hold the whole key"),
        ("each id:", "nothing stands behind", ""),
        ('rule "r" { before each path: Edit require Read }', "a slice stands first", "{ each field: before"),
        ('rule "r" { each id: }', "expected a rule", "within D after"),
    ],
)
def test_a_mistake_is_explained(text, says, helps):
    finding = examine(Source(text))[1][0]
    assert says in finding.message
    assert helps in finding.help
