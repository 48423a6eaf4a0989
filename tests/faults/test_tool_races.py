"""Many threads and tasks at one session's tools and models: what is allowed once happens once."""

from __future__ import annotations

import asyncio

import pytest

from accord import (
    Ledger,
    LLMResponse,
    MemorySink,
    Monitor,
    MonitoredClient,
    ProtocolViolationError,
    RecordedMonitor,
    ToolCall,
    ToolMiddleware,
    compile,
)
from tests.racing import THREADS, all_at_once, frantic_switching

ONE_PAYMENT = compile("?pay.!pay.end")


def plain(contract, mode):
    return Monitor(contract, mode=mode)


def recorded(contract, mode):
    return RecordedMonitor(Monitor(contract, mode=mode), Ledger(MemorySink()))


@pytest.fixture(name="frantic")
def _frantic():
    with frantic_switching():
        yield


@pytest.mark.parametrize("session", [plain, recorded])
@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_one_payment_among_threads(session, mode, frantic, soak, health):
    rounds = 1_000 if soak else 60
    for number in range(rounds):
        ran = []
        monitor = session(ONE_PAYMENT, mode)
        # One middleware for all, or one for each: the session is what they share.
        crew = [ToolMiddleware(monitor, {"pay": lambda n, ran=ran: ran.append(n)}) for _ in range(1 + number % 2)]
        outcomes = all_at_once(lambda n, crew=crew: crew[n % len(crew)].execute(ToolCall("pay", {"n": n})))
        assert len(ran) == 1, outcomes
        if mode == "refuse":
            assert [n for n, outcome in enumerate(outcomes) if outcome.ok] == ran
            assert monitor.is_terminal
        else:
            fine = [n for n, o in enumerate(outcomes) if not isinstance(o, ProtocolViolationError)]
            assert fine in ([], ran), outcomes
    health(f"tools: {rounds:,} rounds of {THREADS} threads ({session.__name__}, {mode})")


@pytest.mark.parametrize("session", [plain, recorded])
@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_one_payment_among_asyncio_tasks(session, mode):
    async def run():
        ran = []

        async def pay(n):
            ran.append(n)
            await asyncio.sleep(0)
            return n

        tools = ToolMiddleware(session(ONE_PAYMENT, mode), {"pay": pay})
        calls = [tools.aexecute(ToolCall("pay", {"n": n})) for n in range(THREADS)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert ran == [0], "the first to ask"
        if mode == "refuse":
            assert [o.ok for o in outcomes] == [True] + [False] * (THREADS - 1)
        else:  # the first has run when the session halts, and its answer comes too late
            assert all(isinstance(o, ProtocolViolationError) for o in outcomes)
            assert outcomes[0].results[0].withheld == 0

    asyncio.run(run())


def test_batches_are_reserved_one_after_the_other(frantic):
    """The calls of a batch stand together in the trace, whatever other threads ask for."""
    monitor = Monitor("rec L.{?a.L, ?b.L, ?c.L, !Done.L, ?stop.end}")
    tools = ToolMiddleware(monitor, {name: lambda: None for name in "abc"}, send_label="Done")
    response = LLMResponse(tool_calls=[ToolCall(name) for name in "abc"])
    outcomes = all_at_once(lambda _: [r.ok for _ in range(40) for r in tools.process(response)])
    assert all(outcome == [True] * 120 for outcome in outcomes), outcomes
    asked = [word for word in monitor.trace if word != "!Done"]
    assert asked == ["?a", "?b", "?c"] * 40 * THREADS


@pytest.mark.parametrize("session", [plain, recorded])
@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_one_request_among_threads(session, mode, frantic):
    contract = compile("!Request.?Answer.end")
    for _ in range(40):
        asked = []
        monitor = session(contract, mode)

        def model(n, asked=asked):
            asked.append(n)
            return "fine"

        client = MonitoredClient(model, lambda raw: LLMResponse(content=raw), monitor, "Request", "Answer")
        outcomes = all_at_once(lambda n, client=client: client.call(n=n))
        assert len(asked) == 1, outcomes
        answered = [o for o in outcomes if isinstance(o, LLMResponse)]
        assert len(answered) == (1 if mode == "refuse" else len(answered)) and len(answered) <= 1


def test_a_failed_request_is_repeated_by_one_thread_alone(frantic):
    contract = compile("!Request.?Answer.end")
    for _ in range(40):
        asked = []

        def model(asked=asked):
            asked.append(1)
            if len(asked) == 1:
                raise OSError("down")
            return "fine"

        monitor = Monitor(contract, mode="refuse")
        client = MonitoredClient(model, lambda raw: LLMResponse(content=raw), monitor, "Request", "Answer")
        with pytest.raises(OSError, match="down"):
            client.call()
        outcomes = all_at_once(lambda _, client=client: client.call())
        assert len(asked) == 2, outcomes
        assert sum(isinstance(o, LLMResponse) for o in outcomes) == 1
        assert monitor.is_terminal


def test_a_receipt_is_used_by_one_thread_alone(frantic):
    contract = compile("!Request.?ToolCall.!ToolResult.end")
    for _ in range(40):
        ran = []
        monitor = Monitor(contract, mode="refuse")
        response = LLMResponse(tool_calls=[ToolCall("pay")])
        client = MonitoredClient(lambda: None, lambda _, r=response: r, monitor, "Request", "ToolCall")
        tools = ToolMiddleware(monitor, {"pay": lambda ran=ran: ran.append(1)}, "ToolCall", "ToolResult")
        received = client.call()
        all_at_once(lambda _, tools=tools, received=received: tools.process(received))
        assert ran == [1]
        assert monitor.is_terminal
