"""People in the middle of an agent: whom it waits for, what they are shown, what counts as an answer."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from typing_extensions import TypedDict

from accord import Ledger, Limits, MemorySink, MemoryStore, StoreError
from accord.choreography.compiling import compile_contract
from accord.langchain import AccordMiddleware
from tests.agents.scripted import Recorder, Scripted, agent_of, asked, call, config, say, told

GATED = "!search.?search.?Approval by human.!book(amount <= 100).?book.end"
CHOICE = """
protocol P = !search.?search.rec Ask.?{
    Approve by human.!book.?book.end,
    Change by human.!search.?search.Ask,
    Refuse by human.end
}
"""
PAYING = """
rule "one approval for each" { before each book(amount > 5) require Approval by human }
"""
SCRIPT = [say(call("search", "a")), say(call("book", "b", amount=30)), "done"]


@pytest.fixture
def recorder():
    return Recorder()


def shown(result):
    (question,) = result["__interrupt__"]
    return question.value


def entries(ledger):
    return [json.loads(line)["entry"] for line in ledger._sink.data.splitlines()]


# -- the gate of a call ------------------------------------------------------------------------------------------------


def test_the_very_call_is_shown_before_anything_runs(recorder):
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED, reviewer="the desk"), recorder)
    result = agent.invoke(asked(), config())
    assert recorder.names == ["search"]
    assert shown(result) == {
        "type": "accord.review",
        "session": "t",
        "to": "the desk",
        "question": "May the agent call `book` with these arguments?",
        "choices": ["Approval", "approve", "deny", "modify"],
        "action": {"tool": "book", "arguments": {"flight": "AZ1", "amount": 30}, "call_id": "b"},
        "review": "1-c6124328",
        "results": [{"tool": "search", "call_id": "a", "arguments": {"city": "Rome"}, "result": "flights to Rome"}],
    }
    result = agent.invoke(Command(resume={"event_label": "Approval", "by": "ana"}), config())
    assert recorder.ran[-1] == ("book", "AZ1", 30)
    assert result["accord"]["status"] == "complete"


@pytest.mark.parametrize(
    "answer",
    [
        "approve", {"event_label": "approve"}, {"event_label": "Approval"},
        {"event_label": "Approval", "by": "ana", "reason": "cheap", "payload": None, "review": "1-c6124328"},
    ],
)  # fmt: skip
def test_answers_that_approve(recorder, answer):
    ledger = Ledger(MemorySink())
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED, reviewer="the desk", ledger=ledger), recorder)
    agent.invoke(asked(), config())
    agent.invoke(Command(resume=answer), config())
    assert recorder.names == ["search", "book"]
    (by,) = [entry["by"] for entry in entries(ledger) if str(entry.get("event")).startswith("?Approval")]
    assert by == ("ana" if "by" in answer else "the desk")


@pytest.mark.parametrize(
    "answer", ["approve", "deny", {"event_label": "approve"}, {"event_label": "Approval", "by": None}]
)
@pytest.mark.parametrize("gates", ["call", "session"])
def test_an_answer_without_a_name_is_asked_for_again(recorder, answer, gates):
    """Nobody is put down as having decided who did not say so."""
    ledger = Ledger(MemorySink())
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED, ledger=ledger, gates=gates), recorder)
    assert shown(agent.invoke(asked(), config()))["to"] == "human"
    result = agent.invoke(Command(resume=answer), config())
    assert (
        'does not say who decides; name the person, as in {"by": "ana"}. Nothing was decided' in shown(result)["error"]
    )
    assert recorder.names == ["search"]
    result = agent.invoke(Command(resume={"event_label": "deny", "by": "bob"}), config())
    assert recorder.names == ["search"]
    assert all(entry.get("by") != "human" for entry in entries(ledger))
    decided = [entry["detail"]["by"] for entry in entries(ledger) if entry.get("what") in {"review decided", "denied"}]
    assert decided == ["bob"]


def test_whether_an_agent_may_go_on_is_decided_by_somebody_with_a_name(recorder):
    middleware = AccordMiddleware("!search.?search.!book.end", patience=1, escalate="review")
    agent, _ = agent_of([say(call("book", "a")), "done"], middleware, recorder)
    agent.invoke(asked(), config())
    for answer in ("approve", "deny", {"event_label": "deny"}):
        assert "does not say who decides" in shown(agent.invoke(Command(resume=answer), config()))["error"]
    result = agent.invoke(Command(resume={"event_label": "deny", "by": "bob"}), config())
    assert result["accord"]["status"] == "stopped"


NO_ANSWERS = [
    False, True, 0, 1, "no", "yes", "Approve", "APPROVE", "", [], {}, ["approve"], "modify",
    {"event_label": "approval"}, {"event_label": "Aproval"}, {"event_label": None}, {"event_label": True},
    {"event_label": ["Approval"]}, {"label": "Approval"}, {"event_label": "Approval", "extra": 1},
    {"event_label": "Approval", "by": ""}, {"event_label": "Approval", "by": 3},
    {"event_label": "Approval", "reason": 1}, {"event_label": "Approval", "payload": {"amount": 1}},
    {"event_label": "Approval", "review": "2-00000000"},
    {"event_label": "modify"}, {"event_label": "modify", "payload": {"amount": 300}},
    {"event_label": "modify", "payload": [1]}, {"event_label": "deny", "payload": {}}, {"type": "approve"},
    {"decisions": [{"type": "approve"}]}, {"event_label": "search"},
]  # fmt: skip


def test_whatever_else_comes_back_approves_nothing_and_is_asked_again(recorder):
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED, reviewer="the desk"), recorder)
    result = agent.invoke(asked(), config())
    for answer in NO_ANSWERS:
        result = agent.invoke(Command(resume=answer), config())
        assert "othing was decided" in shown(result)["error"], answer
        assert shown(result)["choices"] == ["Approval", "approve", "deny", "modify"]
    assert recorder.names == ["search"]
    agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert recorder.names == ["search", "book"]


def test_a_typo_is_recognised(recorder):
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED), recorder)
    agent.invoke(asked(), config())
    result = agent.invoke(Command(resume={"event_label": "Aproval"}), config())
    assert "did you mean `Approval`?" in shown(result)["error"]


def test_a_denied_gate_books_nothing(recorder):
    script = [*SCRIPT[:2], say(call("book", "c", amount=30)), "I could not book."]
    agent, _ = agent_of(script, AccordMiddleware(GATED), recorder)
    agent.invoke(asked(), config())
    result = agent.invoke(Command(resume={"event_label": "deny", "by": "ana", "reason": "too dear"}), config())
    assert recorder.names == ["search"]
    assert told(result)[1:] == ["error: `book` was denied by ana: `too dear`. Do not call it like this again."] * 2
    assert result["accord"]["ended_early"] is True


def test_a_person_may_change_the_arguments(recorder):
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED), recorder)
    agent.invoke(asked(), config())
    answer = {"event_label": "modify", "by": "ana", "payload": {"amount": 20, "flight": "LH9"}}
    result = agent.invoke(Command(resume=answer), config())
    assert recorder.ran[-1] == ("book", "LH9", 20)
    assert told(result)[-1] == '(ana has changed the arguments to {"amount": 20, "flight": "LH9"}) booked LH9'


def test_nobody_is_asked_in_vain(recorder):
    script = [say(call("search", "a")), say(call("book", "b", amount=300)), "done"]
    agent, _ = agent_of(script, AccordMiddleware(GATED), recorder)
    result = agent.invoke(asked(), config())
    assert "__interrupt__" not in result
    assert "No approval would change that" in told(result)[-1]


def test_several_gated_calls_are_asked_about_at_once(recorder):
    script = [say(call("book", "a", amount=10), call("search", "s"), call("book", "b", amount=20)), "done"]
    agent, _ = agent_of(script, AccordMiddleware(PAYING), recorder)
    result = agent.invoke(asked(), config())
    first, second = shown(result)["questions"]
    assert [each["action"]["call_id"] for each in (first, second)] == ["a", "b"]
    assert recorder.ran == []  # nothing of the batch, before all of it is decided
    result = agent.invoke(Command(resume={"event_label": "deny", "by": "ana", "review": first["review"]}), config())
    assert shown(result)["action"]["call_id"] == "b"
    assert recorder.ran == []
    result = agent.invoke(Command(resume={"event_label": "approve", "by": "ana", "review": second["review"]}), config())
    assert sorted(recorder.ran) == [("book", "AZ1", 20), ("search", "Rome")]


def test_an_approval_is_for_one_call(recorder):
    script = [say(call("book", "a", amount=10)), say(call("book", "b", amount=10)), "done"]
    agent, _ = agent_of(script, AccordMiddleware(PAYING), recorder)
    agent.invoke(asked(), config())
    result = agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert shown(result)["action"]["call_id"] == "b"
    assert recorder.ran == [("book", "AZ1", 10)]


def test_an_approval_survives_a_failure_that_means_that_nothing_has_happened(recorder):
    script = [say(call("fail", "a")), say(call("fail", "b")), "done"]
    contract = "protocol P = ?Approval by human.!fail.?fail.end tools { fail fails undone }"
    agent, _ = agent_of(script, AccordMiddleware(contract), recorder)
    agent.invoke(asked(), config())
    result = agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert recorder.names == ["fail", "fail"]  # the second try needs no second approval
    assert "__interrupt__" not in result


@pytest.mark.parametrize("where", ["checkpoint", "store"])
def test_an_approval_is_used_up_by_a_failure_of_which_nobody_knows_what_it_means(recorder, where):
    kept = {"store": MemoryStore()} if where == "store" else {}
    script = [say(call("fail", "a")), say(call("fail", "b")), "done"]
    middleware = AccordMiddleware("?Approval by human.!fail.?fail.end", **kept)
    agent, _ = agent_of(script, middleware, recorder)
    agent.invoke(asked(), config())
    result = agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert recorder.names == ["fail"]
    assert "nobody knows whether an earlier call has happened: `fail` (call `a`" in told(result)[-1]
    assert (result["accord"]["out"], result["accord"]["ended_early"]) == (["a"], True)
    session = middleware.session(agent, config())
    assert [out.lost for out in session.out()] == ["RuntimeError: out of order"]
    session.fail("a", "the bank says so")  # somebody knows that it has not happened
    assert (session.out(), session.allowed) == ([], ["?Approval by human"])


SEVENTEEN = ", ".join(f"G{n:02} by human" for n in range(17))
MANY = {
    "six in a row": (f"{'.'.join(f'?G{n} by human' for n in range(6))}.!book.?book.end", [f"G{n}" for n in range(6)]),
    "three of seven": (
        f'rule "r" {{ before book require 3 of [{", ".join(f"G{n} by human" for n in range(7))}] }}',
        ["G0", "G1", "G2"],
    ),
    "two of seventeen": (f'rule "r" {{ before book require 2 of [{SEVENTEEN}] }}', ["G00", "G01"]),
    "four times the same": ('rule "r" { before book require at least 4 G by human }', ["G"] * 4),
}


@pytest.mark.parametrize("where", ["checkpoint", "store"])
@pytest.mark.parametrize("name", MANY)
def test_however_many_people_a_call_needs_all_are_asked_at_once(recorder, name, where):
    contract, gates = MANY[name]
    kept = {"store": MemoryStore()} if where == "store" else {}
    agent, _ = agent_of([say(call("book", "a")), "done"], AccordMiddleware(contract, **kept), recorder)
    result = agent.invoke(asked(), config())
    questions = shown(result)["questions"]
    assert [question["choices"][0] for question in questions] == gates
    answers = {
        question["review"]: {"event_label": "approve", "by": f"person {number}"}
        for number, question in enumerate(questions)
    }
    last = questions[-1]["review"]
    result = agent.invoke(Command(resume={"decisions": {last: answers.pop(last)}}), config())
    assert recorder.ran == []  # the others are asked again
    decisions = {question["review"]: answers[question["review"]] for question in questions[:-1]}
    result = agent.invoke(Command(resume={"decisions": decisions}), config())
    assert "__interrupt__" not in result
    assert recorder.names == ["book"]


def test_an_agent_is_told_that_a_search_for_people_was_cut_short(recorder):
    contract = compile_contract(MANY["two of seventeen"][0], limits=Limits(search=20))
    agent, _ = agent_of([say(call("book", "a")), "done"], AccordMiddleware(contract), recorder)
    result = agent.invoke(asked(), config())
    assert "more ways to look at than `Limits.search` allows, so nobody has been asked" in told(result)[0]


# -- choices -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "ran"),
    [
        ({"event_label": "Approve", "by": "ana"}, ["search", "book"]),
        ({"event_label": "Refuse", "by": "ana"}, ["search"]),
        ({"event_label": "Change", "by": "ana"}, ["search", "search"]),
        ({"event_label": "deny", "by": "ana"}, ["search"]),
    ],
)
def test_several_human_choices_from_one_state(recorder, answer, ran):
    script = [say(call("search", "a")), say(call("book", "b")), say(call("search", "c")), "done"]
    agent, _ = agent_of(script, AccordMiddleware(CHOICE), recorder)
    result = agent.invoke(asked(), config())
    assert shown(result)["choices"] == ["Approve", "Change", "Refuse", "approve", "deny", "modify"]
    result = agent.invoke(Command(resume=answer), config())
    assert recorder.names == ran


# -- the gate of a session ---------------------------------------------------------------------------------------------


def test_the_gate_of_a_session_comes_before_the_model(recorder):
    agent, model = agent_of(SCRIPT, AccordMiddleware(GATED, gates="session"), recorder)
    result = agent.invoke(asked(), config())
    assert shown(result).pop("review").startswith("gate-")
    assert shown(result) == {
        "type": "accord.gate", "session": "t", "to": "human",
        "question": "The agent waits for a person: `?Approval`.", "choices": ["Approval", "approve", "deny"],
        "results": [{"tool": "search", "call_id": "a", "arguments": {"city": "Rome"}, "result": "flights to Rome"}],
    }  # fmt: skip
    assert len(model.shown) == 1  # the model has not been asked again: one turn of lag, no call to look at
    for answer in (False, "no", {"event_label": "Aproval"}, {"event_label": "modify"}):
        result = agent.invoke(Command(resume=answer), config())
        assert "Nothing was decided" in shown(result)["error"]
    result = agent.invoke(Command(resume={"event_label": "Approval", "by": "ana"}), config())
    assert recorder.names == ["search", "book"]


def test_a_denied_session_ends_its_turn(recorder):
    agent, model = agent_of(SCRIPT, AccordMiddleware(GATED, gates="session"), recorder)
    agent.invoke(asked(), config())
    result = agent.invoke(Command(resume={"event_label": "deny", "by": "ana", "reason": "no"}), config())
    assert recorder.names == ["search"]
    assert result["messages"][-1].content == "This was denied by ana: `no`. Nothing more was done."
    assert result["accord"]["ended_early"] is True
    assert len(model.shown) == 1
    result = agent.invoke(asked("and now?"), config())
    assert shown(result)["type"] == "accord.gate"


def test_a_step_that_no_call_can_wait_for_is_asked_for_before_the_model(recorder):
    middleware = AccordMiddleware("!search.?search.?Signature(name as n) by human.?Copy by human.end")
    agent, _ = agent_of(SCRIPT, middleware, recorder)
    result = agent.invoke(asked(), config())
    assert shown(result)["choices"] == ["Signature", "approve", "deny"]
    result = agent.invoke(Command(resume={"event_label": "Signature", "by": "ana"}), config())
    assert "needs the field `name`" in shown(result)["error"]
    answer = {"event_label": "Signature", "by": "ana", "payload": {"name": "ana"}}
    assert "error" not in shown(agent.invoke(Command(resume=answer), config()))
    assert recorder.names == ["search"]


# -- in the ledger -----------------------------------------------------------------------------------------------------


def test_what_was_shown_to_whom_and_who_decided_is_in_the_ledger(recorder):
    ledger = Ledger(MemorySink())
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED, ledger=ledger, reviewer="the desk"), recorder)
    agent.invoke(asked(), config())
    agent.invoke(Command(resume="no"), config())
    agent.invoke(Command(resume={"event_label": "Approval", "by": "ana", "reason": "cheap"}), config())
    assert ledger.verify().ok
    words = [entry.get("event") or entry.get("what") for entry in entries(ledger)[1:]]
    assert words == [
        "!search", "?search", "person asked", "person asked", "review opened", "review decided",
        "?Approval by ana", "!book", "?book",
    ]  # fmt: skip
    first, second = [entry["detail"] for entry in entries(ledger) if entry.get("what") == "person asked"]
    assert first["to"] == "the desk"
    assert first["shown"]["action"] == {"tool": "book", "arguments": {"flight": "AZ1", "amount": 30}, "call_id": "b"}
    assert "`no` is no decision" in second["shown"]["error"]
    (decided,) = [entry["detail"] for entry in entries(ledger) if entry.get("what") == "review decided"]
    assert (decided["by"], decided["reason"], decided["answer"]) == ("ana", "cheap", "allow")


class FullSink(MemorySink):
    full = False

    def write(self, start, line):
        if self.full:
            raise OSError(28, "No space left on device")
        super().write(start, line)


def test_a_ledger_that_cannot_be_written_runs_nothing(recorder):
    sink = FullSink()
    script = [say(call("search", "a")), say(call("search", "b")), "done"]
    agent, _ = agent_of(script, AccordMiddleware("rec L.!search.?search.L", ledger=Ledger(sink)), recorder)
    sink.full = True
    result = agent.invoke(asked(), config())
    assert recorder.ran == []
    assert told(result)[0].startswith("error: the session cannot be kept (it cannot be recorded: No space left")


def test_a_return_that_cannot_be_recorded_stops_the_run_and_is_not_lost(recorder):
    sink = FullSink()
    middleware = AccordMiddleware("rec L.!search.?search.L", ledger=Ledger(sink))
    agent, _ = agent_of([say(call("search", "a")), "done"], middleware, recorder, interrupt_after=["tools"])
    agent.invoke(asked(), config())
    sink.full = True
    with pytest.raises(StoreError, match="cannot be recorded"):
        agent.invoke(None, config())
    sink.full = False
    result = agent.invoke(None, config())
    assert (recorder.names, result["accord"]["status"]) == (["search"], "complete")


def test_a_question_that_cannot_be_recorded_is_not_asked(recorder):
    sink = FullSink()
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED, ledger=Ledger(sink)), recorder, interrupt_after=["model"])
    agent.invoke(asked(), config())
    agent.invoke(None, config())
    sink.full = True
    with pytest.raises(StoreError, match="cannot be recorded"):
        agent.invoke(None, config())
    sink.full = False
    assert "__interrupt__" in agent.invoke(None, config())
    assert recorder.names == ["search"]


# -- several at once ---------------------------------------------------------------------------------------------------


class Both(TypedDict):
    messages: Annotated[list, add_messages]


def test_several_interrupts_at_once_are_answered_by_their_ids(recorder):
    contract = "?Approval by human.!book.?book.end"
    graph = StateGraph(Both)
    for name, amount in (("left", 1), ("right", 2)):
        model = Scripted(script=[say(call("book", name, amount=amount)), "done"])
        agent = create_agent(model, recorder.tools, middleware=[AccordMiddleware(contract)])

        def node(state, agent=agent):
            return {"messages": agent.invoke({"messages": [("user", "go")]})["messages"][-1:]}

        graph.add_node(name, node)
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    both = graph.compile(checkpointer=InMemorySaver())
    result = both.invoke({"messages": []}, config())
    questions = {question.value["action"]["call_id"]: question.id for question in result["__interrupt__"]}
    assert set(questions) == {"left", "right"}
    answers = {
        questions["left"]: {"event_label": "deny", "by": "ana"},
        questions["right"]: {"event_label": "approve", "by": "bob"},
    }
    both.invoke(Command(resume=answers), config())
    assert recorder.ran == [("book", "AZ1", 2)]


def test_an_agent_that_cannot_get_on_asks_whether_it_may(recorder):
    middleware = AccordMiddleware("!search.?search.!book.end", patience=2, escalate="review")
    script = [say(call("book", "a")), say(call("book", "b")), say(call("search", "c")), say(call("book", "d")), "done"]
    agent, _ = agent_of(script, middleware, recorder)
    result = agent.invoke(asked(), config())
    assert shown(result)["choices"] == ["approve", "deny"]
    assert "May the agent go on?" in shown(result)["question"]
    result = agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert recorder.names == ["search", "book"]
    agent, _ = agent_of(script, middleware, recorder)
    agent.invoke(asked(), config("u"))
    result = agent.invoke(Command(resume={"event_label": "deny", "by": "ana"}), config("u"))
    assert recorder.names == ["search", "book"]
    assert "ana has decided that the agent must not go on" in told(result)[-1]


def test_asynchronous_gates(recorder):
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED, ledger=Ledger(MemorySink())), recorder)

    async def go():
        result = await agent.ainvoke(asked(), config())
        assert shown(result)["review"] == "1-c6124328"
        result = await agent.ainvoke(Command(resume=False), config())
        assert "Nothing was decided" in shown(result)["error"]
        return await agent.ainvoke(Command(resume={"event_label": "approve", "by": "ana"}), config())

    assert asyncio.run(go())["accord"]["status"] == "complete"
    assert recorder.names == ["search", "book"]


@pytest.mark.parametrize("store", [None, MemoryStore()])
def test_an_answer_is_good_for_so_long(recorder, store):
    now = [0.0]
    middleware = AccordMiddleware(GATED, review_lasts=60, clock=lambda: now[0], store=store)
    agent, _ = agent_of([*SCRIPT[:2], say(call("book", "c", amount=30)), "done"], middleware, recorder)
    agent.invoke(asked(), config())
    now[0] = 1000.0
    result = agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert recorder.names == ["search"]  # too late; when the model asks again, so does the middleware
    assert shown(result)["action"]["call_id"] == "c"
    said = told(agent.get_state(config()).values)[-1]
    assert said.startswith(
        "error: `book` was allowed by ana when the question had expired at 60, so that does not count"
    )
    assert f"(review {shown(result)['review']})" in said
    if store is not None:
        kept = [json.loads(line)["entry"] for line in store.lines("t", 0, 99)]
        (late,) = [entry["detail"] for entry in kept if entry.get("what") == "approval expired"]
        assert (late["by"], late["expires"], late["at"], late["review"]) == ("ana", 60, 1000, shown(result)["review"])
    now[0] = 1059.0
    agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert recorder.names == ["search", "book"]


def test_a_deadline_that_has_passed_while_a_person_thinks(recorder):
    now = [0.0]
    contract = "!search.?search.(?Approval by human within 1h else end).!book.?book.end"
    middleware = AccordMiddleware(contract, clock=lambda: now[0])
    agent, _ = agent_of([*SCRIPT[:2], "done"], middleware, recorder)
    agent.invoke(asked(), config())
    now[0] = 7200.0
    result = agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert recorder.names == ["search"]
    assert told(result)[-1].startswith("error")


def test_interrupts_need_a_checkpointer(recorder):
    agent, _ = agent_of(SCRIPT, AccordMiddleware(GATED), recorder, checkpointer=None)
    agent.invoke(asked())
    assert recorder.names == ["search"]  # it stops there, and nobody can answer


def test_a_step_that_comes_too_late(recorder):
    now = [0.0]
    contract = "!search.?search.(?Approval by human within 1h else end).!book.?book.end"
    middleware = AccordMiddleware(contract, clock=lambda: now[0], gates="session", ledger=Ledger(MemorySink()))
    agent, _ = agent_of([*SCRIPT[:2], "done"], middleware, recorder)
    agent.invoke(asked(), config())
    now[0] = 7200.0
    result = agent.invoke(Command(resume={"event_label": "approve", "by": "ana"}), config())
    assert recorder.names == ["search"]
    assert told(result)[-1].startswith("error")
