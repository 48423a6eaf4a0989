"""The session of a thread, for programs beside the agent."""

from __future__ import annotations

from contextlib import suppress

import pytest
from langchain_core.tools import tool

from accord import Ledger, MemorySink, MemoryStore, Ok, UsageError, Violation
from accord.langchain import AccordMiddleware, CheckpointedProtocolMiddleware, ProtocolFSM, Transition, ref
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say, told

TALKING = "!search.?search.!PresentOptions.?{UserApproval by human, UserRefusal.end}.!book.?book.end"


@pytest.fixture
def recorder():
    return Recorder()


@pytest.mark.parametrize("store", [None, MemoryStore()])
def test_events_that_no_tool_makes(recorder, store):
    middleware = AccordMiddleware(TALKING, store=store)
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


def test_a_thread_may_begin_with_an_event(recorder):
    middleware = AccordMiddleware("?Order.!book.?book.end")
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
    middleware = AccordMiddleware(TALKING)
    agent, _ = agent_of(["hm"], middleware, recorder)
    with pytest.raises(UsageError, match="thread_id"):
        middleware.session(agent, {})
    with pytest.raises(UsageError):
        middleware.session(agent, config()).receive("UserApproval", {"x": object()})
    assert repr(middleware.session(agent, config())) == "<ThreadSession of t>"
