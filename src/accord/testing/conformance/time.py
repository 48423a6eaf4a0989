"""Time is an argument: expiry, deadlines, and clocks that jump."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

import accord
from accord import Blocked, Ok, UsageError, Violation
from accord.stores import StoredSession
from accord.testing.agreement import check_session
from accord.testing.conformance.ground import ONE_SHOT, Ground, session_of

if TYPE_CHECKING:
    from accord.stores import Store
    from accord.testing.harness import StoreHarness

__all__ = ["TimeTests"]

DEADLINE = "!Ask.?Reply within 60s else !GiveUp.end"


class TimeTests(Ground):
    """Everything that depends on what time it is said to be."""

    def test_a_session_expires(self, store: Store) -> None:
        session = session_of(store, ONE_SHOT, expires_after=10)
        assert session.send("note", at=100) == Ok()
        assert session.expires == 110
        assert session.send("note", at=109) == Ok()
        assert session.send("note", at=119) == Blocked("the session has expired")
        assert session.peek_send("note", at=119) == Blocked("the session has expired")

    def test_an_expired_session_has_not_moved(self, store: Store) -> None:
        session = session_of(store, ONE_SHOT, expires_after=10)
        session.send("note", at=100)
        assert isinstance(session.send("pay", at=1000), Blocked)
        assert session.expires == 110
        assert [entry.verdict for entry in _attempts(store)] == ["ok", "blocked"]

    def test_a_session_that_expires_must_be_told_the_time(self, store: Store) -> None:
        session = session_of(store, ONE_SHOT, expires_after=10)
        with pytest.raises(UsageError, match="needs `at=`"):
            session.send("pay")
        session.send("note", at=1)
        with pytest.raises(UsageError, match="needs `at=`"):
            session_of(store, ONE_SHOT).send("pay")
        assert session.send("pay", at=2) == Ok()

    def test_a_worker_that_was_told_nothing_of_expiry(self, store: Store) -> None:
        """It does not prolong the session, and does not free it either, however plain and usual its attempts are."""
        session_of(store, "rec X.!a.X", expires_after=10).send("a", at=0)
        worker = session_of(store, "rec X.!a.X")
        for at in range(1, 6):
            assert worker.send("a", at=at) == Ok()
            assert worker.expires == 10
        with pytest.raises(UsageError, match="needs `at=`"):
            worker.send("a")
        assert worker.send("a", at=10) == Blocked("the session has expired")

    def test_a_worker_that_lets_a_session_expire_which_did_not(self, store: Store) -> None:
        session_of(store, "rec X.!a.X").send("a")
        worker = session_of(store, "rec X.!a.X", expires_after=10)
        for at in range(5):
            assert worker.send("a", at=at) == Ok()
            assert worker.expires == at + 10
        store.forget("s1")
        session_of(store, "rec X.!a.X").send("a")
        assert worker.send("a", at=50) == Ok()
        assert worker.expires == 60

    def test_misuse_prolongs_nothing(self, store: Store) -> None:
        session = session_of(store, ONE_SHOT, expires_after=10)
        session.send("note", at=0)
        with pytest.raises(UsageError, match="a label is a `str`"):
            session.send(7, at=9)  # type: ignore[arg-type]
        assert session.expires == 10
        assert session.version == 2

    def test_sweeping(self, store: Store) -> None:
        contract = accord.compile(ONE_SHOT)
        for number in range(20):
            StoredSession(store, contract, f"s{number:02}", expires_after=10).send("pay", at=number)
        StoredSession(store, contract, "stays").send("pay")
        assert sorted(store.sweep(15)) == [f"s{number:02}" for number in range(6)]
        assert store.sweep(15) == []
        assert len(list(store.sessions(status="expired"))) == 6
        assert len(list(store.sessions(status="complete"))) == 15
        assert store.lines("s00", 0, 10) == []

    def test_the_key_of_a_swept_session_is_not_a_new_session(self, store: Store) -> None:
        session = session_of(store, ONE_SHOT, expires_after=10)
        session.send("pay", at=0)
        head = _head(store)
        store.sweep(10)
        for worker in (session, session_of(store, ONE_SHOT, expires_after=10), session_of(store, ONE_SHOT)):
            assert worker.send("pay", at=5) == Blocked("the session has expired")
            assert worker.peek_send("pay", at=5) == Blocked("the session has expired")
            assert worker.status == "expired"
            assert worker.allowed() == []
        assert _head(store) == head
        with pytest.raises(UsageError, match=f"its ledger is gone; the head of it was {head}"):
            store.verify("s1")

    def test_sweeping_meets_a_session_that_goes_on(
        self, harness: StoreHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What was due when it was looked for may have been prolonged when its turn comes."""
        with harness.open() as store, harness.open() as other:
            session = session_of(store, ONE_SHOT, expires_after=10)
            session.send("note", at=0)
            due = list(store.due(10))
            session_of(other, ONE_SHOT, expires_after=10).send("note", at=5)
            assert due == ["s1"]
            monkeypatch.setattr(store, "due", lambda _: iter([*due, "gone"]))
            assert store.sweep(10) == []
            assert session.send("pay", at=11) == Ok()

    def test_a_clock_that_jumps_ahead_and_back(self, store: Store) -> None:
        session = session_of(store, ONE_SHOT, expires_after=10)
        assert session.send("pay", at=100) == Ok()
        assert isinstance(session.send("note", at=10**9), Blocked)
        assert session.send("note", at=50) == Ok()
        assert session.expires == 110
        assert isinstance(session.send("pay", at=60), Violation)
        assert session.send("note", at=-(10**9)) == Ok()
        assert session.expires == 110

    def test_a_sweep_with_a_wrong_clock_lets_nothing_happen_twice(self, store: Store) -> None:
        session = session_of(store, ONE_SHOT, expires_after=10)
        session.send("pay", at=100)
        store.sweep(10**12)
        assert isinstance(session.send("pay", at=101), Blocked)

    def test_deadlines_outlast_a_rest(self, harness: StoreHarness) -> None:
        with harness.open() as store:
            assert session_of(store, DEADLINE).send("Ask", at=1000) == Ok()
            assert session_of(store, DEADLINE).next_due() == 1060
        with harness.open() as store:
            session = session_of(store, DEADLINE)
            assert isinstance(session.receive("Reply", at=1061), Violation)
            assert session.send("GiveUp", at=1062) == Ok()
            check_session(store, session.contract, "s1")

    def test_time_passes_without_an_event(self, store: Store) -> None:
        session = session_of(store, DEADLINE)
        session.send("Ask", at=1000)
        assert session.peek_tick(2000) == Ok()
        assert session.allowed() == ["?Reply"]
        assert session.tick(2000) == Ok()
        assert session.allowed() == ["!GiveUp"]
        check_session(store, session.contract, "s1")

    def test_where_the_contract_uses_time_it_does_not_go_back(self, store: Store) -> None:
        session = session_of(store, DEADLINE)
        session.send("Ask", at=1000)
        with pytest.raises(UsageError, match="time does not go back"):
            session.receive("Reply", at=999)
        assert session.receive("Reply", at=1001) == Ok()

    def test_times_with_a_time_zone(self, store: Store) -> None:
        session = session_of(store, ONE_SHOT, expires_after=10)
        then = datetime(2026, 3, 2, 9, tzinfo=UTC)
        assert session.send("note", at=then) == Ok()
        assert session.expires == then.timestamp() + 10
        with pytest.raises(UsageError, match="without a time zone"):
            session.send("note", at=then.replace(tzinfo=None))

    @pytest.mark.parametrize(("at", "lasts"), [(1.5e308, 1e308), (2**1023, 1.7e308)])
    def test_a_time_that_is_none(self, store: Store, at: float, lasts: float) -> None:
        """A session that would expire at infinity could never be read again."""
        with pytest.raises(UsageError, match="expire"):
            session_of(store, ONE_SHOT, expires_after=lasts).send("pay", at=at)
        assert session_of(store, ONE_SHOT, expires_after=lasts).send("pay", at=1) == Ok()
        assert isinstance(session_of(store, ONE_SHOT).send("pay", at=2), Violation)

    @pytest.mark.parametrize("at", [-1e300, -(2**70), -0.0, 5e-324, 0.1, 2**53 + 1, 2**70, 1e300])
    def test_every_time_is_kept_as_it_is(self, store: Store, at: float) -> None:
        session_of(store, ONE_SHOT, expires_after=1e-3).send("note", at=at)
        there = session_of(store, ONE_SHOT)
        assert there.expires == float(at) + 1e-3
        assert there.send("note", at=-1e308) == Ok()
        assert store.sweep(at=-1e308) == []
        assert store.sweep(at=1e308) == ["s1"]

    @pytest.mark.parametrize("lasts", [0, -1, float("nan"), float("inf"), "10", True])
    def test_what_is_no_length_of_time(self, store: Store, lasts: object) -> None:
        with pytest.raises(UsageError):
            session_of(store, ONE_SHOT, expires_after=lasts)


def _attempts(store: Store) -> list[accord.ledger.entries.AttemptEntry]:
    from accord.testing.agreement import attempts_of  # noqa: PLC0415

    return attempts_of(store, "s1")


def _head(store: Store) -> str:
    info = store.session("s1")
    assert info is not None
    return info.head
