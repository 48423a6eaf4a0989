from __future__ import annotations

import re

import pytest

from accord.choreography.compiling import compile_contract
from accord.errors import UsageError
from accord.language.labels import quote
from accord.machine.codec import decode_machine
from accord.machine.draw import FORMATS, draw, draw_contract
from accord.machine.draw.text import draw_states, neighbourhood
from accord.machine.tables import Late, Machine, Plain, Symbol

HOSTILE = [
    'a"b',
    "a:b; c",
    "<b>&amp;</b>",
    "\x1b[31m",
    "[red]",
    "\\",
    "\\N",
    "#quot;",
    "%%{init}",
    "-->",
    "\u202e",
    "\n",
    "end",
    "日本",
]
DATA = """
    ?quote(total as t, items into seen).!{pay(amount <= t, currency == "<b>&\\u001b"), "a\\"b"(x matches "\\\\d")}
    .?Approval by human.end
"""
TIMED = """
    protocol Order = each order.id:
        !create(total as t).?{accepted, rejected.end} within 24h else (!remind.?accepted within 90m else end)
        .(!ship within 500ms else !"late\\u001b" | !bill).end
"""
PARTS = "rec L.!s.(!a.?b | !a.?b | !c).{!again.L, end}"


def machine(text):
    return compile_contract(text).machine()


def hostile_rules():
    return [
        f"rule {quote(label)} {{ each {quote(label)}: "
        f"within 90m after {quote(label)}(x == {quote(label)}) require y by human }}"
        for label in HOSTILE
    ]


def hostile():
    symbols = tuple(Symbol("!", label) for label in HOSTILE)
    state = Plain(tuple((i, 0) for i in range(len(symbols))), None, Late(86_400_000, 1))
    return Machine(symbols, (state, Plain((), "end")), 'na"me\n\x1b', tuple(HOSTILE))


# A grammar of the part of DOT that is used: statements with quoted strings in which every quote is escaped.
STRING = r'"(?:[^"\\\n]|\\[\\"l])*"'
ATTRIBUTES = rf"\[\w+=(?:\w+|{STRING})(?:, \w+=(?:\w+|{STRING}))*\]"
DOT_LINE = re.compile(rf"    (?:rankdir=LR|label={STRING}|\w+ {ATTRIBUTES}|\w+ -> \w+(?: {ATTRIBUTES})?);\Z")
DOT_START = re.compile(rf"digraph {STRING} {{\Z")

MERMAID_LINE = re.compile(
    r"""[ ]{4}(?:direction\ LR
        | state\ (?:"\d+"\ as\ s\d+|s\d+\ <<fork>>)
        | (?:s\d+|\[\*\])\ -->\ (?:s\d+|\[\*\])(?:\ :\ (?:[\w !?.-]|\#(?:\d+|quot|lt|gt|amp);)+)?
        | state\ "(?:[\w !?.-]|\#(?:\d+|quot|lt|gt|amp);)+"\ as\ rule\d+
        | classDef\ (?:current|rule)\ [^;]+
        | class\ s\d+(?:,s\d+)*\ current
        | class\ rule\d+(?:,rule\d+)*\ rule)\Z""",
    re.VERBOSE,
)


@pytest.mark.parametrize(
    "example",
    [machine("end"), machine(PARTS), machine("rec L.(!a | !b).L"), machine(DATA), machine(TIMED), hostile()],
)
@pytest.mark.parametrize("current", [None, [0]])
class TestEveryMachine:
    def test_dot_is_well_formed(self, example, current):
        first, *lines, last = draw(example, "dot", current).split("\n")
        assert DOT_START.match(first)
        assert last == "}"
        for line in lines:
            assert DOT_LINE.match(line), line

    def test_mermaid_is_well_formed(self, example, current):
        lines = draw(example, "mermaid", current).split("\n")
        if example.name:
            assert lines[0] == lines[2] == "---"
            assert re.match(rf"title: {STRING}\Z", lines[1])
            lines = lines[3:]
        assert lines[0] == "stateDiagram-v2"
        for line in lines[1:]:
            assert MERMAID_LINE.match(line), line

    def test_json_is_read_back(self, example, current):
        assert decode_machine(draw(example, "json", current)) == example

    @pytest.mark.parametrize("format_", FORMATS)
    def test_nothing_hidden_is_ever_written(self, example, current, format_):
        drawing = draw(example, format_, current)
        assert not any(c in drawing for c in "\x1b\u202e\r\x7f\x9b")
        assert drawing == draw(example, format_, current)
        assert not drawing.endswith("\n")


def test_text():
    assert draw(machine(PARTS), "text", [0, 2]).splitlines() == [
        "bare protocol, 7 states",
        "●→ 0  !s → 1",
        "   1  (2 | 2 | 3) then 4",
        "●  2  !a → 5",
        "   3  !c → 6",
        "   4  !again → 0, end",
        "   5  ?b → 6",
        "   6  end",
    ]


@pytest.mark.parametrize("protocol", ["", "protocol P = !a.end", "protocol P = !a.end\nprotocol Q = !b.end"])
class TestRules:
    def contract(self, protocol):
        return compile_contract("\n".join([protocol, *hostile_rules()]))

    def test_dot_is_well_formed(self, protocol):
        for drawing in draw_contract(self.contract(protocol), "dot").split("\n\n"):
            first, *lines, last = drawing.split("\n")
            assert DOT_START.match(first)
            assert last == "}"
            for line in lines:
                assert DOT_LINE.match(line), line
            assert drawing.count("within 90m after") == len(HOSTILE)

    def test_mermaid_is_well_formed(self, protocol):
        for drawing in draw_contract(self.contract(protocol), "mermaid").split("\n\n"):
            _, _, diagram = drawing.rpartition("---\n")
            first, *lines = diagram.split("\n")
            assert first == "stateDiagram-v2"
            for line in lines:
                assert MERMAID_LINE.match(line), line
            assert drawing.count("within 90m after") == len(HOSTILE)

    def test_text_has_them_once(self, protocol):
        drawing = draw_contract(self.contract(protocol))
        assert drawing.count("within 90m after") == len(HOSTILE)
        assert not any(c in drawing for c in "\x1b\u202e\r\x7f\x9b")


