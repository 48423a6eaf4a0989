"""What a function of the user's own returns about a violation: a message, `LET_RUN`, or nothing that matters."""

from __future__ import annotations

import asyncio
import json

import pytest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from accord import LET_RUN, Guard, Ledger, MemorySink, MemoryStore, ToolCall
from accord.langchain import (
    AccordMiddleware,
    CheckpointedProtocolMiddleware,
    ProtocolEnforcerMiddleware,
    ProtocolFSM,
    ProtocolMonitor,
    Transition,
    ref,
)
from tests.agents.protocols import booking_of, machine
from tests.agents.scripted import Recorder, agent_of, asked, call, config, reported, say, told

TOOLS = {"search": lambda: 1, "book": lambda: 1}
KINDS = ["contract", "store", "checkpointed", "enforcer"]
SCRIPT = [say(call("book", "x", amount=7)), say(call("search", "a")), say(call("book", "b")), "done"]


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture(params=["sync", "async"])
def run(request):
    def invoke(agent, given):
        if request.param == "sync":
            return agent.invoke(given, config())
        return asyncio.run(agent.ainvoke(given, config()))

    return invoke


def middleware_of(kind, recorder, on_violation, ledger=None):
    if kind == "store":
        return booking_of("contract", recorder, store=MemoryStore(), on_violation=on_violation)
    if kind == "enforcer":
        monitor = ProtocolMonitor(machine(recorder), on_violation, ledger=ledger)
        return ProtocolEnforcerMiddleware(monitor, [ref(each) for each in recorder.tools]).middleware
    return booking_of(kind, recorder, on_violation=on_violation, ledger=ledger)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "reply", ["Search first, please.", "", ToolMessage("Search.", tool_call_id="?", status="success")]
)
def test_the_model_gets_the_message_that_is_returned(kind, reply, recorder, run):
    agent, _ = agent_of(SCRIPT, middleware_of(kind, recorder, lambda _: reply), recorder)
    result = run(agent, asked())
    (message,) = [each for each in result["messages"] if isinstance(each, ToolMessage) and each.tool_call_id == "x"]
    text, status = (reply, "error") if isinstance(reply, str) else ("Search.", "success")
    assert (message.content, message.status, message.name) == (text, status, "book")
    assert recorder.names == ["search", "book"]
    assert reported(result)["status"] == "complete"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", [None, True, False, 1, ["run"], {}, Command(goto="tools")])
