"""The scripted agent of the example gives the traces that stand beside it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from accord.trace import load_trace_config, read_trace, trace_fingerprint, validate_file, validate_with_config

FOLDER = Path(__file__).parents[2] / "examples" / "traces"


@pytest.mark.parametrize(("name", "options"), [("base", []), ("hasty", ["--hasty"])])
def test_the_traces_are_what_the_agent_does(tmp_path, name, options):
    path = tmp_path / "t.jsonl"
    command = [sys.executable, FOLDER / "trip_agent.py", path, *options]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.startswith("Rome: booked")
    for city in ("Rome", "Oslo"):
        one, other = (
            [event for event in read_trace(file) if event.example_id == city]
            for file in (path, FOLDER / f"{name}.jsonl")
        )
        assert trace_fingerprint(one) == trace_fingerprint(other)
    config = load_trace_config(FOLDER / "trace.yaml")
    assert len(validate_file(path, config)) == len(options)


PAGE = (FOLDER.parents[1] / "docs" / "reference" / "traces.md").read_text()


def test_the_validator_of_the_page_is_the_one_of_the_example():
    code = (FOLDER / "quotes.py").read_text()
    assert f"```python\n{code[code.index('class BookedAsQuoted') :]}```" in PAGE
    assert f"```yaml\n{(FOLDER / 'quotes.yaml').read_text()}```" in PAGE


def test_the_validator_says_what_the_page_shows():
    ((line, output),) = re.findall(
        r"^\$ PYTHONPATH=examples/traces accord (trace .*)\n((?:.*\n)*?)```", PAGE, re.MULTILINE
    )
    command = [Path(sys.executable).parent / "accord", *line.split()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["examples/traces", os.environ.get("PYTHONPATH", "")])}
    run = subprocess.run(command, cwd=FOLDER.parents[1], env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (1, output), run.stderr


def test_the_validator_finds_each_of_its_violations(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    config = load_trace_config(FOLDER / "quotes.yaml", allow_imports=True)
    quote = {"tool_name": "quote", "result": {"trip": "a", "total": 10}}

    def found(*events):
        given = [{"seq": seq, "kind": kind, "payload": payload} for seq, (kind, payload) in enumerate(events)]
        return [str(one) for one in validate_with_config(given, config) if one.code in {"NOT_AS_QUOTED", "QUOTE_LEFT"}]

    def book(total):
        return "tool_call_start", {"tool_name": "book", "arguments": {"trip": "a", "total": total}}

    assert found(("tool_result", quote), book(10.4)) == []
    assert found(("tool_result", quote), book(11)) == [
        "NOT_AS_QUOTED at event 1: a is booked for 11 and was quoted at 10"
    ]
    assert found(("x", {}), ("tool_result", quote)) == ["QUOTE_LEFT at event 1: a was quoted and never booked"]
