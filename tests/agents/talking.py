"""One turn of a conversation in a process of its own: `python -m tests.agents.talking SAVER WHERE FILE TEXT`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from accord import FileSink, Ledger, SQLiteStore
from accord.langchain import AccordMiddleware
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say, told

CONTRACT = """
protocol P = !Offer.?Yes by human.!book.?book.end
events {
  Yes when user says matches "(?i)\\byes\\b"
  Offer when agent says "offer"
  book when call book
  book when result of book
}
"""
SCRIPT = ["I offer AZ1."] + [line for number in range(9) for line in (say(call("book", f"b{number}")), "well")]


def main(saver, where, path, text):
    recorder = Recorder()
    if where == "store":
        store = SQLiteStore(f"{path}.accord")
        middleware = AccordMiddleware(CONTRACT, store=store)
    else:
        middleware = AccordMiddleware(CONTRACT, ledger=Ledger(FileSink(f"{path}.ledger")))

    async def later():
        async with AsyncSqliteSaver.from_conn_string(path) as found:
            return await agent_of(SCRIPT, middleware, recorder, checkpointer=found)[0].ainvoke(asked(text), config())

    if saver == "async-sqlite":
        result = asyncio.run(later())
    else:
        with SqliteSaver.from_conn_string(path) as found:
            result = agent_of(SCRIPT, middleware, recorder, checkpointer=found)[0].invoke(asked(text), config())
    lines = store.ledger("t") if where == "store" else Path(f"{path}.ledger").read_bytes().splitlines()
    entries = [json.loads(line)["entry"] for line in lines]
    report = {
        "ran": recorder.names,
        "told": (told(result) or [""])[-1],
        "heard": [entry["verdict"] for entry in entries if entry.get("event", "").startswith("?Yes")],
        "session": result["accord"]["session"],
    }
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
