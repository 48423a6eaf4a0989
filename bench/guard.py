"""What a guard adds to the call of a tool, in the ways that people call it.

Every tool does nothing, so what is measured beside it is the guard: the call is judged and reserved, the tool runs, its
result is judged and settled. A case is called many times in a round, in a loop of its own, on one session.

Beside us, on one job (`book` only after `search`), stand two others. `acel-core` is asked with its `Session.call`,
which judges a call and notes it; the tool is called after that. A tool guardrail of the OpenAI Agents SDK is a
function of ours that the SDK awaits before the tool: it looks in a set for what was called. It gets the context that
the SDK makes for each call, and that is most of what it costs; `run` of the guardrail alone is a row of its own.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from importlib import import_module
from itertools import cycle, islice
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import accord
from accord import Guard, MemoryStore, Ok, ToolCall
from bench.contestants import ACEL, FLOOR, OPENAI, Nothing, load_acel, load_openai
from bench.loops import in_a_row, in_a_row_empty
from bench.measure import Entry, own_copy, race

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from accord import ToolResult
    from bench.measure import Timing

__all__ = ["BARE", "GuardCosts", "measure_guard"]

BARE = "the tool alone"

DECORATED = "decorated function"
DECORATED_DATA = "decorated function, the contract looks at data"
PLAIN = "run"
RULES = "run, three rules"
RESULTS = "run, results are events"
DATA = "run, the contract looks at arguments"
DATA_TWICE = "run, it looks at arguments and results"
SLICED = "run, a slice for each of 100 keys"
IN_LOOP = "arun"
BATCH = "run, a batch of 20"
BATCH_RULES = "run, a batch of 20, three rules"
STEPS = "reserve, start, settle"
STORED = "run in a MemoryStore, with its ledger"
NEW = "a new guard on a shared contract"
NEW_TOOLS = "a new guard with two tools"

JOB_DECORATED = "decorated function, the job"
JOB = "run, the job"
JOB_IN_LOOP = "arun, the job"
JOB_ACEL = f"{ACEL}, the job"
JOB_OPENAI = f"{OPENAI}, the job"
JOB_OPENAI_RUN = f"{OPENAI}, its `run` alone"

MANY = 20
"""Calls in a batch."""

_CALLS = [""] * 200
_ROUNDS = 240
_WARM_UP = 5
_SLOW, _SLOWEST = 4, 12
_ORDER = 'rule "searched" { before book require search }'


@dataclass(frozen=True, slots=True)
class GuardCosts:
    """Seconds for one call, and why a peer was not measured."""

    times: dict[str, Timing]
    skipped: dict[str, str]

    def added(self, case: str) -> float:
        """How many empty method calls a case takes more than the tool alone."""
        of = self.times
        return (of[case].best - of[BARE].best) / of[FLOOR].best

    def of_one(self, case: str) -> float:
        """How many times as long a batch takes as one call."""
        one = {BATCH: PLAIN, BATCH_RULES: RULES}[case]
        return self.times[case].best / self.times[one].best


def measure_guard() -> GuardCosts:
    """Measure every case."""
    skipped = {}
    entries = {
        FLOOR: _entry(Nothing().nothing),
        BARE: _entry(_tool),
        **_decorated(),
        **_general(),
        **_jobs(),
    }
    acel, openai = load_acel(), load_openai()
    if acel is None:
        skipped[JOB_ACEL] = f"{ACEL} is not installed here"
    else:
        entries[JOB_ACEL] = _entry(_with_acel(acel), _SLOW)
    if openai is None:
        skipped[JOB_OPENAI] = f"{OPENAI} is not installed here"
    else:
        whole, alone = _with_openai(openai)
        entries[JOB_OPENAI], entries[JOB_OPENAI_RUN] = _awaited(whole), _awaited(alone)
    return GuardCosts(race(entries, rounds=_ROUNDS, warm_up=_WARM_UP), skipped)


# -- the tools, and how they are called --------------------------------------------------------------------------------


def _tool() -> None:
    """Nothing."""


async def _async_tool() -> None:
    """Nothing."""


def _tool_with_amount(amount: int = 3) -> None:
    """Nothing."""


def _entry(call: Callable[[], object], every: int = 1) -> Entry:
    call()
    loop = own_copy(in_a_row_empty)
    return Entry(lambda: loop(call, _CALLS) / 1e9 / len(_CALLS), every)


def _runs(guard: Guard, *batches: list[ToolCall], every: int = _SLOW) -> Entry:
    """These batches in turns; each has to go through."""
    many = len(_CALLS) // len(batches[0])
    in_turn = list(islice(cycle(batches), many))
    loop = own_copy(in_a_row)

    def run() -> float:
        _check(guard.run(batches[0]))
        return loop(guard.run, in_turn) / 1e9 / many

    return Entry(run, every)


def _awaited(call: Callable[[], Awaitable[object]]) -> Entry:
    """As `in_a_row_empty`, in an event loop that goes on all the time."""

    async def in_a_row() -> int:
        start = perf_counter_ns()
        for _ in _CALLS:
            await call()
        return perf_counter_ns() - start

    running = asyncio.new_event_loop()
    return Entry(lambda: running.run_until_complete(in_a_row()) / 1e9 / len(_CALLS), _SLOW)


def _aruns(guard: Guard, calls: list[ToolCall]) -> Entry:
    """As `_runs`, in an event loop."""
    _check(asyncio.run(guard.arun(calls)))
    return _awaited(lambda: guard.arun(calls))


def _check(results: list[ToolResult]) -> None:
    for result in results:
        if not result.ok:
            raise RuntimeError(f"the guard does not let the call through: {result.error}")


# -- ourselves ---------------------------------------------------------------------------------------------------------


def _decorated() -> dict[str, Entry]:
    any_amount, small = Guard("rec L.!tool.?tool.L"), Guard("rec L.!tool(amount <= 10).?tool.L")
    return {
        DECORATED: _entry(any_amount.tool(name="tool")(_tool)),
        DECORATED_DATA: _entry(small.tool(name="tool")(_tool_with_amount)),
    }


def _general() -> dict[str, Entry]:
    plain, results = "rec L.!tool.L", "rec L.!tool.?tool.L"
    data, both = "rec L.!tool(amount <= 10).L", "rec L.!tool(amount <= 10).?tool(error == null).L"
    sliced = "protocol P = each amount: rec L.!tool.?tool.L"
    rules = """
        rule "first" { before other require tool }
        rule "last" { after other forbid tool }
        rule "some" { at most 3 other }
    """
    shared = accord.compile(plain)
    tools = {"tool": _tool, "other": _tool_with_amount}
    in_store = Guard(plain, store=MemoryStore(), key="s", tools=tools)
    call, small = ToolCall("tool"), ToolCall("tool", {"amount": 3})
    keys = [[ToolCall("tool", {"amount": key})] for key in range(100)]
    return {
        PLAIN: _runs(_guard(plain), [call]),
        RULES: _runs(_guard(rules), [call]),
        RESULTS: _runs(_guard(results), [call]),
        DATA: _runs(_guard(data, _tool_with_amount), [small]),
        DATA_TWICE: _runs(_guard(both, _tool_with_amount), [small]),
        SLICED: _runs(_guard(sliced, _tool_with_amount), *keys, every=_SLOWEST),
        IN_LOOP: _aruns(_guard(plain, _async_tool), [call]),
        BATCH: _runs(_guard(plain), [call] * MANY),
        BATCH_RULES: _runs(_guard(rules), [call] * MANY),
        STEPS: _entry(_reserving(_guard(plain)), _SLOWEST),
        STORED: _runs(in_store, [call], every=_SLOWEST),
        NEW: _entry(lambda: Guard(shared), _SLOW),
        NEW_TOOLS: _entry(lambda: Guard(shared, tools=tools), _SLOW),
    }


def _guard(contract: str, tool: Callable[..., object] = _tool) -> Guard:
    return Guard(contract, tools={"tool": tool, "other": tool})


def _reserving(guard: Guard) -> Callable[[], object]:
    """What a framework does that runs tools itself."""
    calls = [ToolCall("tool")]

    def call() -> None:
        (decision,) = guard.reserve(calls)
        guard.start(decision.ticket or "")
        _tool()
        verdict = guard.settle(decision.ticket or "")
        if verdict != Ok():
            raise RuntimeError(f"the guard does not let the call through: {verdict}")

    return call


# -- one job, and others -----------------------------------------------------------------------------------------------


def _jobs() -> dict[str, Entry]:
    search, book = [ToolCall("search")], [ToolCall("book")]
    guards = [Guard(_ORDER, tools={"search": tool, "book": tool}) for tool in (_tool, _async_tool)]
    plain, in_loop = guards
    _check(plain.run(search))
    _check(asyncio.run(in_loop.arun(search)))
    decorated = Guard(_ORDER)
    decorated.tool(name="search")(_tool)()
    return {
        JOB_DECORATED: _entry(decorated.tool(name="book")(_tool)),
        JOB: _runs(plain, book),
        JOB_IN_LOOP: _aruns(in_loop, book),
    }


def _with_acel(acel: Any) -> Callable[[], object]:  # noqa: ANN401 - a module without types
    session = acel.Session(halt_on_violation=False)
    session.add_contract(acel.must_precede("search", "book"))
    session.call("search")

    def call() -> None:
        session.call("book")
        _tool()

    return call


def _with_openai(agents: Any) -> tuple[Callable[[], Awaitable[object]], Callable[[], Awaitable[object]]]:  # noqa: ANN401 - as above
    """The job behind a guardrail with its context, and the guardrail alone."""
    from openai.types.responses import ResponseFunctionToolCall

    new_context = import_module("agents.tool_context").ToolContext.from_agent_context
    new_data = import_module("agents.tool_guardrails").ToolInputGuardrailData
    called = {"search"}

    def look(data: Any) -> Any:  # noqa: ANN401 - as above
        out = agents.ToolGuardrailFunctionOutput
        if data.context.tool_name != "book" or "search" in called:
            return out.allow()
        return out.reject_content("search first")

    searched = agents.tool_input_guardrail(look)
    agent = agents.Agent(name="agent")
    running = agents.RunContextWrapper(context=None)
    asked = ResponseFunctionToolCall(arguments="{}", call_id="c1", name="book", type="function_call")

    def data() -> Any:  # noqa: ANN401 - as above
        context = new_context(running, "c1", tool_call=asked, agent=agent)
        return new_data(context=context, agent=agent)

    made = data()

    async def whole() -> None:
        await searched.run(data())
        await _async_tool()

    async def alone() -> None:
        await searched.run(made)

    return whole, alone


# -- by itself ---------------------------------------------------------------------------------------------------------


def main() -> int:
    """Measure guards alone; the exit code."""
    from bench.bars import judge_guard
    from bench.printing import print_tables
    from bench.tables import bars_table, guard_table

    costs = measure_guard()
    bars = judge_guard(costs)
    print_tables([guard_table(costs), bars_table(bars)])
    return 0 if all(bar.passed for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
