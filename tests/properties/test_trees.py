"""Random trees of supervisors, whose agents crash one after the other, do what Erlang's would."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from accord.agents.runtime import branch
from tests.trees import STRATEGIES, hold, random_tree


def campaign(count: int, seed: int) -> Counter[tuple[str, str]]:
    chance, seen = random.Random(seed), Counter()

    async def main():
        async with asyncio.timeout(300):
            for _ in range(count):
                seen.update((await hold(random_tree(chance), chance, crashes=8)).seen)
                assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    return seen


def test_trees_do_what_the_model_says(soak, health):
    seen = campaign(5000 if soak else 250, 7)
    told = ", ".join(f"{what} {height} {count}" for (what, height), count in sorted(seen.items()))
    health(f"crashes in trees of supervisors, by what was done after how many gave up: {told}")
    for what in (*STRATEGIES, "gave up"):
        for height in range(4 if what == "gave up" else 3):
            if (what, height) != ("gave up", 0):
                assert seen[what, f"after {height}"] > 0


def never_anew(monkeypatch):
    monkeypatch.setattr(branch.Branch, "crashes", property(lambda self: self.kept, _keep), raising=False)


def _keep(self, crashes):
    if crashes or not hasattr(self, "kept"):
        self.kept = crashes


def in_order(monkeypatch):
    async def stop(hub, children):
        for child in children:
            await child.stop(hub)

    monkeypatch.setattr(branch.Branch, "_stop", staticmethod(stop))


def everybody_alone(monkeypatch):
    monkeypatch.setattr(branch, "to_restart", lambda _strategy, _names, failed: [failed])


def one_too_late(monkeypatch):
    monkeypatch.setattr(branch, "recent", lambda crashes, now, _within: (*crashes, now)[len(crashes) == 1 :])


def nobody_above(monkeypatch):
    async def deal_with(self, hub, child, error, real=branch.Branch._deal_with):
        if isinstance(child, branch.Branch):
            self.crashes = ()
        return await real(self, hub, child, error)

    monkeypatch.setattr(branch.Branch, "_deal_with", deal_with)


@pytest.mark.parametrize("bug", [never_anew, in_order, everybody_alone, one_too_late, nobody_above])
def test_planted_bugs_are_noticed(bug, monkeypatch):
    bug(monkeypatch)
    real = asyncio.sleep
    ticks = 0

    async def sleep(seconds):
        nonlocal ticks
        ticks += 1
        assert ticks < 200_000, "what should have happened does not"
        await real(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises((AssertionError, KeyError, asyncio.InvalidStateError)):
        campaign(60, 7)
