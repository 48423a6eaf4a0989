"""Sessions in a store of ours, shared with whoever else uses it."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from accord import Guard, MemoryStore, SQLiteStore, ToolCall, UsageError
from accord.langchain import AccordMiddleware
from accord.testing import Fault, FaultyStore
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say, told

BOOKING = "rec L. !{search.?search.L, book.?book.end}"
GATED = "!search.?search.?Approval by human.!book(amount <= 100).?book.end"
SCRIPT = [say(call("search", "a")), say(call("book", "b", amount=30)), "done"]


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def store():
    return MemoryStore()


def test_a_session_in_a_store_is_known_by_its_thread(recorder, store):
    agent, _ = agent_of([say(call("book", "a")), "done"], AccordMiddleware(BOOKING, store=store), recorder)
    agent.invoke(asked(), config("order-17"))
    info = store.session("order-17")
    assert (info.status, info.events) == ("complete", 2)
    assert store.verify("order-17").ok


def test_the_store_decides_whatever_the_checkpoint_says(recorder, store):
    for number in range(2):  # two agents with checkpoints of their own, one session
        middleware = AccordMiddleware("!book.?book.end", store=store)
        agent, _ = agent_of([say(call("book", f"a{number}")), "done"], middleware, recorder)
        result = agent.invoke(asked(), config())
        assert (told(result) == ["booked AZ1"]) == (number == 0)
    assert "the protocol is over" in told(result)[0]
    assert [info.key for info in store.sessions()] == ["t"]
    agent, _ = agent_of([say(call("search", "a")), "hm"], AccordMiddleware(BOOKING, store=store), recorder)
    agent.invoke(asked(), config("u"))
    other, _ = agent_of([say(call("book", "b")), "done"], AccordMiddleware(BOOKING, store=store), recorder)
    result = other.invoke(asked(), config("u"))
    assert result["accord"]["session"] == "u"
    assert store.session("u").status == "complete"


def test_a_thread_that_is_taken_back_does_not_take_back_its_session(recorder, store):
    saver = InMemorySaver()
    middleware = AccordMiddleware("!book.?book.end", store=store)
    agent, _ = agent_of([say(call("book", "a")), "done", "hm"], middleware, recorder, checkpointer=saver)
    agent.invoke(asked(), config())
    past = next(s for s in agent.get_state_history(config()) if s.next == ("tools",))
    result = agent.invoke(None, past.config)
    assert recorder.names == ["book"]
    assert "error" in told(result)[0]


def test_a_guard_shares_the_session(recorder, store):
    agent, _ = agent_of(
        [say(call("search", "a")), "hm", say(call("search", "b")), "hm"],
        AccordMiddleware(BOOKING, store=store),
        recorder,
    )
    agent.invoke(asked(), config())
    guard = Guard(BOOKING, store=store, key="t", tools={"book": lambda: "booked"}, events=["search"])
    assert guard.run([ToolCall("book")])[0].content == "booked"
    result = agent.invoke(asked("more"), config())
    assert "the protocol is over" in told(result)[-1]
    assert [info.key for info in store.sessions()] == ["t"]


def test_gates(recorder, store):
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED, store=store), recorder)
    result = agent.invoke(asked(), config())
    guard = Guard(GATED, store=store, key="t")
    (review,) = guard.reviews()
    assert review.id == result["__interrupt__"][0].value["review"]
    agent.invoke(Command(resume="no"), config())
    assert [each.id for each in guard.reviews()] == [review.id]  # asked again, opened once
    result = agent.invoke(Command(resume={"event_label": "Approval", "by": "ana"}), config())
    assert recorder.names == ["search", "book"]
    assert guard.review(review.id).by == "ana"
    assert store.verify("t").ok


@pytest.mark.parametrize(
    ("elsewhere", "here", "ran"),
    [
        ("allow", "approve", ["search", "book"]),
        ("allow", "deny", ["search"]),
        ("deny", "approve", ["search"]),
        ("deny", "deny", ["search"]),
    ],
)
def test_a_review_that_was_decided_elsewhere(recorder, store, elsewhere, here, ran):
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED, store=store), recorder)
    agent.invoke(asked(), config())
    guard = Guard(GATED, store=store, key="t")
    guard.decide(guard.reviews()[0].id, elsewhere, by="bob")
    agent.invoke(Command(resume={"event_label": here, "by": "ana"}), config())
    assert recorder.names == ran


def test_an_answer_is_not_taken_for_that_to_another_question(recorder, store):
    """While a person thinks about the first call, somebody else decides it; the answer must not fall to the second."""
    contract = 'rule "one each" { before each book require Approval by human }'
    script = [say(call("book", "a", amount=10), call("book", "b", amount=20)), "done"]
    agent, _ = agent_of(script, AccordMiddleware(contract, store=store), recorder)
    questions = agent.invoke(asked(), config())["__interrupt__"][0].value["questions"]
    assert [each["action"]["call_id"] for each in questions] == ["a", "b"]
    guard = Guard(contract, store=store, key="t")
    first = next(review for review in guard.reviews() if review.payload["amount"] == 10)
    guard.decide(first.id, "deny", by="bob")
    answer = {"event_label": "approve", "by": "ana"}
    result = agent.invoke(Command(resume={**answer, "review": questions[0]["review"]}), config())
    assert recorder.ran == []
    assert result["__interrupt__"][0].value["action"]["call_id"] == "b"
    agent.invoke(Command(resume={**answer, "review": questions[1]["review"]}), config())
    assert recorder.ran == [("book", "AZ1", 20)]


def test_a_tool_that_was_begun_is_not_run_again(recorder, store):
    class Crash(BaseException):
        pass

    @tool
    def pay() -> str:
        """Pay, and take the process down."""
        recorder.ran.append(("pay",))
        raise Crash

    recorder.tools.append(pay)
    agent, _ = agent_of([say(call("pay", "a")), "done"], AccordMiddleware("rec L.!pay.?pay.L", store=store), recorder)
    with pytest.raises(Crash):
        agent.invoke(asked(), config())
    result = agent.invoke(None, config())
    assert recorder.names == ["pay"]
    assert told(result)[0].startswith("error")


def test_a_tool_that_asks_a_person_itself_is_run_again_from_its_beginning(recorder, store):
    @tool
    def order() -> str:
        """Order."""
        recorder.ran.append(("order",))
        return f"ordered, {interrupt('sure?')}"

    recorder.tools.append(order)
    for thread, middleware in (
        ("t", AccordMiddleware("!order.?order.end", store=store)),
        ("u", AccordMiddleware("!order.?order.end")),
    ):
        agent, _ = agent_of([say(call("order", "a")), "done"], middleware, recorder)
        assert agent.invoke(asked(), config(thread))["__interrupt__"][0].value == "sure?"
        result = agent.invoke(Command(resume="yes"), config(thread))
        assert told(result) == ["ordered, yes"]
        assert result["accord"]["status"] == "complete"


def test_asynchronously(recorder, tmp_path):
    with SQLiteStore(tmp_path / "s.db") as store:
        script = [say(call("book", "x"), call("search", "a")), say(call("book", "b")), "done"]
        contract = BOOKING + ' rule "look first" { before book require search }'
        contract = f"protocol P = {contract}"
        agent, _ = agent_of(script, AccordMiddleware(contract, store=store), recorder)

        async def many():
            return await asyncio.gather(*(agent.ainvoke(asked(), config(f"t{n}")) for n in range(8)))

        asyncio.run(many())
        assert recorder.names.count("book") == recorder.names.count("search") == 8
        assert all(store.verify(f"t{n}").ok for n in range(8))


@pytest.mark.parametrize("fault", [Fault.UNREACHABLE, Fault.FULL, Fault.LOST_ANSWER, Fault.CORRUPT, Fault.BUG])
def test_a_store_that_breaks_blocks(fault):
    """From the first call on that it breaks at, nothing runs that is not in the store."""
    outcomes = set()
    for good in range(20):
        inner, recorder = MemoryStore(), Recorder()
        store = FaultyStore(inner, [Fault.NONE] * good + [fault] * 200)
        agent, _ = agent_of([say(call("book", "a")), "done"], AccordMiddleware("!book.end", store=store), recorder)
        try:
            agent.invoke(asked(), config())
        except Exception as error:
            outcomes.add(type(error).__name__)
        admitted = inner.session("t") is not None and any(b'"!book"' in line for line in inner.ledger("t"))
        assert recorder.names == ["book"] or not recorder.ran
        assert admitted or not recorder.ran
        if good < 3:
            assert not recorder.ran
        outcomes.add(bool(recorder.ran))
    assert {True, False} < outcomes, outcomes


def test_a_store_needs_a_thread(recorder, store):
    agent, _ = agent_of(["done"], AccordMiddleware("!book.end", store=store), recorder, checkpointer=None)
    with pytest.raises(UsageError, match="thread_id"):
        agent.invoke(asked())
    keyed = AccordMiddleware("!book.end", store=store, key=lambda *_: "the only one")
    agent, _ = agent_of([say(call("book", "a")), "done"], keyed, recorder, checkpointer=None)
    agent.invoke(asked())
    assert store.session("the only one").status == "complete"
