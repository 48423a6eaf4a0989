"""A guarded function does what it did, or raises before it does anything."""

from __future__ import annotations

import asyncio
import inspect
import re
from random import Random

import pytest

from accord import Guard, MemoryStore, Monitor, Ok, ProtocolViolationError, ToolCall, UsageError, compile


def walked(text):
    """The contract after other sessions have been everywhere, so that the short way is known."""
    contract = compile(text)
    for seed in range(20):
        dice, monitor = Random(seed), Monitor(contract, mode="refuse")
        for _ in range(6):
            for word in dice.sample(monitor.allowed(), len(monitor.allowed())):
                label = re.match(r"[!?](\w+)", word)[1]
                monitor.send(label) if word.startswith("!") else monitor.receive(label)
    return contract


@pytest.fixture(name="guard_on", params=["in the lane", "with a clock", "in a store"])
def _guard_on(request):
    """The short way of a session in memory, and the long one, must not differ."""
    if request.param == "in the lane":
        return lambda contract, **options: Guard(walked(contract), **options)
    if request.param == "with a clock":
        return lambda contract, **options: Guard(contract, clock=lambda: 1, **options)
    return lambda contract, **options: Guard(contract, store=MemoryStore(), key="s1", **options)


def test_what_a_function_returned_says_which_event_that_is(guard_on):
    """Also when a session has been everywhere, so that a call could be made without a look at its result."""
    guard = guard_on("""
        events { Found when result of search where found == true
                 as named otherwise }
        protocol P = rec L.{ !search.?{ Found.!book.L, search.L } }
    """, events=["Found"])  # fmt: skip
    found = []

    @guard.tool
    def search():
        return {"found": found.pop()}

    @guard.tool
    def book():
        return "booked"

    for _ in range(3):
        found[:] = [False]
        search()
    found[:] = [True]
    search()
    assert book() == "booked"
    found[:] = [False]
    search()
    with pytest.raises(ProtocolViolationError):
        book()


def test_a_function_is_called_if_it_may_be(guard_on):
    guard = guard_on("!a.!b.end")
    ran = []

    @guard.tool
    def a(x, y=2):
        """Adds."""
        ran.append("a")
        return x + y

    @guard.tool(name="b")
    def other():
        ran.append("b")

    with pytest.raises(ProtocolViolationError, match="`b` is not allowed yet"):
        other()
    assert a(1) == 3
    with pytest.raises(ProtocolViolationError):
        a(1)
    assert other() is None
    assert ran == ["a", "b"]
    assert guard.status == "complete"
    assert (a.__name__, a.__doc__, list(inspect.signature(a).parameters)) == ("a", "Adds.", ["x", "y"])


def test_a_quiet_session_goes_on_in_the_lane_as_elsewhere(guard_on):
    guard = guard_on("rec L.!{a.L, b.?b.L, stop.end}")
    ran = []
    tools = {name: guard.tool(name=name)(lambda name=name: ran.append(name)) for name in ("a", "b", "stop")}
    for name in ("a", "b", "a", "a", "b", "b", "stop"):
        tools[name]()
    with pytest.raises(ProtocolViolationError):
        tools["a"]()
    assert "".join(ran) == "abaabbstop"


def test_arguments_are_judged_with_their_defaults(guard_on):
    guard = guard_on("rec L.!pay(amount <= 10).L")

    @guard.tool
    def pay(amount=100, *, to="ana"):
        return amount, to

    with pytest.raises(ProtocolViolationError, match="`amount` is 100"):
        pay()
    with pytest.raises(ProtocolViolationError, match="`amount` is 11"):
        pay(11)
    assert pay(10) == (10, "ana")
    assert pay(amount=3, to="bob") == (3, "bob")


@pytest.mark.parametrize("wrong", [lambda f: f(), lambda f: f(1, 2, 3), lambda f: f(1, x=1), lambda f: f(1, z=1)])
def test_wrong_arguments_are_a_type_error_and_use_nothing_up(guard_on, wrong):
    guard = guard_on("!f.end")

    @guard.tool
    def f(x, y=2):
        return x + y

    with pytest.raises(TypeError):
        wrong(f)
    assert f(1) == 3


def test_an_error_goes_through_and_uses_nothing_up(guard_on):
    guard = guard_on("!f.end")
    outcomes = [ValueError("busy"), ValueError("busy"), "done"]

    @guard.tool
    def f():
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    for _ in range(2):
        with pytest.raises(ValueError, match="busy"):
            f()
    assert f() == "done"
    assert guard.out() == []


def test_an_error_of_what_has_happened_counts(guard_on):
    guard = guard_on("protocol P = !f.end tools { f fails done }")

    @guard.tool
    def f():
        raise ValueError("busy")

    with pytest.raises(ValueError, match="busy"):
        f()
    with pytest.raises(ProtocolViolationError):
        f()
    assert guard.status == "complete"


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(
    ("fails", "status", "lost"), [("undone", "running", 0), ("done", "complete", 0), ("unknown", "running", 1)]
)
def test_an_interrupted_call_has_failed(guard_on, warm, fails, status, lost):
    guard = guard_on(f"protocol P = {'rec L.!{f.L, g.end}' if warm else '!g.end'} tools {{ g fails {fails} }}")

    @guard.tool
    def f():
        pass

    @guard.tool
    def g():
        raise KeyboardInterrupt

    if warm:
        f()
    with pytest.raises(KeyboardInterrupt):
        g()
    assert (guard.status, len(guard.out())) == (status, lost)


