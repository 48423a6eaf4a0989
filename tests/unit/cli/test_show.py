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
    )


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
    result = accord("show", write('!"\\u001b[31m[red]\\u009b\\u202e".end'), "--format", format_)
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
