"""Tools as people write them: whatever a tool is, it has run to its end before anything counts."""

from __future__ import annotations

import asyncio
from functools import lru_cache, partial, wraps

import pytest

from accord import Guard, Monitor, ProtocolViolationError, SQLiteStore, ToolCall, ToolMiddleware, UsageError
from accord.calling import kind_of

CONTRACT = "protocol P = !pay.?pay.!ship.?ship.end tools { pay fails undone }"
SHIP = {"ship": lambda: "shipped"}
RAN = []


@pytest.fixture(autouse=True)
def _fresh():
    RAN.clear()


def plain(amount=1):
    RAN.append("pay")
    return f"paid {amount}"


async def coroutine(amount=1):
    await asyncio.sleep(0)
    return plain(amount)


def generator(amount=1):
    yield "begun"
    yield plain(amount)


async def asynchronous_generator(amount=1):
    yield "begun"
    await asyncio.sleep(0)
    yield plain(amount)


def decorated(function):
    """As many decorators do it, whatever they wrap."""

    @wraps(function)
    def around(*args, **kwargs):
        return function(*args, **kwargs)

    return around


class Callable:
    def __call__(self, amount=1):
        return plain(amount)

    def method(self, amount=1):
        return plain(amount)


class Coroutine:
    async def __call__(self, amount=1):
        return await coroutine(amount)

    async def method(self, amount=1):
        return await coroutine(amount)


class Generator:
    def __call__(self, amount=1):
        yield from generator(amount)

    def method(self, amount=1):
        yield from generator(amount)


class AsyncGenerator:
    async def __call__(self, amount=1):
        async for each in asynchronous_generator(amount):
            yield each

    async def method(self, amount=1):
        async for each in asynchronous_generator(amount):
            yield each


def lazy(amount=1):
    return map(plain, [amount])


BASES = {
    "plain": (plain, Callable),
    "coroutine": (coroutine, Coroutine),
    "generator": (generator, Generator),
    "async generator": (asynchronous_generator, AsyncGenerator),
}
SHAPES = {
    "function": lambda function, _: function,
    "partial": lambda function, _: partial(function, amount=1),
    "partial of partial": lambda function, _: partial(partial(function), amount=1),
    "decorated": lambda function, _: decorated(function),
    "cached": lambda function, _: lru_cache(function),
    "lambda": lambda function, _: lambda amount=1: function(amount),
    "instance": lambda _, made: made(),
    "partial of instance": lambda _, made: partial(made(), amount=1),
    "bound method": lambda _, made: made().method,
    "partial of method": lambda _, made: partial(made().method, amount=1),
}
HIDDEN = {"decorated", "cached", "lambda"}
"""Here nobody can know before the call what it will return."""


def made(kind, shape):
    return SHAPES[shape](*BASES[kind])


every = pytest.mark.parametrize("shape", SHAPES)
kinds = pytest.mark.parametrize("kind", BASES)


def call(name="pay"):
    return [ToolCall(name, {"amount": 1}, name)]


def ended(kind):
    return ["begun", "paid 1"] if "generator" in kind else "paid 1"


@kinds
@every
def test_the_kind_of_a_function_is_known_unless_it_is_hidden(kind, shape):
    assert kind_of(made(kind, shape)) == ("plain" if shape in HIDDEN else kind)


@kinds
@every
def test_a_batch_runs_every_tool_to_its_end(kind, shape):
    guard = Guard(CONTRACT, tools={"pay": made(kind, shape), "ship": lambda: "shipped"})
    if kind in {"plain", "generator"}:
        (result,) = guard.run(call())
        assert (result.result, RAN) == (ended(kind), ["pay"])
        assert guard.allowed() == ["!ship"]
    elif shape in HIDDEN:
        (result,) = guard.run(call())
        assert "the tool is asynchronous and was not waited for" in result.error
        assert guard.allowed() == ["!pay"] and not guard.out() and not RAN
    else:
        with pytest.raises(UsageError, match="the tool `pay` is asynchronous; use `arun`"):
            guard.run(call())
        assert guard.allowed() == ["!pay"] and not guard.out() and not RAN


@kinds
@every
def test_a_batch_in_an_event_loop_runs_every_tool_to_its_end(kind, shape):
    guard = Guard(CONTRACT, tools={"pay": made(kind, shape), "ship": lambda: "shipped"})
    (result,) = asyncio.run(guard.arun(call()))
    assert (result.result, RAN) == (ended(kind), ["pay"])
    assert guard.allowed() == ["!ship"]


async def _all(values):
    return [each async for each in values]


async def _awaited(value):
    return await value


CONSUMED = {
    "plain": lambda value: value,
    "coroutine": lambda value: asyncio.run(_awaited(value)),
    "generator": list,
    "async generator": lambda value: asyncio.run(_all(value)),
}


