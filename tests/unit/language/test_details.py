"""Clauses, gates and rules as text: what is printed reads as what it was, and every mistake is one sensible error."""

import random
from itertools import product

import pytest
from tests.unit.language.random_documents import LABELS, Random

from accord import Limits
from accord.diagnostics import Source
from accord.language import examine, parse, print_document, print_protocol
from accord.language.clauses import Bind, Collect, Guard, Register, Value
from accord.language.details import print_clause, print_condition, print_pattern, print_rule_body, print_scalar
from accord.language.parser.document import parse_document
from accord.language.rules import Before, Combination, Count, Happened, Not, Pattern, Rule
from accord.language.tree import Action, Declaration, Document


def read(text):
    """What a text declares, whatever the checks would say."""
    document, problems = parse_document(Source(text), Limits())
    assert problems == [], [(problem.code, problem.message, text) for problem in problems]
    return document


def problems(text):
    return [(d.code, text[d.span.start : d.span.end], d.message) for d in parse_document(Source(text), Limits())[1]]


def clauses(text):
    return read(f"!a({text})").declarations[0].body.clauses


def condition(text):
    return read(f'rule "r" {{ before X require {text} }}').rules[0].body.condition


# -- clauses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("x as r", Bind(("x",), "r")),
        ("x.y.z into s", Collect(("x", "y", "z"), "s")),
        ('order."unit price" as p', Bind(("order", "unit price"), "p")),
        ('"" == 1', Guard(("",), "==", Value(1))),
        ("x==1", Guard(("x",), "==", Value(1))),
        ("x != 1.0", Guard(("x",), "!=", Value(1.0))),
        ("x<-1", Guard(("x",), "<", Value(-1))),
        ("x <= r", Guard(("x",), "<=", Register("r"))),
        ("x > 1e3", Guard(("x",), ">", Value(1000.0))),
        ("x >= 1.5e-3", Guard(("x",), ">=", Value(0.0015))),
        ("x in []", Guard(("x",), "in", Value(()))),
        ('x in [1, [2, "a",], null, true,]', Guard(("x",), "in", Value((1, (2, "a"), None, True)))),
        ("x not in s", Guard(("x",), "not in", Register("s"))),
        ('x matches "a b"', Guard(("x",), "matches", Value("a b"))),
        ("x == false", Guard(("x",), "==", Value(scalar=False))),
        ("not in [1]", Guard(("not",), "in", Value((1,)))),
        ("not not in [1]", Guard(("not",), "not in", Value((1,)))),
        ("in in in", Guard(("in",), "in", Register("in"))),
        ("as as as", Bind(("as",), "as")),
        ("into into into", Collect(("into",), "into")),
        ("true == true", Guard(("true",), "==", Value(scalar=True))),
        ("end.rec.each == 1", Guard(("end", "rec", "each"), "==", Value(1))),
        ("x == 0", Guard(("x",), "==", Value(0))),
        ("x == -0.0", Guard(("x",), "==", Value(-0.0))),
        ('x == "\\u00e9\\n"', Guard(("x",), "==", Value("é\n"))),
        ("x // why\n == 1", Guard(("x",), "==", Value(1))),
    ],
)
def test_a_clause_is_read(text, clause):
    (found,) = clauses(text)
    assert found == clause
    assert clauses(print_clause(found)) == (clause,)


def test_literals_of_unlike_types_are_unlike():
    values = [
        Value(1),
        Value(1.0),
        Value(scalar=True),
        Value("1"),
        Value((1,)),
        Value((1.0,)),
        Value((True,)),
        Value(None),
    ]
    for left, right in product(range(len(values)), repeat=2):
        assert (values[left] == values[right]) == (left == right)
    assert len(set(values)) == len(values)
    assert Value(1) != 1


