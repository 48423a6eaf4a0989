"""What was changed past the store is found, told, and left as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import accord
from accord import Blocked, CorruptSessionError, Ok
from accord.stores import Row, StoredSession
from accord.testing.conformance.ground import ONE_SHOT, Ground, session_of, where_possible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from accord.stores import Store
    from accord.testing.harness import StoreHarness

__all__ = ["CorruptionTests"]


def _flip(data: bytes, place: int) -> bytes:
    place %= len(data)
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


CHANGES: dict[str, Callable[[Row], Row]] = {
    "a bit at the beginning": lambda row: row._replace(sealed=_flip(row.sealed, 3)),
    "a bit in the middle": lambda row: row._replace(sealed=_flip(row.sealed, len(row.sealed) // 2)),
    "a bit of the seal": lambda row: row._replace(sealed=_flip(row.sealed, -20)),
    "cut off": lambda row: row._replace(sealed=row.sealed[:-9]),
    "a byte more": lambda row: row._replace(sealed=row.sealed + b" "),
    "empty": lambda row: row._replace(sealed=b""),
    "something else": lambda row: row._replace(sealed=b'{"paid": false}'),
    "an answer edited": lambda row: row._replace(sealed=row.sealed.replace(b'"refuse"', b'"halt"')),
    "another version": lambda row: row._replace(version=row.version + 1),
    "another expiry": lambda row: row._replace(expires=1e9),
}


class CorruptionTests(Ground):
    """A row or a line that is not what was written."""

    @pytest.mark.parametrize("what", CHANGES)
    @pytest.mark.parametrize("warm", [False, True], ids=["new worker", "same worker"])
    def test_a_corrupted_row_is_refused(self, harness: StoreHarness, store: Store, what: str, *, warm: bool) -> None:
        session = session_of(store, ONE_SHOT)
        session.send("note")
        with where_possible():
            harness.change_row(store, "s1", CHANGES[what])
        session = session if warm else session_of(store, ONE_SHOT)
        before = store.row("s1")
        answer = session.send("pay")
        assert isinstance(answer, Blocked)
        assert "session `s1` is corrupted" in answer.reason
        assert isinstance(session.peek_send("pay"), Blocked)
        for question in (session.allowed, lambda: session.status, session.snapshot, session.verify):
            with pytest.raises(CorruptSessionError, match="session `s1` is corrupted"):
                question()
        assert store.row("s1") == before, "it was repaired in silence"
        assert len(store.lines("s1", 0, 10)) == 2

    def test_a_corrupted_row_hides_no_other(self, harness: StoreHarness, store: Store) -> None:
        contract = accord.compile(ONE_SHOT)
        for number in range(5):
            StoredSession(store, contract, f"s{number}").send("note")
        with where_possible():
            harness.change_row(store, "s2", CHANGES["cut off"])
        faults = {info.key: info.fault for info in store.sessions()}
        assert len(faults) == 5
        assert [key for key, fault in faults.items() if fault] == ["s2"]
        for chosen in (store.sessions(status="complete"), store.sessions(contract="sha256:none")):
            assert "s2" in [info.key for info in chosen if info.fault], "what is corrupted is told, whatever is asked"
        assert StoredSession(store, contract, "s3").send("pay") == Ok()

    def test_the_row_of_another_session_is_refused(self, harness: StoreHarness, store: Store) -> None:
        session_of(store, ONE_SHOT, "paid").send("pay")
        session_of(store, ONE_SHOT, "other").send("note")
        with where_possible():
            harness.put_row("paid", store.row("other"))
        answer = session_of(store, ONE_SHOT, "paid").send("pay")
        assert isinstance(answer, Blocked)
        assert "the record of another session" in answer.reason

    def test_a_row_that_is_gone_is_no_new_session(self, harness: StoreHarness, store: Store) -> None:
        """Its ledger is still there, so it has been."""
        session_of(store, ONE_SHOT).send("pay")
        with where_possible():
            harness.put_row("s1", None)
        assert isinstance(session_of(store, ONE_SHOT).send("pay"), Blocked)
        assert len(store.lines("s1", 0, 10)) == 2

    def test_an_older_row_cannot_go_on(self, harness: StoreHarness, store: Store) -> None:
        """Somebody puts back the row from before the payment; the ledger knows better."""
        session = session_of(store, ONE_SHOT)
        session.send("note")
        older = store.row("s1")
        session.send("pay")
        with where_possible():
            harness.put_row("s1", older)
        assert isinstance(session_of(store, ONE_SHOT).send("pay"), Blocked)
        result = store.verify("s1")
        assert result.finding is not None
        assert result.finding.fault == "other history"

    @pytest.mark.parametrize("warm", [False, True], ids=["new worker", "same worker"])
    def test_an_entry_that_nobody_acknowledged_is_not_overwritten(
        self, harness: StoreHarness, store: Store, *, warm: bool
    ) -> None:
        session = session_of(store, ONE_SHOT)
        session.send("note")
        before = store.row("s1")
        with where_possible():
            harness.put_line("s1", 2, b"what else has happened\n")
        session = session if warm else session_of(store, ONE_SHOT)
        assert isinstance(session.send("pay"), Blocked)
        assert store.row("s1") == before
        assert store.lines("s1", 2, 10) == [b"what else has happened\n"]
        assert not store.verify("s1").ok

    @pytest.mark.parametrize("number", [0, 3, 6])
    def test_a_changed_line_is_found(self, harness: StoreHarness, store: Store, tmp_path: Path, number: int) -> None:
        session = session_of(store, ONE_SHOT)
        for _ in range(6):
            session.send("note")
        with where_possible():
            harness.put_line("s1", number, _flip(store.lines("s1", number, 1)[0], 40))
        result = store.verify("s1")
        assert result.finding is not None
        assert result.finding.entry == number
        with pytest.raises(CorruptSessionError, match=f"entry {number}"):
            store.export("s1", tmp_path / "out")

    @pytest.mark.parametrize("number", [0, 3, 6])
    def test_a_line_that_is_gone_is_found(self, harness: StoreHarness, store: Store, number: int) -> None:
        session = session_of(store, ONE_SHOT)
        for _ in range(6):
            session.send("note")
        with where_possible():
            harness.put_line("s1", number, None)
        assert not store.verify("s1").ok

    @pytest.mark.parametrize("number", [0, 3, 6])
    def test_a_ledger_that_is_not_whole_is_not_exported(
        self, harness: StoreHarness, store: Store, tmp_path: Path, number: int
    ) -> None:
        """Nor does half of one stay behind. The record knows of an end that was cut off."""
        session = session_of(store, ONE_SHOT)
        for _ in range(6):
            session.send("note")
        with where_possible():
            harness.put_line("s1", number, None)
        with pytest.raises(CorruptSessionError):
            store.export("s1", tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_a_corrupted_session_is_not_swept(self, harness: StoreHarness, store: Store) -> None:
        session_of(store, ONE_SHOT, expires_after=1).send("note", at=0)
        with where_possible():
            harness.change_row(store, "s1", CHANGES["a bit in the middle"])
        assert store.sweep(100) == []
        assert len(store.lines("s1", 0, 10)) == 2

    def test_a_corrupted_session_can_be_forgotten(self, harness: StoreHarness, store: Store) -> None:
        session_of(store, ONE_SHOT).send("note")
        with where_possible():
            harness.change_row(store, "s1", CHANGES["something else"])
        assert store.forget("s1")
        assert session_of(store, ONE_SHOT).send("note") == Ok()
