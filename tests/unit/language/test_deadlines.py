"""Deadlines in text: the tree they make, and what is said about mistakes."""

import pytest

from accord import UsageError
from accord.diagnostics import Source
from accord.language import examine, parse, print_document, print_protocol
from accord.language.rules import Combination, Count, Happened, Pattern, Within
from accord.language.tree import (
    Action,
    Choice,
    Deadline,
    End,
    Interleaving,
    Recursion,
    Sequence,
    Variable,
    sequence,
)

A, B, C, X = (Action("?", label) for label in "abcx")


def body(text):
    return parse(text).declarations[0].body


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("?a within 5s else ?b", Deadline(A, 5_000, B)),
        ("?a within 5s else ?b.?c", sequence([Deadline(A, 5_000, B), C])),
        ("?a within 5s else (?b.?c)", Deadline(A, 5_000, sequence([B, C]))),
        ("?a within 5s else ((?b))", Deadline(A, 5_000, B)),
        ("?a within 5s else end", Deadline(A, 5_000, End())),
        ("rec L.?x.?a within 5s else L", Recursion("L", sequence([X, Deadline(A, 5_000, Variable("L"))]))),
        ("?a within 5s else ?b within 1s else ?c", Deadline(A, 5_000, Deadline(B, 1_000, C))),
        ("?a within 5s else (?b within 1s else ?c)", Deadline(A, 5_000, Deadline(B, 1_000, C))),
        ("?{a, b} within 5s else ?c", Deadline(Choice((A, B)), 5_000, C)),
        ("?a within 5s else ?{b, c}.?x", sequence([Deadline(A, 5_000, Choice((B, C))), X])),
        ("?a within 5s else ?{b, c} within 1s else ?x", Deadline(A, 5_000, Deadline(Choice((B, C)), 1_000, X))),
        ("?a within 5s else (?b | ?c).?x", sequence([Deadline(A, 5_000, Interleaving((B, C))), X])),
        ("(?a within 5s else ?b | ?c)", Interleaving((Deadline(A, 5_000, B), C))),
        ("?{a.?b within 5s else ?c, x}", Choice((sequence([A, Deadline(B, 5_000, C)]), X))),
        ("?a within 5s else (rec L.?b.L)", Deadline(A, 5_000, Recursion("L", sequence([B, Variable("L")])))),
        ("(?a within 5s else ?b).?c", sequence([Deadline(A, 5_000, B), C])),
        ("(?a).?b within 5s else ?c", sequence([A, Deadline(B, 5_000, C)])),
        ("?within within 5s else ?else", Deadline(Action("?", "within"), 5_000, Action("?", "else"))),
        (
            "?a(x == 1) by human within 5s else ?b",
            Deadline(body("?a(x == 1) by human"), 5_000, B),
        ),
    ],
)
def test_the_tree_of_a_deadline(text, tree):
    read = body(text)
    assert read == tree
    assert hash(read) == hash(tree)
    assert body(print_protocol(read)) == tree


def test_deadlines_differ_by_their_time_and_what_follows():
    deadline = Deadline(A, 5_000, B)
    assert deadline != Deadline(A, 5_001, B)
    assert deadline != Deadline(A, 5_000, C)
    assert deadline != Deadline(B, 5_000, B)
    assert deadline.children() == (A, B)
    assert repr(deadline) == "Deadline('?a within 5s else ?b')"


@pytest.mark.parametrize("timed", [End(), Variable("L"), sequence([A, B]), Interleaving((A, B)), Deadline(A, 1, B)])
def test_only_messages_and_choices_have_deadlines(timed):
    with pytest.raises(UsageError, match="a message or a choice"):
        Deadline(timed, 5_000, B)


@pytest.mark.parametrize("milliseconds", [0, -1, 1.5, True, None, "5s", 10**13])
def test_a_deadline_is_whole_milliseconds_away(milliseconds):
    with pytest.raises(UsageError, match="milliseconds"):
        Deadline(A, milliseconds, B)


def test_a_branch_does_not_begin_with_a_deadline():
    with pytest.raises(UsageError, match="begins with an action"):
        Choice((Deadline(A, 5_000, B),))