@pytest.mark.parametrize("clock", [None, lambda: 1], ids=["in the lane", "with a clock"])
@kinds
@every
def test_a_guarded_function_counts_when_it_has_run_to_its_end(kind, shape, clock):
    guard = Guard(CONTRACT, tools=SHIP, events=["pay"], clock=clock)
    pay = guard.tool(name="pay")(made(kind, shape))
    if kind == "plain" or shape not in HIDDEN:
        value = pay(amount=1)
        assert kind == "plain" or guard.allowed() == ["!pay"]  # it has not run
        assert CONSUMED[kind](value) == ended(kind)
        assert guard.allowed() == ["!ship"] and RAN == ["pay"]
    else:
        with pytest.raises(UsageError, match="has not run to its end"):
            pay(amount=1)
        assert guard.allowed() == ["!pay"] and not guard.out() and not RAN


@kinds
@every
@pytest.mark.parametrize("way", ["in turn", "at once"])
def test_the_middleware_runs_every_tool_to_its_end(kind, shape, way):
    monitor = Monitor("?pay.!pay(error == null).end", mode="refuse")
    tools = ToolMiddleware(monitor, {"pay": made(kind, shape)})
    asked = call()[0]
    if way == "at once":
        assert asyncio.run(tools.aexecute(asked)).result == ended(kind)
    elif kind in {"plain", "generator"}:
        assert tools.execute(asked).result == ended(kind)
    elif shape in HIDDEN:
        assert "was not waited for" in tools.execute(asked).error
        assert not RAN
        return
    else:
        with pytest.raises(UsageError, match="the tool `pay` is asynchronous; use `aexecute` or `aprocess`"):
            tools.execute(asked)
        assert not RAN and monitor.trace == []
        return
    assert RAN == ["pay"] and monitor.trace == ["?pay", "!pay"]


def test_an_iterator_is_run_to_its_end():
    guard = Guard(CONTRACT, tools={"pay": lazy, "ship": lambda: "shipped"})
    assert guard.run(call())[0].result == ["paid 1"]
    assert RAN == ["pay"]


def endless():
    while True:
        yield 1


async def endless_too():
    while True:
        yield 1


@pytest.mark.parametrize("tool", [endless, endless_too])
def test_a_tool_without_an_end_is_stopped(tool):
    guard = Guard(CONTRACT, tools={"pay": tool, "ship": lambda: "shipped"})
    (result,) = asyncio.run(guard.arun([ToolCall("pay")]))
    assert "the tool gave more than 200,000 items and was stopped" in result.error
    assert guard.allowed() == ["!pay"]


def test_a_tool_that_fails_half_way_has_failed():
    def pay():
        yield 1
        raise OSError("the bank is closed")

    guard = Guard(CONTRACT, tools={"pay": pay, "ship": lambda: "shipped"})
    assert guard.run([ToolCall("pay")])[0].error == "OSError: the bank is closed"
    assert guard.allowed() == ["!pay"]


class Failing:
    """Tools of each kind that get no answer."""

    def plain(self):
        raise TimeoutError("no answer")

    async def coroutine(self):
        self.plain()

    def generator(self):
        yield 1
        self.plain()

    async def asynchronous_generator(self):
        yield 1
        self.plain()


@pytest.mark.parametrize("kind", ["plain", "coroutine", "generator", "asynchronous_generator"])
@pytest.mark.parametrize("way", ["function", "in turn", "at once"])
def test_why_a_call_is_lost_is_what_its_tool_has_said(kind, way, guard_of):
    guard = guard_of("protocol P = !pay.!ship.end tools { pay fails unknown }", tools=SHIP, events=["pay"])
    tool = getattr(Failing(), kind)
    if way == "function":
        function = guard.tool(name="pay")(tool)
        with pytest.raises(TimeoutError, match="no answer"):
            CONSUMED[kind.replace("asynchronous", "async").replace("_", " ")](function())
    else:
        guard.register("pay", tool)
        if way == "in turn" and kind in {"plain", "generator"}:
            assert not guard.run([ToolCall("pay")])[0].ok
        else:
            assert not asyncio.run(guard.arun([ToolCall("pay")]))[0].ok
    assert [out.lost for out in guard.out()] == ["TimeoutError: no answer"]


def test_a_guarded_generator_is_asked_for_when_it_begins():
    guard = Guard(CONTRACT, tools=SHIP, events=["pay"])
    pay = guard.tool(name="pay")(generator)
    never = pay()
    first = list(pay())
    assert first == ["begun", "paid 1"]
    with pytest.raises(ProtocolViolationError):
        next(never)
    assert guard.allowed() == ["!ship"] and RAN == ["pay"]