def test_a_refused_result_is_withheld(guard_on):
    guard = guard_on("!f.?f(n == 1).end")

    @guard.tool
    def f():
        return {"n": 2}

    with pytest.raises(ProtocolViolationError, match="its result is withheld") as caught:
        f()
    assert caught.value.response == {"n": 2}
    assert guard.allowed() == ["?f(n == 1)"]


def test_a_function_may_use_the_guard_while_it_runs(guard_on):
    """In the middle of `f`, `g` is refused: `f` may still fail."""
    guard = guard_on("!f.!g.end")
    seen = []

    @guard.tool
    def g():
        seen.append("g")

    @guard.tool
    def f():
        seen.append([out.name for out in guard.out()])
        with pytest.raises(ProtocolViolationError, match="depends on `f`"):
            g()
        with pytest.raises(ProtocolViolationError):
            f()
        assert guard.run([ToolCall("g")])[0].ok is False

    f()
    g()
    assert seen == [["f"], "g"]


def test_a_function_may_call_itself_where_that_is_legal(guard_on):
    guard = guard_on("rec L.!{f.L, g.end}")
    depth = []

    @guard.tool
    def f(n):
        depth.append(n)
        if n:
            f(n - 1)

    f(3)
    assert (depth, guard.out()) == ([3, 2, 1, 0], [])


def test_a_person_may_be_needed(guard_on):
    guard = guard_on("?Approval by human.!pay.end")

    @guard.tool
    def pay(amount):
        return amount

    with pytest.raises(ProtocolViolationError, match="needs the approval of a person"):
        pay(3)
    guard.decide(guard.reviews()[0].id, "allow", by="ana")
    with pytest.raises(ProtocolViolationError):
        pay(4)
    assert pay(3) == 3


def test_coroutine_functions_stay_coroutine_functions(guard_on):
    guard = guard_on("!f.!g.end")

    @guard.tool
    async def f():
        await asyncio.sleep(0)
        return 1

    @guard.tool
    async def g():
        raise ValueError("busy")

    async def session():
        with pytest.raises(ProtocolViolationError):
            await g()
        assert await f() == 1
        with pytest.raises(ValueError, match="busy"):
            await g()

    assert inspect.iscoroutinefunction(f)
    asyncio.run(session())
    assert guard.allowed() == ["!g"]


def test_a_default_that_can_be_changed_is_not_shared():
    guard = Guard("rec L.!f(items != [1]).L")

    @guard.tool
    def f(items=[]):  # noqa: B006 - that is the question
        items.append(1)
        return len(items)

    assert [f(), f(), f()] == [1, 1, 1]


def test_what_takes_places_only_cannot_be_guarded():
    with pytest.raises(UsageError, match="cannot be given by name"):
        Guard("!f.end").tool(name="f")(lambda *values: values)


def test_functions_in_memory_may_take_anything_and_keep_it():
    guard = Guard("!f.end")
    thing = object()

    @guard.tool
    def f(x, pair):
        return x, pair

    assert f(thing, (1, 2)) == (thing, (1, 2))


def often(contract, life):
    """The same life several times, so that where it leads is known in the last one."""
    compiled = compile(contract)
    for _ in range(4):
        guard = Guard(compiled, patience=2)
        said = life(guard)
    return said


def test_a_call_in_python_that_does_not_fit_has_not_happened():
    def life(guard):
        @guard.tool
        def a(x, *, y=1):
            return x + y

        a(1)
        for given, named in [((), {}), ((1, 2), {}), ((1,), {"z": 3}), ((), {"x": 1, "z": 2})]:
            with pytest.raises(TypeError):
                a(*given, **named)
        return a(2, y=3), guard.close()

    assert often("protocol P = !a.!a.end tools { otherwise fails done }", life) == (5, Ok())


def test_a_person_who_is_asked_what_became_of_a_call_sees_what_it_was_made_with():
    def life(guard):
        @guard.tool
        def a(x, y=2):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            a(1)
        return [out.arguments for out in guard._session.state().log]

    assert often("protocol P = rec L.!a.L tools { otherwise fails unknown }", life) == [{"x": 1, "y": 2}]


def test_a_turn_in_which_something_went_on_is_one_also_if_nobody_needed_to_look_at_that():
    def life(guard):
        for name in ("a", "b", "c"):
            guard.register(name, lambda: 1)
        guard.run([ToolCall("a"), ToolCall("b")])
        guard.run([ToolCall("c")])
        return guard.stopped

    assert often("protocol P = !a.!a.!a.!b.!c.end", life) is None
