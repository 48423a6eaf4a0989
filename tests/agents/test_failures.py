"""What it means that a tool has failed: the contract says so, wherever the session is kept and however it is run."""

from __future__ import annotations

import asyncio

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool

from accord import MemoryStore, NotDone
from accord.langchain import AccordMiddleware
from accord.langchain.sealing import Returned, Where, open_returned, seal_returned
from accord.ledger.entries import seal
from tests.agents.scripted import Recorder, Scripted, agent_of, asked, call, config, say, told

ONCE = 'rule "once" { at most 1 pay }'
MEANINGS = {
    "by default": ONCE,
    "unknown": ONCE + " tools { pay fails unknown }",
    "done": ONCE + " tools { pay fails done }",
    "undone": ONCE + " tools { pay fails undone }",
}
SCRIPT = [say(call("pay", "a")), say(call("pay", "b")), "done"]
WAYS = {
    "sync": lambda agent, *given: agent.invoke(*given),
    "async": lambda agent, *given: asyncio.run(agent.ainvoke(*given)),
}


class Payments(Recorder):
    """One payment fails, the next does not."""

    def __init__(self, error):
        super().__init__()

        @tool
        def pay(amount: int = 10) -> str:
            """Pay."""
            self.ran.append(("pay", amount))
            if len(self.ran) == 1:
                raise error
            return "paid"

        self.tools.append(pay)


@pytest.fixture(params=["checkpoint", "store"])
def kept(request):
    return {"store": MemoryStore()} if request.param == "store" else {}


@pytest.fixture(params=WAYS)
def turn(request):
    return WAYS[request.param]


@pytest.mark.parametrize("meaning", MEANINGS)
def test_what_a_failure_means(kept, turn, meaning):
    recorder = Payments(RuntimeError("no answer"))
    middleware = AccordMiddleware(MEANINGS[meaning], **kept)
    agent, _ = agent_of(SCRIPT, middleware, recorder)
    result = turn(agent, asked(), config())
    first, second = told(result)
    assert "no answer" in first
    if meaning == "undone":
        assert (recorder.names, second) == (["pay", "pay"], "paid")
        return
    assert recorder.names == ["pay"]
    lost = meaning != "done"
    assert ("nobody knows whether an earlier call has happened: `pay` (call `a`" in second) is lost
    assert result["accord"]["out"] == (["a"] if lost else [])
    assert result["accord"]["ended_early"] is False  # whatever became of it, nothing is owed
    session = middleware.session(agent, config())
    assert [(out.ticket, out.lost) for out in session.out()] == ([("a", "RuntimeError: no answer")] if lost else [])


@pytest.mark.parametrize("answer", ["settle", "keep", "fail"])
def test_somebody_says_what_became_of_a_lost_call(kept, turn, answer):
    recorder = Payments(RuntimeError("no answer"))
    middleware = AccordMiddleware(ONCE, **kept)
    agent, _ = agent_of([*SCRIPT, say(call("pay", "c")), "done"], middleware, recorder)
    turn(agent, asked(), config())
    session = middleware.session(agent, config())
    session.settle("a", {"paid": 10}) if answer == "settle" else getattr(session, answer)("a", "the bank says so")
    assert session.out() == []
    result = turn(agent, asked("again"), config())
    assert recorder.names == (["pay", "pay"] if answer == "fail" else ["pay"])
    assert (told(result)[-1] == "paid") is (answer == "fail")


@pytest.mark.parametrize("tool_errors", ["tell", "raise"])
@pytest.mark.parametrize("meaning", MEANINGS)
def test_a_tool_that_says_it_has_done_nothing_is_taken_back(kept, turn, meaning, tool_errors):
    recorder = Payments(NotDone("no money"))
    agent, _ = agent_of(SCRIPT, AccordMiddleware(MEANINGS[meaning], tool_errors=tool_errors, **kept), recorder)
    if tool_errors == "raise":
        with pytest.raises(NotDone, match="no money"):
            turn(agent, asked(), config())
        result = turn(agent, None, config())
    else:
        result = turn(agent, asked(), config())
        assert "no money" in told(result)[0]
    assert recorder.names == ["pay", "pay"]
    assert "paid" in told(result)
    assert (result["accord"]["out"], result["accord"]["status"]) == ([], "complete")


PASSING = {
    "an open protocol": "protocol P open = !search.?search.end",
    "rules alone": 'rule "once" { at most 1 search }',
    "an events block": "protocol P open = !Look.end events { Look when call search }",
}


@pytest.mark.parametrize("labels", [{}, {"pay": "charge.card"}])
@pytest.mark.parametrize("contract", PASSING)
def test_a_call_that_no_clause_looks_at_runs_once_and_fails_like_any_other(kept, turn, contract, labels):
    recorder = Payments(RuntimeError("no answer"))
    script = [say(call("pay", "a")), say(call("pay", "b", amount=3)), say(call("pay", "b", amount=3)), "done"]
    agent, _ = agent_of(script, AccordMiddleware(PASSING[contract], labels=labels, **kept), recorder)
    result = turn(agent, asked(), config())
    failed, paid, twice = told(result)
    assert "no answer" in failed
    assert paid == "paid"
    assert "has run already" in twice
    assert recorder.ran == [("pay", 10), ("pay", 3)]
    assert result["accord"]["out"] == []


class Again(AgentMiddleware):
    """Around ours: tries a tool again that raises, and answers in its place in the end."""

    def wrap_tool_call(self, request, handler):
        for _ in range(2):
            try:
                found = handler(request)
            except RuntimeError:
                continue
            return found
        return ToolMessage("gave up", tool_call_id=request.tool_call["id"], name=request.tool_call["name"])


@pytest.mark.parametrize("meaning", MEANINGS)
def test_a_retry_around_it_tries_again_only_what_has_not_happened(kept, meaning):
    recorder = Payments(RuntimeError("no answer"))
    ours = AccordMiddleware(MEANINGS[meaning], tool_errors="raise", **kept)
    saver = agent_of(SCRIPT, ours, recorder)[0].checkpointer
    agent = create_agent(Scripted(script=SCRIPT), recorder.tools, middleware=[Again(), ours], checkpointer=saver)
    result = agent.invoke(asked(), config())
    if meaning == "undone" and not kept:
        assert recorder.names == ["pay", "pay"]
        assert told(result)[0] == "paid"
    elif meaning == "undone":  # in a store it is taken back at once, and runs when the model asks again
        assert (recorder.names, told(result)[-1]) == (["pay", "pay"], "paid")
    else:
        assert recorder.names == ["pay"]
        assert result["accord"]["out"] == ([] if meaning == "done" else ["a"])
        assert told(result)[-1].startswith("error")


def test_what_became_of_a_call_as_version_0_1_kept_it():
    where = Where("t", "")
    written = seal_returned(Returned(thread="t", agent="", contract="c", number=1, ticket="a", error="no"), None)
    assert open_returned(written, where, "c", None).undone is False
    assert '"undone":false' in written  # and without it:
    body = written[len('{"kept":') : written.rindex(',"seal"')].replace(',"undone":false', "")

    old = f'{{"kept":{body},"seal":"{seal(body.encode(), None)}"}}'
    assert open_returned(old, where, "c", None) == Returned(
        thread="t", agent="", contract="c", number=1, ticket="a", error="no"
    )
