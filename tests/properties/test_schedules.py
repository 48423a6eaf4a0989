"""Schedules at random, none twice, against all schedules in their order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from accord.testing import EverySchedule, FreshSchedules

trees = st.recursive(st.just([]), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=12)


def walk(tree, schedule) -> tuple[int, ...]:
    """One run through a tree: at each place, which branch was taken."""
    taken = []
    while tree:
        taken.append(schedule(["x"] * len(tree)))
        tree = tree[taken[-1]]
    return tuple(taken)


@given(trees, st.integers(0, 3))
def test_they_are_all_schedules_each_once(tree, seed):
    every, fresh = EverySchedule(1000), FreshSchedules(1000, seed)
    runs = [walk(tree, schedule) for schedule in fresh]
    assert fresh.complete
    assert sorted(runs) == [walk(tree, schedule) for schedule in every]


@given(trees, st.integers(1, 6))
def test_no_more_than_were_asked_for(tree, most):
    fresh = FreshSchedules(most)
    runs = [walk(tree, schedule) for schedule in fresh]
    assert len(runs) == len(set(runs)) <= most
    assert fresh.complete == (len(runs) < most or set(runs) == {walk(tree, s) for s in EverySchedule(1000)})
