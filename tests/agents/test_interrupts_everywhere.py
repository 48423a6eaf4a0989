"""An interrupt at any moment of the hook around a tool leaves no call in a store that is out for ever."""

from __future__ import annotations

from contextlib import suppress

from langchain_core.tools import tool

from accord import MemoryStore
from accord.integrations.guard.reading import guarded_session
from accord.langchain import AccordMiddleware
from tests.agents.scripted import Recorder, agent_of, asked, call, config, say
from tests.faults.interrupting import Interrupt

CONTRACT = 'rule "once" { at most 1 pay }'
STRIDE = 61


class Paying(Recorder):
    def __init__(self):
        super().__init__()

        @tool
        def pay(amount: int = 1) -> str:
            """Pay."""
            self.ran.append(("pay", amount))
            return "paid"

        self.tools = [pay]


def test_no_call_is_out_for_ever(monkeypatch, soak):
    point, hits = 0, 0
    while True:
        store, recorder = MemoryStore(), Paying()
        middleware = AccordMiddleware(CONTRACT, store=store)
        interrupts = []
        wrapped = middleware.wrap_tool_call

        def wrap_tool_call(request, handler, wrapped=wrapped, interrupts=interrupts, point=point):
            with Interrupt(point) as interrupt:
                interrupts.append(interrupt)
                return wrapped(request, handler)
            raise KeyboardInterrupt

        monkeypatch.setattr(type(middleware), "wrap_tool_call", lambda _, *given: wrap_tool_call(*given))
        agent, _ = agent_of([say(call("pay", "a")), "done"], middleware, recorder)
        with suppress(KeyboardInterrupt):
            agent.invoke(asked(), config())
        monkeypatch.undo()
        (interrupt,) = interrupts
        out = guarded_session(store, "t").out
        assert not [each for each in out if each.started and each.lost is None], interrupt.hit
        if recorder.ran and interrupt.hit:
            assert [each.lost for each in out] or store.session("t").events, interrupt.hit
        if interrupt.hit is None:
            break
        hits += 1
        point += 1 if soak else STRIDE
    assert hits > 5
