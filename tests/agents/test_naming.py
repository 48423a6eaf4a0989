"""What sessions of threads are called: no two alike, plain ones as ever, and those of version 0.1 are found again."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from accord import (
    CorruptSessionError,
    Guard,
    Ledger,
    MemorySink,
    MemoryStore,
    SQLiteStore,
    StoreError,
    ToolCall,
    UsageError,
)
from accord.langchain import AccordMiddleware
from accord.langchain.naming import Named, old_name, owner_of, rivals, session_name
from accord.langchain.sealing import Where
from accord.stores.store import Change
from accord.testing import Fault, FaultyStore
from tests.agents.scripted import Recorder, Scripted, agent_of, asked, call, config, say, told

ONCE = 'rule "once" { at most 1 search }'
KEPT = Path(__file__).parent.parent / "kept" / "0.1.0" / "langchain_second_sessions"

TEXTS = st.text("aF2%/#(", max_size=5) | st.sampled_from(["(no thread)", "%28no thread)", "a%2Fa", "a/a", "a#2"])
SESSIONS = st.tuples(TEXTS, TEXTS, st.integers(1, 12))


@given(st.lists(SESSIONS, min_size=2, max_size=8, unique=True))
@example([("x#2", "", 1), ("x", "", 2), ("x%232", "", 1)])
@example([("t/tools", "", 1), ("t", "tools", 1), ("t%2Ftools", "", 1)])
@example([("", "a", 1), ("a", "", 1), ("/a", "", 1)])
@example([("", "", 1), ("(no thread)", "", 1), ("%no thread)", "", 1), ("%28no thread)", "", 1)])
def test_no_two_sessions_have_one_name(sessions):
    names = [session_name(Where(thread, agent), number) for thread, agent, number in sessions]
    assert len(set(names)) == len(names)
    assert all(names)


@given(st.text("aF2-.:|() é", min_size=1, max_size=8).filter(lambda thread: thread != "(no thread)"))
def test_plain_threads_are_called_as_ever(thread):
    assert session_name(Where(thread, ""), 1) == thread == old_name(Named(thread, "", 1))


@given(SESSIONS)
def test_a_name_says_whose_it_is(session):
    named = Named(*session)
    assert owner_of(session_name(Where(named.thread, named.agent), named.number)) == named


@given(TEXTS)
def test_what_is_no_name_is_nobodys(name):
    owner = owner_of(name)
    assert owner is None or session_name(Where(owner.thread, owner.agent), owner.number) == name


@given(SESSIONS, SESSIONS)
@example(("t/", "", 1), ("t", "", 1))
@example(("t/", "a", 1), ("t", "/a", 1))
@example(("t", "", 2), ("t#2", "", 1))
def test_rivals_are_those_whom_version_0_1_called_the_same(one, other):
    one, other = Named(*one), Named(*other)
    if one.thread and other.thread and one != other:
        assert (other in rivals(one)) == (old_name(one) == old_name(other))


# -- three sessions ----------------------------------------------------------------------------------------------------


def main_of(kept, recorder):
    """An agent whose tool `ask` asks another agent, under the same contract."""
    guarded = AccordMiddleware(ONCE, **kept)
    guarded_inside = AccordMiddleware(ONCE, **kept)
    inside = create_agent(
        Scripted(script=[say(call("search", "i")), "found", *["hm"] * 9]), recorder.tools, middleware=[guarded_inside]
    )

    @tool
    def ask() -> str:
        """Ask another agent."""
        return inside.invoke(asked())["messages"][-1].content

    script = [say(call("ask", "a")), "done", say(call("search", "s")), "done"]
    model = Scripted(script=script)
    return create_agent(model, [*recorder.tools, ask], middleware=[guarded], checkpointer=InMemorySaver())


def test_a_thread_and_an_agent_inside_of_another_are_two_sessions():
    recorder, store = Recorder(), MemoryStore()
    outer = main_of({"store": store}, recorder)
    outer.invoke(asked(), config("t"))
    assert recorder.names == ["search"]  # by the agent inside
    agent, _ = agent_of([say(call("search", "a")), "done"], AccordMiddleware(ONCE, store=store), recorder)
    result = agent.invoke(asked(), config("t/tools"))
    assert recorder.names == ["search"] * 2
    assert told(result) == ["flights to Rome"]
    assert sorted(info.key for info in store.sessions()) == ["t", "t%2Ftools", "t/tools"]
    assert all(store.verify(info.key).ok for info in store.sessions())


@pytest.mark.parametrize("threads", [["x", "x#2", "x%232"], ["t", "t/tools", "t%2Ftools"]])
def test_ledgers_call_them_apart(threads):
    ledger, recorder = Ledger(MemorySink()), Recorder()
    agent, _ = agent_of([say(call("search", "a")), "done"], AccordMiddleware(ONCE, ledger=ledger), recorder)
    names = [agent.invoke(asked(), config(thread))["accord"]["session"] for thread in threads]
    assert len(set(names)) == 3
    assert recorder.names == ["search"] * 3


# -- what version 0.1 has kept -----------------------------------------------------------------------------------------


def old_agent(store, recorder, saver):
    """As version 0.1 has named its sessions."""
    middleware = AccordMiddleware(ONCE, store=store, key=lambda thread, agent: old_name(Named(thread, agent, 1)))
    return agent_of([say(call("search", "a")), "done"], middleware, recorder, checkpointer=saver)[0]


def new_agent(store, recorder, saver=None):
    script = [say(call("search", "a")), "done", say(call("search", "b")), "done"]
    middleware = AccordMiddleware(ONCE, store=store)
    return agent_of(script, middleware, recorder, checkpointer=saver or InMemorySaver())[0]


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    if request.param == "memory":
        yield MemoryStore(secret=b"a secret of the store")
        return
    with SQLiteStore(tmp_path / "sessions.db") as opened:
        yield opened


@pytest.mark.parametrize("thread", ["acme/17", "x#2", "100%", "a/b#3", "a#2/b", "#", "/"])
def test_a_thread_goes_on_with_its_session(thread, store):
    """Its checkpoint says where it stood, and there it stands."""
    recorder, saver = Recorder(), InMemorySaver()
    old_agent(store, recorder, saver).invoke(asked(), config(thread))
    (before,) = store.sessions()
    assert before.key == thread
    result = new_agent(store, recorder, saver).invoke(asked("more"), config(thread))
    assert recorder.names == ["search"]
    assert "at most 1 search" in told(result)[-1]
    (after,) = store.sessions()
    assert after.key == session_name(Where(thread, ""), 1) != thread
    assert store.verify(after.key).ok
    assert sum(b'"session moved"' in line for line in store.ledger(after.key)) == 1


@pytest.mark.parametrize("thread", ["x#2", "100%", "a#1", "a#02", "#2", "a#b"])
def test_a_session_that_can_only_be_that_of_a_thread_is_found_without_its_checkpoint(thread, store):
    recorder = Recorder()
    old_agent(store, recorder, InMemorySaver()).invoke(asked(), config(thread))
    new_agent(store, recorder).invoke(asked(), config(thread))
    assert recorder.names == ["search"]
    assert [info.key for info in store.sessions()] == [session_name(Where(thread, ""), 1)]


def test_a_session_of_which_nobody_knows_whose_it_is_begins_nothing(store):
    """A person says so; then it goes on."""
    recorder = Recorder()
    old_agent(store, recorder, InMemorySaver()).invoke(asked(), config("acme/17"))
    agent = new_agent(store, recorder)
    with pytest.raises(StoreError) as refused:
        agent.invoke(asked(), config("acme/17"))
    assert str(refused.value) == (
        "an earlier version has kept a session `acme/17`, which may be that of thread `acme/17`, or of the agent `17` "
        "in thread `acme`; if it is that of thread `acme/17`, `accord sessions move STORE acme/17 acme%2F17` gives it "
        "a key of its own; if not, this one needs another id"
    )
    assert [info.key for info in store.sessions()] == ["acme/17"]
    store.move("acme/17", "acme%2F17")
    agent.invoke(asked(), config("acme/17"))
    assert recorder.names == ["search"]


def test_a_thread_that_waits_for_a_person_goes_on_with_its_session(store):
    """The store knows of the question, and the checkpoint does not yet."""
    recorder, saver = Recorder(), InMemorySaver()
    contract = 'rule "asked" { before each search require Approval by human }'
    script = [say(call("search", "a")), "done"]
    for named in (lambda thread, agent: old_name(Named(thread, agent, 1)), None):
        middleware = AccordMiddleware(contract, store=store, key=named)
        agent, _ = agent_of(script, middleware, recorder, checkpointer=saver)
        if named is not None:
            (question,) = agent.invoke(asked(), config("acme/17"))["__interrupt__"]
    agent.invoke(
        Command(resume={"event_label": "approve", "by": "ana", "review": question.value["review"]}), config("acme/17")
    )
    assert recorder.names == ["search"]
    assert [info.key for info in store.sessions()] == ["acme%2F17"]


def test_a_session_that_was_moved_is_not_taken_for_that_of_a_thread_called_like_its_key(store):
    recorder, saver = Recorder(), InMemorySaver()
    old_agent(store, recorder, saver).invoke(asked(), config("acme/17"))
    new_agent(store, recorder, saver).invoke(asked("more"), config("acme/17"))
    with pytest.raises(StoreError, match="or of thread `acme/17`"):
        new_agent(store, recorder).invoke(asked(), config("acme%2F17"))
    assert [info.key for info in store.sessions()] == ["acme%2F17"]


def test_a_session_that_has_begun_under_its_key_is_nobody_elses(store):
    recorder = Recorder()
    for thread in ("acme/17", "acme%2F17", "acme%252F17"):
        new_agent(store, recorder).invoke(asked(), config(thread))
    assert recorder.names == ["search"] * 3
    assert sorted(info.key for info in store.sessions()) == ["acme%25252F17", "acme%252F17", "acme%2F17"]


def test_a_checkpoint_that_says_something_else_proves_nothing(store):
    """The session has gone on since, or is another one's."""
    recorder, saver = Recorder(), InMemorySaver()
    old_agent(store, recorder, saver).invoke(asked(), config("acme/17"))
    Guard(ONCE, store=store, key="acme/17", tools={"search": lambda: 1}).run([ToolCall("search", {}, "other")])
    with pytest.raises(StoreError, match="which may be that of"):
        new_agent(store, recorder, saver).invoke(asked(), config("acme/17"))


