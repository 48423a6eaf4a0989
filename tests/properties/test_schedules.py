"""Schedules at random, none twice, against all schedules in their order."""

from __future__ import annotations

from functools import reduce

from hypothesis import given, seed, settings
from hypothesis import strategies as st

from accord.testing import EverySchedule, FreshSchedules
from tests.census import Census

bushes = st.recursive(st.just([]), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=12)
chains = st.lists(st.booleans(), max_size=12).map(
    lambda turns: reduce(lambda t, turn: [t, []] if turn else [t], turns, [])
)
trees = bushes | chains


def walk(tree, schedule) -> tuple[int, ...]:
    """One run through a tree: at each place, which branch was taken."""
    taken = []
    while tree:
        taken.append(schedule(["x"] * len(tree)))
        tree = tree[taken[-1]]
    return tuple(taken)


SIZES = ("1", "2", "3–4", "5–8", "9+")


def size(count):
    return SIZES[0 if count < 2 else min(4, (count - 1).bit_length())]


def shape(tree):
    """How many runs there are, how long the longest is, and how many ways there are at most at once."""
    inner = [shape(branch) for branch in tree]
    runs, longest, widest = zip(*inner, strict=True) if inner else ((1,), (-1,), (0,))
    return sum(runs), 1 + max(longest), max(len(tree), *widest) if inner else 0


def test_trees_are_of_every_shape(health):
    never = {("ways at once", places): "there are three at the most" for places in SIZES[3:]}
    seen = Census("tree of schedules", ("runs", "steps of a run", "ways at once"), SIZES, never)

    @seed(5)
    @settings(max_examples=300, deadline=None, database=None)
    @given(trees)
    def look(tree):
        seen.add((what, size(count)) for what, count in zip(seen.constructs, shape(tree), strict=True))

    look()
    health(seen.table())
    seen.check(1)


@settings(deadline=None)
@given(trees, st.integers(0, 3))
def test_they_are_all_schedules_each_once(tree, seed):
    every, fresh = EverySchedule(1000), FreshSchedules(1000, seed)
    runs = [walk(tree, schedule) for schedule in fresh]
    assert fresh.complete
    assert sorted(runs) == [walk(tree, schedule) for schedule in every]


@settings(deadline=None)
@given(trees, st.integers(1, 6))
def test_no_more_than_were_asked_for(tree, most):
    fresh = FreshSchedules(most)
    runs = [walk(tree, schedule) for schedule in fresh]
    assert len(runs) == len(set(runs)) <= most
    assert fresh.complete == (len(runs) < most or set(runs) == {walk(tree, s) for s in EverySchedule(1000)})
