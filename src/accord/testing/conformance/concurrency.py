"""Sixty-four writers on shared sessions, in threads and in processes."""

from __future__ import annotations

import json
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import accord
from accord import Ok
from accord.stores import StoredSession
from accord.testing.agreement import check_session, identified
from accord.testing.conformance.ground import ONE_SHOT, Ground
from accord.testing.crew import Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.stores import Store
    from accord.testing.harness import StoreHarness

__all__ = ["ConcurrencyTests", "start_writer"]

WRITERS = 64
_PROCESSES, _THREADS = 8, 8
_KINDS = {"Ok": "ok", "Violation": "violation", "Blocked": "blocked"}


def start_writer(harness: StoreHarness, name: str, **task: object) -> Writer:
    """A process that makes attempts; see `accord.testing.writer`."""
    if harness.address is None:
        pytest.skip("processes cannot share a store of this kind")
    whole: dict[str, Any] = {
        "opener": harness.opener, "address": harness.address, "contract": ONE_SHOT, "name": name,
        "keys": ["s1"], "labels": ["note", "pay", "limited"], "sizes": [0, 10, 2_000], "attempts": 0, "threads": 1,
        **task,
    }  # fmt: skip
    return Writer(whole)


def all_at_once(work: Callable[[int], None], threads: int) -> None:
    """Run `work(number)` in that many threads at the same moment."""
    barrier = threading.Barrier(threads)
    failed: list[BaseException] = []

    def run(number: int) -> None:
        try:
            barrier.wait(60)
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised again below
            failed.append(error)

    crew = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(threads)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join(120)
        assert not thread.is_alive(), "a writer is stuck"
    if failed:
        raise failed[0]


def check_answers(store: Store, answers: list[tuple[str, str, str, str]], keys: list[str]) -> None:
    """Every answer is in the ledger of its session, once, and the limits hold."""
    contract = accord.compile(ONE_SHOT)
    by_key = {key: Counter((event, i, kind) for k, event, i, kind in answers if k == key) for key in keys}
    for key in keys:
        if store.session(key) is None:
            assert not by_key[key]
            continue
        kept = identified(check_session(store, contract, key))
        lost = by_key[key] - kept
        assert not lost, f"{key}: answered and not kept: {lost}"
        assert not kept or max(kept.values()) == 1, f"{key}: kept twice"
        accepted = Counter(event for event, _, kind in kept if kind == "ok")
        assert accepted["!pay"] <= 1
        assert accepted["!limited"] <= 7


class ConcurrencyTests(Ground):
    """Many at the same time."""

    def test_one_payment_among_many_threads(self, store: Store) -> None:
        contract = accord.compile(ONE_SHOT)
        answers: list[object] = []
        all_at_once(lambda _: answers.append(StoredSession(store, contract, "s1").send("pay")), WRITERS)
        assert answers.count(Ok()) == 1
        assert len(check_session(store, contract, "s1")) == WRITERS

    def test_one_payment_among_many_threads_that_share_a_session(self, store: Store) -> None:
        session = StoredSession(store, ONE_SHOT, "s1")
        session.send("note")
        answers: list[object] = []
        all_at_once(lambda _: answers.append(session.send("pay")), 16)
        assert answers.count(Ok()) == 1
        assert len(check_session(store, session.contract, "s1")) == 17

    def test_one_payment_among_many_stores(self, harness: StoreHarness) -> None:
        """Each worker has opened the store for itself."""
        contract = accord.compile(ONE_SHOT)
        answers: list[object] = []

        def work(_: int) -> None:
            with harness.open() as store:
                answers.append(StoredSession(store, contract, "s1").send("pay"))

        all_at_once(work, 12)
        assert answers.count(Ok()) == 1
        with harness.open() as store:
            assert len(check_session(store, contract, "s1")) == 12

    def test_many_threads_on_shared_sessions(self, store: Store, tell: Callable[[str], None]) -> None:
        contract = accord.compile(ONE_SHOT)
        keys = [f"s{number}" for number in range(4)]
        answers: list[tuple[str, str, str, str]] = []

        def work(number: int) -> None:
            for turn, label in enumerate(("note", "limited", "pay", "note")):
                key, identity = keys[(number + turn) % len(keys)], f"{number}/{turn}"
                verdict = StoredSession(store, contract, key).send(label, {"id": identity})
                answers.append((key, f"!{label}", identity, _KINDS[type(verdict).__name__]))

        all_at_once(work, WRITERS)
        assert len(answers) == 4 * WRITERS
        assert not [answer for answer in answers if answer[3] == "blocked"]
        check_answers(store, answers, keys)
        accepted = Counter(event for _, event, _, kind in answers if kind == "ok")
        assert accepted["!pay"] == len(keys)
        assert accepted["!limited"] == 7 * len(keys)
        tell(f"stores: {WRITERS} threads, {len(answers)} answers on {len(keys)} sessions, all kept once and in order")

    def test_many_processes_on_shared_sessions(self, harness: StoreHarness, tell: Callable[[str], None]) -> None:
        keys = [f"s{number}" for number in range(4)]
        task = {"keys": keys, "threads": _THREADS, "attempts": 4, "wait": True}
        crew = [start_writer(harness, f"w{number}", **task) for number in range(_PROCESSES)]
        answers: list[tuple[str, str, str, str]] = []
        for writer in crew:
            writer.output.readline()  # it is ready
        for writer in crew:
            writer.go()
        blocked = Counter[str]()
        for out, err, code in [writer.finish() for writer in crew]:
            assert code == 0, err.decode()
            for line in out.splitlines():
                key, event, identity, kind, why = json.loads(line)
                blocked[why] += kind == "blocked"
                if kind != "blocked":
                    answers.append((key, event, identity, kind))
        with harness.open() as store:
            check_answers(store, answers, keys)
        assert not blocked.total(), blocked
        assert len(answers) == _PROCESSES * _THREADS * 4
        tell(
            f"stores: {_PROCESSES} processes of {_THREADS} threads, {len(answers)} answers, all kept once and in order"
        )

    def test_opened_for_the_first_time_by_many(self, harness: StoreHarness) -> None:
        crew = [start_writer(harness, f"w{number}", attempts=2) for number in range(6)]
        for writer in crew:
            out, err, code = writer.finish()
            assert code == 0, err.decode()
            assert len(out.splitlines()) == 3
        with harness.open() as store:
            assert len(check_session(store, accord.compile(ONE_SHOT), "s1")) == 12

    def test_a_reader_beside_writers(self, harness: StoreHarness, store: Store) -> None:
        """Verifying and listing while somebody writes finds nothing wrong."""
        contract = accord.compile(ONE_SHOT)
        session = StoredSession(store, contract, "s1")
        session.send("note")
        with harness.open() as other:
            writer = threading.Thread(target=lambda: [session.send("note") for _ in range(60)])
            looks = 0
            writer.start()
            while writer.is_alive() or looks < 3:
                assert other.verify("s1").ok
                assert [info.fault for info in other.sessions()] == [None]
                looks += 1
            writer.join()
            assert other.verify("s1").entries == 62
