"""The code people will copy: the demo's guard runs a tool on `Ok` and on nothing else."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from accord import Monitor

DEMO = Path(__file__).parents[2] / "examples" / "booking" / "demo.py"


@pytest.fixture(scope="module")
def demo():
    spec = importlib.util.spec_from_file_location("booking_demo", DEMO)
    module = sys.modules["booking_demo"] = importlib.util.module_from_spec(spec)  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def run(demo, monitor, *tools):
    world = demo.World()
    heard = [demo.guarded_call(monitor, world, tool, Console(file=io.StringIO())) for tool in tools]
    return world.happened, heard


@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_a_refused_tool_does_not_run_however_often_it_is_tried(demo, mode):
    happened, heard = run(demo, Monitor(demo.CONTRACT, mode=mode), "SearchFlights", "BookFlight", "BookFlight")
    assert happened == ["SearchFlights"]
    assert [words.startswith("refused") for words in heard] == [False, True, True]


def test_a_closed_session_runs_nothing(demo):
    monitor = Monitor(demo.CONTRACT, mode="refuse")
    monitor.close()
    assert run(demo, monitor, "SearchFlights", "BookFlight")[0] == []


def test_the_demo_does_what_it_claims(demo, capsys):
    assert demo.main() == 0
    assert "booked once, after the approval" in " ".join(capsys.readouterr().out.split())
