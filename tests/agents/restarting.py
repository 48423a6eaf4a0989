"""Agents in a process of their own: `python -m tests.agents.restarting SAVER FILE ask|ANSWER`, where ANSWER is JSON.

SAVER is `sqlite`, `async-sqlite` or the address of a PostgreSQL server. There is one agent for each kind of middleware,
each in a thread of its own; what became of all of them is written out as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import contextmanager

from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from accord import FileSink, Ledger, SQLiteStore
from accord.langchain import AccordMiddleware
from tests.agents.protocols import GATED, KINDS, gated_of
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say, told

SCRIPT = [say(call("search", "a")), say(call("book", "b", amount=30)), "done"]
ALL = [*KINDS, "store"]


def middleware_of(kind, recorder, path):
    if kind == "store":
        return AccordMiddleware(GATED, store=SQLiteStore(f"{path}.accord"))
    if kind == "enforcer":
        return gated_of(kind, recorder)
    return gated_of(kind, recorder, secret=b"s", ledger=Ledger(FileSink(f"{path}.{kind}.ledger")))


def report_of(result, recorder):
    questions = [each.value.get("error", each.value["question"]) for each in result.get("__interrupt__", [])]
    report = result.get("accord") or result.get("fsm") or {}
    return {
        "ran": recorder.names, "asked": questions, "status": report.get("status"), "told": told(result)[-1][:20],
    }  # fmt: skip


@contextmanager
def opened(saver, path):
    kind = SqliteSaver if saver == "sqlite" else PostgresSaver
    with kind.from_conn_string(path if saver == "sqlite" else saver) as found:
        found.setup()
        yield found


def main(saver, path, what):
    given = asked() if what == "ask" else Command(resume=json.loads(what))
    reports = {}

    def agent_for(kind, found):
        recorder = Recorder()
        return agent_of(SCRIPT, middleware_of(kind, recorder, path), recorder, checkpointer=found)[0], recorder

    async def all_of_them():
        async with AsyncSqliteSaver.from_conn_string(path) as found:
            for kind in ALL:
                agent, recorder = agent_for(kind, found)
                reports[kind] = report_of(await agent.ainvoke(given, config(kind)), recorder)

    if saver == "async-sqlite":
        asyncio.run(all_of_them())
    else:
        with opened(saver, path) as found:
            for kind in ALL:
                agent, recorder = agent_for(kind, found)
                reports[kind] = report_of(agent.invoke(given, config(kind)), recorder)
    sys.stdout.write(json.dumps(reports))


if __name__ == "__main__":
    main(*sys.argv[1:])
