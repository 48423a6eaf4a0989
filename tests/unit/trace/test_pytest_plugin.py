"""The plugin, in pytest runs of its own."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import accord
from accord.errors import UsageError
from accord.testing import assert_conforms
from accord.trace import AgentProbe, JsonlSink, TraceRecorder

TESTS = """
import pytest

def agent(data, tools):
    return tools["search"](query=data)

def test_probe(accord_trace):
    probe = accord_trace.probe({"search": lambda query: query.upper()}, "!search.?search.end")
    result = probe.run(agent, QUERY)
    assert not result.violations
    accord_trace.assert_unchanged(result)

@pytest.mark.parametrize("city", ["Rome", "a/b \\u00e9 [x]"])
def test_recorder(accord_trace, city):
    accord_trace.recorder.record_tool_call("search", {"query": city})
    accord_trace.recorder.record_tool_result("search", [1])
    accord_trace.assert_conforms("!search.end")
    accord_trace.assert_unchanged()
    accord_trace.assert_unchanged(accord_trace.events[:1], name="first")
"""


@pytest.fixture
def run(tmp_path):
    def run_pytest(*options, query="Rome"):
        (tmp_path / "test_agent.py").write_text(TESTS.replace("QUERY", repr(query)))
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "accord.testing.pytest_plugin", "--rootdir=.", *options],
            cwd=tmp_path, capture_output=True, text=True, check=False, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )  # fmt: skip

    return run_pytest


def test_snapshots(run, tmp_path):
    first = run()
    assert first.returncode == 1 and "3 failed" in first.stdout and "`pytest --accord-update` writes it" in first.stdout
    assert not (tmp_path / "__accord__").exists()
    assert "3 passed" in run("--accord-update").stdout
    assert len(list((tmp_path / "__accord__").iterdir())) == 5
    assert "3 passed" in run().stdout
    drifted = run(query="Oslo").stdout
    assert "1 failed, 2 passed" in drifted
    assert "the trace has drifted from" in drifted and "it differs from event 0 on" in drifted and "Oslo" in drifted
    assert "3 passed" in run("--accord-update", query="Oslo").stdout
    assert "3 passed" in run(query="Oslo").stdout
    assert "Oslo" not in "".join(path.read_text() for path in (tmp_path / "__accord__").iterdir())


def test_pytest_finds_the_plugin():
    (found,) = [entry for entry in entry_points(group="pytest11") if entry.name == "accord"]
    assert found.value == "accord.testing.pytest_plugin"


def test_the_plugin_loads_nothing_before_it_is_asked():
    code = "import sys, accord.testing.pytest_plugin; print('accord.trace' in sys.modules, 'msgspec' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False False\n"
    )


def recorded():
    recorder = TraceRecorder()
    recorder.record_tool_call("pay", {"amount": 3})
    recorder.record_tool_result("pay", "paid")
    return recorder


def test_whatever_holds_a_trace(tmp_path):
    recorder = recorded()
    path = tmp_path / "t.jsonl"
    with JsonlSink(path) as sink:
        for event in recorder.events:
            sink.write(event)
    result = AgentProbe({"pay": lambda **_: "paid"}).run(lambda _, tools: tools["pay"](amount=3))
    for trace in (
        recorder,
        recorder.events,
        iter(recorder.events),
        path,
        result,
        [e.to_dict() for e in recorder.events],
    ):
        assert_conforms(trace, "!pay(amount <= 5).end")
    for trace in (recorder, recorder.events, iter(recorder.events), path, result):
        with pytest.raises(AssertionError, match="1 violation\n  PROTOCOL_VIOLATION at event 0"):
            assert_conforms(trace, "!pay(amount > 5).end")
    with pytest.raises(UsageError, match="has not kept all"):
        assert_conforms(_unkept(path), "end")
    nothing = AgentProbe({}, {"store": {"mode": "none"}}).run(lambda _: 1)
    with pytest.raises(UsageError, match=r"store\.mode"):
        assert_conforms(nothing, "end")


def _unkept(path):
    with JsonlSink(path) as sink:
        recorder = TraceRecorder(sink=sink)
        recorder.record("x")
    return recorder


def test_whatever_is_a_contract(tmp_path):
    text = "protocol A = !pay.end\nprotocol B = !ask.end"
    (tmp_path / "c.accord").write_text(text)
    (tmp_path / "c.yaml").write_text("contracts: {tool_order: {allowed_tools: [pay]}}")
    contracts = (
        "!pay.end",
        accord.compile("!pay.end"),
        tmp_path / "c.yaml",
        {"contracts": {"tool_order": {"at_most": {"pay": 1}}}},
    )
    for contract in contracts:
        assert_conforms(recorded(), contract)
    assert_conforms(recorded(), tmp_path / "c.accord", protocol="A")
    with pytest.raises(AssertionError):
        assert_conforms(recorded(), accord.compile(text), protocol="B")
    with pytest.raises(AssertionError, match="and 5 more"):
        assert_conforms([{"seq": n, "kind": "generate_end"} for n in range(15)], {})
