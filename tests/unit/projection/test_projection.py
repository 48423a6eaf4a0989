"""Which event a happening is, and whom it reaches."""

from __future__ import annotations

import pytest

from accord.choreography.compiling import compile_contract
from accord.errors import UsageError
from accord.projection import Happening, projection_of
from accord.sources.model import Message


def seen(contract, happening, protocol=None):
    outcome, event, _, _ = projection_of(compile_contract(contract), protocol).event(happening)
    if event is None:
        return outcome
    return f"{outcome} {event.word}{' to rules' if event.to_rules else ''}"


RULE = '\nrule "r" { before !b require ?a }'


@pytest.mark.parametrize(
    ("contract", "happening", "expected"),
    [
        ("!a.?a.end", Happening("call", "a"), "event !a"),
        ("!a.?a.end", Happening("call", "zzz"), "event !zzz"),
        ("!a.?a.end", Happening("result", "a"), "event ?a"),
        ("!a.?a.end", Happening("error", "a"), "event ?a"),
        ("!a.end", Happening("result", "a"), "unmatched"),
        ("protocol P = !a.!b.end" + RULE, Happening("result", "a"), "event ?a to rules"),
        ("protocol P = each k: !a.!b.end" + RULE, Happening("result", "a"), "event ?a to rules"),
        ("protocol P = !a.?a.!b.end" + RULE, Happening("result", "a"), "event ?a"),
        (RULE, Happening("result", "a"), "event ?a"),
        (RULE, Happening("result", "b"), "unmatched"),
        (RULE, Happening("call", "zzz"), "event !zzz"),
        ("!a.?a by human.end", Happening("result", "a"), "unmatched"),
        ("!a.end", Message("result", 0, None, "a", labelled=True), "event ?a"),
        ("!a.end", Happening("result", "a", call=Happening("user call", "a")), "unmatched"),
        ("!a.end", Happening("user", value="hi"), "unmatched"),
        ("!a.end", Happening("call", None), "unknown call"),
        ("events { A when call a }\nprotocol P = !A.end", Happening("call", "b"), "unknown call"),
        ('events { A when call a }\nrule "r" { at most 1 A }', Happening("call", "b"), "unmatched"),
        ("events { ignore when call b  A when call a }\nprotocol P = !A.end", Happening("call", "b"), "ignored"),
        ('events { A when user says "x" }\nprotocol P = ?A.end', Happening("user", value="x"), "event ?A by user"),
        ('events { A when agent says "x" B when call b }\nprotocol P = !B.end\nrule "r" { at most 1 !A }',
         Happening("agent", value="x"), "event !A to rules"),
        ("?Approval.end", Happening("event", "Approval", by="ana"), "event ?Approval by ana"),
        ("?Approval.end", Happening("event", "Aproval"), "unnamed ?Aproval"),
        (RULE, Happening("event", "Aproval"), "unnamed"),
        ("!Order.end", Happening("event", "Order", direction="!"), "event !Order"),
        ("!Order.end", Happening("event", "Order"), "unnamed ?Order"),
        ("events { A when event a }\nprotocol P = ?A.end", Happening("event", "a"), "event ?A"),
        ("events { A when event a }\nprotocol P = ?A.end", Happening("event", "A"), "unnamed"),
    ],
)  # fmt: skip
def test_what_a_happening_is(contract, happening, expected):
    assert seen(contract, happening) == expected


def test_each_protocol_of_a_contract_has_its_own():
    contract = "protocol P = !a.?a.end\nprotocol Q = !a.end"
    assert seen(contract, Happening("result", "a"), "P") == "event ?a"
    assert seen(contract, Happening("result", "a"), "Q") == "unmatched"
    with pytest.raises(UsageError, match="several protocols"):
        seen(contract, Happening("result", "a"))


def test_it_is_made_once():
    contract = compile_contract("!a.end")
    assert projection_of(contract) is projection_of(contract)


@pytest.mark.parametrize(
    ("contract", "direction", "name", "said"),
    [
        ("?Approval.end", "?", "Aproval", "nothing in the contract speaks of `?Aproval`; did you mean `Approval`?"),
        ("?Approval.end", "!", "Approval", "nothing in the contract speaks of `!Approval`, only of `?Approval`"),
        ("?Approval.end", "?", "zzz", "nothing in the contract speaks of `?zzz`"),
        ("events { A when event approved }\nprotocol P = ?A.end", "?", "aproved",
         "nothing in the contract speaks of `?aproved`; did you mean `approved`?"),
        ("events { A when event approved }\nprotocol P = ?A.end", "?", "A",
         "the contract's events say nothing of the event `A`; a line that does is `A when event A`"),
    ],
)  # fmt: skip
def test_what_a_program_is_told(contract, direction, name, said):
    assert projection_of(compile_contract(contract)).why_unnamed(direction, name) == said


def test_questions():
    projection = projection_of(compile_contract("protocol P = !a.?c.!b.end" + RULE))
    assert projection.names("!", "a") and not projection.names("?", "a")
    assert projection.hears("a") and projection.hears("c") and not projection.hears("b")
    assert projection.watches("!", "b") and not projection.reads_outputs
    assert projection_of(compile_contract("!a.?a(error == null).end")).reads_outputs
    assert projection_of(compile_contract("protocol P = each k: !a.?a.end")).reads_outputs


class Unread(Message):
    """Says so if somebody looks at what it holds."""

    @property
    def payload(self):
        raise AssertionError("nobody should look")


def test_what_nobody_looks_at_is_not_decoded():
    contract = compile_contract('protocol P = rec L.!{a.L, b(x == 1).L}\nrule "r" { at most 1 ?a(x == 1) }')
    projection = projection_of(contract)
    assert projection.event(Unread("call", 0, "{", "a"), skim=True).event.payload == {}
    assert projection.event(Message("call", 0, '{"x": 1}', "b"), skim=True).event.payload == {"x": 1}
    assert projection.event(Message("result", 0, '{"x": 1}', "a"), skim=True).event.payload["x"] == 1


def test_names_without_end_are_not_kept():
    projection = projection_of(compile_contract("!a.end"))
    for number in range(10_100):
        projection.event(Message("call", 0, None, f"n{number}"), skim=True)
    assert len(projection._known) <= 10_000
