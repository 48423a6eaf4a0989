from __future__ import annotations

import json

import pytest

from accord import compile as compile_contract
from accord.machine.codec import decode_machine

TWO = "protocol P = !a.end\nprotocol Q = ?b.end"


def test_all_protocols_one_after_another(accord, write):
    result = accord("show", write(TWO))
    assert result.exit_code == 0
    assert result.stdout == (
        "protocol P, 2 states\n → 0  !a → 1\n   1  end\n\nprotocol Q, 2 states\n → 0  ?b → 1\n   1  end\n"
        "\nif a call fails\n   a  undone (by default)\n"
    )


RULES = 'rule "a limit" { at most 3 a }\nrule "b" { before b require a by human }'


def test_rules_stand_behind_the_protocols(accord, write):
    result = accord("show", write(f"{TWO}\n{RULES}"))
    assert result.exit_code == 0
    assert (
        ' → 0  ?b → 1\n   1  end\n\n2 rules\n   "a limit"  at most 3 a\n   "b"        before b require a by human\n'
        "\nif a call fails\n   a  unknown (by default: a limit counts it)\n"
    ) in result.stdout
    assert result.stdout.count("2 rules") == 1


def test_rules_alone(accord, write):
    result = accord("show", write(RULES))
    rules = '2 rules\n   "a limit"  at most 3 a\n   "b"        before b require a by human\n'
    fails = "   a  unknown (by default: a limit counts it)\n   b  unknown (by default: it needs an approval)\n"
    assert result.stdout == f"{rules}\nif a call fails\n{fails}"
    assert accord("show", write(RULES), "--protocol", "P").exit_code == 2


def test_rules_among_the_json(accord, write):
    shown = json.loads(accord("show", write(f"{TWO}\n{RULES}"), "--format", "json").stdout)
    assert [entry["format"] for entry in shown] == ["accord.machine"] * 2 + ["accord.rule"] * 2
    assert shown[2] == {"format": "accord.rule", "version": 1, "name": "a limit", "text": "at most 3 a"}
    assert [entry["name"] for entry in json.loads(accord("show", write(RULES), "--format", "json").stdout)] == [
        "a limit",
        "b",
    ]
    one = json.loads(accord("show", write(f"{TWO}\n{RULES}"), "--format", "json", "--protocol", "P").stdout)
    assert one["name"] == "P"


@pytest.mark.parametrize("format_", ["dot", "mermaid"])
def test_every_picture_has_the_rules(accord, write, format_):
    result = accord("show", write(f"{TWO}\n{RULES}"), "--format", format_)
    assert result.stdout.count("at most 3 a") == 2
    assert accord("show", write(RULES), "--format", format_).stdout.count("at most 3 a") == 1


def test_one_protocol(accord, write):
    assert accord("show", write(TWO), "--protocol", "Q").stdout.startswith("protocol Q")
    result = accord("show", write(TWO), "--protocol", "q")
    assert result.exit_code == 2
    assert "did you mean `Q`" in result.stderr


def test_json_is_what_the_codec_reads(accord, write):
    machines = json.loads(accord("show", write(TWO), "--format", "json").stdout)
    contract = compile_contract(TWO)
    assert [decode_machine(m) for m in machines] == list(contract.machines.values())
    one = accord("show", write(TWO), "--format", "json", "--protocol", "P").stdout
    assert decode_machine(one) == contract.machine("P")


@pytest.mark.parametrize("format_", ["text", "dot", "mermaid", "json"])
def test_hostile_labels_stay_inert(accord, write, format_):
    label = r'"\u001b[31m[red]\u009b\u202e"'
    rule = f"rule {label} {{ before {label}({label} == {label}) require {label} }}"
    for text in (f"!{label}.end", f"protocol P = !{label}({label} == {label}).end\n{rule}", rule):
        result = accord("show", write(text), "--format", format_)
        assert result.exit_code == 0
        assert not any(c in result.stdout for c in "\x1b\x9b\u202e")


def test_a_contract_with_errors(accord, write):
    result = accord("show", write("!a.X"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "E021" in result.stderr


def test_a_file_that_cannot_be_read(accord, tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.accord"):
        result = accord("show", path)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: cannot read")