def test_a_deadline_knows_its_place():
    text = "!go.?a within 5s else (!b.!c).end"
    deadline = body(text).steps[1]
    assert text[slice(*deadline.span)] == "?a within 5s else (!b.!c"
    assert text[slice(*deadline.body.span)] == "?a"
    assert text[slice(*deadline.otherwise.span)] == "!b.!c"
    assert isinstance(deadline.otherwise, Sequence)


@pytest.mark.parametrize(
    ("text", "says", "helps"),
    [
        ("?{a within 5s else end, b}", "has no deadline of its own", "behind the closing brace"),
        ("(?a.?b) within 5s else end", "behind a label or behind the closing brace", "?label within D else"),
        ("?a within 5s.?b", "expected `else`", "`else end`"),
        ("?a within 5s else", "what follows if it is late; found the end", "`else end`"),
        ("?a within 5s else | ?b", "what follows if it is late; found `|`", "`else end`"),
        ("?a within 5s by human else end", "found `by`", "by human within D else"),
        ("?a within 5s else rec L.?b.L", "stands in parentheses", "else (rec Name. …)"),
        ("?a else ?b", "`else` belongs to a deadline", "within D else"),
        ("?a within soon else ?b", "expected a duration; found `soon`", "whole number"),
        ("?a within - 5s else ?b", "never negative", "whole number"),
        ("?a within 5 hours else ?b", "stand together", "write `5h`"),
        ("?a within 5 . 5s else ?b", "has no unit", "write `5s`"),
        ("rec L.?a within 5s else L", "turn without any message", "a deadline that passes is no message"),
        ("?a within 5s else ?b.?c within 1s else X", "`X` is not bound", ""),
    ],
)
def test_a_mistake_is_explained(text, says, helps):
    finding = examine(Source(text))[1][0]
    assert says in finding.message
    assert helps in finding.help


def test_one_mistake_is_one_error():
    text = "?a within 0s else !b within else !c.?{d within 5 else end}.X"
    assert [d.code for d in examine(Source(text))[1]] == ["E018", "E018", "E029", "E018"]


def test_a_long_deadline_is_broken_before_else():
    text = f"protocol P = !Ask.?{'a' * 60} within 24h else !{'b' * 20} within 7d else !c.?Done.end"
    lines = print_document(parse(text)).splitlines()
    assert lines == [
        "protocol P =",
        "    !Ask",
        f"    .?{'a' * 60} within 24h",
        f"        else !{'b' * 20} within 7d",
        "        else !c",
        "    .?Done",
        "    .end",
    ]


def test_a_bracket_behind_else_stays_on_its_line():
    text = f"protocol P = !Ask.?a within 24h else ({'.'.join(f'!message{i}' for i in range(12))}).?b"
    lines = print_document(parse(text)).splitlines()
    assert lines[2] == "    .?a within 24h else ("
    assert lines[-2:] == ["    )", "    .?b"]


def test_comments_in_a_deadline_are_kept():
    text = (
        "protocol P = ?a // 1\n within // 2\n 5s // 3\n else // 4\n ( // 5\n !x // 6\n .end // 7\n ) // 8\n .!b // 9\n"
    )
    tidy = print_document(parse(text))
    assert [c.text for c in parse(tidy).comments] == [f"// {i}" for i in range(1, 10)]
    assert print_document(parse(tidy)) == tidy
    assert parse(tidy) == parse(text)


def test_a_rule_in_time():
    (rule,) = parse('rule "r" { within 24h after A require B and at least 2 ?C }').rules
    condition = Combination("and", (Happened(Pattern("B")), Count("at least", 2, Pattern("C", "?"))))
    assert rule.body == Within(86_400_000, Pattern("A"), condition)
    assert print_document(parse(str(parse('rule "r" { within 1440m after A require B }')))) == (
        'rule "r" { within 24h after A require B }\n'
    )


def test_a_label_called_within_in_a_rule():
    (rule,) = parse('rule "r" { within 1s after within require after }').rules
    assert rule.body == Within(1_000, Pattern("within"), Happened(Pattern("after")))


@pytest.mark.parametrize("depth", [50_000])
def test_depth_costs_no_recursion(depth):
    text = "?a within 1s else " * depth + "end"
    document, findings = examine(Source(text))
    assert not findings
    again = examine(Source(print_document(document)))[0]
    assert again == document
    assert hash(again.declarations[0].body) == hash(document.declarations[0].body)