@pytest.mark.parametrize(("fails", "allowed"), [("undone", ["!pay"]), ("done", ["!ship"])])
def test_a_guarded_generator_that_is_left_early_has_failed(fails, allowed):
    guard = Guard(f"protocol P = !pay.?pay.!ship.end tools {{ pay fails {fails} }}", tools=SHIP, events=["pay"])
    pay = guard.tool(name="pay")(generator)
    for _ in pay():
        break
    assert guard.allowed() == allowed and not guard.out()


def test_what_a_generator_raises_when_it_is_closed_is_heard():
    guard = Guard("protocol P = rec L. !pay.?pay.L tools { pay fails undone }")

    @guard.tool
    def pay():
        try:
            yield 1
        finally:
            raise OSError("the bank is closed")

    left = pay()
    next(left)
    with pytest.raises(OSError, match="the bank is closed"):
        left.close()
    assert guard.allowed() == ["!pay"] and not guard.out()


@pytest.mark.parametrize("clock", [None, lambda: 1], ids=["in the lane", "with a clock"])
def test_what_an_asynchronous_generator_does_when_it_is_closed_is_done_before_its_call_has_failed(clock):
    guard = Guard("protocol P = rec L. !pay.?pay.L tools { pay fails undone }", clock=clock)
    seen = []

    @guard.tool
    async def pay():
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            seen.append(len(guard.out()))
            raise OSError("the bank is closed")

    async def left():
        values = pay()
        await anext(values)
        with pytest.raises(OSError, match="the bank is closed"):
            await values.aclose()

    asyncio.run(left())
    assert (seen, guard.allowed(), guard.out()) == ([1], ["!pay"], [])


def test_the_end_of_an_asynchronous_generator_is_kept_in_its_store_before_it_is_over(tmp_path):
    with SQLiteStore(tmp_path / "store.db") as store:
        guard = Guard("!pay(n == 1).?pay.end", store=store, key="s")

        @guard.tool
        async def pay(n):
            yield n

        assert asyncio.run(_all(pay(1))) == [1]
        assert guard.status == "complete" and not guard.out()


def test_a_guarded_asynchronous_generator_that_is_left_early_has_failed():
    guard = Guard(CONTRACT, tools=SHIP, events=["pay"])
    pay = guard.tool(name="pay")(asynchronous_generator)

    async def left():
        values = pay()
        async for _ in values:
            break
        await values.aclose()

    asyncio.run(left())
    assert guard.allowed() == ["!pay"] and not guard.out()


def test_a_guarded_generator_hears_what_it_is_sent():
    guard = Guard("rec L. !pay.?pay.L")

    @guard.tool
    def pay():
        try:
            got = yield 1
        except KeyError:
            got = yield "caught"
        yield got
        return "returned"

    def returned():
        return (yield from pay())

    values = returned()
    assert (next(values), values.send("sent")) == (1, "sent")
    with pytest.raises(StopIteration) as stopped:
        next(values)
    assert stopped.value.value == "returned"
    values = pay()
    assert (next(values), values.throw(KeyError()), values.send(2), list(values)) == (1, "caught", 2, [])


def test_a_guarded_asynchronous_generator_hears_what_it_is_sent():
    guard = Guard("rec L. !pay.?pay.L")

    @guard.tool
    async def pay():
        try:
            got = yield 1
        except KeyError:
            got = yield "caught"
        yield got

    async def told():
        values = pay()
        first = [await values.asend(None), await values.asend("sent"), await _all(values)]
        values = pay()
        return first, [await values.asend(None), await values.athrow(KeyError()), await values.asend(2)]

    assert asyncio.run(told()) == ([1, "sent", []], [1, "caught", 2])


@pytest.mark.parametrize("function", [generator, asynchronous_generator])
def test_a_contract_sees_what_a_guarded_generator_gave(function):
    guard = Guard(r'!pay.?pay(text == "[\"begun\",\"paid 1\"]").!ship.end', tools=SHIP, events=["pay"])
    pay = guard.tool(name="pay")(function)
    CONSUMED[kind_of(function)](pay())
    assert guard.allowed() == ["!ship"]
    refusing = Guard('!pay.?pay(text == "other").!ship.end', tools=SHIP, events=["pay"])
    pay = refusing.tool(name="pay")(function)
    with pytest.raises(ProtocolViolationError, match="is withheld"):
        CONSUMED[kind_of(function)](pay())


@pytest.mark.parametrize("tool", [partial(plain), Callable(), partial(Callable())])
def test_what_has_no_name_is_given_one(tool):
    guard = Guard(CONTRACT, tools=SHIP, events=["pay"])
    with pytest.raises(UsageError, match=r"has no name of its own; give it one with `name=`"):
        guard.tool(tool)
