"""The scripted agent of the example gives the traces that stand beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from accord.trace import load_trace_config, read_trace, trace_fingerprint, validate_file

FOLDER = Path(__file__).parents[3] / "examples" / "traces"


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