def test_clauses_and_gate_belong_to_their_action():
    body = read("?a(x as r, y > 1,) by human.!b").declarations[0].body
    first, second = body.steps
    assert first == Action("?", "a", clauses=(Bind(("x",), "r"), Guard(("y",), ">", Value(1))), gated=True)
    assert second == Action("!", "b")
    text = "?a(x as r, y > 1,) by human"
    assert text[first.span.start : first.span.end] == text
    assert [text[c.span.start : c.span.end] for c in first.clauses] == ["x as r", "y > 1"]


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("!a()", "()", "at least one clause"),
        ("!a(,)", ",", "name of a field"),
        ("!a(x)", ")", "`as`, `into` or a comparison"),
        ("!a(x", "", "comparison; found the end of the text"),
        ("!a(", "", "name of a field; found the end of the text"),
        ("!a(x == 1", "", "`,` or `)`; found the end of the text"),
        ("!a(x == 1 y == 2)", "y", "`,` or `)`"),
        ("!a(x.== 1)", "=", "name of a field"),
        ("!a(.x == 1)", ".", "name of a field"),
        ("!a(1 == x)", "1", "name of a field"),
        ("!a(2nd == 1)", "2nd", "name of a field"),
        ("!a(x = 1)", "=", "comparison"),
        ("!a(x =< 1)", "=", "comparison"),
        ("!a(x = = 1)", "=", "comparison"),
        ("!a(x ! = 1)", "!", "comparison"),
        ("!a(x === 1)", "=", "literal or a register"),
        ("!a(x <> 1)", ">", "literal or a register"),
        ("!a(x is 1)", "is", "comparison"),
        ("!a(x not 1)", "not", "comparison"),
        ("!a(x not not in [1])", "not", "comparison"),
        ("!a(x ==)", ")", "literal or a register"),
        ("!a(x == end)", "end", "literal or a register"),
        ("!a(x == !b)", "!", "literal or a register"),
        ("!a(x == {})", "{", "literal or a register"),
        ("!a(x == (1))", "(", "literal or a register"),
        ("!a(x == 01)", "01", "no number"),
        ("!a(x == 1a)", "1a", "no number"),
        ("!a(x == 1_0)", "1_0", "no number"),
        ("!a(x == -)", "-", "no number"),
        ("!a(x == --1)", "-", "no number"),
        ("!a(x == - 1)", "-", "no number"),
        ("!a(x == -r)", "-", "no number"),
        ("!a(x == 1.)", ".", "`,` or `)`"),
        ("!a(x == 1e)", "1e", "no number"),
        ("!a(x == 1e-)", "1e-", "no number"),
        ("!a(x == 1.2.3)", "1.2.3", "no number"),
        ("!a(x == .5)", ".", "literal or a register"),
        ("!a(x == 1e400)", "1e400", "too large"),
        ("!a(x == -1e400)", "-1e400", "too large"),
        ("!a(x == " + "9" * 401 + ")", "9" * 401, "no number"),
        ("!a(x == \u0663)", "\u0663", "no number"),
        ("!a(x in [1, 2)", ")", "`,` or `]`"),
        ("!a(x in [1 2])", "2", "`,` or `]`"),
        ("!a(x in [,])", ",", "literal or a register"),
        ("!a(x in [1,,2])", ",", "literal or a register"),
        ("!a(x in [r])", "r", "literal or a register"),
        ("!a(x in " + "[" * 22 + "]" * 22 + ")", "[", "nested deeper than 20"),
        ("!a(x matches 3)", "x matches 3", "is a string"),
        ("!a(x matches r)", "x matches r", "is a string"),
        ("!a(x matches)", ")", "literal or a register"),
        ("!a(x as)", ")", "name of a register after `as`"),
        ("!a(x as 1)", "1", "name of a register after `as`"),
        ('!a(x as "r")', '"r"', "name of a register after `as`"),
        ("!a(x as true)", "true", "name of a register after `as`"),
        ("!a(x into null)", "null", "name of a register after `into`"),
        ("!a(x into end)", "end", "name of a register after `into`"),
        ("!a(x as r.s)", ".", "`,` or `)`"),
        ("?a by", "", "expected `human` after `by`"),
        ("?a by.!b", ".", "expected `human` after `by`"),
        ("?a by robot", "robot", "expected `human` after `by`"),
        ('?a by "human"', '"human"', "expected `human` after `by`"),
        ("?a(x == 1) by !b", "!", "expected `human` after `by`"),
        ("?{a(x = 1), b}", "=", "comparison"),
        ("?{a by robot, b}.!c", "robot", "expected `human` after `by`"),
        ("(!a(x = 1) | !b)", "=", "comparison"),
        ("rec L.!a(x = 1).L", "=", "comparison"),
        ("protocol P = !a(x = 1).end\nprotocol Q = !a", "=", "comparison"),
        ("protocol P = !a(x == 1\nprotocol Q = !a", "", "`,` or `)`"),
    ],
)
def test_a_mistake_in_a_clause_is_one_error(text, place, says):
    ((code, shown, message),) = problems(text)
    assert code == "E013"
    assert shown == place or (place == "" and shown in {"", "protocol"})
    assert says in message


