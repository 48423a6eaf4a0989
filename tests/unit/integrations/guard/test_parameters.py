"""What a tool can be called with is read from its code where that says all, and asked of Python where it does not."""

from __future__ import annotations

import random
from functools import partial, wraps
from inspect import signature
from types import FunctionType

import pytest

from accord import Guard, ToolCall, UsageError
from accord.integrations.guard.coverage import Survey
from accord.integrations.guard.looking import GuardedTool

_SHAPES = 400


def _random_function(rng: random.Random) -> FunctionType:
    """A function with parameters of every kind, some with defaults, of every way to run."""
    names = [f"p{number}" for number in range(rng.randrange(6))]
    cuts = sorted(rng.choices(range(len(names) + 1), k=2))
    by_position, plain, named = names[: cuts[0]], names[cuts[0] : cuts[1]], names[cuts[1] :]
    if rng.random() < 0.8:
        by_position, plain = [], by_position + plain
    first_default = rng.randrange(len(by_position + plain) + 1)
    values = ["3", "None", "'x'", "[1]", "{'a': 2}"]
    told = [
        name if place < first_default else f"{name}={rng.choice(values)}"
        for place, name in enumerate(by_position + plain)
    ]
    told[len(by_position) : len(by_position)] = ["/"] if by_position else []
    star = rng.random() < 0.15
    told += ["*others"] if star else ["*"] if named else []
    told += [name if rng.random() < 0.5 else f"{name}={rng.choice(values)}" for name in named]
    told += ["**more"] if rng.random() < 0.3 else []
    start, body = rng.choice(
        [("def", "return 1"), ("def", "yield 1"), ("async def", "return 1"), ("async def", "yield 1")]
    )
    scope: dict[str, FunctionType] = {}
    exec(f"{start} made({', '.join(told)}):\n    inner = 7\n    {body}", scope)  # noqa: S102 - written above
    return scope["made"]


def _known(function: object) -> object:
    try:
        tool = GuardedTool(function, "made", None)  # type: ignore[arg-type]
    except UsageError as error:
        return str(error)
    return tool.names, tool._by_place, tool.defaults, tool.takes_others, tool.is_asynchronous, tool._are_values


@pytest.mark.parametrize("seed", range(4))
def test_the_code_of_a_function_says_what_python_says(seed: int) -> None:
    """A partial without arguments has no code of its own, so Python is asked about it."""
    rng = random.Random(seed)
    met = set()
    for _ in range(_SHAPES // 4):
        function = _random_function(rng)
        known = _known(function)
        assert known == _known(partial(function)), signature(function)
        met.add(known if isinstance(known, str) else known[3:])
    assert len(met) == 1 + 2 * 2 * 2, f"shapes that did not occur: {met}"


def test_what_is_wrapped_is_asked_for_what_it_wraps() -> None:
    def inner(city: str, days: int = 2) -> None: ...

    @wraps(inner)
    def outer(*given: object, **named: object) -> None: ...

    assert _known(outer) == _known(inner)


def test_a_signature_of_its_own_counts() -> None:
    def tool(**named: object) -> None: ...

    def shown(city: str) -> None: ...

    tool.__signature__ = signature(shown)  # type: ignore[attr-defined]
    assert _known(tool)[0] == ("city",)  # type: ignore[index]


class Broken:
    """A tool that fails when it is asked what it takes."""

    @property
    def __signature__(self) -> object:
        raise LookupError("nobody knows")

    def __call__(self) -> None:
        """Nothing."""


def test_a_tool_that_cannot_even_say_what_it_takes_is_not_taken_for_one_that_takes_anything() -> None:
    with pytest.raises(LookupError, match="nobody knows"):
        Guard("!pay.end", tools={"pay": Broken()})


def nothing() -> None:
    """A tool."""


def test_tools_that_suit_a_contract_are_held_against_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    real = Survey.coverage
    monkeypatch.setattr(Survey, "coverage", lambda self, tools: looked.append(tools) or real(self, tools))
    contract = Guard("!a.!b.end").contract
    for _ in range(3):
        guard = Guard(contract, tools={"a": nothing, "b": nothing})
        guard.register("c", nothing)
        assert guard.reserve([ToolCall("a")])[0].admitted
    assert len(looked) == 2  # with `c` and without


def test_guards_of_one_contract_share_nothing_that_changes() -> None:
    """Guards that are set alike begin alike, whatever became of others, and of their tools."""
    contract = Guard("rec L.{!pay.?pay.L, !close.end}").contract
    first = Guard(contract, tools={"pay": lambda amount: amount, "close": lambda: None})
    second = Guard(contract, tools={"pay": lambda other=3: other, "close": lambda: None})
    assert [each.error for each in first.run([ToolCall("pay", {"amount": 1}), ToolCall("close")])] == [None, None]
    assert first.status == "complete"
    third = Guard(contract, tools={"pay": lambda: 5, "close": lambda: None}, patience=1)
    assert (second.status, third.status) == ("running", "running")
    assert [each.result for each in second.run([ToolCall("pay", {})])] == [3]
    assert [each.result for each in third.run([ToolCall("pay", {})])] == [5]
    for count in range(3):
        third.run([ToolCall("pay", {"no": count})])
    assert third.stopped
    assert not first.stopped
    assert not second.stopped
    assert not Guard(contract, patience=1).stopped


@pytest.mark.parametrize(
    "wrong",
    [{"patience": True}, {"patience": 0}, {"escalate": "never"}, {"when_over": "stop"}, {"on_violation": "ignore"}],
)
def test_what_is_shared_is_checked_each_time(wrong: dict[str, object]) -> None:
    contract = Guard("!pay.end", patience=1).contract
    for _ in range(2):
        with pytest.raises(UsageError):
            Guard(contract, **wrong)  # type: ignore[arg-type]


def test_a_guard_that_nobody_holds_is_gone_at_once() -> None:
    """Thousands of guards must not wait for the garbage collector."""
    import gc
    import weakref

    gc.disable()
    try:
        guard = Guard("!pay.end", tools={"pay": lambda: None})
        guard.run([ToolCall("pay", {})])
        gone = weakref.ref(guard)
        del guard
        assert gone() is None
    finally:
        gc.enable()
