"""What every middleware promises, whatever its law; among it, all that others get wrong."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from langgraph.types import Command

from accord import ViolationError
from tests.agents.protocols import KINDS, booking_of, gated_of
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say, told

SCRIPT = [say(call("search", "a")), say(call("book", "b")), "done"]


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=["sync", "async"])
def run(request):
    def invoke(agent, given, where=None):
        if request.param == "sync":
            return agent.invoke(given, where or config())
        return asyncio.run(agent.ainvoke(given, where or config()))

    return invoke


def test_an_illegal_call_does_not_run_and_the_model_corrects_itself(kind, recorder, run):
    def correct(messages):
        assert "first send `!search`" in messages[-1].content
        return SCRIPT[0]

    agent, model = agent_of([say(call("book", "x")), correct, *SCRIPT[1:]], booking_of(kind, recorder), recorder)
    result = run(agent, asked())
    assert recorder.names == ["search", "book"]
    assert [message.startswith("error") for message in told(result)] == [True, False, False]
    assert [[n for n in names if n != "fail"] for names in model.shown[:3]] == [["search"], ["search"], ["book"]]


def test_two_calls_in_one_message(kind, recorder, run):
    """Elsewhere the run crashes after both have run."""
    script = [say(call("search", "a"), call("book", "b"), call("search", "c")), say(call("book", "d")), "done"]
    agent, _ = agent_of(script, booking_of(kind, recorder), recorder)
    result = run(agent, asked())
    assert recorder.names == ["search", "book"]
    assert [message.startswith("error") for message in told(result)] == [True, True, False, False]


def test_a_batch_of_which_one_is_legal_then_the_rest(kind, recorder, run):
    script = [say(call("search", "a"), call("book", "b")), say(call("book", "c")), "done"]
    agent, _ = agent_of(script, booking_of(kind, recorder), recorder)
    result = run(agent, asked())
    assert recorder.names == ["search", "book"]
    assert told(result)[0] == "error: `book` has to wait for `search`. Ask for it again when that has returned."


def test_a_handler_that_does_not_raise_does_not_let_the_call_run(kind, recorder, run):
    heard = []

    def on_violation(violation):
        heard.append(violation)
        return True

    agent, _ = agent_of(
        [say(call("book", "x")), "done"], booking_of(kind, recorder, on_violation=on_violation), recorder
    )
    run(agent, asked())
    assert recorder.ran == []
    assert len(heard) == 1


def test_raise(kind, recorder, run):
    agent, _ = agent_of([say(call("book", "x"))], booking_of(kind, recorder, on_violation="raise"), recorder)
    with pytest.raises(ViolationError, match="`!book` is not allowed yet"):
        run(agent, asked())
    assert recorder.ran == []


def test_what_is_no_approval_approves_nothing(kind, recorder, run):
    """Elsewhere `False` and `no` count as one."""
    agent, _ = agent_of(SCRIPT, gated_of(kind, recorder), recorder)
    assert "__interrupt__" in run(agent, asked())
    for answer in (False, True, "no", "yes", 0, [], {"event_label": "Aproval"}, {"approved": False}, {}):
        result = run(agent, Command(resume=answer))
        assert "othing was decided" in result["__interrupt__"][0].value["error"]
        assert recorder.names == ["search"]
    result = run(agent, Command(resume={"event_label": "Approval", "by": "ana"}))
    assert recorder.names == ["search", "book"]


def test_a_denied_gate_books_nothing(kind, recorder, run):
    agent, _ = agent_of(SCRIPT, gated_of(kind, recorder), recorder)
    run(agent, asked())
    result = run(agent, Command(resume={"event_label": "deny", "by": "ana"}))
    assert recorder.names == ["search"]
    assert "denied by ana" in str(result["messages"])


def test_the_input_says_nothing_about_the_state(kind, recorder, run):
    """Elsewhere it can be set."""
    agent, _ = agent_of([say(call("book", "x")), "done"], booking_of(kind, recorder), recorder)
    forged = {"fsm_state": "found", "fsm_trace": ["send:search"], "fsm_session": "x", "accord_session": "x"}
    run(agent, {**asked(), **forged})
    assert recorder.ran == []


def test_a_second_turn_on_a_finished_thread_is_a_new_session(kind, recorder, run):
    """Elsewhere it is a violation."""
    script = [*SCRIPT, say(call("search", "c")), say(call("book", "d")), "done"]
    agent, _ = agent_of(script, booking_of(kind, recorder), recorder)
    run(agent, asked())
    result = run(agent, asked("again"))
    assert recorder.names == ["search", "book"] * 2
    assert not any(message.startswith("error") for message in told(result))


def test_an_unfinished_thread_goes_on(kind, recorder, run):
    agent, _ = agent_of([SCRIPT[0], "hm", *SCRIPT[1:]], booking_of(kind, recorder), recorder)
    run(agent, asked())
    run(agent, asked("go on"))
    assert recorder.names == ["search", "book"]


def test_ending_early_is_noticed(kind, recorder, run):
    """Elsewhere it is not."""
    reports = []
    agent, _ = agent_of([SCRIPT[0], "I have booked it"], booking_of(kind, recorder, early_end=reports.append), recorder)
    result = run(agent, asked())
    (report,) = reports
    assert report["ended_early"] is True
    assert report["allowed"] == ["!book"]
    assert report == result.get("accord", result.get("fsm"))


def test_a_tool_that_fails_is_taken_back(kind, recorder, run):
    search = recorder.tools[0]
    original, times = search.func, []

    def flaky(city="Rome"):
        times.append(city)
        if len(times) == 1:
            raise ConnectionError("later")
        return original(city)

    search.func = flaky
    agent, _ = agent_of([SCRIPT[0], say(call("search", "a2")), *SCRIPT[1:]], booking_of(kind, recorder), recorder)
    result = run(agent, asked())
    assert recorder.names == ["search", "book"]
    assert told(result)[0] == "error: ConnectionError: later"


def test_many_threads_at_once(kind, recorder):
    if kind == "enforcer":
        pytest.skip("its one session is shared by all threads, on purpose")
    agent, _ = agent_of(SCRIPT, booking_of(kind, recorder), recorder)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: agent.invoke(asked(), config(f"t{n}")), range(12)))
    assert (recorder.names.count("search"), recorder.names.count("book")) == (12, 12)


def test_threads_that_share_a_monitor_share_its_session(recorder):
    agent, _ = agent_of([say(call("search", "a")), "done"], booking_of("enforcer", recorder), recorder)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: agent.invoke(asked(), config(f"t{n}")), range(8)))
    assert recorder.names == ["search"]


def test_streaming(kind, recorder):
    agent, _ = agent_of(SCRIPT, booking_of(kind, recorder), recorder)
    assert list(agent.stream(asked(), config(), stream_mode=["updates", "messages"]))
    assert recorder.names == ["search", "book"]