@pytest.mark.parametrize(
    "text",
    [
        "!a(x in [1, !b]).!c",
        "!a(x == (1, 2)).!c",
        "!a(x = [1, (2)]).!c",
        "!a(f(x) == 1).!c",
        "!a(x in [[1], [2, =]]).!c",
    ],
)
def test_brackets_inside_the_mistake_do_not_make_another(text):
    assert len(problems(text)) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("?a by nurse", "said by the label, such as `?NurseApproval by human`"),
        ("!a(x == 1 and y == 2)", "a comma means *and*"),
        ("!a(x == 1 or y == 2)", "a branch for each"),
        ("?b(x as r).!a(x == r + 1)", "nothing is computed"),
        ("!a(x == $r)", "registers by their name alone"),
        ('rule "r" { before A require B; before C require D }', "another sentence is another rule"),
        ("!a -> ?b", "`A -> B: Message` stands in `protocol Name { … }`"),
    ],
)
def test_what_people_write_instead_is_told_how(text, says):
    _, found = parse_document(Source(text), Limits())
    assert says in found[0].help


def test_each_clause_list_has_its_own_error():
    assert [place for _, place, _ in problems("?{a(x = 1), b(y < ), c}.!d(3).?e by x")] == ["=", ")", "3", "x"]


def test_a_mistake_leaves_the_other_declarations_alone():
    document, found = parse_document(Source("protocol P = !a(x = 1)\nprotocol Q = !b(x == 1)"), Limits())
    assert [d.code for d in found] == ["E013"]
    assert [d.name for d in document.declarations] == ["Q"]


# -- numbers and names that have to come back --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "number", [1e15, 1e16, 1e22, -1e22, 1.7976931348623157e308, 5e-324, 1e-5, 123456789.125, 2**70]
)
def test_a_number_is_read_as_it_was_printed(number):
    (guard,) = clauses(f"x != {print_scalar(number)}")
    assert guard.operand == Value(number)


def test_an_exponent_may_have_a_plus():
    assert clauses("x < 1e+3")[0].operand == Value(1000.0)


@pytest.mark.parametrize("segment", ["e\u0301", "\u0301", "\u212b", "é", "a-b", "ª", "x\u200d"])
def test_a_quoted_name_of_a_field_is_kept_as_it_is(segment):
    """Fields are looked up as they are written: bringing them into normal form would find another field."""
    bind = Bind(("x", segment), "r")
    assert clauses(print_clause(bind)) == (bind,)


@pytest.mark.parametrize("label", ["end-user", "each:time", "rec-1", "end-rec:each"])
def test_only_a_whole_label_is_reserved(label):
    for text in (f"!{label}", f"?{{{label}, b}}", f'rule "r" {{ before {label} require {label} }}'):
        assert print_document(read(text)).strip() == text


# -- random clauses ----------------------------------------------------------------------------------------------------


def test_random_clauses_come_back(health):
    make = Random(random.Random(1))
    count = 1500
    kinds = set()
    for _ in range(count):
        clause = make.clause()
        kinds.add((type(clause), getattr(clause, "operator", None)))
        assert clauses(print_clause(clause)) == (clause,)
    assert len(kinds) == 11
    health(f"clauses: {count:,} random ones printed and read")


def test_random_actions_come_back():
    make = Random(random.Random(2))
    for _ in range(600):
        action = make.action()
        assert read(print_protocol(action)).declarations[0].body == action


