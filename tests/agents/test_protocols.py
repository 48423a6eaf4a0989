"""State machines from Python: their tables, guards, actions, traces, and what is refused when they are made."""

from __future__ import annotations

import asyncio
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import pytest
from langchain.agents.structured_output import ToolStrategy
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from accord import CorruptSessionError, Ledger, MemorySink, Monitor, StoreError, UsageError
from accord.langchain import (
    CheckpointedProtocolMiddleware,
    ProtocolEnforcerMiddleware,
    ProtocolFSM,
    ProtocolMonitor,
    ProtocolViolationError,
    Transition,
    ref,
)
from tests.agents.protocols import machine
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say, told


@pytest.fixture
def recorder():
    return Recorder()


def event(source, label, target, phase="recv", **more):
    return Transition(source=source, event_label=label, phase=phase, target=target, **more)


# -- making them -------------------------------------------------------------------------------------------------------


def test_a_machine_compiles_to_the_tables_of_the_contract_that_says_the_same(recorder):
    import accord

    assert machine(recorder).compiled.contract == accord.compile("!search.?search.!book.?book.end")
    assert machine(recorder, gated=True).compiled.contract == accord.compile(
        "!search.?search.?Approval by human.!book.?book.end"
    )


def test_the_order_in_which_it_was_put_together_does_not_matter(recorder):
    forth = machine(recorder)
    back = ProtocolFSM(initial="idle")
    for transition in reversed(forth.transitions):
        back.add_transition(transition)
    back.mark_terminal("done")
    assert back.compiled.contract == forth.compiled.contract


def test_a_machine_is_not_unfolded():
    """A chain of choices that meet again: as many states as were named, not one for every way."""
    fsm = ProtocolFSM(initial="s0")
    for n in range(2000):
        for label in ("left", "right"):
            fsm.transitions += (event(f"s{n}", label, f"s{n + 1}"),)
    fsm.mark_terminal("s2000")
    assert len(fsm.compiled.contract.machine().states) == 2001
    monitor = ProtocolMonitor(fsm)
    assert all(monitor.transition_event("left" if n % 3 else "right", "recv") for n in range(2000))
    assert monitor.is_complete


def test_a_compiled_machine_runs_in_a_monitor_of_ours_and_can_be_pickled(recorder):
    contract = machine(recorder).compiled.contract
    monitor = Monitor(pickle.loads(pickle.dumps(contract)))  # noqa: S301 - our own
    assert repr(monitor.send("search")) == "Ok()"
    with pytest.raises(UsageError, match="has no text"):
        contract.to_json()


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": ""}, {"target": None}, {"phase": "sent"}, {"event_label": None}, {"event_label": 3},
        {"tool": ref(print)}, {"event_label": None, "tool": print}, {"interrupt": True, "phase": "send"},
        {"interrupt": True, "event_label": None, "tool": ref(print)}, {"guard": 3}, {"action": "x"},
        {"match_structured_response": 3}, {"match_structured_response": int, "interrupt": True},
        {"match_structured_response": int, "event_label": None, "tool": ref(print)},
    ],
)  # fmt: skip
def test_transitions_that_are_none(wrong):
    right = {"source": "a", "event_label": "x", "phase": "recv", "target": "b"}
    with pytest.raises(UsageError):
        Transition(**{**right, **wrong})


def test_machines_that_are_none(recorder):
    with pytest.raises(UsageError, match="initial state"):
        ProtocolFSM(initial="")
    fsm = ProtocolFSM(initial="a").add_transition(event("a", "x", "b"))
    with pytest.raises(UsageError, match="could never be made"):
        fsm.add_transition(event("a", "x", "c"))
    with pytest.raises(UsageError, match="there is no state 'z'; there is a, b"):
        fsm.mark_terminal("z")
    with pytest.raises(UsageError, match="`Transition` was expected"):
        fsm.add_transition("x")
    with pytest.raises(UsageError, match="takes a tool"):
        ref(3)
    with pytest.raises(UsageError, match="no name"):
        ref(partial(print))
    assert fsm.compiled
    with pytest.raises(UsageError, match="in use already"):
        fsm.add_transition(event("b", "x", "c"))
    with pytest.raises(UsageError, match="speaks of the tool `book`"):
        CheckpointedProtocolMiddleware(fsm=machine(recorder), tool_refs=[])
    with pytest.raises(UsageError, match="`tool_refs` are references"):
        CheckpointedProtocolMiddleware(fsm=machine(recorder), tool_refs=recorder.tools)
    for wrong in (CheckpointedProtocolMiddleware, ProtocolEnforcerMiddleware, ProtocolMonitor):
        with pytest.raises(UsageError, match="was expected"):
            wrong("idle")
    with pytest.raises(UsageError, match="on_violation"):
        ProtocolMonitor(fsm, on_violation=3)


