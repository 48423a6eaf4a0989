"""What every middleware promises, whatever its law; among it, all that others get wrong."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolRetryMiddleware
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.types import Command

from accord import OrderWarning, ViolationError
from accord.langchain import (
    AccordMiddleware,
    CheckpointedProtocolMiddleware,
    ProtocolEnforcerMiddleware,
    ProtocolMonitor,
    ref,
)
from tests.agents.protocols import KINDS, booking_of, gated_of, machine
from tests.agents.scripted import Recorder, Scripted, agent_of, asked, call, config, reported, say, told

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
        assert "first call `search`" in messages[-1].content
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
    with pytest.raises(ViolationError, match="`book` is not allowed yet"):
        run(agent, asked())
    assert recorder.ran == []


NO_ANSWERS = [
    False, True, 0, 1, -1, 2.5, "no", "yes", "ok", "", "Approve", "APPROVE", "approval", "Aproval", "modify", [], {},
    ["approve"], [[{}]], {"event_label": "Aproval"}, {"event_label": "approval"}, {"event_label": None},
    {"event_label": True}, {"event_label": ["Approval"]}, {"event_label": {"event_label": "Approval"}},
    {"approved": False}, {"label": "Approval"}, {"event_label": "Approval", "extra": 1}, {"type": "approve"},
    {"event_label": "Approval", "by": ""}, {"event_label": "Approval", "by": 3}, {"event_label": "Approval", "by": {}},
    {"event_label": "Approval", "reason": 1}, {"event_label": "Approval", "payload": [1]},
    {"event_label": "Approval", "payload": "x"}, {"event_label": "Approval", "review": "2-00000000"},
    {"decisions": [{"type": "approve"}]}, {"event_label": "modify"}, {"event_label": "search"},
    {"event_label": "Approval\x00"},
]  # fmt: skip


def test_what_is_no_approval_approves_nothing(kind, recorder, run):
    """Elsewhere `False` and `no` count as one."""
    agent, _ = agent_of(SCRIPT, gated_of(kind, recorder), recorder)
    assert "__interrupt__" in run(agent, asked())
    for answer in NO_ANSWERS:
        named = {"by": "ana", **answer} if isinstance(answer, dict) and "event_label" in answer else answer
        result = run(agent, Command(resume=named))
        (question,) = result["__interrupt__"]
        assert "othing was decided" in question.value["error"], answer
        assert "`Approval`, `approve`, `deny`" in question.value["error"] or "Approval" in question.value["choices"]
        assert recorder.names == ["search"], answer
    result = run(agent, Command(resume={question.id: None}))
    assert result["__interrupt__"]
    assert recorder.names == ["search"]
    result = run(agent, Command(resume={"event_label": "Approval", "by": "ana"}))
    assert recorder.names == ["search", "book"]


@pytest.mark.parametrize(
    "answer",
    [
        {"event_label": "approve", "by": "ana"}, {"event_label": "Approval", "by": "ana"},
        {"event_label": "Approval", "by": "ana", "reason": "cheap", "payload": None},
    ],
)  # fmt: skip
def test_what_is_one_does(kind, recorder, run, answer):
    agent, _ = agent_of(SCRIPT, gated_of(kind, recorder), recorder)
    run(agent, asked())
    run(agent, Command(resume=answer))
    assert recorder.names == ["search", "book"]


@pytest.mark.parametrize("answer", ["approve", {"event_label": "approve"}, {"event_label": "Approval", "by": None}])
def test_an_answer_without_a_name(kind, recorder, run, answer):
    """A contract that says `by human` wants to know by whom; a state machine from Python does not ask for that."""
    agent, _ = agent_of(SCRIPT, gated_of(kind, recorder), recorder)
    run(agent, asked())
    result = run(agent, Command(resume=answer))
    if kind == "contract":
        assert "does not say who decides" in result["__interrupt__"][0].value["error"]
        assert recorder.names == ["search"]
        run(agent, Command(resume={"event_label": "approve", "by": "ana"}))
    assert recorder.names == ["search", "book"]


def test_nothing_is_no_answer(kind, recorder):
    """LangGraph takes it for no answer at all, and may fail on it."""
    agent, _ = agent_of(SCRIPT, gated_of(kind, recorder), recorder)
    agent.invoke(asked(), config())
    with suppress(Exception):
        agent.invoke(Command(resume=None), config())
    assert recorder.names == ["search"]
    assert "__interrupt__" in agent.invoke(None, config())
    assert recorder.names == ["search"]


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


@pytest.mark.parametrize("when_over", ["refuse", "restart"])
def test_a_second_turn_on_a_finished_thread(kind, recorder, run, when_over):
    """It is refused, or the protocol begins again with it."""
    script = [*SCRIPT, say(call("search", "c")), say(call("book", "d")), "done"]
    agent, _ = agent_of(script, booking_of(kind, recorder, when_over=when_over), recorder)
    run(agent, asked())
    result = run(agent, asked("again"))
    again = when_over == "restart"
    assert recorder.names == ["search", "book"] * (2 if again else 1)
    assert [message.startswith("error") for message in told(result)[2:]] == [not again] * 2


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


def chunks(agent, how, mode):
    if how == "sync":
        return list(agent.stream(asked(), config(), stream_mode=mode))

    async def stream():
        if mode == "events":
            return [chunk async for chunk in agent.astream_events(asked(), config(), version="v2")]
        return [chunk async for chunk in agent.astream(asked(), config(), stream_mode=mode)]

    return asyncio.run(stream())


MODES = ["values", "updates", "messages", "custom", "debug", ["values", "messages"]]


@pytest.mark.parametrize(
    ("how", "mode"), [*[(how, mode) for how in ("sync", "async") for mode in MODES], ("async", "events")]
)
def test_streaming(kind, recorder, how, mode):
    """An illegal call does not run, is answered, and the rest goes on, however the run is looked at."""
    original = recorder.tools[0].func

    def search(city="Rome"):
        get_stream_writer()("searching")
        return original(city)

    recorder.tools[0].func = search
    agent, _ = agent_of([say(call("book", "x")), *SCRIPT], booking_of(kind, recorder), recorder)
    seen = chunks(agent, how, mode)
    assert recorder.names == ["search", "book"]
    if mode == "custom":
        assert seen == ["searching"]
    elif mode == "values":
        assert reported(seen[-1])["status"] == "complete"
        assert told(seen[-1])[0].startswith("error")
    elif mode == "updates":
        assert [name for chunk in seen for name in chunk if name == "tools"] == ["tools"] * 2
    elif mode == "messages":
        assert next(message.content[:5] for message, _ in seen if isinstance(message, ToolMessage)) == "error"
    elif mode == "events":
        assert [event["name"] for event in seen if event["event"] == "on_tool_start"] == ["search", "book"]
    else:
        assert seen


@pytest.mark.parametrize("how", ["sync", "async"])
def test_streaming_up_to_a_gate(kind, recorder, how):
    agent, _ = agent_of(SCRIPT, gated_of(kind, recorder), recorder)
    *_, last = chunks(agent, how, "updates")
    assert last["__interrupt__"][0].value["choices"][:2] == ["Approval", "approve"]
    assert recorder.names == ["search"]


def test_synchronous_and_asynchronous_runs_agree(kind):
    """The same agent, the same messages, the same state; and one may go on where the other one stopped."""
    results = []
    for ways in (("sync", "sync"), ("async", "async"), ("sync", "async"), ("async", "sync")):
        recorder = Recorder()
        agent, _ = agent_of(
            [say(call("book", "x"), call("search", "a")), *SCRIPT[1:]], gated_of(kind, recorder), recorder
        )
        for way, given in zip(ways, (asked(), Command(resume={"event_label": "Approval", "by": "ana"})), strict=True):
            result = agent.invoke(given, config()) if way == "sync" else asyncio.run(agent.ainvoke(given, config()))
        messages = [(message.type, message.content, getattr(message, "status", None)) for message in result["messages"]]
        del result["messages"]
        results.append((messages, result, recorder.ran))
    assert results[0] == results[1] == results[2] == results[3]
    assert [entry[0] for entry in results[0][2]] == ["search", "book"]


def test_protocols_that_look_at_data(kind, recorder, run):
    """Elsewhere payloads never reach the protocol, so those with guards always fail."""
    if kind == "contract":
        middleware = AccordMiddleware("!search.?search.!book(amount <= 100).?book.end")
    else:
        fsm = machine(recorder)
        last = fsm.transitions[2]
        guarded = replace(last, guard=lambda context: context.metadata["args"]["amount"] <= 100)
        fsm.transitions = (*fsm.transitions[:2], guarded, *fsm.transitions[3:])
        refs = [ref(each) for each in recorder.tools]
        if kind == "checkpointed":
            middleware = CheckpointedProtocolMiddleware(fsm=fsm, tool_refs=refs).middleware
        else:
            middleware = ProtocolEnforcerMiddleware(monitor=ProtocolMonitor(fsm), tool_refs=refs).middleware
    script = [SCRIPT[0], say(call("book", "b", amount=300)), say(call("book", "c", amount=30)), "done"]
    agent, _ = agent_of(script, middleware, recorder)
    run(agent, asked())
    assert recorder.ran == [("search", "Rome"), ("book", "AZ1", 30)]


# -- what is LangGraph's, and not ours ---------------------------------------------------------------------------------


def test_a_thread_that_is_taken_back_takes_its_session_with_it(kind, recorder):
    if kind == "enforcer":
        pytest.skip("its session is in the process, so no checkpoint takes it back")
    agent, _ = agent_of(SCRIPT, booking_of(kind, recorder), recorder)
    agent.invoke(asked(), config())
    past = next(state for state in agent.get_state_history(config()) if state.next == ("tools",))
    agent.invoke(None, past.config)
    assert recorder.names == ["search", "book", "book"]


class Crash(BaseException):
    """The process dies."""


def test_a_tool_that_has_run_when_the_process_dies_is_run_again_when_the_thread_is_resumed(kind, recorder):
    """With a session in the checkpoint: nobody could write down that it had.

    A monitor knows that it was interrupted, and has taken it back; so it does not run before a model asks again.
    """
    search = recorder.tools[0]
    original = search.func

    def dying(city="Rome"):
        original(city)
        if len(recorder.ran) == 1:
            raise Crash

    search.func = dying
    saver = InMemorySaver()
    middleware = booking_of(kind, recorder)
    agent, _ = agent_of(SCRIPT, middleware, recorder, checkpointer=saver)
    with pytest.raises(Crash):
        agent.invoke(asked(), config())
    if kind != "enforcer":
        middleware = booking_of(kind, recorder)  # another process
    later, _ = agent_of(SCRIPT, middleware, recorder, checkpointer=saver)
    later.invoke(None, config())
    assert recorder.names == (["search"] if kind == "enforcer" else ["search", "search", "book"])


# -- beside other middlewares ------------------------------------------------------------------------------------------


def test_a_retry_behind_it_is_one_call(kind, recorder, run):
    search, attempts = recorder.tools[0], []
    original = search.func

    def flaky(city="Rome"):
        attempts.append(city)
        if len(attempts) < 3:
            raise ConnectionError("later")
        return original(city)

    search.func = flaky
    retry = ToolRetryMiddleware(max_retries=3, initial_delay=0, jitter=False)
    middleware = [booking_of(kind, recorder), retry]
    agent = create_agent(Scripted(script=SCRIPT), recorder.tools, middleware=middleware, checkpointer=InMemorySaver())
    result = run(agent, asked())
    assert (len(attempts), recorder.names) == (3, ["search", "book"])
    assert not any(message.startswith("error") for message in told(result))


@pytest.mark.parametrize("place", ["behind", "in front"])
@pytest.mark.parametrize(
    ("decision", "booked"),
    [
        ({"type": "approve"}, [("book", "AZ1", 10)]),
        ({"type": "reject"}, []),
        ({"type": "edit", "edited_action": {"name": "book", "args": {"flight": "ZZ9", "amount": 99}}}, None),
        ({"type": "respond", "message": "no way"}, []),
    ],
)
def test_beside_the_human_in_the_loop_of_langchain(kind, recorder, run, decision, booked, place):
    """What is rejected there is not out here; what is edited there runs if it stands behind ours."""
    middleware = [booking_of(kind, recorder), HumanInTheLoopMiddleware({"book": True})]
    if booked is None:
        booked = [("book", "ZZ9", 99)] if place == "behind" else []
    with pytest.warns(OrderWarning) if place == "in front" else nullcontext():
        agent = create_agent(
            Scripted(script=SCRIPT), recorder.tools, checkpointer=InMemorySaver(),
            middleware=middleware if place == "behind" else middleware[::-1],
        )  # fmt: skip
    run(agent, asked())
    result = run(agent, Command(resume={"decisions": [decision]}))
    assert recorder.ran[1:] == booked
    assert (reported(result)["out"], reported(result)["ended_early"]) == ([], not booked)
