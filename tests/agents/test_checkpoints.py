"""Sessions in real checkpoints: SQLite, PostgreSQL, across processes, and checkpoints that cannot be kept."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from accord import FileSink, Ledger, UsageError
from accord.langchain import AccordMiddleware
from accord.testing.servers import PostgresServer
from tests.agents.restarting import GATED, SCRIPT
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def postgres():
    missing = PostgresServer.why_not()
    if missing is not None:
        pytest.skip(f"NOT TESTED: {missing}")
    with PostgresServer() as server:
        yield server


def gated(saver, thread):
    recorder = Recorder()
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED, secret=b"s"), recorder, checkpointer=saver)
    assert "__interrupt__" in agent.invoke(asked(), config(thread))
    later = Recorder()  # another agent, another middleware, the same checkpoint
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED, secret=b"s"), later, checkpointer=saver)
    assert "__interrupt__" in agent.invoke(Command(resume=False), config(thread))
    result = agent.invoke(Command(resume="approve"), config(thread))
    assert (recorder.names, later.names) == (["search"], ["book"])
    assert result["accord"]["status"] == "complete"


async def gated_async(saver, thread):
    recorder = Recorder()
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED), recorder, checkpointer=saver)
    assert "__interrupt__" in await agent.ainvoke(asked(), config(thread))
    assert "__interrupt__" in await agent.ainvoke(Command(resume=False), config(thread))
    result = await agent.ainvoke(Command(resume="approve"), config(thread))
    assert recorder.names == ["search", "book"]
    assert result["accord"]["status"] == "complete"


def test_sqlite(tmp_path):
    with SqliteSaver.from_conn_string(str(tmp_path / "c.db")) as saver:
        gated(saver, "t")


def test_asynchronous_sqlite(tmp_path):
    async def go():
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "c.db")) as saver:
            await gated_async(saver, "t")

    asyncio.run(go())


def test_postgres(postgres):
    with PostgresSaver.from_conn_string(postgres.url) as saver:
        saver.setup()
        gated(saver, "t")


def test_asynchronous_postgres(postgres):
    async def go():
        async with AsyncPostgresSaver.from_conn_string(postgres.url) as saver:
            await saver.setup()
            await gated_async(saver, "u")

    asyncio.run(go())


# -- other processes ---------------------------------------------------------------------------------------------------


def process(*arguments):
    run = subprocess.run(
        [sys.executable, "-m", "tests.agents.restarting", *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("kind", ["checkpoint", "store"])
def test_a_gate_holds_across_processes(tmp_path, kind):
    path = str(tmp_path / "c.db")
    first = process(kind, path, "ask")
    assert first == {
        "ran": [["search", "Rome"]],
        "asked": ["May the agent call `book` with these arguments?"],
        "status": None,
    }
    second = process(kind, path, '"no"')
    assert second["ran"] == []
    assert "Nothing was decided" in second["asked"][0]
    third = process(kind, path, '{"event_label": "Approval", "by": "ana"}')
    assert third == {"ran": [["book", "AZ1", 30]], "asked": [], "status": "complete"}
    if kind == "checkpoint":
        with Ledger(FileSink(f"{path}.ledger")) as ledger:
            assert ledger.verify().ok


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
def test_a_checkpoint_that_cannot_be_kept_blocks(left):
    saver, recorder = Breaking(), Recorder()
    saver.left = left
    agent, _ = agent_of([say(call("book", "a")), "done"], AccordMiddleware("!book.end"), recorder, checkpointer=saver)
    with pytest.raises(OSError, match="no space left"):
        agent.invoke(asked(), config(), durability="sync")
    assert recorder.ran == []


def test_durable_sessions_insist_on_it():
    recorder = Recorder()
    middleware = AccordMiddleware("!book.end", durable=True)
    agent, _ = agent_of([say(call("book", "a")), "done"], middleware, recorder)
    with pytest.raises(UsageError, match="durability"):
        agent.invoke(asked(), config())
    assert recorder.ran == []
    agent.invoke(None, config(), durability="sync")
    assert recorder.names == ["book"]


def test_a_checkpoint_that_cannot_be_read_blocks():
    class Unreadable(InMemorySaver):
        broken = False

        def get_tuple(self, config):
            if self.broken:
                raise OSError("unreadable")
            return super().get_tuple(config)

    saver, recorder = Unreadable(), Recorder()
    agent, _ = agent_of(["hello", say(call("book", "a"))], AccordMiddleware("!book.end"), recorder, checkpointer=saver)
    agent.invoke(asked(), config())
    saver.broken = True
    with pytest.raises(OSError, match="unreadable"):
        agent.invoke(asked(), config())
    assert recorder.ran == []
