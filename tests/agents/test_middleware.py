"""An agent under contract: what runs, what the model is told, what becomes of a thread."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolRetryMiddleware, wrap_tool_call
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from accord import Ledger, MemorySink, MemoryStore, OrderWarning, UsageError, ViolationError
from accord.langchain import AccordMiddleware
from tests.agents.scripted import Recorder, Scripted, agent_of, asked, call, config, say, told

BOOKING = """
protocol Booking = rec L. !{search.?search.L, book.?book.end}
rule "look first" { before book require search }
"""
ONE = "!{search.?search.end, book.?book.end}"


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture(params=["sync", "async"])
def run(request):
    """Invoke an agent in either way."""

    def invoke(agent, given, where=None, **more):
        if request.param == "sync":
            return agent.invoke(given, where or config(), **more)
        return asyncio.run(agent.ainvoke(given, where or config(), **more))

    return invoke


def test_an_illegal_call_does_not_run_and_the_model_corrects_itself(recorder, run):
    def correct(messages):
        assert "First call `search`, then `book`." in messages[-1].content
        assert messages[-1].status == "error"
        return say(call("search", "c2"))

    script = [say(call("book", "c1")), correct, say(call("book", "c3")), "done"]
    agent, _ = agent_of(script, AccordMiddleware(BOOKING), recorder)
    result = run(agent, asked())
    assert recorder.names == ["search", "book"]
    assert result["messages"][-1].content == "done"
    assert result["accord"] == {
        "session": "t", "status": "complete", "ended_early": False, "allowed": [], "out": [],
    }  # fmt: skip


def test_of_two_calls_of_which_one_is_legal_exactly_one_runs(recorder, run):
    agent, _ = agent_of([say(call("search", "a"), call("book", "b")), "done"], AccordMiddleware(ONE), recorder)
    result = run(agent, asked())
    assert recorder.names == ["search"]
    assert [message.startswith("error") for message in told(result)] == [True, False]


def test_what_is_legal_side_by_side_runs_side_by_side(recorder, run):
    middleware = AccordMiddleware("(!search.?search.end | !book.?book.end).end")
    agent, _ = agent_of([say(call("search", "a"), call("book", "b")), "done"], middleware, recorder)
    result = run(agent, asked())
    assert sorted(recorder.names) == ["book", "search"]
    assert result["accord"]["status"] == "complete"


def test_a_call_that_has_to_wait_for_another_is_told_to_ask_again(recorder, run):
    script = [say(call("search", "a"), call("book", "b"), call("search", "c")), say(call("book", "d")), "done"]
    agent, _ = agent_of(script, AccordMiddleware(BOOKING), recorder)
    result = run(agent, asked())
    by_id = {
        message.tool_call_id: message.content for message in result["messages"] if isinstance(message, ToolMessage)
    }
    assert by_id["b"] == "error: `book` has to wait for `search`. Ask for it again when that has returned."
    assert recorder.names == ["search", "book"]


def test_tools_that_are_not_legal_now_are_hidden(recorder, run):
    agent, model = agent_of(
        [say(call("search", "a")), say(call("book", "b")), "done"], AccordMiddleware(BOOKING), recorder
    )
    run(agent, asked())
    assert model.shown == [["search"], ["book", "search"]]  # and none at all when the session is over
    agent, model = agent_of(["done"], AccordMiddleware(BOOKING, hide=False), recorder)
    run(agent, asked())
    assert model.shown == [["book", "fail", "search"]]


def test_a_tool_that_fails_is_taken_back(recorder, run):
    middleware = AccordMiddleware("!{fail.?fail.end, book.?book.end}")
    agent, _ = agent_of([say(call("fail", "a")), say(call("book", "b")), "done"], middleware, recorder)
    result = run(agent, asked())
    assert recorder.names == ["fail", "book"]
    assert told(result) == ["error: RuntimeError: out of order", "booked AZ1"]


def test_a_failed_call_counts_if_the_contract_says_so(recorder, run):
    middleware = AccordMiddleware("protocol P = !{fail.?fail.end, book.?book.end} tools { fail fails done }")
    agent, _ = agent_of([say(call("fail", "a")), say(call("book", "b")), "done"], middleware, recorder)
    run(agent, asked())
    assert recorder.names == ["fail"]


def test_wrong_arguments_are_a_failure(recorder, run):
    agent, _ = agent_of(
        [say(call("book", "a", amount="many")), say(call("book", "b")), "done"], AccordMiddleware("!book.end"), recorder
    )
    result = run(agent, asked())
    assert recorder.names == ["book"]
    assert result["accord"]["status"] == "complete"


def test_an_error_of_a_tool_can_end_the_run(recorder, run):
    middleware = AccordMiddleware("!fail.?fail.end", tool_errors="raise")
    agent, _ = agent_of([say(call("fail", "a")), "done"], middleware, recorder)
    with pytest.raises(RuntimeError, match="out of order"):
        run(agent, asked())
    with pytest.raises(RuntimeError, match="out of order"):
        run(agent, None)  # resumed: the call is still reserved, and is made again
    assert recorder.names == ["fail", "fail"]


def test_a_result_that_breaks_the_contract_is_withheld(recorder, run):
    @tool
    def quote() -> dict:
        """Quote a price."""
        recorder.ran.append(("quote",))
        return {"total": 500, "note": "not for the model"}

    recorder.tools.append(quote)
    middleware = AccordMiddleware("rec L.{!quote.?quote(total <= 100).L, !book.?book.end}")
    agent, _ = agent_of([say(call("quote", "a")), "done"], middleware, recorder)
    result = run(agent, asked())
    assert recorder.names == ["quote"]
    assert told(result)[0].startswith("error: the tool has run, but its result is withheld")
    assert "not for the model" not in str(result["messages"])


def test_arguments_are_judged(recorder, run):
    script = [say(call("book", "a", amount=300)), say(call("book", "b", amount=30)), "done"]
    agent, _ = agent_of(script, AccordMiddleware("!book(amount <= 100).?book.end"), recorder)
    run(agent, asked())
    assert recorder.ran == [("book", "AZ1", 30)]


def test_fields_of_results_reach_the_contract(run):
    @tool
    def quote() -> dict:
        """Quote a price."""
        return {"total": 50}

    recorder = Recorder()
    recorder.tools.append(quote)
    script = [say(call("quote", "q")), say(call("book", "a", amount=60)), say(call("book", "b", amount=50)), "done"]
    agent, _ = agent_of(script, AccordMiddleware("!quote.?quote(total as t).!book(amount <= t).?book.end"), recorder)
    run(agent, asked())
    assert recorder.ran == [("book", "AZ1", 50)]


# -- what happens on a violation ---------------------------------------------------------------------------------------


def test_raise(recorder, run):
    agent, _ = agent_of(
        [say(call("search", "a"), call("book", "b"))], AccordMiddleware(ONE, on_violation="raise"), recorder
    )
    with pytest.raises(ViolationError, match="`book` depends on `search`"):
        run(agent, asked())
    assert recorder.ran == []


def test_observe(recorder, run):
    ledger = Ledger(MemorySink())
    middleware = AccordMiddleware("!search.?search.end", on_violation="observe", ledger=ledger)
    agent, _ = agent_of([say(call("book", "a"), call("search", "b")), "done"], middleware, recorder)
    result = run(agent, asked())
    assert sorted(recorder.names) == ["book", "search"]
    assert result["accord"]["status"] == "complete"
    assert '"observed":true' in ledger._sink.data.decode()


@pytest.mark.parametrize("answer", [None, True, "go on"])
def test_a_function_that_returns_still_blocks(recorder, run, answer):
    seen = []

    def on_violation(decision):
        seen.append((decision.call.name, decision.status))
        return answer

    agent, _ = agent_of(
        [say(call("book", "a")), "done"], AccordMiddleware(BOOKING, on_violation=on_violation), recorder
    )
    run(agent, asked())
    assert recorder.ran == []
    assert seen == [("book", "refused")]


def test_a_function_that_raises_stops_the_run(recorder, run):
    def on_violation(decision):
        raise KeyError(decision.call.name)

    ledger = Ledger(MemorySink())
    middleware = AccordMiddleware(ONE, on_violation=on_violation, ledger=ledger)
    agent, _ = agent_of([say(call("search", "a"), call("book", "b"))], middleware, recorder)
    with pytest.raises(KeyError):
        run(agent, asked())
    assert recorder.ran == []
    assert '"what":"call failed"' in ledger._sink.data.decode()  # the reserved one was taken back


def test_patience(recorder, run):
    script = [say(call("book", f"c{n}")) for n in range(4)] + [say(call("search", "s")), "done"]
    agent, model = agent_of(script, AccordMiddleware(BOOKING, patience=3), recorder)
    result = run(agent, asked())
    assert recorder.ran == []
    assert "refused 3 times" in told(result)[2]
    assert "No tool runs any more" in told(result)[3]
    assert len(model.shown) == 3  # then it sees none


# -- turns -------------------------------------------------------------------------------------------------------------


def test_a_second_turn_on_a_finished_thread_is_refused_in_the_same_session(recorder, run):
    script = [say(call("book", "a")), "done", say(call("book", "b")), "sorry"]
    agent, _ = agent_of(script, AccordMiddleware("!book.?book.end"), recorder)
    assert run(agent, asked())["accord"]["session"] == "t"
    second = run(agent, asked("again"))
    assert second["accord"] == {"session": "t", "status": "complete", "ended_early": False, "allowed": [], "out": []}
    assert recorder.names == ["book"]
    assert told(second)[-1] == "error: `book` is not allowed: the protocol is over, and nothing more may happen."


def test_a_protocol_that_begins_again_at_the_next_turn(recorder, run):
    ledger = Ledger(MemorySink())
    script = [say(call("book", "a")), say(call("book", "b")), "done", say(call("book", "c")), "done again"]
    middleware = AccordMiddleware("!book.?book.end", ledger=ledger, when_over="restart")
    agent, _ = agent_of(script, middleware, recorder)
    first = run(agent, asked())
    assert "the protocol is over" in told(first)[1]  # not before the user has spoken
    second = run(agent, asked("again"))
    assert second["accord"] == {"session": "t", "status": "complete", "ended_early": False, "allowed": [], "out": []}
    assert recorder.names == ["book", "book"]
    entries = [json.loads(line)["entry"] for line in ledger._sink.data.splitlines()]
    assert {entry["session"] for entry in entries if "session" in entry} == {"t"}
    assert [entry["what"] for entry in entries if entry.get("what", "").startswith("protocol")] == [
        "protocol begins again"
    ]
    assert ledger.verify().ok


def test_a_second_turn_on_an_unfinished_thread_goes_on(recorder, run):
    script = [say(call("search", "a")), "which one?", say(call("book", "b")), "done"]
    agent, _ = agent_of(script, AccordMiddleware(BOOKING), recorder)
    first = run(agent, asked())
    assert first["accord"]["ended_early"] is True
    second = run(agent, asked("that one"))
    assert second["accord"] == {"session": "t", "status": "complete", "ended_early": False, "allowed": [], "out": []}


def test_ending_early_is_noticed(recorder, run):
    ledger, told_of = Ledger(MemorySink()), []
    middleware = AccordMiddleware(BOOKING, early_end=told_of.append, ledger=ledger)
    agent, _ = agent_of([say(call("search", "a")), "I have booked it."], middleware, recorder)
    result = run(agent, asked())
    assert told_of == [result["accord"]]
    assert result["accord"]["ended_early"] is True
    assert result["accord"]["allowed"] == ["!book", "!search"]
    assert '"what":"ended early"' in ledger._sink.data.decode()
    agent, _ = agent_of(["I have booked it."], AccordMiddleware(BOOKING, early_end="raise"), recorder)
    with pytest.raises(ViolationError, match="ended its turn early"):
        run(agent, asked())


def test_rules_alone_count_over_turns(recorder, run):
    script = [say(call("search", "a")), "1", say(call("search", "b")), say(call("search", "c")), "2"]
    agent, _ = agent_of(script, AccordMiddleware('rule "twice" { at most 2 search }'), recorder)
    run(agent, asked())
    result = run(agent, asked("more"))
    assert recorder.names == ["search", "search"]
    assert told(result)[-1].startswith("error: `search` is refused by the rule `twice`")


def test_the_state_does_not_grow_with_the_history(recorder, run):
    def script(rounds):
        return [say(call("search", f"c{n}")) for n in range(rounds)] + ["done"]

    sizes = []
    for rounds in (80, 160):
        agent, _ = agent_of(script(rounds), AccordMiddleware(BOOKING), recorder)
        run(agent, asked(), config(f"t{rounds}"))
        values = agent.get_state(config(f"t{rounds}")).values
        assert values["accord_returns"] == []
        sizes.append(len(values["accord_session"]))
    assert abs(sizes[1] - sizes[0]) < 200  # the last 64 ids, a character longer


# -- many at once ------------------------------------------------------------------------------------------------------


def test_many_threads_at_once_share_one_middleware(recorder):
    script = [say(call("book", "x")), say(call("search", "a")), say(call("book", "b")), "done"]
    agent, _ = agent_of(script, AccordMiddleware(BOOKING), recorder)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: agent.invoke(asked(), config(f"t{n}")), range(24)))
    assert [result["accord"]["session"] for result in results] == [f"t{n}" for n in range(24)]
    assert recorder.names.count("book") == recorder.names.count("search") == 24


def test_many_tasks_at_once(recorder):
    script = [say(call("search", "a")), say(call("book", "b"), call("book", "c")), "done"]
    agent, _ = agent_of(script, AccordMiddleware(BOOKING), recorder)

    async def all_of_them():
        return await asyncio.gather(*(agent.ainvoke(asked(), config(f"t{n}")) for n in range(24)))

    results = asyncio.run(all_of_them())
    assert {result["accord"]["status"] for result in results} == {"complete"}
    assert recorder.names.count("book") == 24


def test_without_a_checkpointer_a_session_lasts_one_invocation(recorder, run):
    script = [say(call("book", "a")), "done"]
    agent, _ = agent_of(script, AccordMiddleware("!book.?book.end"), recorder, checkpointer=None)
    for _ in range(2):
        assert run(agent, asked())["accord"]["status"] == "complete"
    assert recorder.names == ["book", "book"]


# -- streaming ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["checkpoint", "store"])
def test_patience_counts_messages(recorder, run, where):
    kept = {"store": MemoryStore()} if where == "store" else {}
    five = [call("book", f"{{}}{n}", price=n) for n in range(5)]
    script = [say(*({**one, "id": one["id"].format(turn)} for one in five)) for turn in "abc"]
    agent, _ = agent_of([*script, "done"], AccordMiddleware(BOOKING, patience=3, **kept), recorder)
    said = told(run(agent, asked(), config()))
    assert (len(said), sum("No tool runs any more" in each for each in said)) == (15, 1)
    assert "No tool runs any more" in said[-1]


def test_other_names_buy_no_other_tries(recorder, run):
    script = [say(call(name, name)) for name in ("one", "two", "three")]
    middleware = AccordMiddleware(BOOKING, patience=3)
    agent, _ = agent_of([*script, "done"], middleware, recorder)
    run(agent, asked(), config())
    assert middleware.session(agent, config()).stopped == (
        "nothing that was called has been allowed 3 times in a row, `three` last"
    )


def test_who_is_told_to_ask_again_is_not_counted(recorder, run):
    middleware = AccordMiddleware(BOOKING, patience=1)
    agent, _ = agent_of(
        [say(call("search", "a"), call("book", "b")), say(call("book", "c")), "done"], middleware, recorder
    )
    result = run(agent, asked(), config())
    assert "has to wait for `search`" in told(result)[1] or "has to wait for `search`" in told(result)[0]
    assert recorder.names == ["search", "book"]


@pytest.mark.parametrize("mode", ["updates", "values", "messages"])
def test_streaming(recorder, mode):
    script = [say(call("book", "x")), say(call("search", "a")), say(call("book", "b")), "done"]
    agent, _ = agent_of(script, AccordMiddleware(BOOKING), recorder)
    assert list(agent.stream(asked(), config(), stream_mode=mode))
    assert recorder.names == ["search", "book"]

    async def stream():
        return [chunk async for chunk in agent.astream(asked(), config("u"), stream_mode=mode)]

    assert asyncio.run(stream())
    assert recorder.names == ["search", "book"] * 2


# -- around tools ------------------------------------------------------------------------------------------------------


def test_a_jump_past_the_decision_runs_nothing(recorder):
    agent, _ = agent_of(["hello"] * 3, AccordMiddleware(BOOKING), recorder)
    agent.invoke(asked(), config())
    forged = AIMessage(content="", tool_calls=[call("book", "z")])
    agent.update_state(config(), {"messages": [forged]}, as_node="AccordMiddleware.after_model")
    result = agent.invoke(None, config())
    assert recorder.ran == []
    assert "was not admitted" in told(result)[-1]


def test_other_arguments_under_a_reserved_id_do_not_run(recorder):
    agent, _ = agent_of(
        [say(call("search", "a")), "done"], AccordMiddleware(BOOKING), recorder, interrupt_before=["tools"]
    )
    agent.invoke(asked(), config())
    message = agent.get_state(config()).values["messages"][-1]
    changed = message.model_copy(update={"tool_calls": [call("search", "a", city="Oslo")]})
    agent.update_state(config(), {"messages": [changed]}, as_node="AccordMiddleware.after_model")
    result = agent.invoke(None, config())
    while agent.get_state(config()).next:
        result = agent.invoke(None, config())
    assert recorder.ran == []
    assert "belongs to another call" in told(result)[-1]


def test_a_retry_around_a_tool_is_one_call(recorder, run):
    attempts = []

    @tool
    def flaky() -> str:
        """Work the third time."""
        attempts.append(1)
        if len(attempts) < 3:
            raise ConnectionError("later")
        return "ok"

    recorder.tools.append(flaky)
    retry = ToolRetryMiddleware(max_retries=3, initial_delay=0, jitter=False)
    model = Scripted(script=[say(call("flaky", "a")), "done"])
    agent = create_agent(
        model, recorder.tools, middleware=[AccordMiddleware("!flaky.?flaky.end"), retry], checkpointer=InMemorySaver()
    )
    result = run(agent, asked())
    assert len(attempts) == 3
    assert result["accord"]["status"] == "complete"


def test_a_middleware_that_calls_twice_runs_a_tool_once(recorder):
    @wrap_tool_call
    def twice(request, handler):
        handler(request)
        return handler(request)

    model = Scripted(script=[say(call("book", "a")), "done"])
    agent = create_agent(
        model, recorder.tools, middleware=[twice, AccordMiddleware("!book.?book.end")], checkpointer=InMemorySaver()
    )
    result = agent.invoke(asked(), config())
    assert recorder.names == ["book"]
    assert "is running already" in told(result)[0]


def test_two_contracts_on_one_agent(recorder):
    one = AccordMiddleware('rule "once" { at most 1 search }', name="once")
    two = AccordMiddleware(BOOKING)
    model = Scripted(
        script=[say(call("search", "a")), say(call("search", "b")), say(call("book", "c")), "done"], shown=[]
    )
    agent = create_agent(model, recorder.tools, middleware=[one, two], checkpointer=InMemorySaver())
    result = agent.invoke(asked(), config())
    assert recorder.names == ["search", "book"]
    assert result["accord"]["status"] == result["once"]["status"] == "complete"


def test_a_call_without_an_id_runs_nothing(recorder):
    message = AIMessage(content="", tool_calls=[{"name": "book", "args": {}, "id": None, "type": "tool_call"}])
    agent, _ = agent_of([message, "done"], AccordMiddleware("!book.end"), recorder)
    with pytest.raises(ViolationError, match="without an id"):
        agent.invoke(asked(), config())
    assert recorder.ran == []


def test_two_calls_with_one_id_do_not_run(recorder):
    agent, _ = agent_of(
        [say(call("book", "a"), call("book", "a")), "done"], AccordMiddleware("rec L.!book.L"), recorder
    )
    result = agent.invoke(asked(), config())
    assert recorder.ran == []
    assert "several calls have the id" in told(result)[0]


def test_commands_of_tools(recorder, run):
    @tool
    def remember(tool_call_id: str = "") -> Command:
        """Write to the state."""
        message = ToolMessage("noted", tool_call_id="a")
        return Command(update={"messages": [message], "accord_session": "forged", "accord_returns": ["forged"]})

    recorder.tools.append(remember)
    agent, _ = agent_of([say(call("remember", "a")), "done"], AccordMiddleware("!remember.?remember.end"), recorder)
    result = run(agent, asked())
    assert told(result) == ["noted"]
    assert result["accord"]["status"] == "complete"


@pytest.mark.parametrize(
    "wrong",
    [
        {"on_violation": "warn"}, {"patience": 0}, {"escalate": "no"}, {"gates": "all"},
        {"early_end": 3}, {"tool_errors": "drop"}, {"reviewer": ""}, {"name": "a b"}, {"secret": "text"},
        {"ledger": "x"}, {"store": "x"}, {"key": str}, {"expires_after": 3}, {"observers": [1]}, {"review_lasts": -1},
    ],
)  # fmt: skip
def test_nonsense_is_refused(wrong):
    with pytest.raises(UsageError):
        AccordMiddleware(BOOKING, **wrong)


# -- beside other middlewares ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False])
def test_beside_the_human_in_the_loop_of_langchain(recorder, first):
    """A call that is rejected there is not out here; one that is edited there is judged, or does not run."""
    edit = {"type": "edit", "edited_action": {"name": "book", "args": {"flight": "AZ1", "amount": 99}}}
    for decision, ran in (({"type": "approve"}, [("book", "AZ1", 10)]), ({"type": "reject"}, []), (edit, [])):
        recorder.ran.clear()
        human = HumanInTheLoopMiddleware({"book": True})
        ours = AccordMiddleware("rec L.{!book(amount <= 50).?book.L, !search.?search.L}")
        script = [say(call("book", "a", flight="AZ1", amount=10)), say(call("search", "b")), "done"]
        with pytest.warns(OrderWarning) if first else nullcontext():
            agent = create_agent(
                Scripted(script=script), recorder.tools, checkpointer=InMemorySaver(),
                middleware=[human, ours] if first else [ours, human],
            )  # fmt: skip
        agent.invoke(asked(), config())
        result = agent.invoke(Command(resume={"decisions": [decision]}), config())
        assert [entry for entry in recorder.ran if entry[0] == "book"] == ran
        assert recorder.names[-1] == "search"
        assert result["accord"]["out"] == []


@pytest.mark.parametrize("labels", [{"book": ""}, {"book": 3}, {3: "book"}])
def test_labels_are_checked_as_a_guard_checks_them(labels):
    with pytest.raises(UsageError, match="labels"):
        AccordMiddleware("!book.end", labels=labels)


@pytest.mark.parametrize("store", [None, MemoryStore()])
def test_a_stopped_session_is_not_complete(recorder, store):
    middleware = AccordMiddleware("{!search.?search.end, end}", patience=1, store=store)
    agent, _ = agent_of([say(call("book", "a")), "done"], middleware, recorder)
    result = agent.invoke(asked(), config())
    assert result["accord"]["status"] == "stopped"
    session = middleware.session(agent, config())
    assert (session.status, asyncio.run(middleware.asession(agent, config()).status())) == ("stopped", "stopped")
    session.resume(by="ana", reason="it was the prompt")
    assert session.status == "complete"
