"""Guards share what their contract has worked out; how each of them is set is its own business, in any order."""

from __future__ import annotations

from itertools import permutations

import pytest

import accord
from accord import Guard, ToolCall, ViolationError
from accord.integrations.guard import beginning

TEXT = """
protocol P = !a.end
protocol Q = !b.end
"""


def answer(guard: Guard, name: str) -> object:
    try:
        (result,) = guard.run([ToolCall(name)])
    except ViolationError as error:
        return "raised", str(error)
    return result.ok, result.error


def answers(guard: Guard) -> list[object]:
    """What a guard does with calls and words, as far as its settings can make a difference."""
    told = [answer(guard, name) for name in ("b", "a", "b", "b", "a")]
    guard.user_says("and again")
    return [*told, guard.stopped, guard.status, answer(guard, "a"), [review.state for review in guard.reviews()]]


SETTINGS: list[dict] = [
    {},
    {"protocol": "Q"},
    {"on_violation": "observe"},
    {"on_violation": "raise"},
    {"patience": 2},
    {"patience": 2, "escalate": "review"},
    {"when_over": "restart"},
    {"when_over": "restart", "patience": 3},
    {"labels": {"b": "a"}},
]


def guard_of(contract, settings) -> Guard:
    return Guard(contract, tools={"a": lambda: "a", "b": lambda: "b"}, **{"protocol": "P", **settings})


ALONE = [answers(guard_of(accord.compile(TEXT), settings)) for settings in SETTINGS]


def test_each_setting_makes_a_difference():
    assert all(one != other for one, other in permutations(ALONE, 2))


@pytest.mark.parametrize("order", [range(len(SETTINGS)), reversed(range(len(SETTINGS)))], ids=["forth", "back"])
def test_each_guard_is_set_as_it_was_told(order):
    contract = accord.compile(TEXT)
    guards = {number: guard_of(contract, SETTINGS[number]) for number in order}
    guards |= {len(SETTINGS) + number: guard_of(contract, SETTINGS[number]) for number in guards}  # everything is warm
    for number, guard in guards.items():
        assert answers(guard) == ALONE[number % len(SETTINGS)], SETTINGS[number % len(SETTINGS)]


def test_events_that_one_guard_is_told_of_are_refused_by_the_other():
    contract = accord.compile("?Yes by human.!a.end")
    told, other = (Guard(contract, tools={"a": lambda: "a"}, events=events) for events in (["Yes"], []))
    assert told.receive("Yes", by="cron") == accord.Ok()
    with pytest.raises(accord.UsageError):
        other.receive("Yes", by="cron")


def test_how_long_reviews_last_is_of_one_guard():
    contract, now = accord.compile("?Yes by human.!a.end"), 0
    short, long = (
        Guard(contract, tools={"a": lambda: "a"}, review_lasts=lasts, clock=lambda: now) for lasts in (10, 1000)
    )
    for guard in (short, long):
        guard.run([ToolCall("a")])
        assert len(guard.reviews()) == 1
    now = 100
    assert [len(guard.reviews()) for guard in (short, long)] == [0, 1]


def test_truth_is_no_number():
    contract = accord.compile(TEXT)
    Guard(contract, protocol="P", patience=1)
    with pytest.raises(accord.UsageError, match="patience"):
        Guard(contract, protocol="P", patience=True)


def test_more_settings_than_are_remembered_are_kept_apart():
    contract = accord.compile(TEXT)
    most = beginning._MOST_KEPT + 10
    for patience in (*range(1, most), 2, most - 1):
        guard = guard_of(contract, {"patience": patience})
        assert guard._session.policy.patience == patience
    assert len(contract.kept[beginning._KEPT]) == beginning._MOST_KEPT
