"""An agent in a process of its own: `python -m tests.agents.restarting KIND FILE ask|ANSWER`, where ANSWER is JSON."""

from __future__ import annotations

import json
import sys

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from accord import FileSink, Ledger, SQLiteStore
from accord.langchain import AccordMiddleware
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say

GATED = "!search.?search.?Approval by human.!book(amount <= 100).?book.end"
SCRIPT = [say(call("search", "a")), say(call("book", "b", amount=30)), "done"]


def main(kind, path, what):
    recorder = Recorder()
    if kind == "store":
        middleware = AccordMiddleware(GATED, store=SQLiteStore(f"{path}.accord"))
    else:
        middleware = AccordMiddleware(GATED, secret=b"s", ledger=Ledger(FileSink(f"{path}.ledger")))
    with SqliteSaver.from_conn_string(path) as saver:
        agent, _ = agent_of(SCRIPT, middleware, recorder, checkpointer=saver)
        given = asked() if what == "ask" else Command(resume=json.loads(what))
        result = agent.invoke(given, config())
    questions = [each.value.get("error", each.value["question"]) for each in result.get("__interrupt__", [])]
    report = {"ran": recorder.ran, "asked": questions, "status": result.get("accord", {}).get("status")}
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
