"""Threads of LangChain agents: suspended at a gate, between two turns, and with results
that no session has taken in yet; in checkpoints alone, and with their sessions in a store.
"""

from __future__ import annotations

from contextlib import contextmanager

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from accord import FileSink, Ledger, SQLiteStore, StoreError
from accord.langchain import AccordMiddleware, CheckpointedProtocolMiddleware, ref
from accord.stores.store import Change
from accord.testing.servers import PostgresServer
from tests.agents.protocols import machine
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say, told
from tests.kept import dumps
from tests.kept.sample import Sample

__all__ = ["SAMPLES"]

BOOKING = "!search.?search.!book.?book.end"
GATED = "!search.?search.?Approval by human.!book.?book.end"
SECRET = b"the secret of kept checkpoints"

GATE = [say(call("search", "a")), say(call("book", "b", amount=30)), "done", "again"]
TURNS = [say(call("search", "a")), "which one?", say(call("book", "b")), "done", say(call("search", "c")), "once more"]

THREADS = {
    "gate": ("contract", GATED, GATE),
    "gate of a state machine": ("checkpointed", GATED, GATE),
    "gate in a store": ("store", GATED, GATE),
    "turns": ("contract", BOOKING, TURNS),
    "turns of a state machine": ("checkpointed", BOOKING, TURNS),
    "turns in a store": ("store", BOOKING, TURNS),
    "results": ("contract", BOOKING, GATE),
    "results of a state machine": ("checkpointed", BOOKING, GATE),
    "results in a store": ("store", BOOKING, GATE),
    "rules": ("contract", 'rule "look first" { before book require search }', TURNS),
}
SECOND = {
    name: (kind, BOOKING, [*TURNS, say(call("book", "d")), "done", say(call("search", "e")), "sorry"])
    for name, kind in (("a contract", "contract"), ("a state machine", "checkpointed"), ("a store", "store"))
}
"""Threads whose first session is over, so that version 0.1.0 has begun another one, which is under way."""
NAMES = dict.fromkeys(("acme/17", "x#2", "100%"), ("store", BOOKING, TURNS))
"""Threads whose sessions version 0.1.0 has kept under keys that others may have had."""
SOME = ("gate", "gate of a state machine", "results in a store")
"""Those that are kept in PostgreSQL too."""


@contextmanager
def middleware_of(kind, text, recorder, folder):
    """The middleware of a thread, with its store and ledger open."""
    if kind == "store":
        with SQLiteStore(folder / "sessions.db") as store:
            yield AccordMiddleware(text, store=store, clock=lambda: 1_772_442_000)
        return
    with Ledger(FileSink(folder / f"{kind}.ledger"), identity="kept") as ledger:
        if kind == "contract":
            yield AccordMiddleware(text, secret=SECRET, ledger=ledger, clock=lambda: 1_772_442_000)
        else:
            tools = [ref(each) for each in recorder.tools]
            fsm = machine(recorder, gated=text == GATED)
            yield CheckpointedProtocolMiddleware(fsm, tool_refs=tools, secret=SECRET, ledger=ledger).middleware


def turn(folder, saver, thread, given, **more):
    """One turn of a thread, by an agent that is made for it; what a user sees of it."""
    kind, text, script = {**THREADS, **SECOND, **NAMES}[thread]
    recorder = Recorder()
    with middleware_of(kind, text, recorder, folder) as middleware:
        agent, _ = agent_of(script, middleware, recorder, checkpointer=saver, **more)
        result = agent.invoke(given, config(thread))
    return {
        "ran": recorder.names,
        "asked": len(result.get("__interrupt__", [])),
        "told": told(result)[-1],
        "report": result.get("accord") or result.get("fsm"),  # none while a person is asked in the first turn
    }


def fill(folder, saver, threads):
    for thread in threads:
        more = {"interrupt_after": ["tools"]} if thread.startswith("results") else {}
        turn(folder, saver, thread, asked(), **more)