@pytest.mark.parametrize("thread", ["a store#2", "a store"])
def test_second_sessions_as_version_0_1_has_written_them(thread, tmp_path):
    """Thread `a store` goes on with its second session; a thread of that name is told that it cannot be known."""
    shutil.copy(KEPT / "sessions.db", tmp_path / "sessions.db")
    recorder = Recorder()
    with SQLiteStore(tmp_path / "sessions.db") as opened:
        contract = "!search.?search.!book.?book.end"
        middleware = AccordMiddleware(contract, store=opened, clock=lambda: 1_772_442_000)
        agent, _ = agent_of([say(call("book", "z")), "done"], middleware, recorder)
        before = sorted(info.key for info in opened.sessions())
        if thread == "a store":
            assert agent.invoke(asked(), config(thread))["accord"]["session"] == "a store#2"
        else:
            with pytest.raises(StoreError, match="or of session 2 of thread `a store`"):
                agent.invoke(asked(), config(thread))
        assert sorted(info.key for info in opened.sessions()) == before


# -- moving ------------------------------------------------------------------------------------------------------------


def test_a_session_is_not_moved_onto_another(store):
    for key in ("one", "two"):
        Guard(ONCE, store=store, key=key, tools={"search": lambda: 1}).run([ToolCall("search")])
    before = {key: (store.row(key), list(store.ledger(key))) for key in ("one", "two")}
    with pytest.raises(UsageError, match="there is a session `two` already"):
        store.move("one", "two")
    with pytest.raises(UsageError, match="no session"):
        store.move("three", "four")
    assert {key: (store.row(key), list(store.ledger(key))) for key in ("one", "two")} == before


