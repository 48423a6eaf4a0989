"""`accord project`, and other commands on protocols between roles."""

import json

PAIR = "protocol P { A -> B: x; B -> A: y }"
TWO = PAIR + " protocol Q { C -> D: z }"


def test_a_role(accord, write):
    result = accord("project", write(PAIR), "--role", "B")
    assert (result.exit_code, result.stdout) == (0, "protocol B = A?x.A!y.end\n")


def test_which_protocol(accord, write):
    assert "say which" in accord("project", write(TWO), "--role", "C").stderr
    assert accord("project", write(TWO), "--role", "C", "--protocol", "Q").stdout == "protocol C = D!z.end\n"
    wrong = accord("project", write(TWO), "--role", "A", "--protocol", "Q")
    assert wrong.exit_code == 2
    assert "its roles are `C`, `D`" in wrong.stderr


def test_rules_that_the_role_can_keep(accord, write):
    text = PAIR + ' protocol Q { A -> C: z } rule "mine" { before y require x } rule "not mine" { before y require z }'
    assert accord("project", write(text), "--role", "B", "--protocol", "P").stdout == (
        'protocol B = A?x.A!y.end\n\nrule "mine" { before y require x }\n'
    )


def test_what_is_printed_is_a_contract(accord, write):
    projected = accord("project", write(PAIR), "--role", "A").stdout
    assert accord("check", write(projected, "a.accord")).exit_code == 0
    assert accord("replay", write(projected, "a.accord"), "B!x B?y").exit_code == 0


def test_the_role_is_needed(accord, write):
    assert accord("project", write(PAIR)).exit_code == 2
    assert accord("project", write("!a.end"), "--role", "A").exit_code == 2


def test_what_cannot_be_followed(accord, write):
    bad = "protocol P { choice at A { A -> B: x; C -> B: k } or { A -> B: y } }"
    for command in (("project", write(bad), "--role", "A"), ("show", write(bad)), ("check", write(bad))):
        result = accord(*command)
        assert result.exit_code == 1
        assert "E036" in result.stdout + result.stderr


def test_everything_is_drawn(accord, write):
    path = write(TWO + ' protocol L = !a.end rule "r" { at most 3 x }')
    shown = accord("show", path).stdout
    for heading in ("protocol L, 2 states", "protocol P between A, B, 3 states", "protocol Q, D, 2 states", "1 rule"):
        assert heading in shown
    found = json.loads(accord("show", path, "--format", "json").stdout)
    assert [item.get("format") for item in found].count("accord.choreography") == 2
    only = accord("show", path, "--protocol", "Q").stdout
    assert "protocol P" not in only and "protocol Q between C, D" in only
    assert accord("show", path, "--protocol", "L").stdout.startswith("protocol L")


def test_names_mean_nothing_to_mermaid(accord, write):
    text = 'protocol P { end_ -> loop: "end"; loop -> end_: "a;b#c<d>"; end_ -> loop: "x\\u001b[31m" }'
    drawn = accord("show", write(text), "--format", "mermaid").stdout
    assert "p0->>p1: #101;nd" in drawn
    assert "a#59;b#35;c#lt;d#gt;" in drawn
    assert "\x1b" not in drawn


def test_one_party_s_commands_say_what_to_do(accord, write):
    result = accord("replay", write(PAIR), "!x")
    assert result.exit_code == 2
    assert "is between roles" in result.stderr