# -- rules -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "before Mutate require UserConfirm",
        "before each Pay require Approval by human",
        "after Question require Answer",
        "after each Question require any of [Answer, Apology]",
        "after Close forbid Write",
        "at most 3 Retry",
        "forbid Delete then Commit",
        "forbid Delete ... Commit then Push ... Tag",
        "before Disburse require all of [Kyc, Risk, Approval]",
        "before Launch require 2 of [A, B and C, not D]",
        "before Export require Consent and not OptOut",
        "before Pay(amount > 100) require Approval(limit >= 100) by human",
        "before !t require ?t",
        "before X require A or B and C or D",
        "before X require (A or B) and (C or D)",
        "before X require not (A and B)",
        "before X require not not A",
        "before X require (A and B) and C",
        "before X require at least 2 A(x == 1) and at most 0 !B by human",
        'before "not" require "all" and "at" and "any"',
        'before "2nd try" require "end"',
        "before each time require times",
        "forbid then then then",
        "at most 3 most",
        "before before require require",
        "after after forbid forbid",
    ],
)
def test_a_rule_prints_as_it_was_written(text):
    (rule,) = read(f'rule "r" {{ {text} }}').rules
    assert " ".join(print_rule_body(rule.body)) == text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("A or (B and C)", "A or B and C"),
        ("((A))", "A"),
        ("all of [(A or B), C,]", "all of [A or B, C]"),
        ("not (A)", "not A"),
        ("(not A) and B", "not A and B"),
    ],
)
def test_needless_parentheses_are_left_out(text, same):
    assert print_condition(condition(text)) == same
    assert condition(text) == condition(same)


def test_not_and_or():
    a, b, c = (Happened(Pattern(label)) for label in "ABC")
    assert condition("not A and B or C") == Combination("or", (Combination("and", (Not(a), b)), c))
    assert condition("A or B or C") == Combination("or", (a, b, c))
    assert condition("A or (B or C)") == Combination("or", (a, Combination("or", (b, c))))


KEYWORDS = (
    *(
        "not",
        "and",
        "or",
        "all",
        "any",
        "of",
        "at",
        "least",
        "most",
        "by",
        "human",
        "then",
        "require",
        "forbid",
        "before",
    ),
    *("after", "each", "end", "rec", "rule", "protocol", "in", "as", "into", "matches", "true", "null"),
)


@pytest.mark.parametrize("word", KEYWORDS)
def test_a_keyword_can_be_a_label_anywhere(word):
    pattern, other = Pattern(word), Happened(Pattern("X"))
    this = Happened(pattern)
    conditions = [
        this,
        Not(this),
        Count("at least", 1, pattern),
        *(Combination(kind, (this, other)) for kind in ("and", "or", "all", "any")),
        *(Combination(kind, (other, this)) for kind in ("and", "or", "all", "any")),
        Combination("and", (Not(this), this)),
        Combination("some", (this, Not(this)), 1),
    ]
    wrong = []
    for tree in conditions:
        text = print_condition(tree)
        document, found = parse_document(Source(f'rule "r" {{ before X require {text} }}'), Limits())
        if found or document.rules[0].body.condition != tree:
            wrong.append(text)
    assert wrong == []


@pytest.mark.parametrize("word", KEYWORDS)
def test_a_keyword_can_be_a_trigger(word):
    pattern = Pattern(word)
    for text in (
        f"before {print_pattern(pattern)} require X",
        f"before each {print_pattern(pattern)} require X",
        f"after {print_pattern(pattern)} forbid {print_pattern(pattern)}",
        f"forbid {print_pattern(pattern)} then {print_pattern(pattern)} ... {print_pattern(pattern)}",
        f"at most 3 {print_pattern(pattern)}",
    ):
        body = read(f'rule "r" {{ {text} }}').rules[0].body
        assert " ".join(print_rule_body(body)) == text


def test_random_conditions_come_back(health):
    make = Random(random.Random(3))
    count = 800
    for _ in range(count):
        tree = make.condition()
        assert condition(print_condition(tree)) == tree
    health(f"conditions: {count:,} random ones printed and read")


def test_random_documents_come_back(health):
    make = Random(random.Random(4))
    count, rules = 250, 0
    for _ in range(count):
        document = make.document()
        rules += len(document.rules)
        for width in (20, 88, 10_000):
            text = print_document(document, width=width)
            assert read(text).items == document.items, text
            assert print_document(read(text), width=width) == text
    assert rules > count // 2
    health(f"documents: {count:,} random ones with {rules:,} rules printed in three widths and read")


