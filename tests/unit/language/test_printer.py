"""The printer: what it writes reads as what was written, twice printed is once printed, and no comment is lost."""

import random
from itertools import pairwise

import pytest

from accord.diagnostics import Source
from accord.language import examine, parse, print_document, print_protocol
from accord.language.tree import Action, Choice, Document, End, Interleaving, Recursion, Sequence, Variable, sequence


def fmt(text, **options):
    return print_document(parse(text), **options)


def one_line(text):
    return print_protocol(parse(text).declarations[0].body)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("! a . ?b", "!a.?b"),
        ("(!a)", "!a"),
        ("((!a.?b)).end", "!a.?b.end"),
        ("{!a,!b}", "!{a, b}"),
        ("{!a,?b,}", "{!a, ?b}"),
        ("{B!a, B!b.end}", "B!{a, b.end}"),
        ("{B!a, C!b}", "{B!a, C!b}"),
        ("{end,!a}", "!{end, a}"),
        ("{end}", "{end}"),
        ("!{end}", "{end}"),
        ("(!a|!b|!c)", "(!a | !b | !c)"),
        ("((!a|!b)|!c)", "((!a | !b) | !c)"),
        ("(!a.(!b|!c))", "!a.(!b | !c)"),
        ("(rec X.!a.?{x.X, y}).!b", "(rec X.!a.?{x.X, y}).!b"),
        ("!z.(rec X.!a.X)", "!z.rec X.!a.X"),
        ("rec X.(rec Y.!a.?{x.X, y.Y, z}).!b", "rec X.(rec Y.!a.?{x.X, y.Y, z}).!b"),
        ("(rec X.!a.X | rec Y.!b.Y)", "(rec X.!a.X | rec Y.!b.Y)"),
        ("?{A.rec X.!a.X, B}", "?{A.rec X.!a.X, B}"),
        ('!"2nd try".?"ok"', '!"2nd try".?ok'),
        ('?{"end", a.end}', '?{"end", a.end}'),
    ],
)
def test_one_line(text, printed):
    assert one_line(text) == printed
    assert one_line(printed) == printed


def test_a_short_document_stays_on_one_line():
    assert fmt("!Ask .\n ?{Yes.end,\n No}") == "!Ask.?{Yes.end, No}\n"
    assert fmt("protocol   P=!a") == "protocol P = !a\n"


def test_declarations_stand_apart():
    assert fmt("protocol P = !a protocol Q = !b") == "protocol P = !a\n\nprotocol Q = !b\n"


def test_a_long_document_is_broken_and_indented():
    text = "!Ask.?{Yes.!Book.?Confirmed.end, No.!Thanks.end, Later.!Remind.?Reminded}.!Bye.end"
    assert fmt(text, width=40) == (
        "!Ask\n.?{\n    Yes.!Book.?Confirmed.end,\n    No.!Thanks.end,\n    Later.!Remind.?Reminded,\n}\n.!Bye\n.end\n"
    )


@pytest.mark.parametrize("width", [1, 20, 40, 88])
def test_lines_are_as_short_as_they_can_be(width):
    text = "rec L." + ".".join(f"!step{i}.?{{yes{i}, no{i}.L}}" for i in range(30))
    longest = max(map(len, fmt(text, width=width).splitlines()))
    assert longest <= max(width, 20)


def test_deep_nesting_does_not_make_the_text_quadratic():
    text = "?{a." * 2000 + "!x" + "}" * 2000
    printed = fmt(text)
    assert len(printed) < 500 * 2000
    assert parse(printed) == parse(text)


# -- comments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "// first\n!a\n",
        "!a  // behind\n.?b\n",
        "// one\n// two\n\n!a.?b\n",
        "!a.?b\n// last\n",
        "!a.?b  // last\n",
        "// of P\nprotocol P = !a  // behind P\n\n// of Q\nprotocol Q = !b\n",
    ],
)
def test_a_text_in_canonical_form_is_left_alone(text):
    assert fmt(text) == text


def test_two_comments_behind_a_declaration_print_the_same_twice():
    once = fmt("protocol P = (!a // one\n) // two\nprotocol Q = !b\n")
    assert fmt(once) == once


def test_comments_stay_with_what_they_stand_at():
    text = (
        "// The agent asks once.\n"
        "!Ask // politely\n"
        ".?{\n"
        "  // fine\n"
        "  Yes.end, // done\n"
        "  No // never mind\n"
        "  // nothing else\n"
        "}.!Bye // over\n"
    )
    printed = fmt(text)
    lines = [line.strip() for line in printed.splitlines()]
    assert "// The agent asks once." in lines
    assert "!Ask  // politely" in lines
    assert lines.index("// fine") + 1 == lines.index("Yes.end,  // done")
    assert lines.index("// nothing else") > lines.index("Yes.end,  // done")
    assert lines[-1].endswith("// over")
    assert fmt(printed) == printed


