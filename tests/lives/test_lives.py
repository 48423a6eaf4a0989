"""Sessions of ten thousand steps against accounts that anybody can check; the table shows what was looked at."""

from __future__ import annotations

import pytest

from tests.lives.campaign import Kept, calls_per_step, campaign, lived
from tests.lives.scenes import SCENES
from tests.lives.tables import Seen

LONG = 10_000
IMPATIENT = 4
SHARES = 20
"""Of the long lives at full volume, each on its own, so that no share of a soak takes an hour."""
MORE = 8
SOME = 10
"""Shares of the long lives where there is little time, of two lives each."""


def plan(scene: str, share: int, *, soak: bool) -> list[tuple[str, str, int, int | None, str]]:
    """Lives by scene, number, steps, patience and how they are kept."""
    if soak:  # 6 scenes, 20 shares, 9 lives
        ways = [(None, "memory")] * 7 + [(None, "store"), (IMPATIENT, "memory")]
        return [(scene, f"{share} {n}", LONG, patience, how) for n, (patience, how) in enumerate(ways)]
    return [
        (scene, "old", 3_000, None, "store"),
        (scene, "young", 300, None, "memory"),
        *[(scene, f"impatient {n}", 200, IMPATIENT, "memory") for n in range(6)],
    ]


@pytest.mark.parametrize("share", range(SHARES))
def test_long_lives_are_as_their_accounts_say(share, soak, health):
    if share and not soak:
        pytest.skip("one share of twenty")
    seen = Seen()
    for scene in SCENES:
        difference = campaign(plan(scene, share, soak=soak), seen)
        assert difference is None, difference
    for number in range(MORE):  # again, where something was never met so far
        for scene in SCENES if seen.calls.lacking(1) else ():
            difference = campaign([(scene, f"more {number}", 150, (None, IMPATIENT)[number % 2], "memory")], seen)
            assert difference is None, difference
    health(seen.sentence())
    health(seen.calls.table())
    seen.calls.check(1)
    assert all(seen.kinds[kind] for kind in ("copied", "opened again", "said", "resumed", "nobody left to ask")), (
        seen.kinds
    )


@pytest.mark.parametrize("share", range(SOME))
def test_some_lives_are_long_every_time(share, soak, health):
    if soak:
        pytest.skip("a thousand others are")
    seen, scenes = Seen(), [*SCENES]
    for n in (share, share + SOME):
        how = "memory" if n % 5 else "store"
        difference = campaign([(scenes[n % len(scenes)], f"some {n}", LONG, None, how)], seen)
        assert difference is None, difference
    assert seen.longest == LONG
    health(seen.sentence())


def test_a_step_of_an_old_session_costs_what_it_cost_when_it_was_young():
    for scene in ("bookings", "support"):
        life = lived(scene, "cost", 200, Seen(), Kept())
        young = calls_per_step(life, 200)
        life.live(2_000)
        assert calls_per_step(life, 200) < 1.5 * young, scene


@pytest.mark.parametrize("share", range(SHARES))
def test_lives_in_stores_are_as_their_accounts_say(harness, share, soak, health):
    if share and not soak:
        pytest.skip("one share of twenty")
    seen = Seen()
    scenes = [[*SCENES][share % len(SCENES)]] if soak else [*SCENES]
    with harness.open() as store:
        for scene in scenes:
            lived(scene, f"kept {share}", LONG if soak else 200, seen, Kept(store, f"{scene} {share}"))
    health(f"{type(harness).__name__}: {seen.sentence()}")


MOST_ABOUT_IT = 60
"""What can stand in a log for calls that are under way and what has happened about them."""


@pytest.mark.parametrize("scene", ["transfers", "bookings"])
def test_a_call_that_stays_lost_for_ever_keeps_nothing_that_happens_since(scene):
    """What rests on the order stays, and there is nothing of that in these scenes."""
    life = lived(scene, "lost", 300, Seen(), Kept(), ever=True)
    life.live(700)
    assert [call for call in life.account.out if life.stays_lost(call)], "no call was lost"
    assert len(life.guard._session.state().log) < MOST_ABOUT_IT