def test_labels_are_all_used():
    make = Random(random.Random(5))
    assert {make.pattern().label for _ in range(1000)} == set(LABELS)


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("", "}", "expected a rule"),
        ("require A", "require", "expected a rule"),
        ("!A", "!", "expected a rule"),
        ('"before" A require B', '"before"', "expected a rule"),
        ("before", "}", "expected a label"),
        ("before each", "}", "expected a label"),
        ("before A", "}", "expected `require`"),
        ("before A forbid B", "forbid", "expected `require`"),
        ("before A, B require C", ",", "expected `require`"),
        ("before A require", "}", "expected a label"),
        ("before A require B C", "C", "expected `}` at the end of the rule"),
        ("before A require B, C", ",", "expected `}` at the end of the rule"),
        ("before A require (B", "}", "expected `)`"),
        ("before A require ()", ")", "expected a label"),
        ("before A require B and", "}", "expected a label"),
        ("before A require and and and and", "}", "expected a label"),
        ("before A require all of B", "B", "expected `[`"),
        ("before A require all of [B", "}", "expected `,` or `]`"),
        ("before A require all of [B C]", "C", "expected `,` or `]`"),
        ("before A require all of []", "all", "at least one condition"),
        ("before A require all of [,]", ",", "expected a label"),
        ("before A require some of [B]", "some", "expected a number"),
        ("before A require -1 of [B]", "-", "expected a label"),
        ("before A require 99999999 of [B]", "99999999", "up to 1000000"),
        ("before A require at least B", "B", "expected a number"),
        ("before A require at most 3", "}", "expected a label"),
        ("before A require 3 B", "3", "does not start with a letter"),
        ("before A require " + "(" * 60 + "B" + ")" * 60, "(", "nested deeper than 50"),
        ("before A require " + "not " * 60 + "B", "not", "nested deeper than 50"),
        ("before A require " + "all of [" * 60 + "B" + "]" * 60, "all", "nested deeper than 50"),
        ("after A", "}", "expected `require` or `forbid`"),
        ("after A then B", "then", "expected `require` or `forbid`"),
        ("after each A forbid B", "after", "`each` goes with `require`"),
        ("after A forbid", "}", "expected a label"),
        ("after A forbid B and C", "and", "expected `}` at the end of the rule"),
        ("at", "}", "expected `most`"),
        ("at least 3 A", "least", "expected `most`"),
        ("at most A", "A", "expected a number"),
        ("at most 1e3 A", "1e3", "expected a number"),
        ("at most \u0663 A", "\u0663", "expected a number"),
        ("at most 1000001 A", "1000001", "up to 1000000"),
        ("at most 3", "}", "expected a label"),
        ("forbid A", "}", "expected `then` or `...`"),
        ("forbid", "}", "expected a label"),
        ("forbid A then", "}", "expected a label"),
        ("forbid A .. B", ".", "expected `then` or `...`"),
        ("forbid A .... B", ".", "expected a label"),
        ("forbid A then B require C", "require", "expected `}` at the end of the rule"),
        ("before end require A", "end", "is reserved"),
        ("before A require !", "}", "expected a label"),
        ("before A require !!B", "!", "expected a label"),
        ("before Bank!A require B", "!", "expected `require`"),
        ("before A() require B", "()", "at least one clause"),
        ("before A(x = 1) require B", "=", "comparison"),
        ("before A by robot require B", "robot", "expected `human`"),
        ("before A require B(x in [1, =])", "=", "literal or a register"),
        ("before A(x == r) require B", "x == r", "rules have no registers"),
        ("before A(x as r) require B", "x as r", "rules have no registers"),
        ('before "" require B', '""', "label is empty"),
    ],
)
def test_a_mistake_in_a_rule_is_one_error(text, place, says):
    before, after = 'rule "first" { at most 1 A }\nrule "r" { ', " }\nprotocol P = !A.end"
    document, found = parse_document(Source(before + text + after), Limits())
    ((code, span, message),) = [(d.code, d.span, d.message) for d in found]
    assert code in {"E012", "E013", "E053"}
    assert (before + text + after)[span.start : span.end] == place
    assert says in message
    assert [item.name for item in document.items if item.name != "r"] == ["first", "P"]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('rule "r" { at most 1 A', ["E013"]),
        ('rule "r" { at most 1 A } }', ["E013"]),
        ('rule "r" { at most 1 A } at most 1 B', ["E013"]),
        ('rule "r" {', ["E013"]),
        ('rule "r', ["E011"]),
        ('rule "a\\q" { at most 1 A }', ["E012"]),
        ('rule "r" at most 1 A }', ["E013"]),
        ("rule r { at most 1 A }", ["E013"]),
        ('!A.end rule "r" { at most 1 A }', ["E013"]),
    ],
)
def test_a_mistake_around_a_rule_is_one_error(text, codes):
    assert [code for code, _, _ in problems(text)] == codes