def test_a_document_built_in_code_prints():
    tree = sequence([Action("!", "a"), Choice((Action("?", "b"), End()))])
    assert print_protocol(tree) == "!a.?{b, end}"
    assert Document(()).declarations == ()


# -- random trees ----------------------------------------------------------------------------------------------------


class Trees:
    """Random trees, well-formed or not: the printer does not care whether a loop is guarded."""

    LABELS = ("a", "b", "tool-x", "ns:t", "2nd", "end", "é", 'q"', "x y")

    def __init__(self, seed):
        self.random = random.Random(seed)

    def action(self):
        partner = self.random.choice((None, None, None, "B", "Ä"))
        return Action(self.random.choice("!?"), self.random.choice(self.LABELS), partner)

    def branch(self, depth):
        if self.random.random() < 0.15:
            return End()
        steps = [self.action()]
        if self.random.random() < 0.6:
            steps.append(self.tree(depth))
        return sequence(steps)

    def tree(self, depth):
        kind = self.random.randrange(7) if depth else self.random.randrange(3)
        match kind:
            case 0:
                return self.action()
            case 1:
                return End()
            case 2:
                return Variable(self.random.choice("XYZ"))
            case 3:
                return Choice(tuple(self.branch(depth - 1) for _ in range(self.random.randrange(1, 4))))
            case 4:
                return Interleaving(tuple(self.tree(depth - 1) for _ in range(self.random.randrange(2, 4))))
            case 5:
                return Recursion(self.random.choice("XYZ"), self.tree(depth - 1))
            case _:
                return sequence([self.tree(depth - 1) for _ in range(self.random.randrange(2, 5))])


def read(text):
    """The tree of a text, whatever the checks say about it."""
    document, findings = examine(Source(text))
    form = [d for d in findings if d.code in {"E010", "E011", "E012", "E013", "E016", "E020", "E022"}]
    assert not form, text
    return document


def test_what_is_printed_reads_as_what_it_was():
    trees = Trees(1)
    kinds = set()
    for _ in range(1500):
        tree = trees.tree(trees.random.randrange(5))
        kinds.add(type(tree))
        printed = print_protocol(tree)
        assert read(printed).declarations[0].body == tree, printed
    assert len(kinds) == 7
    assert Sequence in kinds


def test_printing_twice_changes_nothing():
    trees = Trees(2)
    for _ in range(600):
        width = trees.random.choice((1, 20, 40, 88))
        text = print_protocol(trees.tree(4))
        once = print_document(read(text), width=width)
        assert read(once).declarations == read(text).declarations
        assert print_document(read(once), width=width) == once, text


def with_comments(text, random_):
    """The text with comments strewn between its tokens."""
    from accord.language.lexer import tokenise
    from accord.limits import DEFAULT_LIMITS

    tokens = tokenise(Source(text), DEFAULT_LIMITS)[0]
    out, at, count = [], 0, 0
    for before, token in pairwise(tokens):
        out.append(text[at : token.start])
        at = token.start
        joint = before.value in "-:" or token.value in "-:"  # a label must not be torn apart
        if not joint and random_.random() < 0.25:
            count += 1
            out.append(
                random_.choice((f" // c{count}\n", f"\n  // c{count}\n", f"\n// c{count}\n\n", f"\n\n//c{count}\n"))
            )
    return "".join(out) + text[at:], count


def test_no_comment_is_lost_or_doubled_and_order_is_kept():
    trees = Trees(3)
    strewn = 0
    for _ in range(600):
        plain = print_protocol(trees.tree(3))
        text, count = with_comments(plain, trees.random)
        strewn += count
        printed = print_document(read(text), width=trees.random.choice((20, 88)))
        document = read(printed)
        assert document.declarations == read(plain).declarations
        assert [c.text for c in document.comments] == [c.text for c in read(text).comments], text
    assert strewn > 1000


def test_printing_twice_changes_nothing_with_comments():
    trees = Trees(4)
    for _ in range(600):
        text, _ = with_comments(print_protocol(trees.tree(3)), trees.random)
        once = print_document(read(text))
        assert print_document(read(once)) == once, text


def test_several_declarations_with_comments():
    trees = Trees(5)
    for _ in range(200):
        parts = [f"protocol P{i} = {print_protocol(trees.tree(2))}" for i in range(3)]
        text, _ = with_comments("\n".join(parts), trees.random)
        once = print_document(read(text))
        again = read(once)
        assert [d.name for d in again.declarations] == ["P0", "P1", "P2"]
        assert again.declarations == read(text).declarations
        assert [c.text for c in again.comments] == [c.text for c in read(text).comments], text
        assert print_document(again) == once, text