def test_whatever_else_is_returned_changes_nothing(kind, other, recorder, run):
    agent, _ = agent_of(SCRIPT, middleware_of(kind, recorder, lambda _: other), recorder)
    result = run(agent, asked())
    assert told(result)[0].startswith("error: ")
    assert recorder.names == ["search", "book"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_raised_ends_the_run(kind, recorder, run):
    def raises(_):
        raise RuntimeError("not with us")

    agent, _ = agent_of(
        [say(call("search", "a"), call("book", "x")), "done"], middleware_of(kind, recorder, raises), recorder
    )
    with pytest.raises(RuntimeError, match="not with us"):
        run(agent, asked())
    assert recorder.ran == [], "nothing of the batch, as it was not decided"


def entries(ledger):
    return [json.loads(line)["entry"] for line in ledger._sink.data.splitlines()][1:]


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_is_let_run_runs_once_and_is_no_event(kind, recorder, run):
    heard, ledger = [], Ledger(MemorySink())

    def let(violation):
        heard.append(violation)
        return LET_RUN

    middleware = middleware_of(kind, recorder, let, ledger)
    agent, _ = agent_of(SCRIPT, middleware, recorder)
    result = run(agent, asked())
    assert recorder.ran == [("book", "AZ1", 7), ("search", "Rome"), ("book", "AZ1", 10)]
    assert told(result) == ["booked AZ1", "flights to Rome", "booked AZ1"]
    assert reported(result)["status"] == "complete", "nothing rests on what was let run"
    assert len(heard) == 1
    if kind in {"checkpointed", "enforcer"}:
        assert (heard[0].call_id, heard[0].arguments) == ("x", {"amount": 7})
        assert result["fsm_trace"] == ["send:search", "recv:search", "send:book", "recv:book"]
    if kind != "store":
        told_of = [(e.get("event") or e["what"], e.get("verdict")) for e in entries(ledger)]
        assert told_of[:2] == [("!book", "violation"), ("violation let run", None)]
        assert entries(ledger)[1]["detail"]["call"] == "x"
        assert next(each for each in told_of if each[1] == "ok") == ("!search", "ok")


def test_it_runs_with_the_arguments_that_were_judged_and_under_its_own_id(recorder):
    script = [
        say(call("book", "x", amount=7)),
        say(call("book", "x", amount=7)),
        say(call("book", "x", amount=8)),
        "done",
    ]
    agent, _ = agent_of(script, AccordMiddleware("!search.end", on_violation=lambda _: LET_RUN), recorder)
    result = agent.invoke(asked(), config())
    assert recorder.ran == [("book", "AZ1", 7)]
    assert "has run already" in told(result)[1]
    assert "belongs to another call" in told(result)[2]


def test_only_the_contract_can_be_overruled(recorder):
    """A person's no, an id that has run, arguments that cannot be read, and a stopped session stay what they are."""
    heard = []

    def let(decision):
        heard.append(decision)
        return LET_RUN

    rule = 'rule "ask" { before each book require Approval by human }'
    agent, _ = agent_of([say(call("book", "b")), "done"], AccordMiddleware(rule, on_violation=let), recorder)
    agent.invoke(asked(), config())
    result = agent.invoke(Command(resume={"event_label": "deny", "by": "ana"}), config())
    assert recorder.ran == []
    assert "was denied by ana" in told(result)[0]
    assert heard, "they are told of it all the same"

    guard = Guard(
        "!search.end", tools={"search": lambda: 1, "book": lambda n: n}, on_violation=let, store=MemoryStore(), key="s"
    )
    (bad,) = guard.run([ToolCall("book", {"n": float("nan")}, "1")])
    assert bad.error is not None and bad.verdict is None
    (unknown,) = guard.run([ToolCall("book", {"m": 1}, "2")])
    assert unknown.error is not None
    (fine,) = guard.run([ToolCall("book", {"n": 1}, "3")])
    assert (fine.result, type(fine.verdict).__name__) == (1, "Violation")
    (again,) = guard.run([ToolCall("book", {"n": 1}, "3")])
    assert "has run already" in again.error

    stopped = Guard("!search.end", tools=TOOLS, on_violation=let, patience=1)
    (first,) = stopped.run([ToolCall("book")])
    assert stopped.stopped is not None and first.error is not None


def test_patience_does_not_run_out_over_what_is_let_run():
    guard = Guard("!search.end", tools=TOOLS, on_violation=lambda _: LET_RUN, patience=2)
    for _ in range(10):
        (result,) = guard.run([ToolCall("book")])
        assert result.result == 1
    assert guard.stopped is None


@pytest.mark.parametrize("kept", [None, MemoryStore])
def test_nothing_stays_out_when_it_raises(kept):
    """Neither what was admitted beside it, nor what was to be let run."""

    def some(decision):
        if decision.call.id == "z":
            raise RuntimeError("not with us")
        return LET_RUN

    more = {} if kept is None else {"store": kept(), "key": "s"}
    guard = Guard("!search.end", tools=TOOLS, on_violation=some, **more)
    with pytest.raises(RuntimeError, match="not with us"):
        guard.run([ToolCall("book", {}, "x"), ToolCall("book", {}, "z"), ToolCall("search", {}, "a")])
    assert guard.out() == []
    assert guard.allowed() == ["!search"]


def test_guards_take_messages_too():
    guard = Guard("!search.end", tools=TOOLS, on_violation=lambda decision: f"No {decision.call.name}.")
    (result,) = guard.run([ToolCall("book")])
    assert result.error == "No book."
    assert guard.status == "running"


def test_a_batch_in_which_some_are_let_run_and_some_are_not(recorder, run):
    def some(decision):
        return LET_RUN if decision.call.id in {"x", "z"} else f"not {decision.call.id}"

    script = [say(call("book", "x"), call("search", "a"), call("search", "y"), call("book", "z", amount=3)), "done"]
    agent, _ = agent_of(script, AccordMiddleware("!search.?search.end", on_violation=some), recorder)
    result = run(agent, asked())
    assert sorted(recorder.ran) == [("book", "AZ1", 3), ("book", "AZ1", 10), ("search", "Rome")]
    answers = {each.tool_call_id: each.content for each in result["messages"] if isinstance(each, ToolMessage)}
    assert answers == {"x": "booked AZ1", "a": "flights to Rome", "y": "not y", "z": "booked AZ1"}
    assert result["accord"]["status"] == "complete"


class Broken(MemoryStore):
    broken = False

    def exchange(self, *given):
        if self.broken:
            raise OSError("down")
        return super().exchange(*given)


def test_what_cannot_be_written_down_is_not_let_run():
    store, ran = Broken(), []

    def let(_):
        store.broken = True
        return LET_RUN

    tools = {"search": lambda: 1, "book": lambda: ran.append(1)}
    guard = Guard("!search.end", tools=tools, on_violation=let, store=store, key="s")
    (result,) = guard.run([ToolCall("book", {}, "1")])
    assert result.error is not None
    assert ran == []


# -- results -----------------------------------------------------------------------------------------------------------

CHEAP = '!search.?search(text == "nothing").end'


@pytest.mark.parametrize("kind", ["checkpoint", "store", "ledger"])
@pytest.mark.parametrize("reply", ["You cannot see this.", LET_RUN, None])
def test_results_that_are_refused(kind, reply, recorder, run):
    ledger = Ledger(MemorySink())
    more = {"checkpoint": {}, "store": {"store": MemoryStore()}, "ledger": {"ledger": ledger}}[kind]
    agent, _ = agent_of(
        [say(call("search", "a")), "done"], AccordMiddleware(CHEAP, on_violation=lambda _: reply, **more), recorder
    )
    (seen,) = told(run(agent, asked()))
    if reply is LET_RUN:
        assert seen == "flights to Rome"
    elif reply is None:
        assert seen.startswith("error: ")
        assert "flights" not in seen
    else:
        assert seen == reply
    if kind == "ledger":
        let = [entry for entry in entries(ledger) if entry.get("what") == "violation let run"]
        assert [entry["detail"] for entry in let] == [{"call": "a", "tool": "search"}] * (reply is LET_RUN)


@pytest.mark.parametrize("reply", ["You cannot see this.", LET_RUN, None])
def test_results_that_are_refused_by_a_guard(reply):
    guard = Guard("!search.?search(n == 1).end", tools={"search": lambda: {"n": 2}}, on_violation=lambda _: reply)
    (result,) = guard.run([ToolCall("search")])
    if reply is LET_RUN:
        assert (result.result, type(result.verdict).__name__) == ({"n": 2}, "Violation")
    else:
        assert (result.result, result.withheld) == (None, {"n": 2})
        assert (result.error == reply) == (reply is not None)


def test_a_guard_of_a_state_machine_can_be_overruled_too(recorder, run):
    """Also where it is a function in Python that says no."""
    search = ref(recorder.tools[0])
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search, phase="send", target="out", guard=lambda _: False))
        .add_transition(Transition(source="out", tool=search, phase="recv", target="idle"))
    )
    middleware = CheckpointedProtocolMiddleware(fsm, lambda _: LET_RUN, [search]).middleware
    agent, _ = agent_of([say(call("search", "a")), "done"], middleware, recorder)
    result = run(agent, asked())
    assert told(result) == ["flights to Rome"]
    assert (result["fsm_state"], result["fsm_trace"]) == ("idle", [])


