"""The parser beyond what tests/spec/errors.md pins: messages, recovery, spans, and texts made to break it."""

import random

import pytest

import accord
from accord import ContractError, Limits, UsageError
from accord.diagnostics import Source
from accord.language import examine, parse
from accord.language.tree import Action, Choice, End, Interleaving, Recursion, Sequence, Variable, sequence


def body(text):
    return parse(text).declarations[0].body


def findings(text, limits=None):
    return examine(Source(text), limits or Limits())[1]


def summary(text, limits=None):
    return [f"{d.code} {d.source.line_and_column(d.span.start)}" for d in findings(text, limits)]


def act(word):
    return Action(word[0], word[1:])


# -- trees -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("!a", act("!a")),
        ("end", End()),
        ("(((!a)))", act("!a")),
        ("!a.?b", Sequence((act("!a"), act("?b")))),
        ("(!a.?b).!c", Sequence((act("!a"), act("?b"), act("!c")))),
        ("!{a, b}", Choice((act("!a"), act("!b")))),
        ("B?{a, b}", Choice((Action("?", "a", "B"), Action("?", "b", "B")))),
        ("{!a, ?b, end}", Choice((act("!a"), act("?b"), End()))),
        ("(!a | ?b)", Interleaving((act("!a"), act("?b")))),
        ("rec X.!a.X", Recursion("X", Sequence((act("!a"), Variable("X"))))),
        ("(rec X.!a).!b", Sequence((Recursion("X", act("!a")), act("!b")))),
        ("rec X.!a.!b", Recursion("X", Sequence((act("!a"), act("!b"))))),
        ("?{A.rec X.!a, B}", Choice((Sequence((act("?A"), Recursion("X", act("!a")))), act("?B")))),
        ("((!a | !b) | !c)", Interleaving((Interleaving((act("!a"), act("!b"))), act("!c")))),
    ],
)
def test_texts_and_their_trees(text, tree):
    assert body(text) == tree
    assert hash(body(text)) == hash(tree)


def test_trees_differ_where_texts_differ():
    texts = ["!a", "?a", "!b", "B!a", "C!a", "!a.!a", "{!a}", "{!a, end}", "(!a | !a)", "rec X.!a", "rec Y.!a", "end"]
    trees = [body(text) for text in texts]
    for index, tree in enumerate(trees):
        assert [i for i, other in enumerate(trees) if tree == other] == [index]


@pytest.mark.parametrize(
    "text", ["!a", "  !a.?b ", "x!a", "rec X . !a . X", "( !a | ?b )", "?{ a, b }", "{ !a , end }", "B?{ a }"]
)
def test_spans_cover_the_text(text):
    span = body(text).span
    assert text[span.start : span.end] == text.strip()


def test_spans_of_inner_nodes():
    text = "!a.(?b | Bank!c).rec X.!d.X"
    tree = body(text)
    written = [text[step.span.start : step.span.end] for step in tree.steps]
    assert written == ["!a", "(?b | Bank!c)", "rec X.!d.X"]
    assert [text[p.span.start : p.span.end] for p in tree.steps[1].parts] == ["?b", "Bank!c"]


def test_a_declaration_knows_its_name_and_place():
    text = "protocol P = !a\nprotocol Q =\n  !b.?c"
    first, second = parse(text).declarations
    assert (first.name, second.name) == ("P", "Q")
    assert text[slice(*first.span)] == "protocol P = !a"
    assert text[slice(*second.span)] == "protocol Q =\n  !b.?c"
    assert text[slice(*second.name_span)] == "Q"


def test_nodes_keep_their_normal_form():
    with pytest.raises(UsageError):
        Choice(())
    with pytest.raises(UsageError):
        Choice((Variable("X"),))
    with pytest.raises(UsageError):
        Sequence((act("!a"),))
    with pytest.raises(UsageError):
        Sequence((act("!a"), sequence([act("!a"), act("!b")])))
    with pytest.raises(UsageError):
        Interleaving((act("!a"),))
    with pytest.raises(UsageError):
        sequence([])


def test_nodes_are_frozen():
    with pytest.raises(AttributeError):
        act("!a").label = "b"


# -- the interface ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [None, b"!a", 7, ["!a"]])
def test_a_contract_text_is_a_str(text):
    with pytest.raises(UsageError):
        parse(text)
    with pytest.raises(UsageError):
        accord.compile(text)


def test_parse_raises_with_all_findings():
    with pytest.raises(ContractError) as caught:
        parse("!a.X.?{}", name="my.accord")
    assert [d.code for d in caught.value.diagnostics] == [d.code for d in findings("!a.X.?{}")]
    assert "my.accord:1:" in str(caught.value)


def test_warnings_do_not_raise():
    assert parse("!p\u0430y").declarations