# -- monitors ----------------------------------------------------------------------------------------------------------


def test_a_monitor_of_ones_own(recorder):
    search, book = ref(recorder.tools[0]), ref(recorder.tools[1])
    violations = []
    monitor = ProtocolMonitor(machine(recorder), violations.append)
    assert not monitor.transition(book, "send", {"why": "impatience"})
    assert monitor.state == "idle"
    assert monitor.transition(search, "send")
    assert monitor.transition(search, "recv")
    assert not monitor.transition_event("Approval", "recv")
    assert (monitor.current_state, monitor.trace) == ("found", ["send:search", "recv:search"])
    assert [(v.event, v.current_state, v.expected) for v in violations] == [
        ("send:book", "idle", ["send:search"]), ("recv:Approval", "found", ["send:book"]),
    ]  # fmt: skip
    assert violations[1].trace == ["send:search", "recv:search"]
    assert (violations[0].tool_ref, violations[1].event_label) == (book, "Approval")
    monitor.reset()
    assert (monitor.state, monitor.trace, monitor.is_complete) == ("idle", [], False)
    with pytest.raises(UsageError):
        monitor.transition("search", "send")
    with pytest.raises(UsageError):
        monitor.transition_event("x", "sideways")


def test_a_monitor_that_raises(recorder):
    monitor = ProtocolMonitor(machine(recorder), "raise")
    with pytest.raises(ProtocolViolationError) as raised:
        monitor.transition_event("Approval", "recv")
    assert raised.value.violation.event == "recv:Approval"


def test_of_many_threads_one_makes_the_step(recorder):
    monitor = ProtocolMonitor(machine(recorder))
    search = ref(recorder.tools[0])
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: monitor.transition(search, "send"), range(64)))
    assert made.count(True) == 1
    assert monitor.trace == ["send:search"]


# -- guards and actions ------------------------------------------------------------------------------------------------


def test_of_several_transitions_the_first_whose_guard_holds_is_made():
    fsm = (
        ProtocolFSM(initial="a")
        .add_transition(event("a", "go", "small", guard=lambda c: c.metadata["n"] < 10))
        .add_transition(event("a", "go", "middle", guard=lambda c: c.metadata["n"] < 100))
        .add_transition(event("a", "go", "large"))
    )
    for n, state in ((5, "small"), (50, "middle"), (500, "large")):
        monitor = ProtocolMonitor(fsm)
        assert monitor.transition_event("go", "recv", {"n": n})
        assert (monitor.state, monitor.trace) == (state, ["recv:go"])


@pytest.mark.parametrize("answer", [False, None, 1, "yes"])
def test_a_guard_that_does_not_say_true_disables_its_transition(answer):
    fsm = ProtocolFSM(initial="a").add_transition(event("a", "go", "b", guard=lambda _: answer))
    violations = []
    assert not ProtocolMonitor(fsm, violations.append).transition_event("go", "recv")
    assert "no guard of it holds" in violations[0].message


def test_guards_and_actions_of_tools(recorder):
    search, book = ref(recorder.tools[0]), ref(recorder.tools[1])
    seen = []
    act = seen.append

    def cheap(context):
        return context.metadata["args"].get("amount", 0) < 100 and context.trace[:1] == ["send:search"]

    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search, phase="send", target="searching", action=act))
        .add_transition(Transition(source="searching", tool=search, phase="recv", target="found", action=act))
        .add_transition(Transition(source="found", tool=book, phase="send", target="booking", guard=cheap))
        .add_transition(Transition(source="booking", tool=book, phase="recv", target="done", action=act))
        .mark_terminal("done")
    )  # fmt: skip
    middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[search, book]).middleware
    script = [say(call("search", "a", city="Oslo")), say(call("book", "b", amount=300)), say(call("book", "c")), "done"]
    agent, _ = agent_of(script, middleware, recorder)
    result = agent.invoke(asked(), config())
    assert recorder.ran == [("search", "Oslo"), ("book", "AZ1", 10)]
    assert "no guard of it holds" in told(result)[1]
    assert [(c.event, c.current_state) for c in seen] == [
        ("send:search", "idle"), ("recv:search", "searching"), ("recv:book", "booking"),
    ]  # fmt: skip
    assert seen[0].metadata == {"args": {"city": "Oslo"}, "tool_call_id": "a"}
    assert seen[1].metadata["result"]["text"] == "flights to Oslo"