# -- what the state of the graph shows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "forged", [{"fsm_state": "done"}, {"fsm_trace": ["send:book"]}, {"fsm": {"status": "stopped"}}]
)
def test_what_somebody_writes_over_what_is_shown_is_in_no_report(forged, recorder, run):
    fsm = machine(recorder, gated=True)
    middleware = CheckpointedProtocolMiddleware(fsm, "block", [ref(each) for each in recorder.tools]).middleware
    agent, _ = agent_of([say(call("search", "a")), say(call("book", "b")), "done"], middleware, recorder)
    run(agent, asked())
    for _ in range(3):
        agent.update_state(config(), {**forged, "jump_to": "model"})
        result = run(agent, None)
        assert (result["fsm_state"], result["fsm_trace"]) == ("waiting", ["send:search", "recv:search"])
        shown = agent.get_state(config()).values
        assert (shown["fsm_state"], shown["fsm_trace"]) == ("waiting", ["send:search", "recv:search"])
        (question,) = result["__interrupt__"]
        assert question.value["fsm_state"] == "waiting"
    answer = {"event_label": "Approval", "by": "ana", "review": question.value["review"]}
    result = run(agent, Command(resume=answer))
    assert (result["fsm_state"], result["fsm"]["status"]) == ("done", "complete")
