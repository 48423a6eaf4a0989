"""Sessions in real checkpoints: SQLite, PostgreSQL, across processes, and checkpoints that cannot be kept."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from accord import FileSink, Ledger, MemorySink, StoreError, UsageError
from accord.langchain import AccordMiddleware
from accord.testing.servers import PostgresServer
from tests.agents.protocols import booking_of, gated_of
from tests.agents.restarting import ALL, SCRIPT
from tests.agents.scripted import Recorder, agent_of, asked, call, config, reported, say

ROOT = Path(__file__).parents[2]
WAYS = {
    "sync": lambda agent, *given, **more: agent.invoke(*given, **more),
    "async": lambda agent, *given, **more: asyncio.run(agent.ainvoke(*given, **more)),
}


@pytest.fixture(scope="module")
def postgres():
    missing = PostgresServer.why_not()
    if missing is not None:
        pytest.skip(f"NOT TESTED: {missing}")
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["contract", "checkpointed"])
def kind(request):
    """The middlewares whose sessions are in the checkpoint."""
    return request.param


def gated(saver, kind, thread):
    recorder = Recorder()
    agent, _ = agent_of(SCRIPT, gated_of(kind, recorder, secret=b"s"), recorder, checkpointer=saver)
    assert "__interrupt__" in agent.invoke(asked(), config(thread))
    later = Recorder()  # another agent, another middleware, the same checkpoint
    agent, _ = agent_of(SCRIPT, gated_of(kind, later, secret=b"s"), later, checkpointer=saver)
    assert "__interrupt__" in agent.invoke(Command(resume=False), config(thread))
    result = agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config(thread))
    assert (recorder.names, later.names) == (["search"], ["book"])
    assert reported(result)["status"] == "complete"


async def gated_async(saver, kind, thread):
    recorder = Recorder()
    middleware = gated_of(kind, recorder)
    agent, _ = agent_of([*SCRIPT, "again"], middleware, recorder, checkpointer=saver)
    assert "__interrupt__" in await agent.ainvoke(asked(), config(thread))
    session = middleware.asession(agent, config(thread))
    assert (await session.status(), await session.out()) == ("running", [])
    assert "__interrupt__" in await agent.ainvoke(Command(resume=False), config(thread))
    result = await agent.ainvoke(Command(resume={"event_label": "approve", "by": "ana"}), config(thread))
    assert recorder.names == ["search", "book"]
    assert reported(result)["status"] == await session.status() == "complete"


def test_sqlite(tmp_path, kind):
    with SqliteSaver.from_conn_string(str(tmp_path / "c.db")) as saver:
        gated(saver, kind, "t")


def test_asynchronous_sqlite(tmp_path, kind):
    async def go():
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "c.db")) as saver:
            await gated_async(saver, kind, "t")

    asyncio.run(go())


def test_postgres(postgres, kind):
    with PostgresSaver.from_conn_string(postgres.url) as saver:
        saver.setup()
        gated(saver, kind, f"sync {kind}")


def test_asynchronous_postgres(postgres, kind):
    async def go():
        async with AsyncPostgresSaver.from_conn_string(postgres.url) as saver:
            await saver.setup()
            await gated_async(saver, kind, f"async {kind}")

    asyncio.run(go())


# -- other processes ---------------------------------------------------------------------------------------------------


def process(*arguments):
    run = subprocess.run(
        [sys.executable, "-m", "tests.agents.restarting", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize(
    "savers", [("sqlite", "async-sqlite", "sqlite"), ("postgres",) * 3], ids=["sqlite", "postgres"]
)
def test_a_gate_holds_across_processes(tmp_path, savers, request):
    """Three processes: one asks, one is answered with what is no answer, one is answered."""
    if savers[0] == "postgres":
        savers = (request.getfixturevalue("postgres").url,) * 3
    path = str(tmp_path / "c.db")
    first = process(savers[0], path, "ask")
    assert [report["ran"] for report in first.values()] == [["search"]] * len(ALL)
    assert "May the agent call `book`" in first["contract"]["asked"][0]
    assert "waits for a person: `?Approval`" in first["checkpointed"]["asked"][0]
    second = process(savers[1], path, '"no"')
    assert [report["ran"] for report in second.values()] == [[]] * len(ALL)
    # The session of a monitor is in its process: a new one knows of nothing, so it lets nothing pass.
    lost = second.pop("enforcer")
    assert (lost["status"], lost["told"][:12]) == ("running", "error: `book")
    assert all("Nothing was decided" in report["asked"][0] for report in second.values())
    third = process(savers[2], path, '{"event_label": "Approval", "by": "ana"}')
    for kind in second:
        assert third[kind] == {"ran": ["book"], "asked": [], "status": "complete", "told": "booked AZ1"}
    assert third["enforcer"]["ran"] == []
    for kind in ("contract", "checkpointed"):
        with Ledger(FileSink(f"{path}.{kind}.ledger")) as ledger:
            assert ledger.verify().ok
        entries = [json.loads(line)["entry"] for line in Path(f"{path}.{kind}.ledger").read_text().splitlines()]
        asked_of = [entry["detail"]["to"] for entry in entries if entry.get("what") == "person asked"]
        assert asked_of == ["human", "human"]
        assert [entry["event"] for entry in entries if "ana" in str(entry.get("event"))] == ["?Approval by ana"]
        assert all(entry["detail"]["shown"]["choices"] for entry in entries if entry.get("what") == "person asked")


# -- checkpoints that cannot be kept -----------------------------------------------------------------------------------


class Breaking(InMemorySaver):
    """Keeps so many checkpoints and no more."""

    left = 100

    def put(self, *args, **kwargs):
        self.left -= 1
        if self.left < 0:
            raise OSError("no space left")
        return super().put(*args, **kwargs)


@pytest.mark.parametrize("left", range(4))
@pytest.mark.parametrize("way", WAYS)
def test_a_checkpoint_that_cannot_be_kept_blocks(left, kind, way):
    saver, recorder = Breaking(), Recorder()
    saver.left = left
    agent, _ = agent_of([SCRIPT[0], "done"], booking_of(kind, recorder), recorder, checkpointer=saver)
    with pytest.raises(OSError, match="no space left"):
        WAYS[way](agent, asked(), config(), durability="sync")
    assert recorder.ran == []


def test_a_checkpoint_that_cannot_be_kept_while_a_person_is_asked_books_nothing(kind):
    saver, recorder = Breaking(), Recorder()
    agent, _ = agent_of(SCRIPT, gated_of(kind, recorder), recorder, checkpointer=saver)
    agent.invoke(asked(), config())
    saver.left = 0
    with pytest.raises(OSError, match="no space left"):
        agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config(), durability="sync")
    assert recorder.names == ["search"]


def test_durable_sessions_insist_on_it():
    recorder = Recorder()
    middleware = AccordMiddleware("!book.end", durable=True)
    agent, _ = agent_of([say(call("book", "a")), "done"], middleware, recorder)
    with pytest.raises(UsageError, match="durability"):
        agent.invoke(asked(), config())
    assert recorder.ran == []
    agent.invoke(None, config(), durability="sync")
    assert recorder.names == ["book"]


class Unreadable(InMemorySaver):
    broken = False

    def get_tuple(self, config):
        if self.broken:
            raise OSError("unreadable")
        return super().get_tuple(config)

    async def aget_tuple(self, config):
        return self.get_tuple(config)


@pytest.mark.parametrize("way", WAYS)
def test_a_checkpoint_that_cannot_be_read_blocks(kind, way):
    saver, recorder = Unreadable(), Recorder()
    agent, _ = agent_of(["hello", SCRIPT[0]], booking_of(kind, recorder), recorder, checkpointer=saver)
    agent.invoke(asked(), config())
    saver.broken = True
    with pytest.raises(OSError, match="unreadable"):
        WAYS[way](agent, asked(), config())
    assert recorder.ran == []


class FullSink(MemorySink):
    left = 1000

    def write(self, start, line):
        self.left -= 1
        if self.left < 0:
            raise OSError(28, "No space left on device")
        super().write(start, line)


@pytest.mark.parametrize("left", range(6))
def test_a_ledger_that_cannot_be_written_blocks(kind, left):
    """Wherever it breaks: what has run stands in it, and what does not stand in it has not run."""
    sink, recorder = FullSink(), Recorder()
    ledger = Ledger(sink)
    agent, _ = agent_of(SCRIPT, booking_of(kind, recorder, ledger=ledger), recorder)
    sink.left = left
    with suppress(StoreError):
        agent.invoke(asked(), config())
    written = [json.loads(line)["entry"].get("event") for line in sink.data.splitlines()]
    assert recorder.names == [word[1:] for word in ("!search", "!book") if word in written]
    assert len(written) == 1 + min(left, 4)