def test_an_action_that_fails_keeps_the_transition_from_being_made(recorder):
    def fail(context):
        raise OSError("the audit log is full")

    search = recorder.tools[0]
    fsm = ProtocolFSM(initial="idle").add_transition(
        Transition(source="idle", tool=ref(search), phase="send", target="searching", action=fail)
    )
    middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[ref(search)]).middleware
    agent, _ = agent_of([say(call("search", "a")), "done"], middleware, recorder)
    result = agent.invoke(asked(), config())
    assert recorder.ran == []
    assert result["fsm_state"] == "idle"
    assert "the audit log is full" in told(result)[0]


def failing(context):
    raise KeyError("4711")


def machine_with(search, book, where, what, function):
    """One whose step `where` has a guard or an action."""
    own = {"call": {}, "result": {}, "person": {}, where: {what: function}}
    return (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search, phase="send", target="searching", **own["call"]))
        .add_transition(Transition(source="searching", tool=search, phase="recv", target="asked", **own["result"]))
        .add_transition(event("asked", "Yes", "found", interrupt=True, **own["person"]))
        .add_transition(Transition(source="found", tool=book, phase="send", target="done"))
        .mark_terminal("done")
    )  # fmt: skip


def test_a_guard_that_fails_lets_no_call_pass(recorder):
    search, book = ref(recorder.tools[0]), ref(recorder.tools[1])
    heard = []
    middleware = CheckpointedProtocolMiddleware(
        machine_with(search, book, "call", "guard", failing), heard.append, [search, book]
    ).middleware
    agent, _ = agent_of([say(call("search", "a")), "done"], middleware, recorder)
    result = agent.invoke(asked(), config())
    assert recorder.ran == []
    assert told(result)[0] == "error: send:search is not allowed from `idle`: its guard failed (KeyError)"
    assert [violation.event for violation in heard] == ["send:search"]


def test_a_guard_that_fails_withholds_the_result(recorder):
    search, book = ref(recorder.tools[0]), ref(recorder.tools[1])
    middleware = CheckpointedProtocolMiddleware(
        machine_with(search, book, "result", "guard", failing), "block", [search, book]
    ).middleware
    agent, _ = agent_of([say(call("search", "a")), say(call("book", "b")), "done"], middleware, recorder)
    result = agent.invoke(asked(), config())
    assert recorder.names == ["search"]
    assert all(message.startswith("error") and "4711" not in message for message in told(result))
    assert "its guard failed (KeyError)" in told(result)[0]
    assert result["fsm_state"] == "searching"


def test_a_guard_that_fails_lets_no_person_decide(recorder):
    search, book = ref(recorder.tools[0]), ref(recorder.tools[1])
    middleware = CheckpointedProtocolMiddleware(
        machine_with(search, book, "person", "guard", failing), "block", [search, book]
    ).middleware
    agent, _ = agent_of([say(call("search", "a")), say(call("book", "b")), "done"], middleware, recorder)
    agent.invoke(asked(), config())
    result = agent.invoke(Command(resume="approve"), config())
    assert "its guard failed (KeyError)" in result["__interrupt__"][0].value["error"]
    assert recorder.names == ["search"]


def test_behind_a_guard_that_fails_no_other_transition_is_made():
    """It was to keep out what the next one would let pass."""
    fsm = (
        ProtocolFSM(initial="a")
        .add_transition(event("a", "pay", "to be approved", guard=failing))
        .add_transition(event("a", "pay", "paid"))
    )
    monitor = ProtocolMonitor(fsm)
    assert not monitor.transition_event("pay", "recv")
    assert monitor.state == "a"


@pytest.mark.parametrize("where", ["call", "result", "person"])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_an_action_that_fails_stops_the_step_and_it_can_be_made_again(recorder, where, way):
    search, book = ref(recorder.tools[0]), ref(recorder.tools[1])
    broken = [True]

    def action(context):
        if broken:
            raise OSError("the audit log is full")

    fsm = machine_with(search, book, where, "action", action)
    middleware = CheckpointedProtocolMiddleware(fsm, "block", [search, book]).middleware
    script = [say(call("search", "a")), say(call("book", "b")), "done"]
    agent, _ = agent_of(script, middleware, recorder)

    def run(given):
        return agent.invoke(given, config()) if way == "sync" else asyncio.run(agent.ainvoke(given, config()))

    if where == "call":
        assert "the action of send:search failed: OSError: the audit log is full" in told(run(asked()))[0]
        assert recorder.ran == []
        return
    failing = [Command(resume="approve")] * 2
    if where == "person":
        run(asked())
    else:  # what has happened is kept before anybody is asked
        failing = [asked(), None]
    for given in failing:  # nothing was lost, so it fails again
        with pytest.raises(StoreError, match=r"the action of recv:.* failed: OSError: the audit log is full"):
            run(given)
    assert recorder.names == ["search"]
    broken.clear()
    if where == "result":
        assert run(None)["fsm_state"] == "asked"
    assert run(Command(resume="approve"))["fsm_state"] == "done"
    assert recorder.names == ["search", "book"]


