"""What it means if a call fails: as the contract says, or by default."""

from __future__ import annotations

import pytest

import accord
from accord import build as b
from accord.machine.draw.failures import calls_of, draw_failures


def by_default(text, label="pay"):
    return accord.compile(text).failure_of(label, label)


SAID = """
tools { search fails done [pay, refund] fails undone }
protocol P = !search.!pay.end
rule "r" { at most 1 pay }
"""


def test_the_contract_says_it():
    contract = accord.compile(SAID)
    assert [contract.failure_of(tool, tool) for tool in ("search", "pay", "refund")] == ["done", "undone", "undone"]
    assert contract.failure_of("other", "other") == "undone"
    assert contract.failure_of("other", "pay") == "unknown"


def test_otherwise_is_for_all_others():
    contract = accord.compile('tools { pay fails done otherwise fails undone }\nrule "r" { at most 1 pay }')
    assert contract.failure_of("pay", "pay") == "done"
    assert contract.failure_of("refund", "pay") == "undone"


def test_names_are_those_of_tools_in_normal_form():
    contract = accord.compile('tools { "Zu\\u0308ge" fails done }\nprotocol P = !a')
    assert contract.failure_of("Züge", None) == contract.failure_of("Zu\u0308ge", "a") == "done"


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("protocol P = !pay.?pay.end", "undone"),
        # a limit counts it
        ('rule "r" { at most 3 pay }', "unknown"),
        ('rule "r" { at most 3 !pay(amount > 5) }', "unknown"),
        ('rule "r" { at most 3 ?pay(ok == true) }', "unknown"),
        ('rule "r" { each k: at most 3 pay }', "unknown"),
        ('rule "r" { at most 3 other }', "undone"),
        ('rule "r" { before book require at most 1 pay }', "unknown"),
        ('rule "r" { before book require x and not (y or at most 1 ?pay) }', "unknown"),
        ('rule "r" { after book require at most 1 pay }', "unknown"),
        ('rule "r" { before book require at least 1 pay }', "undone"),
        ('rule "r" { before pay require at most 1 look }', "undone"),
        ('rule "r" { after pay forbid look }', "undone"),
        # a rule wants an approval
        ('rule "r" { before pay require Approval by human }', "unknown"),
        ('rule "r" { before each !pay require x or (y and Approval by human) }', "unknown"),
        ('rule "r" { before pay require not Stop by human }', "unknown"),
        ('rule "r" { before ?pay require Approval by human }', "undone"),
        ('rule "r" { before pay require Approval }', "undone"),
        ('protocol P = ?Approval by human.!x.!pay\nrule "r" { before pay require Approval }', "unknown"),
        ('protocol P = ?Approval by human.!x.!pay\nrule "r" { before pay require !Approval }', "undone"),
        # the protocol has it behind a gate
        ("protocol P = ?ok by human.!pay.end", "unknown"),
        ("protocol P = ?ok by human.?note.?note.!pay.end", "unknown"),
        ("protocol P = ?ok by human.!log.!pay.end", "undone"),
        ("protocol P = ?ok.!pay.end", "undone"),
        ("protocol P = ?{ok by human, no.end}.!pay.end", "unknown"),
        ("protocol P = {?ok by human, !x}.!pay.end", "unknown"),
        ("protocol P = rec L.!{pay.?ok by human.L, end}", "unknown"),
        ("protocol P = rec L.!pay.?{more by human.L, done.end}", "unknown"),
        ("protocol P = ?ok by human.?note within 5s else !pay.end", "unknown"),
        ("protocol P = ?ok by human within 5s else !pay.end", "undone"),
        ("protocol P = (?ok by human.?x | !a).!pay.end", "unknown"),
        ("protocol P = (?ok by human.!x | !a).!pay.end", "undone"),
        ("protocol P = ?ok by human.(!pay | !a).end", "unknown"),
        ("protocol P = (?ok by human.!x | !pay).end", "undone"),
        ("protocol P = (?ok by human.!x | !a.end).!pay.end", "undone"),
        ("protocol P = each k: ?ok by human.!pay.end", "unknown"),
        ("protocol Q = !a\nprotocol P = ?ok by human.!pay.end", "unknown"),
    ],
)
def test_by_default(text, means):
    assert by_default(text) == means


def test_a_call_without_a_label_is_undone():
    assert accord.compile('rule "r" { at most 3 pay }').failure_of("pay", None) == "undone"


def test_the_label_decides_and_not_the_tool():
    contract = accord.compile('events { Pay when call in [pay, send] }\nrule "r" { at most 3 Pay }')
    assert [contract.failure_of("pay", "Pay"), contract.failure_of("pay", "pay")] == ["unknown", "undone"]


def test_it_is_part_of_what_a_contract_is():
    plain = "protocol P = !pay"
    said = [f"tools {{ pay fails {word} }}\n{plain}" for word in ("done", "undone")]
    other = f"tools {{ [pay] fails done }}\n{plain}"
    digests = [accord.compile(text).digest for text in (plain, *said)]
    assert len(set(digests)) == 3
    assert accord.compile(other).digest == digests[1]


def test_it_is_built():
    built = b.contract(b.tools(b.fails("unknown", "pay", "refund"), b.fails("undone")), b.protocol("P", b.send("pay")))
    assert str(built).startswith("tools {\n    [pay, refund] fails unknown\n    otherwise     fails undone\n}\n")
    assert accord.compile(accord.compile(built).to_json()) == accord.compile(built)
    for wrong in (lambda: b.fails("no", "pay"), b.tools, lambda: b.fails("done", "")):
        with pytest.raises(accord.UsageError):
            wrong()


@pytest.mark.parametrize(
    "lines", [[], [{"fails": "no"}], [{"names": [1], "fails": "done"}], [{"names": ["a"]}], [{"fails": "done", "x": 1}]]
)
def test_what_is_no_block(lines):
    value = accord.compile("tools { a fails done }\nprotocol P = !a").to_json()
    value["items"][0]["lines"] = lines
    with pytest.raises(accord.UsageError):
        accord.compile(value)


def test_it_is_shown_with_what_is_so_by_default():
    contract = accord.compile("""
        tools { log fails done }
        protocol P = ?Approval by human.!pay.?pay.!search.!log.end
        rule "r" { at most 2 look }
    """)
    assert draw_failures(contract) == (
        "if a call fails\n"
        "   log     done\n"
        "   look    unknown (by default: a limit counts it)\n"
        "   pay     unknown (by default: it needs an approval)\n"
        "   search  undone (by default)"
    )
    assert draw_failures(accord.compile("protocol P = ?a")) == ""
    said = accord.compile('tools { otherwise fails done }\nrule "r" { before ?a require ?b }')
    assert draw_failures(said) == "if a call fails\n   any other  done"


def test_calls_that_events_name():
    contract = accord.compile("""
        tools { hidden fails done }
        events { Pay when call in [pay, send] where amount > 5  pay when call pay  Said when user says "" }
        rule "r" { at most 3 Pay }
        rule "s" { before pay require Said }
    """)
    assert calls_of(contract) == [("hidden", None), ("pay", "Pay"), ("pay", "pay"), ("send", "Pay")]
