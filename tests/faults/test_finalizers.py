"""A finalizer that steps the session in whose step it runs: of two one-shot actions one is admitted, and none waits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from accord import Blocked, Ledger, MemorySink, Monitor, Ok, RecordedMonitor, UsageError

ROOT = Path(__file__).parent.parent.parent


def in_a_fresh_process(*kinds: str) -> dict[str, dict[str, list[object] | int]]:
    command = [sys.executable, "-m", "tests.faults.finalizer_worker", *kinds]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_kind_of_session_admits_a_one_shot_action_once(health):
    found = in_a_fresh_process()
    assert len(found) == 27
    assert {kind: tried["wrong"] for kind, tried in found.items()} == {kind: [] for kind in found}
    assert all(tried["nested"] >= 2 for tried in found.values()), found
    nested = sum(tried["nested"] for tried in found.values())
    health(f"finalizers: {nested:,} steps nested in a step of the same session, of {len(found)} kinds")


@pytest.mark.parametrize("kind", ["monitor", "receiving"])
def test_a_finalizer_in_the_first_steps_of_a_process(kind):
    """Where not even the worker has run anything before."""
    assert in_a_fresh_process(kind)[kind]["wrong"] == []


class TalkingSink(MemorySink):
    """A sink that calls somebody back while it writes, as a finalizer or a signal's handler can."""

    call = staticmethod(lambda: None)

    def write(self, start, line):
        call, self.call = self.call, lambda: None
        call()
        super().write(start, line)


def test_a_step_inside_a_step_under_a_lock_is_refused_and_changes_nothing():
    sink, told = TalkingSink(), []
    session = RecordedMonitor(Monitor("rec X.!Ask.X"), Ledger(sink))

    def step_again():
        with pytest.raises(UsageError, match="one step at a time"):
            session.send("Ask")
        told.append("refused")

    sink.call = step_again
    assert (session.send("Ask"), told) == (Ok(), ["refused"])
    assert (session.trace, len(session.ledger), session.ledger.verify().ok) == (["!Ask"], 2, True)
    assert session.send("Ask") == Ok()


def test_what_a_ledger_in_the_middle_of_a_line_cannot_take_is_not_done():
    """Another session of the same ledger, stepped in the middle of a step of the first."""
    sink, told = TalkingSink(), []
    ledger = Ledger(sink)
    session, other = (RecordedMonitor(Monitor("!Once.end", mode="refuse"), ledger) for _ in range(2))
    sink.call = lambda: told.append(other.send("Once"))
    assert session.send("Once") == Ok()
    assert [type(verdict) for verdict in told] == [Blocked]
    assert other.send("Once") == Ok()
    assert (len(ledger), ledger.verify().ok) == (3, True)
