"""The session of a thread, for programs beside the agent."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.errors import NodeCancelledError

from accord import Blocked, Ledger, MemorySink, MemoryStore, Ok, UsageError, Violation
from accord.langchain import AccordMiddleware, CheckpointedProtocolMiddleware, ProtocolFSM, Transition, ref
from tests.agents.protocols import KINDS, booking_of
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say, told

TALKING = "!search.?search.!PresentOptions.?{UserApproval by human, UserRefusal.end}.!book.?book.end"


@pytest.fixture
def recorder():
    return Recorder()


@pytest.mark.parametrize("store", [None, MemoryStore()])
def test_events_that_no_tool_makes(recorder, store):
    middleware = AccordMiddleware(TALKING, store=store, events=["PresentOptions", "UserApproval", "UserRefusal"])
    script = [say(call("search", "a")), "AZ1, 120 EUR?", say(call("book", "b")), "done"]
    agent, _ = agent_of(script, middleware, recorder)
    first = agent.invoke(asked(), config())
    session = middleware.session(agent, config())
    assert session.allowed == ["!PresentOptions"]
    assert session.send("PresentOptions", {"text": first["messages"][-1].content}) == Ok()
    assert isinstance(session.receive("UserApproval"), Violation)  # nobody has made it
    assert session.receive("UserApproval", {"text": "yes"}, by="ana") == Ok()
    agent.invoke(asked("yes"), config())
    assert (recorder.names, session.status, session.name) == (["search", "book"], "complete", "t")


@pytest.mark.parametrize("store", [None, MemoryStore()])
def test_a_program_does_not_answer_for_people(recorder, store):
    ledger = None if store else Ledger(MemorySink())
    middleware = AccordMiddleware("!search.?search.?UserApproval by human.!book.?book.end", store=store, ledger=ledger)
    agent, _ = agent_of([say(call("search", "a")), say(call("book", "b")), "done"], middleware, recorder)
    assert "__interrupt__" in agent.invoke(asked(), config())
    session = middleware.session(agent, config())
    with pytest.raises(UsageError) as refused:
        session.receive("UserApproval", by="cron job")
    assert str(refused.value) == (
        "`UserApproval` is for a person to decide, and this program was not given the right to report it: answer the "
        'interrupt of the graph (`Command(resume={"event_label": …, "by": …})`); if the program asks the person '
        'itself, name the label: events=["UserApproval"]'
    )
    lines = store.ledger("t") if store else ledger._sink.data.splitlines()
    assert any(b"not the program's to report" in line and b"cron job" in line for line in lines)
    assert session.allowed == ["?UserApproval by human"]
    assert "book" not in recorder.names


@pytest.mark.parametrize("events", [[], ["UserApproval"]])
def test_nor_does_it_for_those_of_a_machine(recorder, events):
    search, book = map(ref, recorder.tools[:2])
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(
            Transition(source="idle", event_label="UserApproval", phase="recv", target="yes", interrupt=True)
        )
        .add_transition(Transition(source="yes", tool=book, phase="send", target="done"))
        .mark_terminal("done")
    )
    middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[search, book], events=events).middleware
    agent, _ = agent_of([say(call("book", "a")), "done"], middleware, recorder)
    session = middleware.session(agent, config())
    if events:
        assert session.receive("UserApproval", by="cron job") == Ok()
    else:
        with pytest.raises(UsageError, match="for a person to decide"):
            session.receive("UserApproval", by="cron job")
    result = agent.invoke(asked(), config())
    assert ("__interrupt__" in result, recorder.names) == ((False, ["book"]) if events else (True, []))


def test_a_program_does_not_answer_for_people_in_event_loops(recorder):
    middleware = AccordMiddleware("?UserApproval by human.!book.end")
    agent, _ = agent_of(["hm"], middleware, recorder)
    with pytest.raises(UsageError, match="for a person to decide"):
        asyncio.run(middleware.asession(agent, config()).receive("UserApproval", by="cron job"))


def test_a_thread_may_begin_with_an_event(recorder):
    middleware = AccordMiddleware("?Order.!book.?book.end", events=["Order"])
    agent, _ = agent_of([say(call("book", "b")), "done"], middleware, recorder)
    assert middleware.session(agent, config()).receive("Order", {"id": 3}) == Ok()
    agent.invoke(asked(), config())
    assert recorder.names == ["book"]


def test_a_call_whose_process_has_died(recorder):
    class Crash(BaseException):
        pass

    @tool
    def pay() -> str:
        """Pay, and take the process down."""
        recorder.ran.append(("pay",))
        raise Crash

    recorder.tools.append(pay)
    ledger = Ledger(MemorySink())
    for answer, expected in (("settle", []), ("keep", []), ("fail", ["pay"])):
        recorder.ran.clear()
        middleware = AccordMiddleware("!pay.?pay.!search.end", ledger=ledger)
        agent, _ = agent_of([say(call("pay", "a")), say(call("pay", "b")), "done"], middleware, recorder)
        with pytest.raises(Crash):
            agent.invoke(asked(), config(answer))
        session = middleware.session(agent, config(answer))
        (out,) = session.out()
        assert (out.ticket, out.name) == ("a", "pay")
        recorder.ran.clear()
        if answer == "settle":
            assert session.settle("a", {"receipt": 3}) == Ok()
        else:
            getattr(session, answer)("a", "the bank says so")
        assert session.out() == []
        with suppress(Crash):
            agent.invoke(asked("again"), config(answer))
        assert recorder.names == expected
    assert ledger.verify().ok


def test_a_stopped_session_goes_on_when_a_person_says_so(recorder):
    middleware = AccordMiddleware("!search.?search.!book.end", patience=1)
    script = [say(call("book", "a")), "hm", say(call("search", "b")), "found"]
    agent, _ = agent_of(script, middleware, recorder)
    agent.invoke(asked(), config())
    session = middleware.session(agent, config())
    assert session.stopped == "`book` was refused 1 times"
    with pytest.raises(UsageError):
        session.resume(by="", reason="x")
    session.resume(by="ana", reason="she has told it what to do")
    with pytest.raises(UsageError, match="not stopped"):
        session.resume(by="ana", reason="again")
    result = agent.invoke(asked("search first"), config())
    assert recorder.names == ["search"]
    assert told(result)[-1] == "flights to Rome"


def test_a_machine(recorder):
    search = ref(recorder.tools[0])
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", event_label="Order", phase="recv", target="ordered"))
        .add_transition(Transition(source="ordered", tool=search, phase="send", target="done"))
        .mark_terminal("done")
    )
    middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[search]).middleware
    agent, _ = agent_of([say(call("search", "a")), "done"], middleware, recorder)
    assert middleware.session(agent, config()).receive("Order") == Ok()
    result = agent.invoke(asked(), config())
    assert result["fsm_trace"] == ["recv:Order", "send:search"]


def test_nonsense(recorder):
    middleware = AccordMiddleware(TALKING, events=["PresentOptions", "UserApproval", "UserRefusal"])
    agent, _ = agent_of(["hm"], middleware, recorder)
    with pytest.raises(UsageError, match="thread_id"):
        middleware.session(agent, {})
    with pytest.raises(UsageError):
        middleware.session(agent, config()).receive("UserApproval", {"x": object()})
    assert repr(middleware.session(agent, config())) == "<ThreadSession of t>"


# -- for event loops ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [None, MemoryStore()])
def test_the_same_for_event_loops(recorder, store, tmp_path):
    """With a checkpointer that has no other way."""
    middleware = AccordMiddleware(TALKING, store=store, events=["PresentOptions", "UserApproval", "UserRefusal"])
    script = [say(call("search", "a")), "AZ1, 120 EUR?", say(call("book", "b")), "done"]

    async def go():
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "c.db")) as saver:
            agent, _ = agent_of(script, middleware, recorder, checkpointer=saver)
            session = middleware.asession(agent, config())
            assert await session.allowed() == ["!search"]
            await agent.ainvoke(asked(), config())
            assert await session.allowed() == ["!PresentOptions"]
            assert await session.send("PresentOptions", {"text": "AZ1"}) == Ok()
            assert isinstance(await session.receive("UserApproval"), Violation)
            assert await session.receive("UserApproval", {"text": "yes"}, by="ana") == Ok()
            await agent.ainvoke(asked("yes"), config())
            return await session.status(), await session.name(), await session.stopped(), await session.out()

    assert asyncio.run(go()) == ("complete", "t", None, [])
    assert recorder.names == ["search", "book"]


def test_what_only_a_person_knows_for_event_loops(recorder):
    @tool
    async def pay() -> str:
        """Pay, and take the process down."""
        recorder.ran.append(("pay",))
        raise asyncio.CancelledError

    recorder.tools.append(pay)
    middleware = AccordMiddleware("!pay.?pay.!search.end", patience=1)
    script = [say(call("pay", "a")), say(call("book", "b")), "hm", say(call("search", "c")), "done"]
    agent, _ = agent_of(script, middleware, recorder)

    async def go(answer):
        where = config(answer)
        with pytest.raises(NodeCancelledError):
            await agent.ainvoke(asked(), where)
        session = middleware.asession(agent, where)
        assert [out.ticket for out in await session.out()] == ["a"]
        if answer == "settle":
            assert await session.settle("a", {"receipt": 3}) == Ok()
        else:
            await getattr(session, answer)("a", "the bank says so")
        assert await session.out() == []
        await agent.ainvoke(asked("go on"), where)  # the call of `book` is one refusal too many
        assert await session.stopped() == "`book` was refused 1 times"
        await session.resume(by="ana", reason="search, then")
        assert await session.stopped() is None
        return await session.allowed()

    assert asyncio.run(go("settle")) == asyncio.run(go("keep")) == ["!search"]
    assert asyncio.run(go("fail")) == ["!pay"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_come_back_is_seen_before_it_is_taken_in(kind, recorder):
    """The graph has stopped right behind the tool: nothing is out any more, whatever the checkpoint says."""
    middleware = booking_of(kind, recorder)
    agent, _ = agent_of([say(call("search", "a")), "done"], middleware, recorder, interrupt_after=["tools"])
    agent.invoke(asked(), config())
    session = middleware.session(agent, config())
    assert (session.out(), session.allowed) == ([], ["!book"])


def test_answers_about_calls_that_are_none(recorder):
    middleware = AccordMiddleware("!search.?search.end", ledger=Ledger(MemorySink()))
    agent, _ = agent_of(["hm"], middleware, recorder)
    agent.invoke(asked(), config())
    session = middleware.session(agent, config())
    for answer in (lambda: session.settle("x"), lambda: session.fail("x", "no"), lambda: session.keep("x", "no")):
        assert answer() == Blocked("no such call is out: it has returned already, or was never admitted")
    with pytest.raises(UsageError, match="is JSON"):
        session.settle("x", {"a": object()})
    assert session.allowed == ["!search"]
