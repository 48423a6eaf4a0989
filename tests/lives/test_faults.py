"""Whatever breaks: nothing runs unapproved or twice, the ledger says what has happened, and the session can go on."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from accord import MemoryStore
from accord.integrations.guard import ending, reserving, reviewing
from tests.lives.breaking import campaign, table
from tests.lives.truth import BrokenError, Effect, check

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("kill_worker.py")
SHARES = 10


@pytest.mark.parametrize("share", range(SHARES))
def test_whatever_breaks_what_has_happened_is_allowed_and_known(share, soak, health):
    if share and not soak:
        pytest.skip("one share of ten")
    seen = table()
    met, ended, broken = campaign(f"share {share}", 1_000_000 // SHARES if soak else 5_000, seen)
    assert broken is None, broken
    health(f"{met:,} injected faults; at the end of lives {dict(ended)}")
    health(seen.table())
    seen.check(1)


# -- planted -----------------------------------------------------------------------------------------------------------


def an_approval_is_not_used_up(monkeypatch):
    monkeypatch.setattr(reserving, "use", lambda desk, _numbers: desk)


def what_failed_twice_was_never_made(monkeypatch):
    original = ending.release

    def release(policy, state, ticket, why, at, *, begun=True, by_tool=False):
        out = state.out(ticket)
        again = out is not None and out.lost is not None
        return original(policy, state, ticket, f"{why} again" if again else why, at, begun=begun)

    monkeypatch.setattr(ending, "release", release)


def a_call_is_begun_twice(monkeypatch):
    original = reserving._Deciding._known

    def known(self, claim, action):
        out = self.state.out(claim.call.id) if claim.call.id else None
        if out is not None and out.lost is None:
            self._replace(out, out._replace(started=False))
        return original(self, claim, action)

    monkeypatch.setattr(reserving._Deciding, "_known", known)


def everybody_has_said_yes(monkeypatch):
    monkeypatch.setattr(reviewing.Way, "approved", property(lambda self: all(self.reviews)))


PLANTED = {
    an_approval_is_not_used_up: "planted",
    what_failed_twice_was_never_made: "twice",
    a_call_is_begun_twice: "planted",
    everybody_has_said_yes: "planted",
}
"""Each with a seed that does not take long to find it."""


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(plant, monkeypatch):
    plant(monkeypatch)
    met, _, broken = campaign(PLANTED[plant], 10_000, table())
    assert broken is not None, f"not in {met} faults"


def test_nothing_can_be_hidden_from_the_checks():
    paid = [Effect("verify", "v1", 1), Effect("pay", "p1", 1, 5)]
    with pytest.raises(BrokenError, match="no session"):
        check(MemoryStore(), "s", paid, 0, ended=True)
    with pytest.raises(BrokenError, match="not verified"):
        check(MemoryStore(), "s", paid[1:], 0, ended=True)


# -- processes that are killed -----------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("share", range(SHARES))
def test_whoever_is_killed_what_has_happened_is_allowed_and_known(harness, share, tmp_path, soak, health):
    if share and not soak:
        pytest.skip("one share of ten")
    kills, at_a_time = (3_000 // SHARES if soak else 7), 4
    folder = tmp_path / "effects"
    folder.mkdir()
    task = {
        "opener": harness.opener, "address": harness.address, "folder": str(folder), "kills": kills,
        "at_a_time": at_a_time, "seed": f"share {share}",
    }  # fmt: skip
    command = [sys.executable, "-m", "tests.lives.kill_worker", json.dumps(task)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, timeout=1800)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()
    harness.rest()
    ended: Counter[str] = Counter()
    with harness.open() as store:
        for file in folder.iterdir():
            effects = [Effect(*json.loads(line)) for line in file.read_bytes().splitlines()]
            ended[check(store, file.name, effects, 10.0**12, ended=True)] += 1
    assert sum(ended.values()) == -(-kills // at_a_time)
    health(f"lives: {kills} workers killed with SIGKILL ({type(harness).__name__}), sessions {dict(ended)}")
