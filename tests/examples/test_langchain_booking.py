"""The example with LangChain does what it claims, in one command and without a network."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "examples" / "langchain_booking" / "booking_agent.py"


@pytest.fixture
def example():
    spec = importlib.util.spec_from_file_location("booking_agent", FILE)
    module = sys.modules["booking_agent"] = importlib.util.module_from_spec(spec)  # pydantic looks there
    spec.loader.exec_module(module)
    return module


def test_it_runs_in_one_command():
    run = subprocess.run([sys.executable, FILE], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "booked once, exactly what was approved" in run.stdout
    trail = run.stdout.partition("The audit trail:")[2]
    for shown in (
        "person asked         the travel desk",
        "review decided       ana",
        "?Approval by ana",
        "whole and unchanged",
    ):
        assert shown in trail


@pytest.mark.parametrize(
    "answers",
    [
        ["ok", {"event_label": "deny", "by": "ana"}],
        ["ok", "no"],
        ["ok", {"event_label": "modify", "payload": {"flight": "AZ1", "price": 900}}],
    ],
)
def test_without_an_approval_nothing_is_booked(example, answers, capsys):
    example.ANSWERS[:] = answers
    assert example.main() == 1
    assert example.BOOKED == []
    assert "THIS SHOULD NOT HAVE HAPPENED" in capsys.readouterr().out
