"""`ProtocolMonitor` has what every session has: a ledger, observers, snapshots; also while an agent shares it."""

from __future__ import annotations

import asyncio
import json

import pytest
from langgraph.types import Command

from accord import FileSink, Ledger, MemorySink, StoreError, UsageError
from accord.langchain import ProtocolEnforcerMiddleware, ProtocolMonitor, ref
from tests.agents.protocols import machine
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say


@pytest.fixture
def recorder():
    return Recorder()


def entries(ledger):
    return [json.loads(line)["entry"] for line in ledger._sink.data.splitlines()][1:]


def told(entry):
    return entry.get("event") or entry["what"], entry.get("verdict"), entry["session"]


def test_what_a_program_tells_is_in_the_ledger(recorder):
    ledger = Ledger(MemorySink())
    monitor = ProtocolMonitor(machine(recorder, gated=True), ledger=ledger, name="trip-17")
    search, book, *_ = map(ref, recorder.tools)
    assert not monitor.transition(book, "send", {"args": {"flight": "AZ1"}})
    assert monitor.transition(search, "send", {"args": {"city": "Rome"}})
    assert monitor.transition(search, "recv", {"result": "flights"})
    assert monitor.transition_event("Approval", "recv", {"by": "ana"})
    monitor.reset()
    assert [told(entry) for entry in entries(ledger)] == [
        ('!book by "the program"', "violation", "trip-17"),
        ('!search by "the program"', "ok", "trip-17"),
        ('?search by "the program"', "ok", "trip-17"),
        ("?Approval by ana", "ok", "trip-17"),
        ("begun again", None, "trip-17"),
    ]
    assert all("at" in entry for entry in entries(ledger)[:-1])
    assert ledger.verify().ok


class Full:
    """A sink with room for the first line only."""

    def __init__(self):
        self.sink = MemorySink()
        self.broken = False

    @property
    def size(self):
        return self.sink.size

    def read(self, start, count):
        return self.sink.read(start, count)

    def write(self, start, line):
        if self.broken:
            raise OSError("disk full")
        self.sink.write(start, line)

    def close(self):
        pass


def test_what_cannot_be_written_down_does_not_happen(recorder):
    sink = Full()
    monitor = ProtocolMonitor(machine(recorder), ledger=Ledger(sink))
    assert monitor.transition(ref(recorder.tools[0]), "send")
    sink.broken = True
    for step in (lambda: monitor.transition(ref(recorder.tools[0]), "recv"), monitor.reset):
        with pytest.raises(StoreError, match="disk full"):
            step()
        assert (monitor.state, monitor.trace) == ("searching", ["send:search"])
    sink.broken = False
    assert monitor.transition(ref(recorder.tools[0]), "recv")


@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_agent_that_shares_it_writes_to_its_ledger(recorder, way):
    ledger = Ledger(MemorySink())
    monitor = ProtocolMonitor(machine(recorder, gated=True), ledger=ledger)
    tools = [ref(each) for each in recorder.tools]
    middleware = ProtocolEnforcerMiddleware(monitor, tools).middleware
    agent, _ = agent_of(
        [say(call("book", "x"), call("search", "a")), say(call("book", "b")), "done"], middleware, recorder
    )

    def run(given):
        return agent.invoke(given, config()) if way == "sync" else asyncio.run(agent.ainvoke(given, config()))

    assert run(asked())["fsm_state"] == "waiting"
    assert [told(entry)[0] for entry in entries(ledger)] == [
        "!book", "!search", "call started", "?search", "person asked",
    ]  # fmt: skip
    run(Command(resume={"event_label": "Approval", "by": "ana"}))
    assert [told(entry)[0] for entry in entries(ledger)][5:] == [
        "?Approval by ana", "!book", "call started", "?book",
    ]  # fmt: skip
    assert {entry["session"] for entry in entries(ledger)} == {"monitor"}


def test_a_snapshot_goes_on_where_it_was_taken(recorder, tmp_path):
    """Also in the middle of a call of an agent that shares the monitor, in another process's ledger."""
    fsm, tools = machine(recorder, gated=True), [ref(each) for each in recorder.tools]
    with Ledger(FileSink(tmp_path / "ledger")) as ledger:
        monitor = ProtocolMonitor(fsm, ledger=ledger, name="trip-17")
        assert monitor.transition(tools[0], "send")
        snapshot = json.loads(json.dumps(monitor.snapshot(key=b"k"), sort_keys=True))
        assert monitor.transition(tools[0], "recv")
    with Ledger(FileSink(tmp_path / "ledger")) as ledger:
        again = ProtocolMonitor.restore(fsm, snapshot, b"k", "raise", ledger=ledger)
        assert (again.state, again.trace, again.name) == ("searching", ["send:search"], "trip-17")
        assert again.transition(tools[0], "recv")
        assert again.transition_event("Approval", "recv")
        assert again.snapshot(key=b"k") != snapshot
        assert len(ledger) == 5
        assert ledger.verify().ok


def test_snapshots_that_are_none(recorder):
    fsm = machine(recorder)
    snapshot = ProtocolMonitor(fsm).snapshot()
    assert ProtocolMonitor.restore(fsm, json.dumps(snapshot)).state == "idle"
    kept = snapshot["kept"]
    for wrong in (
        "", "{}", b"\xff", {**snapshot, "version": 2}, {**snapshot, "kept": {**kept, "number": 2}},
        {**snapshot, "more": 1}, {name: value for name, value in snapshot.items() if name != "checksum"},
    ):  # fmt: skip
        with pytest.raises(UsageError):
            ProtocolMonitor.restore(fsm, wrong)
    with pytest.raises(UsageError, match="contract"):
        ProtocolMonitor.restore(machine(recorder, gated=True), snapshot)
    with pytest.raises(UsageError, match="key"):
        ProtocolMonitor.restore(fsm, snapshot, b"k")
    with pytest.raises(UsageError, match="ProtocolFSM"):
        ProtocolMonitor.restore("fsm", snapshot)


@pytest.mark.parametrize(
    "more", [{"ledger": "file"}, {"observers": ["log"]}, {"observers": 3}, {"name": ""}, {"name": 3}]
)
def test_what_a_monitor_is_not_given(recorder, more):
    with pytest.raises(UsageError):
        ProtocolMonitor(machine(recorder), **more)
