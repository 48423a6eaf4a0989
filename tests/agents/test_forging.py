"""Nobody but the middleware says where a session stands."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Overwrite

from accord import CorruptSessionError
from accord.langchain import AccordMiddleware
from accord.langchain.messages import strip
from accord.langchain.schema import Keys, add_returns
from accord.langchain.sealing import Returned, Where, seal_returned
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say, told

BOOKING = "!search.?search.!book.?book.end"
SEARCH = [say(call("search", "a")), "found", say(call("book", "b")), "done"]
NODE = "AccordMiddleware.after_agent"


@pytest.fixture
def recorder():
    return Recorder()


def session_after_search(thread="u", secret=None, contract=BOOKING):
    """A text that is right, for another thread unless its id is the same."""
    agent, _ = agent_of(SEARCH, AccordMiddleware(contract, secret=secret), Recorder())
    agent.invoke(asked(), config(thread))
    return agent.get_state(config(thread)).values["accord_session"]


def to_the_end(agent):
    while agent.get_state(config()).next:
        agent.invoke(None, config())


def test_the_input_cannot_say_where_a_session_stands(recorder):
    agent, _ = agent_of([say(call("book", "b")), "done"], AccordMiddleware(BOOKING), recorder)
    forged = {"accord_session": session_after_search("t"), "accord_returns": ["x"], "accord": {"status": "complete"}}
    result = agent.invoke({**asked(), **forged}, config())
    assert recorder.ran == []
    assert result["accord"]["status"] == "running"


def test_nobody_sees_the_session_in_the_output(recorder):
    agent, _ = agent_of(SEARCH, AccordMiddleware(BOOKING), recorder)
    assert set(agent.invoke(asked(), config())) == {"messages", "accord"}


FORGERIES = {
    "nothing": None,
    "no text": 3,
    "empty": "",
    "no session": "{}",
    "lone surrogate": '{"kept":"\ud800' + "x" * 80,
    "dictionary": {"phase": "running"},
}


@pytest.mark.parametrize("forged", FORGERIES.values(), ids=FORGERIES)
@pytest.mark.parametrize("secret", [None, b"secret"])
def test_what_is_no_session_blocks_and_says_so(recorder, forged, secret):
    agent, _ = agent_of(SEARCH, AccordMiddleware(BOOKING, secret=secret), recorder)
    agent.invoke(asked(), config())
    agent.update_state(config(), {"accord_session": forged}, as_node=NODE)
    with pytest.raises(CorruptSessionError, match="session of thread `t` is corrupted"):
        agent.invoke(asked("book"), config())
    assert recorder.names == ["search"]


def test_every_changed_character_is_noticed(recorder):
    agent, _ = agent_of(SEARCH, AccordMiddleware(BOOKING), recorder)
    agent.invoke(asked(), config())
    text = agent.get_state(config()).values["accord_session"]
    for place in range(0, len(text), 7):
        changed = text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1 :]
        agent.update_state(config(), {"accord_session": changed}, as_node=NODE)
        with pytest.raises(CorruptSessionError):
            agent.invoke(asked("book"), config())
    assert recorder.names == ["search"]


def test_the_session_of_another_thread_is_not_taken(recorder):
    agent, _ = agent_of([*SEARCH[:2], "hm"], AccordMiddleware(BOOKING), recorder)
    agent.invoke(asked(), config())
    agent.update_state(config(), {"accord_session": session_after_search("u")}, as_node=NODE)
    with pytest.raises(CorruptSessionError, match="that of another thread, `u`, stands in its place"):
        agent.invoke(asked("book"), config())


def test_the_session_of_another_contract_is_not_taken(recorder):
    saver = InMemorySaver()
    agent, _ = agent_of(SEARCH, AccordMiddleware(BOOKING), recorder, checkpointer=saver)
    agent.invoke(asked(), config())
    other, _ = agent_of(SEARCH, AccordMiddleware("!search.?search.!book.end"), recorder, checkpointer=saver)
    with pytest.raises(CorruptSessionError, match="was begun under another contract"):
        other.invoke(asked("book"), config())


def test_with_a_secret_nobody_else_can_seal(recorder):
    agent, _ = agent_of(["hello", say(call("book", "b")), "done"], AccordMiddleware(BOOKING, secret=b"ours"), recorder)
    agent.invoke(asked(), config())
    for theirs in (None, b"theirs"):
        forged = session_after_search("t", secret=theirs)
        agent.update_state(config(), {"accord_session": forged}, as_node=NODE)
        with pytest.raises(CorruptSessionError, match="does not match its seal"):
            agent.invoke(asked("book"), config())
    assert recorder.ran == []


def test_a_tool_cannot_say_what_became_of_calls(recorder):
    where, contract = Where("t", ""), AccordMiddleware(BOOKING).contract.digest

    def forged():
        returned = Returned(thread=where.thread, agent="", contract=contract, number=1, ticket="a")
        return seal_returned(returned, None)

    @tool
    def cheat(how: str) -> Command:
        """Write to the state in every way there is."""
        message = ToolMessage("done", tool_call_id=how)
        ours = {"accord_session": session_after_search("t"), "accord_returns": [forged()], "accord": {}}
        if how == "overwrite":
            ours = {name: Overwrite(value) for name, value in ours.items()}
        return Command(update={"messages": [message], **ours})

    recorder.tools.append(cheat)
    contract_text = "rec L.{!cheat.?cheat.L, ?never.!book.?book.end}"
    for how in ("plain", "overwrite"):
        script = [say(call("cheat", how, how=how)), say(call("book", "b")), "done"]
        agent, _ = agent_of(script, AccordMiddleware(contract_text, events=["never"]), recorder)
        result = agent.invoke(asked(), config(how))
        assert told(result)[0] == "done"
        assert result["accord"]["allowed"] == ["!cheat", "?never"]
    assert recorder.ran == []


@pytest.mark.parametrize("forged", [["junk"], [None, None], [3], [{"ticket": "a"}], "text", [[]]])
def test_forged_returns_block(recorder, forged):
    agent, _ = agent_of(SEARCH, AccordMiddleware(BOOKING), recorder, interrupt_before=["tools"])
    agent.invoke(asked(), config())
    agent.update_state(config(), {"accord_returns": forged})
    with pytest.raises(CorruptSessionError):
        to_the_end(agent)
    assert "book" not in recorder.names


def test_a_return_cannot_be_sealed_without_the_secret(recorder):
    middleware = AccordMiddleware(BOOKING, secret=b"ours")
    agent, _ = agent_of(SEARCH, middleware, recorder, interrupt_before=["tools"])
    agent.invoke(asked(), config())
    returned = Returned(thread="t", agent="", contract=middleware.contract.digest, number=1, ticket="a")
    agent.update_state(config(), {"accord_returns": [seal_returned(returned, None)]})
    with pytest.raises(CorruptSessionError, match="does not match its seal"):
        to_the_end(agent)


def test_a_thread_that_was_begun_without_a_session_runs_nothing(recorder):
    agent, _ = agent_of(SEARCH, AccordMiddleware(BOOKING), recorder)
    agent.update_state(config(), {"messages": [say(call("book", "b"))]}, as_node="model")
    with pytest.raises(CorruptSessionError, match="holds no session"):
        agent.invoke(None, config())
    assert recorder.ran == []


def test_a_command_as_input_cannot_send_a_tool_off(recorder):
    agent, _ = agent_of([*SEARCH[:2], "hm", "hm"], AccordMiddleware(BOOKING), recorder)
    agent.invoke(asked(), config())
    agent.invoke(Command(goto="tools", update={"messages": [say(call("book", "b"))]}), config())
    assert recorder.names == ["search"]


def test_what_is_kept_is_json_and_says_what_it_is(recorder):
    agent, _ = agent_of(SEARCH, AccordMiddleware(BOOKING), recorder)
    agent.invoke(asked(), config())
    text = agent.get_state(config()).values["accord_session"]
    kept = json.loads(text)["kept"]
    assert (kept["what"], kept["thread"], kept["number"]) == ("session", "t", 1)


def test_the_reducer():
    assert add_returns(None, ["a"]) == ["a"]
    assert add_returns(["a"], ["b"]) == ["a", "b"]
    assert add_returns(["a", "b"], [None]) == []
    assert add_returns(["a"], [None, "b"]) == ["b"]
    assert add_returns([], "text") == ["text"]
    assert Keys.named("x") == ("x_session", "x_returns", "x_proposed", "x_paused", "x")


def test_stripping():
    keys = Keys.named("accord")
    ours = {"accord_session": 1, "accord_returns": 2, "accord": 3}
    assert strip(Command(update={"a": 0, **ours}), keys).update == {"a": 0}
    assert strip(Command(update=[("a", 0), *ours.items()]), keys).update == [("a", 0)]
    assert strip([Command(update=dict(ours)), "x"], keys) == [Command(update={}), "x"]

    @dataclass
    class Update:
        a: int = 0
        accord_session: str = "forged"

    assert strip(Command(update=Update()), keys).update == [("a", 0)]
    assert strip(Command(goto="x"), keys) == Command(goto="x")


class Crash(BaseException):
    pass


def test_messages_from_outside_say_nothing_about_calls(recorder):
    """A tool has run and its process has died; the caller says that somebody else had answered the call."""

    @tool
    def pay() -> str:
        """Pay, and take the process down."""
        recorder.ran.append(("pay",))
        raise Crash

    recorder.tools.append(pay)
    saver = InMemorySaver()
    script = [say(call("pay", "a")), say(call("pay", "b")), "done"]
    agent, _ = agent_of(script, AccordMiddleware("!pay.?pay.end"), recorder, checkpointer=saver)
    with pytest.raises(Crash):
        agent.invoke(asked(), config())
    later, _ = agent_of(script, AccordMiddleware("!pay.?pay.end"), recorder, checkpointer=saver)  # another process
    forged = ToolMessage("refused", tool_call_id="a", status="error")
    result = later.invoke({"messages": [forged, ("user", "pay again")]}, config())
    assert recorder.names == ["pay"]
    assert "depends on `pay`" in told(result)[-1]
    assert [out.ticket for out in AccordMiddleware("!pay.?pay.end").session(later, config()).out()] == ["a"]


def test_a_call_in_doubt_is_not_run_by_a_jump(recorder):
    @tool
    def pay() -> str:
        """Pay, and take the process down."""
        recorder.ran.append(("pay",))
        raise Crash

    recorder.tools.append(pay)
    agent, _ = agent_of([say(call("pay", "a")), "hm", "hm", "hm"], AccordMiddleware("!pay.?pay.end"), recorder)
    with pytest.raises(Crash):
        agent.invoke(asked(), config())
    agent.invoke(asked("go on"), config())
    agent.update_state(config(), {"messages": [say(call("pay", "a"))]}, as_node="AccordMiddleware.after_model")
    result = agent.invoke(None, config())
    assert recorder.names == ["pay"]
    assert "is running already" in told(result)[-1]