def test_text_of_data_and_gates():
    drawing = draw(machine("?quote(total as t, items into seen).!pay(amount <= t).?ok by human.end"))
    assert drawing.splitlines() == [
        "bare protocol, 4 states",
        " → 0  ?quote(total as t, items into seen) → 1",
        "   1  !pay(amount <= t) → 2",
        "   2  ?ok by human → 3",
        "   3  end",
        "registers: seen (a set), t",
    ]


def test_text_of_deadlines_and_slices():
    assert draw(machine(TIMED)).splitlines() == [
        "protocol Order, each order.id, 9 states",
        " → 0  !create(total as t) → 1",
        "   1  ?accepted → 2, ?rejected → 3, after 24h → 4",
        "   2  (5 | 6) then 3",
        "   3  end",
        "   4  !remind → 7",
        "   5  !bill → 3",
        "   6  !ship → 3, after 500ms → 8",
        "   7  ?accepted → 2, after 90m → 3",
        '   8  !"late\\u001b" → 3',
        "registers: t",
    ]


def test_dot_of_deadlines_and_slices():
    drawing = draw(machine(TIMED), "dot")
    assert '    label="Order: each order.id";\n' in drawing
    assert '    s1 -> s4 [label="after 24h", style=dotted];\n' in drawing


def test_mermaid_of_deadlines_and_slices():
    drawing = draw(machine(TIMED), "mermaid")
    assert drawing.startswith('---\ntitle: "Order: each order.id"\n---\n')
    assert "    s1 --> s4 : after 24h\n" in drawing


def test_a_slice_by_an_odd_field_is_quoted():
    sliced = machine('protocol P = each "a, 9 states".b: !x.end')
    assert draw(sliced).splitlines()[0] == 'protocol P, each "a, 9 states".b, 2 states'
    assert draw(sliced, "mermaid").splitlines()[1] == 'title: "P: each \\"a, 9 states\\".b"'


def test_machines_that_differ_in_their_slice_are_not_equal():
    first, second, third = (machine(f"protocol P = {each}!x.end") for each in ("", "each a: ", "each b: "))
    assert first != second != third != first
    assert len({draw(one, "json") for one in (first, second, third)}) == 3


def test_text_of_a_machine_with_its_rules():
    contract = compile_contract('protocol P = !a.end\nrule "limit" { at most 1 a }')
    shown = draw(contract.machine(), rules=contract.rules.machines)
    assert shown.splitlines()[-3:] == ["", "1 rule", '   "limit"  at most 1 a']


def test_text_breaks_long_rules_behind_their_names():
    labels = ", ".join(f"message{n:02}" for n in range(10))
    contract = compile_contract(
        f'rule "all first" {{ before x require all of [{labels}] }}\nrule "b" {{ at most 1 x }}'
    )
    assert draw_contract(contract).splitlines() == [
        "2 rules",
        '   "all first"',
        f"      before x require all of [{labels}]",
        '   "b"',
        "      at most 1 x",
    ]


def test_text_marks_where_a_loop_may_pause():
    assert draw(machine("rec L.!a.?b.L")).splitlines()[1] == " → 0  !a → 1, pause"
    assert draw(machine("rec L.(!a | !b).L")).splitlines()[1] == " → 0  (1 | 2) then 0, pause"


def test_text_shows_a_state_without_a_way_on():
    assert draw(Machine((), (Plain(),))) == "bare protocol, 1 state\n → 0  nothing"


def test_text_breaks_long_lines_between_edges():
    lines = draw(machine("!{" + ", ".join(f"message{n:02}" for n in range(20)) + "}")).splitlines()
    assert lines[1] == " → 0  !message00 → 1"
    assert lines[2] == "      !message01 → 1"
    assert len(lines) == 22


def test_text_of_some_states_says_that_there_are_more():
    chain = machine(".".join(f"!m{n}" for n in range(20)))
    assert draw_states(chain, {5}, neighbourhood(chain, [5, 4], 4)) == [
        "    …",
        "    4  !m4 → 5",
        "●   5  !m5 → 6",
        "    6  !m6 → 7",
        "    7  !m7 → 8",
        "    …",
    ]


def test_neighbourhood():
    forks = machine(PARTS)
    assert neighbourhood(forks, [1], 4) == {1, 2, 3, 4}
    assert neighbourhood(forks, [1], 100) == set(range(len(forks.states)))
    assert neighbourhood(forks, [3, 2, 1], 2) == {3, 2}


def test_a_deadline_leads_into_the_neighbourhood():
    assert neighbourhood(machine("?a within 5s else !b.!c.end"), [0], 3) == {0, 1, 2}


def test_dot_says_how_many_equal_parts_there_are():
    drawing = draw(machine(PARTS), "dot")
    assert '    s1 -> s2 [label="2 parts", style=dashed];\n' in drawing
    assert '    s1 -> s4 [label="join", style=bold];\n' in drawing


def test_mermaid_ends_and_pauses():
    assert draw(machine("!a.end"), "mermaid").endswith("    s1 --> [*]")
    assert "    s0 --> [*] : pause" in draw(machine("rec L.!a.?b.L"), "mermaid")


def test_an_unknown_format():
    with pytest.raises(UsageError, match="`text`, `dot`, `mermaid`, `json`, got 'svg'"):
        draw(machine("end"), "svg")
