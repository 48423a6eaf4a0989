"""What is kept: sessions that outlive a worker, their ledgers, lists of them, and their contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import accord
from accord import CorruptSessionError, Monitor, Ok, UsageError, Violation
from accord.ledger import verify
from accord.stores import StoredSession
from accord.testing.agreement import check_session
from accord.testing.conformance.ground import ONE_SHOT, Ground, session_of, where_possible

if TYPE_CHECKING:
    from pathlib import Path

    from accord.stores import Store
    from accord.testing.harness import StoreHarness

__all__ = ["KeepingTests"]


class KeepingTests(Ground):
    """Rest, and going on after it."""

    def test_another_worker_goes_on(self, harness: StoreHarness) -> None:
        with harness.open() as first:
            session_of(first, "!Ask.?Answer.!Thank.end").send("Ask")
            with harness.open() as second:
                assert session_of(second, "!Ask.?Answer.!Thank.end").receive("Answer") == Ok()
            assert session_of(first, "!Ask.?Answer.!Thank.end").send("Thank") == Ok()

    def test_a_worker_sees_what_another_has_done(self, harness: StoreHarness) -> None:
        with harness.open() as first, harness.open() as second:
            here, there = session_of(first, ONE_SHOT), session_of(second, ONE_SHOT)
            assert (here.send("note"), there.send("note"), here.send("note")) == (Ok(), Ok(), Ok())
            assert there.send("pay") == Ok()
            assert isinstance(here.send("pay"), Violation)
            assert isinstance(here.peek_send("pay"), Violation)
            assert here.version == there.version == 5
            check_session(first, here.contract, "s1")

    def test_reopening_loses_nothing(self, harness: StoreHarness) -> None:
        for number in range(5):
            with harness.open() as store:
                session = session_of(store, ONE_SHOT)
                assert session.version == number
                assert session.send("note") == Ok()
        with harness.open() as store:
            check_session(store, accord.compile(ONE_SHOT), "s1")

    def test_a_crash_of_what_holds_the_data_loses_nothing(self, harness: StoreHarness) -> None:
        with harness.open() as store, where_possible():
            session = session_of(store, ONE_SHOT)
            session.send("pay")
            harness.restart()
        with harness.open() as store:
            assert isinstance(session_of(store, ONE_SHOT).send("pay"), Violation)
            check_session(store, session.contract, "s1")

    def test_a_snapshot_can_be_taken_out(self, store: Store) -> None:
        session = session_of(store, "!Ask.?Answer.end")
        session.send("Ask")
        assert Monitor.restore(session.contract, session.snapshot(key=b"k"), key=b"k").receive("Answer") == Ok()

    def test_sessions_do_not_touch_each_other(self, store: Store) -> None:
        contract = accord.compile(ONE_SHOT)
        for number in range(30):
            assert StoredSession(store, contract, f"s{number}").send("pay") == Ok()
        assert all(info.head.startswith("1:") for info in store.sessions())

    def test_the_list_of_sessions(self, store: Store) -> None:
        """More of them than any store fetches at once."""
        short, long = accord.compile("!a.end"), accord.compile("!a.?b.end")
        for number in range(540):
            StoredSession(store, long if number % 3 else short, f"s{number}").send("a")
        infos = list(store.sessions())
        assert sorted(info.key for info in infos) == sorted(f"s{number}" for number in range(540))
        assert {info.status for info in store.sessions(contract=short.digest)} == {"complete"}
        assert len(list(store.sessions(contract=short.digest))) == 180
        assert len(list(store.sessions(status="running"))) == 360

    def test_a_session_is_refused_under_another_contract(self, store: Store) -> None:
        session_of(store, "!Ask.?Answer.end").send("Ask")
        before = store.row("s1")
        other = session_of(store, "!Ask.?Answer.!More.end")
        with pytest.raises(UsageError, match="belongs to another contract"):
            other.receive("Answer")
        with pytest.raises(UsageError, match="belongs to another contract"):
            other.close()
        with pytest.raises(UsageError, match="belongs to another contract"):
            other.peek_receive("Answer")
        with pytest.raises(UsageError, match="belongs to another contract"):
            other.allowed()
        assert store.row("s1") == before

    def test_a_contract_that_compiles_to_the_same_is_the_same(self, store: Store) -> None:
        session_of(store, "rec X.!Ask.X").send("Ask")
        assert session_of(store, "rec Other . !Ask . Other  // the same").send("Ask") == Ok()

    def test_a_session_is_refused_under_another_protocol_or_mode(self, store: Store) -> None:
        text = "protocol A = !a.end\nprotocol B = !a.end"
        session_of(store, text, protocol="A").send("a")
        with pytest.raises(UsageError, match="was begun with the protocol `A`, not `B`"):
            session_of(store, text, protocol="B").send("a")
        with pytest.raises(UsageError, match="was begun with the mode `refuse`, not `halt`"):
            session_of(store, text, protocol="A", mode="halt").send("a")

    def test_many_contracts_in_one_store(self, store: Store) -> None:
        for number in range(10):
            assert session_of(store, f"!a{number}.end", f"s{number}").send(f"a{number}") == Ok()
        assert len({info.contract for info in store.sessions()}) == 10

    def test_the_size_of_a_session_does_not_depend_on_its_history(self, store: Store) -> None:
        session = session_of(store, ONE_SHOT)
        session.send("note")
        row = store.row("s1")
        for _ in range(150):
            session.send("note", {"text": "x" * 100})
        later = store.row("s1")
        assert row is not None
        assert later is not None
        assert len(later.sealed) <= len(row.sealed) + 8

    def test_a_ledger_can_be_exported(self, store: Store, tmp_path: Path) -> None:
        session = session_of(store, ONE_SHOT)
        for _ in range(300):
            session.send("note")
        head = store.export("s1", tmp_path / "s1.ledger")
        with (tmp_path / "s1.ledger").open("rb") as file:
            result = verify(file, head=head)
        assert result.ok
        assert result.entries == 301
        info = store.session("s1")
        assert info is not None
        assert head == info.head == session.verify().head

    def test_an_exported_ledger_overwrites_nothing(self, store: Store, tmp_path: Path) -> None:
        session_of(store, ONE_SHOT).send("note")
        (tmp_path / "file").write_text("mine")
        with pytest.raises(FileExistsError):
            store.export("s1", tmp_path / "file")
        assert (tmp_path / "file").read_text() == "mine"

    def test_a_session_that_is_not_there(self, store: Store) -> None:
        assert store.session("nobody") is None
        with pytest.raises(UsageError, match="there is no session `nobody`"):
            store.verify("nobody")
        with pytest.raises(UsageError, match="there is no session `nobody`"):
            store.ledger("nobody")

    def test_with_a_secret(self, harness: StoreHarness, tmp_path: Path) -> None:
        with harness.open(secret=b"secret") as store:
            session_of(store, ONE_SHOT).send("pay")
            assert isinstance(session_of(store, ONE_SHOT).send("pay"), Violation)
            assert store.verify("s1").ok
            store.export("s1", tmp_path / "s1")
        with (tmp_path / "s1").open("rb") as file:
            assert verify(file, key=b"secret").ok
        for other in (None, b"another"):
            with harness.open(secret=other) as store:
                answer = session_of(store, ONE_SHOT).send("note")
                assert "does not match its checksum" in str(answer)
                with pytest.raises(CorruptSessionError, match="does not match its checksum"):
                    session_of(store, ONE_SHOT).allowed()

    def test_moving_a_session(self, store: Store) -> None:
        session = session_of(store, "rec X.!Ping.X")
        for _ in range(300):
            session.send("Ping")
        before = list(store.ledger("s1"))
        session_of(store, "!a.end", "s2").send("a")
        with pytest.raises(UsageError, match="there is a session `s2` already"):
            store.move("s1", "s2")
        store.move("s1", "moved/s1")
        assert store.session("s1") is None
        assert store.lines("s1", 0, 1) == []
        *lines, last = store.ledger("moved/s1")
        assert lines == before
        assert b'"session moved"' in last
        assert store.verify("moved/s1").ok
        again = session_of(store, "rec X.!Ping.X", "moved/s1")
        assert (again.version, again.send("Ping")) == (301, Ok())
        assert store.verify("moved/s1").ok

    def test_forgetting_a_session(self, store: Store) -> None:
        session = session_of(store, ONE_SHOT)
        session.send("pay")
        assert store.forget("s1")
        assert not store.forget("s1")
        assert store.session("s1") is None
        assert store.lines("s1", 0, 10) == []
        assert session.send("pay") == Ok()
        check_session(store, session.contract, "s1")

    def test_a_newer_schema_is_refused(self, harness: StoreHarness) -> None:
        harness.open().close()
        with where_possible():
            harness.set_schema(99)
        with pytest.raises(UsageError, match="a newer one has written it"):
            harness.open()
