"""Stores that are away, full, slow, interrupted or buggy: the answer is no, and nothing is kept by halves."""

from __future__ import annotations

import ctypes
import random
import threading
from contextlib import suppress
from time import sleep
from typing import TYPE_CHECKING

import pytest

import accord
from accord import Blocked, Ok, StoreError, Violation
from accord.stores import StoredSession
from accord.testing.agreement import check_session, identified
from accord.testing.conformance.ground import ONE_SHOT, Ground, session_of, where_possible
from accord.testing.faulty import Fault, FaultyStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from accord.stores import Store
    from accord.testing.harness import StoreHarness

__all__ = ["FaultTests"]

_TELLING = [Fault.UNREACHABLE, Fault.LOST_ANSWER, Fault.FULL, Fault.CORRUPT, Fault.BUG]
_INTERRUPTS = 40
_PATIENCE = 100  # seconds, for what takes far less on a machine with nothing else to do


class FaultTests(Ground):
    """Things that go wrong."""

    @pytest.mark.parametrize("fault", _TELLING, ids=lambda fault: fault.name.lower())
    def test_a_fault_is_a_no(self, store: Store, fault: Fault) -> None:
        session = session_of(FaultyStore(store, [Fault.NONE, fault]), ONE_SHOT)
        session.send("note")
        assert isinstance(session.send("pay"), Blocked)
        check_session(store, session.contract, "s1")

    @pytest.mark.parametrize(
        "fault", [Fault.UNREACHABLE, Fault.LOST_ANSWER, Fault.CORRUPT, Fault.BUG], ids=lambda f: f.name.lower()
    )
    def test_a_fault_while_asking(self, store: Store, fault: Fault) -> None:
        session_of(store, ONE_SHOT).send("note")
        assert isinstance(session_of(FaultyStore(store, [fault]), ONE_SHOT).peek_send("pay"), Blocked)
        with pytest.raises(ZeroDivisionError if fault is Fault.BUG else StoreError):
            session_of(FaultyStore(store, [fault]), ONE_SHOT).allowed()

    def test_an_answer_that_was_lost_is_no_second_payment(self, store: Store) -> None:
        """Nobody knows if it was kept. It was, so the next attempt is refused: the safe side."""
        session = session_of(FaultyStore(store, [Fault.LOST_ANSWER]), ONE_SHOT)
        assert isinstance(session.send("pay"), Blocked)
        assert isinstance(session.send("pay"), Violation)

    def test_a_lost_race_is_judged_again(self, store: Store) -> None:
        faulty = FaultyStore(store, [Fault.NONE, Fault.RACE])
        session = session_of(faulty, ONE_SHOT)
        session.send("note")
        assert isinstance(session.send("pay"), Violation), "somebody else was quicker"
        assert faulty.met[Fault.RACE] == 1
        check_session(store, session.contract, "s1")

    def test_a_stale_look_does_no_harm(self, store: Store) -> None:
        session = session_of(FaultyStore(store, [Fault.NONE, Fault.NONE, Fault.STALE]), ONE_SHOT)
        assert (session.send("note"), session.send("pay")) == (Ok(), Ok())
        assert isinstance(session.send("pay"), Violation)
        check_session(store, session.contract, "s1")

    @pytest.mark.parametrize("fault", [Fault.INTERRUPT, Fault.LATE_INTERRUPT], ids=lambda fault: fault.name.lower())
    def test_an_interrupt(self, store: Store, fault: Fault) -> None:
        session = session_of(FaultyStore(store, [fault]), ONE_SHOT)
        with pytest.raises(KeyboardInterrupt):
            session.send("pay")
        assert isinstance(session.send("pay"), Ok if fault is Fault.INTERRUPT else Violation)
        check_session(store, session.contract, "s1")

    def test_a_storm_of_faults(self, store: Store, tell: Callable[[str], None]) -> None:
        dice = random.Random(4)
        faults = list(Fault)
        plan = FaultyStore(store, (dice.choice(faults) for _ in range(400)))
        contract = accord.compile(ONE_SHOT)
        answered: list[tuple[str, str, str]] = []
        for number in range(300):
            session = StoredSession(plan, contract, "s1")
            label = dice.choice(["note", "pay", "limited"])
            with suppress(KeyboardInterrupt):
                answer = session.send(label, {"id": str(number)})
                if isinstance(answer, Ok):
                    answered.append((f"!{label}", str(number), "ok"))
        kept = identified(check_session(store, contract, "s1"))
        assert all(kept[attempt] for attempt in answered), "an answered attempt is lost"
        assert sum(event == "!pay" for event, _, _ in answered) <= 1
        assert sum(event == "!limited" for event, _, _ in answered) <= 7
        assert all(plan.met.values())
        told = f"{len(answered)} answers were all there"
        tell(f"stores: {sum(plan.met.values())} calls met faults of {len(faults) - 1} kinds; {told}")

    def test_a_store_that_cannot_be_reached(self, harness: StoreHarness) -> None:
        with harness.open(patient=False) as store:
            session = session_of(store, ONE_SHOT)
            assert session.send("note") == Ok()
            with where_possible(), harness.unreachable():
                assert isinstance(session.send("pay"), Blocked)
                assert isinstance(session_of(store, ONE_SHOT).send("pay"), Blocked)
            assert session.send("pay") == Ok()
            assert isinstance(session.send("pay"), Violation)
            check_session(store, session.contract, "s1")

    def test_a_store_that_is_full(self, harness: StoreHarness, store: Store) -> None:
        session = session_of(store, ONE_SHOT)
        session.send("note")
        dice, kept = random.Random(1), 1
        with where_possible(), harness.full(store):
            for number in range(80):
                answer = session.send("note", {"id": str(number), "fill": dice.randbytes(300_000)})
                if isinstance(answer, Blocked):
                    break
                assert answer == Ok()
                kept += 1
            assert isinstance(answer, Blocked), "it was never full"
            assert isinstance(session.send("note", {"fill": dice.randbytes(300_000)}), Blocked)
        assert session.version == kept
        assert session.send("pay") == Ok()
        assert len(check_session(store, session.contract, "s1")) == kept + 1

    def test_a_store_that_was_closed(self, harness: StoreHarness) -> None:
        store = harness.open()
        session = session_of(store, ONE_SHOT)
        session.send("note")
        store.close()
        if harness.address is not None:
            assert session.send("pay") == Blocked("the session cannot be kept (the store is closed)")

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_cancelled_at_random_points(self, harness: StoreHarness, store: Store, tell: Callable[[str], None]) -> None:
        """A thread that is interrupted wherever it is leaves the session whole, and nobody waiting."""
        contract = accord.compile(ONE_SHOT)
        dice = random.Random(3)
        answered: list[str] = []
        hits = 0
        for number in range(_INTERRUPTS):
            begun, pause, before = threading.Event(), dice.random() * 0.02, len(answered) + dice.randint(0, 1)

            def work(number: int = number, begun: threading.Event = begun) -> None:
                session = StoredSession(store, contract, "s1")
                with suppress(_CancelledError):
                    for attempt in range(1_000_000):
                        begun.set()
                        if session.send("note", {"id": f"{number}/{attempt}"}) == Ok():
                            answered.append(f"{number}/{attempt}")

            thread = threading.Thread(target=work)
            thread.start()
            assert begun.wait(_PATIENCE)
            while len(answered) < before and thread.is_alive():
                sleep(0.001)
            sleep(pause)
            hits += _cancel(thread)
            thread.join(_PATIENCE)
            assert not thread.is_alive(), "the interrupt was swallowed, or it is stuck"
        kept = identified(check_session(store, contract, "s1"))
        assert all(kept["!note", identity, "ok"] == 1 for identity in answered)
        with harness.open() as other:
            assert session_of(other, ONE_SHOT).send("pay") == Ok(), "a lock was left behind"
        assert hits == _INTERRUPTS
        assert len(answered) >= _INTERRUPTS // 10
        tell(f"stores: {hits} threads cancelled at random points; {len(answered)} answered attempts were all there")


class _CancelledError(BaseException):
    """As `asyncio.CancelledError` or `KeyboardInterrupt`: no `Exception`, so nothing catches it by the way."""


def _cancel(thread: threading.Thread) -> int:
    hit: int = ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_CancelledError)
    )
    return hit
