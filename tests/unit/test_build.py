"""Every function of the builder makes the tree that the text makes."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import accord
from accord import UsageError
from accord import build as b
from accord.language.rules import Combination, Happened

SAME = {
    "!a.?b.end": b.protocol(None, b.send("a"), b.receive("b"), b.end),
    "B!a.C?b": b.protocol(None, b.send("a", to="B"), b.receive("b", sender="C")),
    "?ok by human": b.protocol(None, b.receive("ok", by_human=True)),
    "!{a, b.end}.!c": b.protocol(None, b.choice(b.send("a"), [b.send("b"), b.end]), b.send("c")),
    "(!a.?b | !c)": b.protocol(None, b.side_by_side([b.send("a"), b.receive("b")], b.send("c"))),
    "rec L.!a.?{b.L, c}": b.protocol(
        None, b.loop("L", b.send("a"), b.choice([b.receive("b"), b.jump("L")], b.receive("c")))
    ),
    '?a(x as r, o.z into k).!b(x == r, y != 1, z < 2, z <= 2, z > -1, z >= 0.5, w in k, w not in ["q", null, true], '
    'v matches "^a")': b.protocol(
        None,
        b.receive("a", b.field("x").bind("r"), b.field("o", "z").collect("k")),
        b.send(
            "b",
            b.field("x") == b.register("r"),
            b.field("y") != 1,
            b.field("z") < 2,
            b.field("z") <= 2,
            b.field("z") > -1,
            b.field("z") >= 0.5,
            b.field("w").is_in(b.register("k")),
            b.field("w").is_not_in(["q", None, True]),
            b.field("v").matches("^a"),
        ),
    ),
    'rule "r" { before A require B }': b.rule("r", b.before("A", "B")),
    'rule "r" { before each A(x > 1) require B by human }': b.rule(
        "r", b.before_each(b.message("A", b.field("x") > 1), b.message("B", by_human=True))
    ),
    'rule "r" { after A require all of [B, not C, at least 2 D] }': b.rule(
        "r", b.after("A", b.all_of("B", b.not_("C"), b.at_least(2, "D")))
    ),
    'rule "r" { after each A require any of [B, !C] }': b.rule(
        "r", b.after_each("A", b.any_of("B", b.message("C", direction="!")))
    ),
    'rule "r" { before A require 2 of [B, C, at most 1 D] }': b.rule(
        "r", b.before("A", b.some_of(2, "B", "C", b.at_most(1, "D")))
    ),
    'rule "r" { after A forbid B }': b.rule("r", b.after_forbid("A", "B")),
    "?a within 24h else !b.!c": b.protocol(None, b.deadline(b.receive("a"), "24h", b.send("b")), b.send("c")),
    "?{a, b} within 500ms else (!x.end).!c": b.protocol(
        None, b.deadline(b.choice(b.receive("a"), b.receive("b")), "500ms", b.send("x"), b.end), b.send("c")
    ),
    "each id: !a.?b": b.protocol(None, b.send("a"), b.receive("b"), each="id"),
    'protocol P = each order."unit price": !a': b.protocol("P", b.send("a"), each=b.field("order", "unit price")),
    "protocol P open = !a": b.protocol("P", b.send("a"), open=True),
    "protocol P open = each id: !a": b.protocol("P", b.send("a"), each="id", open=True),
    'rule "r" { each id: within 7d after A require B and C }': b.rule(
        "r", b.within("7d", "A", Combination("and", (Happened(b.message("B")), Happened(b.message("C"))))), each="id"
    ),
    'rule "r" { at most 3 A }': b.rule("r", b.limit(3, "A")),
    "events { A when call a as named otherwise }": b.events(b.when("A", b.named("call", "a")), b.as_named()),
    "tools { [pay, refund] fails unknown otherwise fails done }": b.tools(
        b.fails("unknown", "pay", "refund"), b.fails("done")
    ),
    'rule "r" { forbid A then B then C }': b.rule("r", b.forbid_adjacent("A", "B", "C")),
    'rule "r" { forbid A ... B }': b.rule("r", b.forbid_ever_after("A", "B")),
}


@pytest.mark.parametrize("text", SAME)
def test_it_is_the_same_tree(text):
    built = b.contract(SAME[text])
    assert built == accord.parse(text)
    assert accord.compile(built) == accord.compile(text)


def test_every_function_is_tried():
    tried = set(re.findall(r"\bb\.(\w+)", Path(__file__).read_text(encoding="utf-8")))
    assert set(b.__all__) <= tried


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: b.send(""),
        lambda: b.send("a", to="not a name"),
        lambda: b.loop("1", b.end),
        b.field,
        lambda: b.field("x").is_in([math.nan]),
        lambda: b.field("x") == object(),
        lambda: b.field("x").matches(1),
        lambda: b.message("A", b.field("x") == b.register("r")),
        lambda: b.message("A", direction=">"),
        lambda: b.limit(-1, "A"),
        lambda: b.limit(number=True, what="A"),
        lambda: b.forbid_adjacent("A"),
        b.all_of,
        b.choice,
        lambda: b.side_by_side(b.end),
        lambda: b.rule(1, b.limit(1, "A")),
        lambda: b.rule("r", b.limit(1, "A"), each=3),
        lambda: b.protocol(None, b.end, each=b""),
        lambda: b.protocol(None, b.end, open=True),
        lambda: b.deadline(b.end, "5s", b.end),
        lambda: b.deadline(b.send("a"), "5s"),
        lambda: b.deadline(b.send("a"), "0s", b.end),
        lambda: b.deadline(b.send("a"), "5", b.end),
        lambda: b.deadline(b.send("a"), 5, b.end),
        lambda: b.within("1.5h", "A", "B"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(wrong):
    with pytest.raises(UsageError):
        wrong()


def test_events():
    document = b.contract(
        b.events(
            b.when("Confirm", b.says("user", matches=r"(?i)\byes\b")),
            b.when("Unrecognized", b.says("user")),
            b.when("Large", b.named("call", "pay", "send"), b.field("amount") > 100),
            b.ignore(b.named("result", "pay"), b.field("text").matches("^Error")),
            b.otherwise("Other"),
        ),
        b.rule("r", b.before("Large", "Confirm")),
    )
    assert str(document) == (
        "events {\n"
        '    Confirm      when user says matches "(?i)\\\\byes\\\\b"\n'
        '    Unrecognized when user says ""\n'
        "    Large        when call in [pay, send] where amount > 100\n"
        '    ignore       when result of pay where text matches "^Error"\n'
        "    Other        otherwise\n"
        "}\n"
        "\n"
        'rule "r" { before Large require Confirm }\n'
    )
    assert accord.compile(document).document.items == document.items


@pytest.mark.parametrize(
    "wrong",
    [
        b.events,
        lambda: b.says("tool", "x"),
        lambda: b.says("user", 3),
        lambda: b.says("user", "x", matches="y"),
        lambda: b.named("calls", "x"),
        lambda: b.named("call"),
        lambda: b.named("call", ""),
        lambda: b.when("", b.says("user")),
        lambda: b.when("A", b.says("user"), b.field("x") == b.register("r")),
        lambda: b.ignore(None, b.field("x") == 1),
    ],
)
def test_wrong_events(wrong):
    with pytest.raises(UsageError):
        wrong()


def test_protocols_between_roles_are_those_of_the_text():
    text = """
    record Pay { amount: Int, tags: List<String>, "odd name": Option<Pay>, ... }
    enum Colour { red, "light blue" }
    protocol P { A -> B: m; B -> A: n }
    protocol Q {
        roles A, B, C
        rec X {
            choice at A { A -> B: go; continue X } or { A -> B: "2nd try" } or crash A { B -> C: sorry }
        }
        par { A -> C: x } and { B -> C: y }
        do P(A = C, B = B)
    }
    """
    built = b.contract(
        b.record("Pay", is_open=True, amount="Int", tags="List<String>", **{"odd name": "Option<Pay>"}),
        b.enum("Colour", "red", "light blue"),
        b.between("P", b.exchange("A", "B", "m"), b.exchange("B", "A", "n")),
        b.between(
            "Q",
            b.repeat(
                "X",
                b.choice_at(
                    "A",
                    [b.exchange("A", "B", "go"), b.again("X")],
                    [b.exchange("A", "B", "2nd try")],
                    crash=[b.exchange("B", "C", "sorry")],
                ),
            ),
            b.all_at_once([b.exchange("A", "C", "x")], [b.exchange("B", "C", "y")]),
            b.do("P", A="C", B="B"),
            roles=["A", "B", "C"],
        ),
    )
    assert built == accord.parse(text)
    assert accord.parse(str(built)) == built


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: b.exchange("A b", "B", "m"), "expected a name"),
        (lambda: b.exchange("A", "B", ""), "expected a label"),
        (lambda: b.choice_at("A"), "at least one branch"),
        (lambda: b.all_at_once([b.exchange("A", "B", "m")]), "at least two parts"),
        (lambda: b.between("P", b.send("a")), "expected a step between roles"),
        (lambda: b.enum("E"), "an enum has members"),
        (lambda: b.record("R", a="Int, b: Int"), "a field has a type"),
        (lambda: b.record("R", a="Int } record S { b: Int"), "a field has a type"),
    ],
)
def test_what_makes_no_sense_between_roles(wrong, message):
    with pytest.raises(UsageError, match=message):
        wrong()


def test_a_type_that_cannot_be_read():
    with pytest.raises(accord.ContractError):
        b.record("R", a="List<")