def test_actions_are_called_once_although_a_hook_runs_again(recorder):
    search = ref(recorder.tools[0])
    seen = []
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search, phase="send", target="searching"))
        .add_transition(Transition(source="searching", tool=search, phase="recv", target="asked", action=seen.append))
        .add_transition(event("asked", "Yes", "done", interrupt=True, action=seen.append))
        .mark_terminal("done")
    )  # fmt: skip
    middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[search]).middleware
    agent, _ = agent_of([say(call("search", "a")), "done"], middleware, recorder)
    agent.invoke(asked(), config())
    agent.invoke(Command(resume="no"), config())
    agent.invoke(Command(resume={"event_label": "Yes", "payload": {"note": "fine"}}), config())
    assert [context.event for context in seen] == ["recv:search", "recv:Yes"]
    assert seen[1].metadata == {"note": "fine"}


# -- in agents ---------------------------------------------------------------------------------------------------------


def test_tools_that_are_not_watched_pass(recorder):
    search = recorder.tools[0]
    fsm = ProtocolFSM(initial="idle").add_transition(
        Transition(source="idle", tool=ref(search), phase="send", target="done")
    )
    middleware = CheckpointedProtocolMiddleware(fsm=fsm.mark_terminal("done"), tool_refs=[ref(search)]).middleware
    agent, model = agent_of([say(call("book", "b"), call("search", "a")), "done"], middleware, recorder)
    result = agent.invoke(asked(), config())
    assert sorted(recorder.names) == ["book", "search"]
    assert result["fsm_trace"] == ["send:search"]
    assert model.shown[1] == ["book", "fail"]


def test_what_is_taken_back_leaves_the_trace(recorder):
    fail, search = recorder.tools[2], recorder.tools[0]
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=ref(fail), phase="send", target="failing"))
        .add_transition(Transition(source="idle", tool=ref(search), phase="send", target="done"))
        .mark_terminal("done")
    )
    middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[ref(fail), ref(search)]).middleware
    agent, _ = agent_of([say(call("fail", "f")), say(call("search", "a")), "done"], middleware, recorder)
    result = agent.invoke(asked(), config())
    assert (result["fsm_state"], result["fsm_trace"]) == ("done", ["send:search"])


def test_a_result_for_which_there_is_no_transition_is_withheld(recorder):
    search = recorder.tools[0]
    violations = []
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=ref(search), phase="send", target="searching"))
        .add_transition(Transition(source="other", tool=ref(search), phase="recv", target="found"))
        .add_transition(event("searching", "Cancel", "other"))
    )
    middleware = CheckpointedProtocolMiddleware(
        fsm=fsm, tool_refs=[ref(search)], on_violation=violations.append
    ).middleware
    agent, _ = agent_of([say(call("search", "a")), "done"], middleware, recorder)
    result = agent.invoke(asked(), config())
    assert told(result)[0].startswith("error: the tool has run, but")
    assert [(v.event, v.phase, v.current_state) for v in violations] == [("recv:search", "recv", "searching")]


def test_a_forged_session_of_a_machine_blocks(recorder):
    middleware = CheckpointedProtocolMiddleware(
        fsm=machine(recorder), tool_refs=[ref(each) for each in recorder.tools], secret=b"s"
    ).middleware
    agent, _ = agent_of([say(call("search", "a")), "hm", "hm"], middleware, recorder, checkpointer=InMemorySaver())
    agent.invoke(asked(), config())
    agent.update_state(
        config(), {"fsm_session": "forged", "fsm_state": "done"}, as_node="CheckpointedProtocolMiddleware.after_agent"
    )
    with pytest.raises(CorruptSessionError):
        agent.invoke(asked(), config())


def test_the_ledger_of_a_machine(recorder):
    ledger = Ledger(MemorySink())
    middleware = CheckpointedProtocolMiddleware(
        fsm=machine(recorder), tool_refs=[ref(each) for each in recorder.tools], ledger=ledger
    ).middleware
    agent, _ = agent_of(
        [say(call("book", "x"), call("search", "a")), say(call("book", "b")), "done"], middleware, recorder
    )
    agent.invoke(asked(), config())
    assert ledger.verify().ok
    assert len(ledger) == 6