def go_on(folder, saver, threads):
    found = {}
    for thread in threads:
        if thread.startswith("gate"):
            steps = [Command(resume="no idea"), Command(resume={"event_label": "Approval", "by": "ana"})]
        elif thread.startswith("results"):
            steps = [None]
        else:
            steps = [asked("that one"), asked("more")]
        found[thread] = [turn(folder, saver, thread, step) for step in steps]
    for kind in ("contract", "checkpointed"):
        with Ledger(FileSink(folder / f"{kind}.ledger")) as ledger:
            found[f"{kind} ledger"] = ledger.verify().ok
    with SQLiteStore(folder / "sessions.db") as store:
        found["store"] = [[each.key, each.status, store.verify(each.key).ok] for each in store.sessions()]
    return found


def write_sqlite(folder):
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        fill(folder, saver, THREADS)
        saver.conn.execute("PRAGMA journal_mode = DELETE")
        saver.conn.execute("VACUUM")


def go_on_sqlite(folder):
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        return go_on(folder, saver, THREADS)


def forget_history(saver):
    """Leave the last checkpoint of each thread: the others are not gone on with."""
    last = "SELECT MAX(checkpoint_id) FROM checkpoints GROUP BY thread_id"
    saver.conn.execute(f"DELETE FROM writes WHERE checkpoint_id NOT IN ({last})")  # noqa: S608 - nothing of anybody else's
    saver.conn.execute(f"DELETE FROM checkpoints WHERE checkpoint_id NOT IN ({last})")  # noqa: S608 - the same
    saver.conn.commit()
    saver.conn.execute("PRAGMA journal_mode = DELETE")
    saver.conn.execute("VACUUM")


def write_second(folder):
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        for thread in SECOND:
            for text in ("go", "that one", "more"):
                turn(folder, saver, thread, asked(text))
        forget_history(saver)


def go_on_second(folder):
    """Each thread goes on with its second session; so does one whose checkpoint is lost, by its store."""
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        found = {thread: [turn(folder, saver, thread, asked(text)) for text in ("it", "again")] for thread in SECOND}
    found["without its checkpoint"] = [turn(folder, InMemorySaver(), "a store", asked())]
    with SQLiteStore(folder / "sessions.db") as store:
        found["store"] = [[each.key, each.status, store.verify(each.key).ok] for each in store.sessions()]
    return found


def write_names(folder):
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        for thread in NAMES:
            turn(folder, saver, thread, asked())
        forget_history(saver)


def go_on_names(folder):
    """Each thread goes on with its session, under its own key; without its checkpoint, if it can be no other's."""
    found = {}
    with SQLiteStore(folder / "sessions.db") as store, SQLiteStore(folder / "lost.db") as lost:
        for info in store.sessions():
            lines, row = tuple(store.ledger(info.key)), store.row(info.key)
            lost.exchange(info.key, None, lambda _, row=row, lines=lines: Change(row, 0, lines))
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        for thread in NAMES:
            found[thread] = turn(folder, saver, thread, asked("that one"))
    with SQLiteStore(folder / "sessions.db") as store:
        found["store"] = [[each.key, each.status, store.verify(each.key).ok] for each in store.sessions()]
    (folder / "lost.db").replace(folder / "sessions.db")
    for thread in NAMES:
        try:
            found[f"{thread} without its checkpoint"] = turn(folder, InMemorySaver(), thread, asked())
        except StoreError as error:
            found[f"{thread} without its checkpoint"] = str(error)
    return found


def write_postgres(folder, address):
    with PostgresSaver.from_conn_string(address) as saver:
        saver.setup()
        fill(folder, saver, SOME)
    (folder / "checkpoints.sql").write_text(dumps.of_postgres(address), encoding="utf-8")


def go_on_postgres(folder, address):
    dumps.into_postgres(address, (folder / "checkpoints.sql").read_text(encoding="utf-8"))
    with PostgresSaver.from_conn_string(address) as saver:
        saver.setup()
        return go_on(folder, saver, SOME)


SAMPLES = {
    "langchain": Sample(write_sqlite, go_on_sqlite),
    "langchain_second_sessions": Sample(write_second, go_on_second),
    "langchain_names": Sample(write_names, go_on_names),
    "langchain_in_postgres": Sample(write_postgres, go_on_postgres, PostgresServer),
}
