"""What `AccordMiddleware` adds to the step of a LangChain agent.

A step is one round of the loop: the model asks for a tool, the tool runs, its result goes back. Model and tool are
instant, so what is measured is LangChain, LangGraph, a checkpointer in memory, and us. The yardstick is a middleware
with the same hooks that does nothing, because every hook is a node of the graph and costs by itself. Beside it stands
one that only writes what a session in the checkpoint has to write: texts that are made before, under the same keys.
`own` is the processor time inside our hooks alone: the clock on the wall would count other threads of LangGraph too.

A real model takes its time: `share` says what part of a step is added if it answers after so many seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

import accord
from bench.measure import Entry, race

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measure import Timing

__all__ = ["BARE", "CHECKPOINT", "KEYS", "MODEL", "NOTHING", "LangChainCosts", "measure_langchain"]

BARE = "no middleware"
NOTHING = "a middleware that does nothing"
KEYS = "a middleware that only writes such keys"
CHECKPOINT = "AccordMiddleware, session in the checkpoint"
STORED = "the same, session in a MemoryStore"
RECORDED = "the same, with a ledger in memory"

MODEL = 0.25
"""Seconds that a quick model takes to ask for a tool."""

_STEPS = 20
_ROUNDS = 25
_WARM_UP = 2
_CONTRACT = "rec L.!look.?look.L"
_HOOKS = ("before_agent", "before_model", "after_model", "after_agent")
_AROUND = ("wrap_model_call", "wrap_tool_call")


@dataclass(frozen=True, slots=True)
class LangChainCosts:
    """Seconds for one step; `skipped` says why nothing was measured."""

    times: dict[str, Timing] = field(default_factory=dict)
    own: float = 0.0
    skipped: str | None = None

    def added(self, case: str) -> float:
        """Seconds that a case takes more than the middleware that does nothing."""
        return self.times[case].best - self.times[NOTHING].best

    def share(self, case: str, model: float = 0.0) -> float:
        """What part of a step that is, if the model takes so many seconds."""
        return self.added(case) / (self.times[NOTHING].best + model)


def measure_langchain() -> LangChainCosts:
    """Measure every case, if LangChain is there."""
    missing = [name for name in ("langchain", "langgraph") if find_spec(name) is None]
    if missing:
        return LangChainCosts(skipped=f"{missing[0]} is not installed here")
    from accord.langchain import AccordMiddleware

    spent: list[float] = []
    agents = {
        BARE: _agent([]),
        NOTHING: _agent([_nothing()]),
        KEYS: _agent([_writing()]),
        CHECKPOINT: _agent([AccordMiddleware(_CONTRACT)]),
        RECORDED: _agent([AccordMiddleware(_CONTRACT, ledger=accord.Ledger(accord.MemorySink()))]),
        STORED: _agent([AccordMiddleware(_CONTRACT, store=accord.MemoryStore())]),
    }
    times = race({name: Entry(_turn(agent)) for name, agent in agents.items()}, rounds=_ROUNDS, warm_up=_WARM_UP)
    turn = _turn(_agent([_timed(spent)(_CONTRACT)]))
    own = []
    for _ in range(_ROUNDS):
        spent.clear()
        turn()
        own.append(sum(spent) / _STEPS)
    return LangChainCosts(times, min(own))


def _turn(agent: Any) -> Callable[[], float]:  # noqa: ANN401 - a graph
    """One turn of so many steps, on a thread of its own."""
    turns = 0

    def turn() -> float:
        nonlocal turns
        turns += 1
        config = {"configurable": {"thread_id": f"thread-{turns}"}}
        start = perf_counter()
        result = agent.invoke({"messages": [("user", "go")]}, config)
        seconds = perf_counter() - start
        if sum(message.type == "tool" and message.text == "seen" for message in result["messages"]) != _STEPS:
            raise RuntimeError("not every call has run")
        return seconds / _STEPS

    return turn


def _agent(middleware: list[Any]) -> Any:  # noqa: ANN401 - a graph
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver

    @tool
    def look() -> str:
        """Look."""
        return "seen"

    class Instant(BaseChatModel):
        """Asks for the tool so many times, and is done."""

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> ChatResult:  # noqa: ANN401, ARG002 - as LangChain calls it
            said = sum(isinstance(message, AIMessage) for message in messages)
            call: Any = {"name": "look", "args": {}, "id": f"call-{said}"}
            message = AIMessage("", tool_calls=[call]) if said < _STEPS else AIMessage("done")
            return ChatResult(generations=[ChatGeneration(message=message)])

        def bind_tools(self, tools: Any, **more: Any) -> Any:  # noqa: ANN401, ARG002 - the same
            """Nothing is bound."""
            return self

        @property
        def _llm_type(self) -> str:
            return "instant"

    return create_agent(Instant(), [look], middleware=middleware, checkpointer=InMemorySaver())


def _nothing() -> Any:  # noqa: ANN401 - a middleware
    from langchain.agents.middleware import AgentMiddleware

    def hook(self: Any, state: Any, runtime: Any) -> None:  # noqa: ANN401 - whatever LangChain gives
        """Nothing."""

    def around(self: Any, request: Any, handler: Any) -> Any:  # noqa: ANN401, ARG001 - the same
        return handler(request)

    methods: dict[str, Any] = {**dict.fromkeys(_HOOKS, hook), **dict.fromkeys(_AROUND, around)}
    return type("NothingMiddleware", (AgentMiddleware,), methods)()


def _writing() -> Any:  # noqa: ANN401 - a middleware
    """One that does what LangGraph has to do for a session in the checkpoint, and nothing else."""
    from langgraph.types import Command

    from accord.langchain.schema import TAKEN, Keys, make_schema

    keys = Keys.named("accord")
    written = 0

    def after_model(self: Any, state: Any, runtime: Any) -> dict[str, Any]:  # noqa: ANN401, ARG001 - as above
        nonlocal written
        written += 1
        return {keys.session: f"{written:0>1200}", keys.returns: TAKEN}

    def wrap_tool_call(self: Any, request: Any, handler: Any) -> Any:  # noqa: ANN401, ARG001 - as above
        return Command(update={"messages": [handler(request)], keys.returns: [f"{written:0>350}"]})

    base = type(_nothing())
    methods = {"after_model": after_model, "wrap_tool_call": wrap_tool_call, "state_schema": make_schema(keys)}
    return type("WritingMiddleware", (base,), methods)()


def _timed(spent: list[float]) -> Any:  # noqa: ANN401 - a class
    """Our middleware, with the time inside its hooks noted."""
    from accord.langchain import AccordMiddleware

    def hooked(original: Any) -> Any:  # noqa: ANN401 - a method
        def hook(self: Any, state: Any, runtime: Any) -> Any:  # noqa: ANN401 - as above
            start = thread_time()
            try:
                return original(self, state, runtime)
            finally:
                spent.append(thread_time() - start)

        hook.__dict__.update(original.__dict__)
        return hook

    def wrapped(original: Any) -> Any:  # noqa: ANN401 - a method
        def around(self: Any, request: Any, handler: Any) -> Any:  # noqa: ANN401 - as above
            inside = 0.0

            def handled(request: Any) -> Any:  # noqa: ANN401 - as above
                nonlocal inside
                entered = thread_time()
                try:
                    return handler(request)
                finally:
                    inside += thread_time() - entered

            start = thread_time()
            try:
                return original(self, request, handled)
            finally:
                spent.append(thread_time() - start - inside)

        return around

    methods = {name: hooked(getattr(AccordMiddleware, name)) for name in _HOOKS}
    methods |= {name: wrapped(getattr(AccordMiddleware, name)) for name in _AROUND}
    return type("TimedMiddleware", (AccordMiddleware,), methods)
