"""The suite can fail: stores with the mistakes that stores have are found by it."""

from __future__ import annotations

import threading

import pytest

from accord import MemoryStore, StoredSession, compile
from accord.testing import StoreConformance
from accord.testing.agreement import check_session
from accord.testing.conformance.ground import ONE_SHOT
from tests.stores.harnesses import MemoryHarness

SUITE = StoreConformance()


class NeverCompares(MemoryStore):
    """Checks, then acts: whoever comes in between is overwritten."""

    def exchange(self, key, guess, judge):
        change = judge(self.row(key) if guess is None else guess)
        threading.Event().wait(0.001)
        lines = self._sessions.get(key, (None, [], 0))[1][: change.first]
        self._sessions[key] = change.row, [*lines, *change.lines], change.first + len(change.lines)


class AnswersFirst(MemoryStore):
    """Says yes, and keeps it if nothing goes wrong."""

    def exchange(self, key, guess, judge):  # noqa: ARG002
        there = self.row(key)
        if judge(there) is not None and (there is None or there.version % 5):
            super().exchange(key, None, judge)


class LosesEntries(MemoryStore):
    """Keeps the session, and not all of its ledger."""

    def _keep(self, key, lines, count, change):
        kept = change.lines if change.first % 4 else change.lines[:-1]
        self._sessions[key] = change.row, [*lines, *kept], count + len(kept)


class Repairs(MemoryStore):
    """Compares versions alone, so that a good row replaces a corrupted one."""

    def exchange(self, key, guess, judge):
        there = self.row(key)
        if guess is not None and there is not None and guess.version == there.version:
            self._sessions[key] = guess, *self._sessions[key][1:]
        super().exchange(key, guess, judge)


def harness_of(kind):
    harness = MemoryHarness()
    harness.stores[None] = kind()
    return harness


@pytest.mark.parametrize("kind", [NeverCompares, AnswersFirst, LosesEntries])
def test_a_store_that_loses_something_is_found(kind):
    with pytest.raises(AssertionError):
        SUITE.test_many_threads_on_shared_sessions(harness_of(kind).open(), lambda _: None)


def test_a_store_that_admits_a_payment_twice_is_found():
    with pytest.raises(AssertionError):
        SUITE.test_one_payment_among_many_threads(harness_of(NeverCompares).open())


def test_a_store_that_repairs_in_silence_is_found():
    harness = harness_of(Repairs)
    with pytest.raises(AssertionError):
        SUITE.test_a_corrupted_row_is_refused(harness, harness.open(), "a bit in the middle", warm=True)


def test_an_honest_store_is_not():
    SUITE.test_many_threads_on_shared_sessions(harness_of(MemoryStore).open(), lambda _: None)
    harness = harness_of(MemoryStore)
    SUITE.test_a_corrupted_row_is_refused(harness, harness.open(), "a bit in the middle", warm=True)


def test_a_step_that_is_taken_while_somebody_looks_is_no_fault():
    """A server may take a step for a process that has been killed since."""

    class StillBusy(MemoryStore):
        left = 5

        def lines(self, key, start, count):
            found = super().lines(key, start, count)
            if self.left:
                self.left -= 1
                StoredSession(self, contract, key).send("note")
            return found

    contract, store = compile(ONE_SHOT), StillBusy()
    StoredSession(store, contract, "s1").send("note")
    assert len(check_session(store, contract, "s1")) == 6
    assert not store.left