def test_a_protocol_may_have_messages_called_rule():
    body = read('!rule.?"rule".rec rule.!x.rule').declarations[0].body
    assert print_protocol(body) == "!rule.?rule.rec rule.!x.rule"


def test_rules_and_protocols_keep_their_order():
    text = 'rule "a" { at most 1 A }\nrule "b" { at most 2 A }\n\nprotocol P = !A.end\n\nrule "c" { at most 3 A }\n'
    document = read(text)
    assert [item.name for item in document.items] == ["a", "b", "P", "c"]
    assert [type(item) for item in document.items] == [Rule, Rule, Declaration, Rule]
    assert print_document(document) == text


def test_places_of_a_rule():
    text = 'rule "r" { before A(x > 1) require 2 of [B, at least 3 C] }'
    (rule,) = read(text).rules
    assert isinstance(rule.body, Before)

    def at(span):
        return text[span.start : span.end]

    assert at(rule.span) == text
    assert at(rule.name_span) == '"r"'
    assert at(rule.body.trigger.span) == "A(x > 1)"
    assert at(rule.body.condition.span) == "2 of [B, at least 3 C]"
    assert at(rule.body.condition.conditions[1].pattern.span) == "C"


def test_a_long_rule_is_broken_where_it_reads_best():
    name, labels = "n" * 30, ", ".join(f"Label{i}" for i in range(12))
    text = f'rule "{name}" {{ before each Disburse require all of [{labels}] }}'
    assert print_document(read(text)) == (
        f'rule "{name}" {{\n    before each Disburse\n    require all of [{labels}]\n}}\n'
    )


COMMENTED = """// 1
rule "r" { // 2
    // 3
    before // 4
    A( // 5
        x == 1, // 6
        // 7
        y in [1, // 8
        2]) // 9
    require // 10
    B // 11
    // 12
} // 13
// 14
rule "s" { at most 3 A } // 15
// 16

protocol P = !A( // 17
    x == 1 // 18
    , y as r) // 19
    .?B by // 20
    human // 21
    .!C.end
// 22
"""


def test_no_comment_is_lost_and_none_is_doubled():
    printed = print_document(read(COMMENTED))
    found = [line.split("//")[1].strip() for line in printed.splitlines() if "//" in line]
    assert sorted(found, key=int) == [str(n) for n in range(1, 23)]
    assert read(printed).items == read(COMMENTED).items


@pytest.mark.parametrize("width", [30, 60, 88, 200])
def test_printing_comments_in_rules_twice_changes_nothing(width):
    once = print_document(read(COMMENTED), width=width)
    assert print_document(read(once), width=width) == once


def test_comments_at_random_places_survive():
    random_ = random.Random(6)
    make = Random(random_)
    for _ in range(120):
        words = print_document(make.document()).split(" ")
        # A space inside a quoted text is no place for a comment, so only texts that are read as before are looked at.
        for number in range(5):
            words.insert(random_.randrange(len(words)), f"//{number}\n")
        text = " ".join(words)
        document, found = parse_document(Source(text), Limits())
        if found or len(document.comments) != 5:
            continue
        printed = print_document(document)
        again = read(printed)
        assert again.items == document.items
        assert sorted(c.text for c in again.comments) == sorted(c.text for c in document.comments)


def test_the_checks_take_random_documents_without_a_crash(health):
    make = Random(random.Random(7))
    codes = set()
    count = 250
    for _ in range(count):
        text = print_document(make.document())
        codes.update(d.code for d in examine(Source(text))[1])
    assert {"E024", "E040", "E041", "E044", "E045", "E046", "W051", "E052", "E055"} <= codes
    health(f"checks: {count:,} random documents examined, with findings {', '.join(sorted(codes))}")


def test_parse_gives_rules_and_declarations():
    document = parse('protocol P = !A.end rule "r" { at most 1 A }')
    assert isinstance(document, Document)
    assert (len(document.declarations), len(document.rules)) == (1, 1)