def test_examine_returns_what_it_could_read():
    document, found = examine(Source("protocol Bad = !a ?b\nprotocol Good = !c"))
    assert [d.name for d in document.declarations] == ["Good"]
    assert [d.code for d in found] == ["E013"]


# -- messages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message", "help_"),
    [
        ("!a !b", "expected `.` before the next step; found `!`", "steps are separated by `.`"),
        ("!a.", "expected a step; found the end of the text", "a step is"),
        ("!end", "expected a label after `!`; `end` is reserved", 'put it in quotes: "end"'),
        ("?2nd", "expected a label after `?`; `2nd` does not start with a letter", 'put it in quotes: "2nd"'),
        ('!a."b c"', 'expected a step; found `"b c"`', '`!"b c"` or `?"b c"`'),
        ("!a.tool-x", "expected a step; found `tool-x`", "`!tool-x` or `?tool-x`"),
        ("!a | !b", "found `|`", "an interleaving stands in parentheses"),
        ("!a, !b", "found `,`", "the branches of a choice stand in braces"),
        ("{a}", "expected a branch: `!label`, `?label` or `end`; found `a`", "write `!{…}` or `?{…}`"),
        ("!{?a}", "expected a label; found `?`", "the direction stands once"),
        ("rec .!a", "expected a name for the loop; found `.`", "a loop is written `rec Name. …`"),
        ("rec X !a.X", "expected `.` after `rec X`; found `!`", ""),
        ("(!a", "`(` is not closed", "add `)`"),
        ("{!a", "`{` is not closed", "add `}`"),
        ("!a.{}", "the choice has no branches", "name at least one"),
        ("!a.()", "the group is empty", "write `end`"),
        ("", "the contract is empty", "write `end`"),
        ("rec Loop.!a.Lop", "recursion variable `Lop` is not bound", "did you mean `Loop`?"),
        ("rec Loop.!a.loop", "recursion variable `loop` is not bound", "did you mean `Loop`?"),
        ("!Ask.?b.Ask", "recursion variable `Ask` is not bound", "`!Ask` or `?Ask`"),
        ("rec A.rec B.!x.Q", "recursion variable `Q` is not bound", "in scope here: `A`, `B`"),
        ("!a.Q", "recursion variable `Q` is not bound", "a jump needs a `rec` of that name"),
        ("rec X.X", "the loop `X` can turn without any message", "exchange a message"),
        ("?{a, a}", "`?a` stands twice in one choice", "join the two branches"),
        ("!a.end.!b", "this can never be reached", "remove it"),
        ("rec X.(!a.X | !b)", "`X` jumps out of a part of an interleaving", "`(… | …).X`"),
        ("protocol P = !a protocol P = !b", "protocol `P` is declared twice", "another name"),
        ("protocol end = !a", "`end` cannot be the name of a protocol", ""),
    ],
)
def test_messages_and_help(text, message, help_):
    first = findings(text)[0]
    assert message in first.message
    assert help_ in first.help


@pytest.mark.parametrize(
    "text", ["!a.end.!b", "?{a, a}", "rec X.X", "rec X.(!a.X | !b)", "protocol P=!a protocol P=!b"]
)
def test_findings_about_two_places_show_both(text):
    (finding,) = findings(text)
    assert len(finding.notes) == 1
    assert finding.notes[0].span != finding.span


def test_messages_are_in_the_house_style():
    texts = ["!a !b", "!a.", "(", "{", "!{}", "", "!a.X", "rec X.X", "?{a,a}", "!a.end.!b", "$", '"', "rec X.(!a.X|!b)"]
    for finding in (d for text in texts for d in findings(text)):
        assert not finding.message.endswith(".")
        assert finding.message[0].islower() or finding.message[0] == "`"


# -- recovery --------------------------------------------------------------------------------------------------------


def test_many_errors_in_source_order():
    text = """
    protocol A = !a ?b.2nd.(!c | ).?{x y, "q".!"}
    protocol B = rec X.X
    protocol C = ?{a, a}.end.!b
    protocol A = $!ok
    """
    found = findings(text)
    assert len(found) >= 8
    assert {d.code for d in found} >= {"E010", "E011", "E013", "E023", "E024", "E025"}
    assert [d.span for d in found] == sorted(d.span for d in found)


def test_errors_of_one_declaration_do_not_hide_those_of_another():
    broken = "protocol A = !a ?b\n"
    assert summary(broken + "protocol B = ?{a, a}") == ["E013 (1, 17)", "E024 (2, 19)"]


def test_each_of_ten_errors_in_a_row_is_found():
    text = ".".join(["!end"] * 10)
    assert len(findings(text)) == 10


