"""The table of codes: every example in it is compiled."""

import re
from pathlib import Path

import pytest

import accord
from accord import ContractError, Limits
from accord.agents.check import lint, read
from accord.choreography.compiling import examine_contract
from accord.diagnostics import Source, agent_codes
from accord.diagnostics.codes import CODES
from accord.trace import load_trace_config

NEED_MORE_THAN_A_TEXT = {"E017", "E028"}  # a file, a limit


def codes_of(text, limits=None, *, configuration=False, python=False):
    if python:
        return [d.code for d in lint(read([Source(text, "example.py")]), {}).findings]
    if configuration:
        try:
            load_trace_config(text)
        except ContractError as error:
            return [d.code for d in error.diagnostics]
        return []
    return [d.code for d in examine_contract(Source(text), limits or Limits())[2]]


@pytest.mark.parametrize("code", sorted(set(CODES) - NEED_MORE_THAN_A_TEXT))
def test_the_wrong_example_has_the_mistake(code):
    entry = CODES[code]
    found = codes_of(entry.wrong, configuration=entry.is_configuration, python=entry.is_python)
    assert code in found
    assert set(found) == {code}, "an example shows one mistake"


@pytest.mark.parametrize("code", sorted(CODES))
def test_the_right_example_has_no_findings(code):
    entry = CODES[code]
    assert codes_of(entry.right, configuration=entry.is_configuration, python=entry.is_python) == []
    if entry.is_python:
        exec(compile(entry.right, "right.py", "exec"), {"__name__": "right"})  # noqa: S102 - and the run time takes it
    elif not entry.is_configuration:
        accord.compile(entry.right)


def test_a_file_that_is_not_utf_8(tmp_path):
    file = tmp_path / "latin1.accord"
    file.write_bytes(b"!a.\n?caf\xe9.end")
    with pytest.raises(ContractError) as caught:
        accord.compile(file)
    (finding,) = caught.value.diagnostics
    assert finding.code == "E017"
    assert finding.source.line_and_column(finding.span.start) == (2, 5)
    assert "byte 8" in finding.message
    assert "latin1.accord:2:5" in str(caught.value)


def test_a_protocol_that_is_too_large():
    with pytest.raises(ContractError) as caught:
        accord.compile("!a.?b.!c.?d", limits=Limits(states=2))
    assert [d.code for d in caught.value.diagnostics] == ["E028"]


def test_codes_are_unique_and_well_formed():
    for code, entry in CODES.items():
        assert code == entry.code
        assert re.fullmatch(r"[EW]\d{3}", code)
        assert entry.title.lstrip("`")[0].islower()
        assert not entry.title.endswith(".")
        assert entry.explanation.endswith(".")


def test_every_code_the_source_uses_is_in_the_table():
    source = Path(accord.__file__).parent
    used = set()
    for file in source.rglob("*.py"):
        if file.name not in {"codes.py", "agent_codes.py"}:
            used |= set(re.findall(r'"([EW]\d{3})"', file.read_text(encoding="utf-8")))
    assert len(used) >= 15
    assert used <= set(CODES)


def test_every_code_in_the_table_is_used():
    source = Path(accord.__file__).parent
    text = "".join(
        f.read_text(encoding="utf-8") for f in source.rglob("*.py") if f.name not in {"codes.py", "agent_codes.py"}
    )
    names = {value: name for name, value in vars(agent_codes).items() if name.isupper() and isinstance(value, str)}
    unused = [code for code in CODES if f'"{code}"' not in text and not re.search(rf"\b{names.get(code, '-')}\b", text)]
    assert unused == []