def test_the_trace_shows_the_last_thousand_events():
    """So neither a monitor nor a checkpoint grows with the history."""
    fsm = ProtocolFSM(initial="a").add_transition(event("a", "x", "b")).add_transition(event("b", "y", "a"))
    monitor = ProtocolMonitor(fsm)
    for number in range(1500):
        assert monitor.transition_event("y" if number % 2 else "x", "recv")
    assert (len(monitor.trace), monitor.trace[-1], monitor.state) == (1000, "recv:y", "a")


def test_guards_and_actions_are_those_that_the_program_has_now(recorder):
    """They are no part of the machine's identity: a thread that has begun with others goes on."""
    search, book = ref(recorder.tools[0]), ref(recorder.tools[1])
    saver, seen = InMemorySaver(), []
    script = [say(call("search", "a")), "found", say(call("book", "b")), "done"]

    def agent_with(guard, action):
        fsm = machine(recorder)
        guarded = replace(fsm.transitions[2], guard=guard, action=action)
        fsm.transitions = (*fsm.transitions[:2], guarded, *fsm.transitions[3:])
        refs = [search, book, ref(recorder.tools[2])]
        middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=refs).middleware
        return agent_of(script, middleware, recorder, checkpointer=saver)[0]

    agent_with(lambda _: False, None).invoke(asked(), config())
    result = agent_with(lambda _: True, seen.append).invoke(asked("book"), config())
    assert (recorder.names, result["fsm_state"], [c.event for c in seen]) == (["search", "book"], "done", ["send:book"])


@pytest.mark.parametrize("answer", ["approve", {"event_label": "Yes"}, {"event_label": "Yes", "by": "ana"}, "deny"])
@pytest.mark.parametrize("reviewer", [None, "the desk"])
def test_who_made_a_step_is_written_down_also_if_nobody_was_named(recorder, answer, reviewer):
    """State machines take an answer without a name, and never make one up."""
    search, ledger = ref(recorder.tools[0]), Ledger(MemorySink())
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search, phase="send", target="searching"))
        .add_transition(Transition(source="searching", tool=search, phase="recv", target="asked"))
        .add_transition(event("asked", "Yes", "done", interrupt=True))
        .mark_terminal("done")
    )  # fmt: skip
    made = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[search], ledger=ledger, reviewer=reviewer)
    agent, _ = agent_of([say(call("search", "a")), "done"], made.middleware, recorder)
    assert agent.invoke(asked(), config())["__interrupt__"][0].value["to"] == (reviewer or "human")
    result = agent.invoke(Command(resume=answer), config())
    entries = [json.loads(line)["entry"] for line in ledger._sink.data.splitlines()]
    expected = "ana" if "by" in answer else reviewer or "(nobody named)"
    if answer == "deny":
        (by,) = [entry["detail"]["by"] for entry in entries if entry.get("what") == "denied"]
        said = "This was denied by `the desk`." if reviewer else "This was denied."
        assert result["messages"][-1].content.startswith(said)
    else:
        (by,) = [entry["by"] for entry in entries if str(entry.get("event")).startswith("?Yes")]
        assert result["fsm_state"] == "done"
    assert by == expected


class PresentOptions(BaseModel):
    options: list[str]


def test_a_structured_response_is_an_event_once(recorder):
    """LangChain keeps the last one in the state; what the model said in another turn it has not said in this one."""
    search = ref(recorder.tools[0])
    fsm = (
        ProtocolFSM(initial="idle")
        .add_transition(Transition(source="idle", tool=search, phase="send", target="searching"))
        .add_transition(Transition(source="searching", tool=search, phase="recv", target="results"))
        .add_transition(event("results", "PresentOptions", "idle", "send", match_structured_response=PresentOptions))
        .mark_terminal("idle")
    )
    middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=[search]).middleware
    present = say(call("PresentOptions", "p", options=["AZ1"]))
    script = [say(call("search", "c1")), present, say(call("search", "c2")), "nothing there", present]
    agent, _ = agent_of(script, middleware, recorder, response_format=ToolStrategy(PresentOptions))
    agent.invoke(asked(), config())
    result = agent.invoke(asked("to Oslo, then"), config())
    assert result["fsm_state"] == "results"
    assert result["fsm_trace"].count("send:PresentOptions") == 1
    result = agent.invoke(asked("well?"), config())
    assert (result["fsm_state"], result["fsm_trace"].count("send:PresentOptions")) == ("idle", 2)