def test_the_limit_on_diagnostics_holds():
    text = ".".join(["!end"] * 500)
    assert len(findings(text)) == Limits().diagnostics
    assert len(findings(text, Limits(diagnostics=7))) == 7
    assert len(findings("(" * 1000, Limits(diagnostics=5))) == 5
    assert len(findings("!a" + ".X" * 300)) == Limits().diagnostics


def test_warnings_never_crowd_out_an_error():
    text = ".".join(["!p\u0430y"] * 150) + ".Nowhere"
    with pytest.raises(ContractError):
        parse(text)
    with pytest.raises(ContractError):
        accord.compile(text)


def test_a_label_is_never_taken_from_the_next_declaration():
    document, found = examine(Source("protocol A = !\nprotocol B = !b"))
    assert [d.name for d in document.declarations] == ["B"]
    assert [d.code for d in found] == ["E013"]


@pytest.mark.parametrize("first", ["!", "?", "rec", "!a.", "{", "(", "{!", "B!", "rec X", "rec X.", "!a-", "{!a, B"])
def test_a_declaration_that_breaks_off_leaves_the_next_alone(first):
    document, found = examine(Source(f"protocol A = {first}\nprotocol B = !b.end"))
    assert [d.name for d in document.declarations] == ["B"]
    assert found
    assert document.declarations[0].body == body("!b.end")


def test_nothing_is_read_silently_past_an_error():
    # every bracket of a text that is cut anywhere is missed, or the text is complete
    text = "protocol P = rec X.!a.(?{b.X, c} | {!d, end}).Bank!{e, f}"
    for cut in range(len("protocol P = "), len(text)):
        piece = text[:cut]
        open_ = piece.count("(") + piece.count("{") - piece.count(")") - piece.count("}")
        assert not open_ or findings(piece), piece


# -- texts made to break the parser ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "(" * 20_000,
        "{" * 20_000,
        ")" * 20_000,
        "}" * 20_000,
        "({" * 10_000,
        "(!a|" * 10_000,
        "rec X." * 10_000,
        "!{a." * 10_000,
        "." * 20_000,
        "|" * 20_000,
        "," * 20_000,
        "!" * 20_000,
        "a " * 20_000,
        "protocol P = " * 20_000,
        "{!a,}" * 20_000,
        "?{a b}." * 20_000,
    ],
    ids=lambda text: text[:6],
)
def test_floods_are_refused_with_few_findings(text):
    found = findings(text)
    assert 0 < len(found) <= Limits().diagnostics


def test_deep_trees_can_be_compared_hashed_and_shown():
    text = "?{a." * 5_000 + "!x" + "}" * 5_000
    left, right = body(text), body(text)
    assert left == right
    assert hash(left) == hash(right)
    assert repr(left).startswith("Choice(")
    assert left != body("?{a." * 5_000 + "!y" + "}" * 5_000)


PIECES = [
    *"!?{}()|.,=:-",
    "a",
    "b",
    "X",
    "rec ",
    "rec X.",
    "end",
    "each",
    "protocol ",
    "protocol P = ",
    '"q"',
    '"\\q"',
    '"',
    "\n",
    " ",
    "// c\n",
    "2nd",
    "é",
    "$",
    "Bank",
]


def diagnostics_of(text):
    """What the compiler has against a text; nothing if it compiles. Anything else it raises fails the test."""
    try:
        accord.compile(text)
    except ContractError as error:
        return error.diagnostics, str(error)
    return (), ""


def check_refusal(text):
    """Whether the text is refused; if so, in good order."""
    diagnostics, shown = diagnostics_of(text)
    if diagnostics:
        assert shown
        assert any(d.severity == "error" for d in diagnostics), text
        assert all(0 <= d.span.start <= d.span.end <= len(text) for d in diagnostics), text
    return bool(diagnostics)


def test_no_text_makes_the_compiler_fail():
    random_ = random.Random(20)
    texts = ["".join(random_.choices(PIECES, k=random_.randrange(1, 9))) for _ in range(6000)]
    refused = sum(map(check_refusal, texts))
    assert 4000 < refused < len(texts) - 50


def test_no_damage_to_a_good_text_makes_the_compiler_fail():
    random_ = random.Random(21)
    good = 'protocol P = rec X.!a.(?{b, c.end, "d e"} | {!f, end}).Bank!{g.end, h}.rec Y.{?i.Y, end}'
    assert not check_refusal(good)
    refused = 0
    for _ in range(4000):
        text = list(good)
        for _ in range(random_.randrange(1, 4)):
            at = random_.randrange(len(text))
            match random_.randrange(3):
                case 0:
                    del text[at]
                case 1:
                    text.insert(at, random_.choice(PIECES))
                case _:
                    text[at] = random_.choice(PIECES)
        refused += check_refusal("".join(text))
    assert refused > 2000