def test_a_session_that_goes_on_while_it_is_moved_stays(store, monkeypatch):
    guard = Guard('rule "r" { at most 5 search }', store=store, key="one", tools={"search": lambda: 1})
    guard.run([ToolCall("search")])
    exchange = type(store).exchange

    def between(self, key, guess, judge):
        if key == "two" and guess is None:
            exchange(self, key, guess, judge)
            guard.run([ToolCall("search")])
            return
        exchange(self, key, guess, judge)

    monkeypatch.setattr(type(store), "exchange", between)
    with pytest.raises(StoreError, match="took a step while it was to be moved"):
        store.move("one", "two")
    monkeypatch.undo()
    assert [info.key for info in store.sessions()] == ["one"]
    assert store.verify("one").ok
    store.move("one", "two")
    assert [info.key for info in store.sessions()] == ["two"]
    again = Guard('rule "r" { at most 5 search }', store=store, key="two", tools={"search": lambda: 1})
    assert [again.run([ToolCall("search")])[0].ok for _ in range(4)] == [True, True, True, False]


@pytest.mark.parametrize("again", [Fault.NONE, Fault.UNREACHABLE])
@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize(
    "fault", [f for f in Fault if f not in {Fault.NONE, Fault.CORRUPT}], ids=lambda fault: fault.name
)
def test_a_store_that_fails_while_a_session_is_moved_loses_nothing(fault, place, again):
    inner = MemoryStore()
    Guard(ONCE, store=inner, key="one", tools={"search": lambda: 1}).run([ToolCall("search")])
    failing = FaultyStore(inner, [Fault.NONE] * place + [fault, again])
    with suppress(StoreError, UsageError, KeyboardInterrupt, ZeroDivisionError):
        failing.move("one", "two")
    keys = sorted(info.key for info in inner.sessions())
    assert keys in (["one"], ["two"]) or (again is not Fault.NONE and keys == ["one", "two"])
    for key in keys:
        assert inner.verify(key).ok
        assert Guard(ONCE, store=inner, key=key, tools={"search": lambda: 1}).run([ToolCall("search")])[0].ok is False


def test_a_session_whose_ledger_is_bad_is_not_moved(store):
    Guard(ONCE, store=store, key="one", tools={"search": lambda: 1}).run([ToolCall("search")])
    row = store.row("one")
    lines = list(store.ledger("one"))
    store.exchange("one", row, lambda _: Change(None))
    store.exchange("one", None, lambda _: Change(row, 0, (*lines[:-1], lines[-2])))
    with pytest.raises(CorruptSessionError, match="is bad"):
        store.move("one", "two")
    assert [info.key for info in store.sessions()] == ["one"]
