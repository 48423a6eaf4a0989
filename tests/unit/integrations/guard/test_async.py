"""In an event loop: at the same time, cancelled at any point, and never half."""

from __future__ import annotations

import asyncio
from time import sleep

import pytest

from accord import Guard, MemoryStore, ProtocolViolationError, ToolCall


def calls(names):
    return [ToolCall(name, {}, name) for name in names]


def test_a_batch_runs_as_it_does_in_turn(guard_of):
    async def a():
        await asyncio.sleep(0)
        return "a"

    def b():
        return "b"

    async def c():
        raise ValueError("busy")

    async def session():
        guard = guard_of("!a.!b.!c.end", tools={"a": a, "b": b, "c": c})
        results = await guard.arun(calls("bac"))
        assert [r.ok for r in results] == [False, True, False]
        results = await guard.arun(calls("bc"))
        assert [r.content for r in results] == ["b", "error: ValueError: busy"]
        assert guard.allowed() == ["!c"]

    asyncio.run(session())


def test_what_waited_begins_as_soon_as_it_may_also_while_another_that_has_waited_runs(guard_of):
    """`c` rests on `a` and `d` on `b`; `c` goes on when `d` has begun, which nobody waits for but itself."""

    async def session():
        begun = {name: asyncio.Event() for name in "cd"}

        async def b():
            await begun["c"].wait()

        async def c():
            begun["c"].set()
            await begun["d"].wait()

        guard = guard_of("(!a.!c.end | !b.!d.end)", tools={"a": lambda: 1, "b": b, "c": c, "d": begun["d"].set})
        results = await asyncio.wait_for(guard.arun(calls("abcd")), 30)
        assert [result.error for result in results] == [None] * 4

    asyncio.run(session())


class Slow(MemoryStore):
    """A store that takes its time, for each step as long as it is told."""

    def __init__(self, *seconds):
        super().__init__()
        self.seconds = list(seconds)

    def exchange(self, key, guess, judge):
        sleep(self.seconds.pop(0) if self.seconds else 0)
        super().exchange(key, guess, judge)


def test_a_held_call_is_not_refused_while_what_it_rests_on_is_being_written_down():
    """`c` rests on `b`; when `a` has been written down, `b` has returned but nobody knows yet."""

    async def b():
        await asyncio.sleep(0.01)

    async def session():
        store = Slow(0, 0.03, 0.1)  # all are reserved, then the returns of `a` and of `b`
        tools = {"a": lambda: None, "b": b, "c": lambda: None}
        guard = Guard("(!a.end | !b.!c.end)", store=store, key="s1", tools=tools)
        assert [r.error for r in await guard.arun(calls("abc"))] == [None] * 3

    asyncio.run(session())


def test_a_cancelled_tool_has_failed_and_what_had_not_begun_does_not_count(guard_of):
    async def session():
        begun = asyncio.Event()

        async def slow():
            begun.set()
            await asyncio.sleep(60)

        guard = guard_of("protocol P = !a.!b.end tools { a fails done }", tools={"a": slow, "b": slow})
        task = asyncio.create_task(guard.arun(calls("ab")))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert guard.out() == []
        assert guard.allowed() == ["!b"]
        assert not guard.reserve(calls("a"))[0].admitted

    asyncio.run(session())


@pytest.mark.parametrize("fails", ["undone", "done", "unknown"])
def test_what_is_cancelled_before_it_begins_is_taken_back(guard_of, fails):
    async def session():
        ran = []
        contract = f"protocol P = (!a.end | !b.end) tools {{ otherwise fails {fails} }}"
        guard = guard_of(contract, tools={n: lambda n=n: ran.append(n) for n in "ab"})
        task = asyncio.create_task(guard.arun(calls("ab")))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ran == []
        assert guard.out() == []
        assert guard.status == "running"

    asyncio.run(session())


def test_being_cancelled_twice_leaves_nothing_reserved(guard_of):
    async def session():
        begun = asyncio.Event()

        async def stubborn():
            begun.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(0.05)  # it has to clean up
                raise

        contract = "protocol P = (!a.end | !b.end) tools { otherwise fails done }"
        guard = guard_of(contract, tools={"a": stubborn, "b": stubborn})
        task = asyncio.create_task(guard.arun(calls("ab")))
        await begun.wait()
        task.cancel()
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert guard.out() == []
        assert guard.status == "complete"

    asyncio.run(session())


def test_a_cancelled_function_has_failed(guard_of):
    async def session():
        guard = guard_of("protocol P = !f.end tools { f fails done }")
        begun = asyncio.Event()

        @guard.tool
        async def f():
            begun.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(f())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (guard.status, guard.out()) == ("complete", [])

    asyncio.run(session())


def test_a_violation_that_raises_tells_what_has_run(guard_of):
    async def session():
        guard = guard_of("!a.!b.end", tools={"a": lambda: 1, "c": lambda: 2}, on_violation="raise")
        with pytest.raises(ProtocolViolationError) as caught:
            await guard.arun(calls("ac"))
        assert [r.result for r in caught.value.results] == [1, None]

    asyncio.run(session())


def test_many_batches_at_once_pay_once(guard_of):
    async def session():
        paid = []

        async def pay(n):
            paid.append(n)
            await asyncio.sleep(0)

        guard = guard_of("!pay.end", tools={"pay": pay}, patience=99)
        results = await asyncio.gather(*(guard.arun([ToolCall("pay", {"n": n}, f"c{n}")]) for n in range(8)))
        assert sum(result.ok for (result,) in results) == len(paid) == 1

    asyncio.run(session())
