"""`AccordMiddleware` in a real LangChain agent, whose model says what the run says.

A call that has to wait is told to ask again: the model does, in its next message, before it goes on with the run. Tools
of one message run in threads, and the session hears of their ends in the order of the calls.
"""

from __future__ import annotations

import threading

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from accord.langchain import AccordMiddleware
from accord.machine.contract import Contract
from tests.agents.scripted import Scripted, config
from tests.surfaces.contracts import STRANGER, TOOLS
from tests.surfaces.drivers.told import Ear, error_of, message_at
from tests.surfaces.happenings import Happening, Outcome, Run, in_order

__all__ = ["by_agent"]

SCHEMA = {
    "type": "object",
    "properties": {"x": {}, "k": {}, "y": {}},
    "additionalProperties": True,
}


class Told(Ear):
    """A call that has to wait is refused here, with words that say so."""

    def decided(self, watched, decisions, seconds) -> None:
        waits = [d for d in decisions if d.status == "refused" and "has to wait for" in d.message]
        self.held |= {self.places[decision.call.id] for decision in waits}
        super().decided(watched, [decision for decision in decisions if decision not in waits], seconds)


def by_agent(contract: Contract, run: Run, **options) -> Outcome:
    """One conversation, one thread of the agent."""
    ear = Told()
    ear.now = 0.0
    current = threading.local()
    ear.running = lambda watched, decision: setattr(current, "id", decision.call.id)  # noqa: ARG005

    def tool(**_):
        one = run[ear.ends[current.id]]
        ear.now = max(ear.now, one.at)
        if one.kind == "error":
            raise error_of(one.body)
        return one.body

    names = {*TOOLS, STRANGER, *(one.name for one in run if one.kind == "call")}
    tools = [
        StructuredTool.from_function(tool, name=name, description=name, args_schema=SCHEMA, infer_schema=False)
        for name in sorted(names)
    ]
    middleware = AccordMiddleware(
        contract, observers=[ear], patience=10_000, hide=False, clock=lambda: ear.now, **options
    )
    script = _script(run, ear)
    agent = create_agent(
        Scripted(script=[lambda _: next(script)] * (4 * len(run) + 4)), tools, middleware=[middleware],
        checkpointer=InMemorySaver(),
    )  # fmt: skip
    result = agent.invoke({"messages": [("user", "go")]}, {**config(), "recursion_limit": 10_000})
    if ear.broken is not None:
        raise ear.broken
    return Outcome(in_order(ear.findings), result["accord"]["status"] == "complete")


def _script(run: Run, ear: Ear):
    """What the model says, message by message; a held call is asked for again, behind the end it waits for."""
    place = 0
    while place < len(run):
        if run[place].kind != "call":
            place += 1
            continue
        places = message_at(run, place)
        ask = list(places)
        while ask:
            ear.offer(run, ask)
            ear.held = set()
            ear.now = run[ask[0]].at
            yield AIMessage(content="", tool_calls=[_call(run[at]) for at in ask])
            again = [at for at in ask if at in ear.held]
            ask = again if again != ask else []
        place = places[-1] + 1
    yield AIMessage(content="finished")


def _call(one: Happening) -> dict:
    return {"name": one.name, "args": one.body, "id": one.id, "type": "tool_call"}
