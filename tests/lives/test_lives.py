"""Sessions of ten thousand steps against accounts that anybody can check; what the table shows was looked at."""

from __future__ import annotations

from itertools import count

import pytest

from accord import MemoryStore
from tests.lives.campaign import Kept, calls_per_step, campaign, lived
from tests.lives.life import Life
from tests.lives.scenes import SCENES
from tests.lives.tables import Seen
from tests.stores.harnesses import PostgresHarness, RedisHarness, SQLiteHarness

LONG = 10_000
WAYS = ("memory", "store")
SHARES = 20
"""Of the long lives at full volume, so that no share of a soak takes an hour."""


def lives(scene: str, soak: bool, share: int) -> list[tuple[str, str, int, int | None, str]]:
    """Lives of a scene by number, steps, patience and how they are kept."""
    if soak:
        return [(scene, f"{share} {n}", LONG, None, WAYS[n % 2]) for n in range(8)] + [
            (scene, f"impatient {share}", LONG, 4, "store")
        ]
    old = LONG if scene in {"bookings", "support"} else 2_500
    return [(scene, "old", old, None, "store"), (scene, "old", 300, None, "memory"), (scene, "young", 500, 4, "store")]


TABLES = pytest.StashKey[Seen]()


@pytest.fixture(name="seen", scope="module")
def _seen():
    return Seen()


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("scene", SCENES)
def test_a_long_life_is_as_its_account_says(scene, share, soak, seen):
    if share and not soak:
        pytest.skip("one share of twenty")
    difference = campaign(lives(scene, soak, share), seen)
    assert difference is None, difference


def test_a_step_of_an_old_session_costs_what_it_cost_when_it_was_young():
    for scene in ("bookings", "support"):
        life = lived(scene, "cost", 200, Seen(), Kept())
        young = calls_per_step(life, 200)
        life.live(2_000)
        assert calls_per_step(life, 200) < 1.5 * young, scene


FOR_EVER = {
    "payments": "what happens about the order whose payment is lost stays in the log",
    "coding": "commits use tests up, and one of them is lost",
}
"""Scenes whose log grows as long as nobody says what became of a call."""
