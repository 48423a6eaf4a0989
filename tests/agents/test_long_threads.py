"""Threads that are longer than what a session remembers: they go on as they began, and checkpoints stop growing."""

from __future__ import annotations

import pytest
from langgraph.types import Command

from accord import MemoryStore
from accord.integrations.guard import ending, reviewing
from accord.langchain import AccordMiddleware, ProtocolFSM, ProtocolMonitor, Transition, law, running, sessions
from accord.langchain.protocol_law import _REMEMBERED as TRACED
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say

ASKED = 'rule "asked" { before each book require Approval by human }'
AT_ONCE = 4
BOUND = 24
"""Turns after which as many reviews are over, and as many calls done, as a session remembers."""
TURNS = BOUND + 10


def batch(turn):
    return say(*(call("book", f"c{turn:03}-{n}", flight=f"AZ{turn:03}", amount=100 + n) for n in range(AT_ONCE)))


@pytest.mark.parametrize("place", ["checkpoint", "store"])
def test_any_number_of_reviews(place):
    """In each turn people are asked about a few calls: all but one are approved, each by itself."""
    assert BOUND * (AT_ONCE - 1) > ending.REMEMBERED
    assert BOUND * AT_ONCE > reviewing._REMEMBERED
    recorder, store = Recorder(), MemoryStore() if place == "store" else None
    middleware = AccordMiddleware(ASKED, store=store, patience=999)
    script = [line for turn in range(TURNS) for line in (batch(turn), "done")]
    agent, _ = agent_of(script, middleware, recorder)
    sizes = []
    for turn in range(TURNS):
        result = agent.invoke(asked(f"turn {turn}"), config())
        assert "__interrupt__" in result, (turn, result["messages"][-2].content)
        reviews = [each["review"] for each in result["__interrupt__"][0].value["questions"]]
        answers = [{"event_label": answer, "by": "ana"} for answer in ("approve", "deny", "approve", "approve")]
        result = agent.invoke(Command(resume={"decisions": dict(zip(reviews, answers, strict=True))}), config())
        assert result["accord"]["session"] == "t"
        kept = agent.get_state(config()).values
        sizes.append(len(next(value for key, value in kept.items() if isinstance(value, str) and "accord" in key)))
    assert len(recorder.ran) == TURNS * (AT_ONCE - 1)
    assert max(sizes[BOUND:]) < 1.02 * max(sizes[:BOUND]), sizes


def test_a_state_machine_with_a_long_trace():
    fsm = ProtocolFSM(initial="here")
    fsm.add_transition(Transition(source="here", event_label="there", phase="send", target="there"))
    fsm.add_transition(Transition(source="there", event_label="back", phase="send", target="here"))
    monitor = ProtocolMonitor(fsm.mark_terminal("here"))
    for number in range(TRACED + 2):
        assert monitor.transition_event(("there", "back")[number % 2], "send")
    assert not monitor.transition_event("back", "send")
    assert (len(monitor.trace), monitor.trace[-1], monitor.state) == (TRACED, "send:back", "here")


def test_threads_that_are_more_than_a_middleware_remembers(monkeypatch):
    """What it remembers of threads saves time and nothing more, whichever of it is forgotten."""
    for module in (sessions, running, law):
        monkeypatch.setattr(module, "_REMEMBERED", 2)
    recorder = Recorder()
    script = [say(call("search", "a")), "which?", say(call("book", "b")), "done"]
    agent, _ = agent_of(script, AccordMiddleware("!search.?search.!book.?book.end"), recorder)
    for text in ("look", "book it"):
        for thread in range(6):
            result = agent.invoke(asked(text), config(f"t{thread}"))
    assert result["accord"]["status"] == "complete"
    assert recorder.names == ["search"] * 6 + ["book"] * 6
