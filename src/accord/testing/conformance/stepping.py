"""A stored session answers as a monitor does, and records every attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import accord
from accord import UNRECOGNIZED, Blocked, Monitor, Ok, Unrecognized, UsageError, Violation
from accord.stores import StoredSession
from accord.testing.agreement import attempts_of, check_session
from accord.testing.conformance.ground import ONE_SHOT, Ground, session_of

if TYPE_CHECKING:
    from accord.monitor.step import Mode
    from accord.stores import Store

__all__ = ["SteppingTests"]

PAYMENT = """
protocol Payment = ?quote(total as t).rec Ask.{?Approval by human.Ask, !pay(amount <= t).?receipt.end}
rule "one approval per payment" { before each pay(amount > 100) require Approval by human }
"""
SLICED = "protocol P = each order: !open.?paid.end"


class SteppingTests(Ground):
    """One worker, one store."""

    def test_an_accepted_step(self, store: Store) -> None:
        session = session_of(store, "!Ask.?Answer.end")
        assert session.send("Ask") == Ok()
        assert session.allowed() == ["?Answer"]
        assert session.status == "running"
        assert session.version == 1

    def test_a_session_begins_with_its_first_attempt(self, store: Store) -> None:
        session = session_of(store, "!Ask.end")
        assert session.status == "running"
        assert session.version == 0
        assert store.session("s1") is None
        session.send("Ask")
        info = store.session("s1")
        assert info is not None
        assert info.status == "complete"

    def test_a_refused_step_changes_nothing_but_is_recorded(self, store: Store) -> None:
        session = session_of(store, "!Ask.?Answer.end")
        assert session.send("Pay") == Violation(expected=["!Ask"], got="!Pay")
        assert session.allowed() == ["!Ask"]
        assert [entry.verdict for entry in attempts_of(store, "s1")] == ["violation"]

    def test_a_violation_halts_in_mode_halt(self, store: Store) -> None:
        session = session_of(store, "!Ask.end", mode="halt")
        session.send("Pay")
        assert session.is_halted
        assert isinstance(session.send("Ask"), Blocked)
        check_session(store, session.contract, "s1", mode="halt")

    def test_a_one_shot_action_is_admitted_once(self, store: Store) -> None:
        session = session_of(store, ONE_SHOT)
        answers = [session.send("pay") for _ in range(5)]
        assert [type(answer) for answer in answers] == [Ok, Violation, Violation, Violation, Violation]

    def test_closing_is_final(self, store: Store) -> None:
        session = session_of(store, "!Ask.?Answer.end")
        session.send("Ask")
        assert isinstance(session.close(), Violation)
        assert session.status == "incomplete"
        assert isinstance(session.receive("Answer"), Blocked)
        check_session(store, session.contract, "s1")

    def test_closing_where_the_session_may_end(self, store: Store) -> None:
        session = session_of(store, "!Ask.end")
        session.send("Ask")
        assert session.peek_close() == Ok()
        assert session.close() == Ok()
        assert session.status == "complete"

    def test_what_nobody_recognised(self, store: Store) -> None:
        session = session_of(store, "?{Yes.end, No.end}")
        assert isinstance(session.receive(UNRECOGNIZED), Unrecognized)
        assert session.receive("Yes") == Ok()
        check_session(store, session.contract, "s1")

    def test_asking_changes_nothing(self, store: Store) -> None:
        session = session_of(store, "!Ask.?Answer.end")
        session.send("Ask")
        before = store.row("s1")
        assert session.peek_receive("Answer") == Ok()
        assert isinstance(session.peek_send("Ask"), Violation)
        assert isinstance(session.peek_close(), Violation)
        assert session.allowed() == ["?Answer"]
        assert store.row("s1") == before

    def test_misuse_is_recorded_and_raised(self, store: Store) -> None:
        session = session_of(store, "!Ask.end")
        with pytest.raises(UsageError, match="a label is a `str`"):
            session.send(7)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="mapping"):
            session.send("Ask", meta=3)  # type: ignore[arg-type]
        assert session.send("Ask") == Ok()
        assert [entry.verdict for entry in check_session(store, session.contract, "s1")] == ["misuse", "misuse", "ok"]

    def test_data_gates_and_rules(self, store: Store) -> None:
        session = session_of(store, PAYMENT)
        assert session.receive("quote", {"total": 250}) == Ok()
        assert isinstance(session.send("pay", {"amount": 200}), Violation)
        assert session.receive("Approval", by="ana") == Ok()
        assert isinstance(session.send("pay", {"amount": 251}), Violation)
        assert session.send("pay", {"amount": 250}) == Ok()
        assert session.receive("receipt") == Ok()
        check_session(store, session.contract, "s1")

    def test_slices(self, store: Store) -> None:
        session = session_of(store, SLICED)
        for order in range(20):
            assert session.send("open", {"order": order}) == Ok()
        assert isinstance(session.send("open", {"order": 7}), Violation)
        for order in range(20):
            assert session.receive("paid", {"order": order}) == Ok()
        assert session.status == "complete"
        check_session(store, session.contract, "s1")

    @pytest.mark.parametrize("mode", ["halt", "refuse"])
    def test_it_answers_as_a_monitor_does(self, store: Store, mode: Mode) -> None:
        contract = accord.compile("rec X.!{a.?b.X, c.?{d.X, e.end}}")
        words = ["!a", "?b", "?b", "!c", "?d", "!c", "?e", "!a"]
        monitor, session = Monitor(contract, mode=mode), StoredSession(store, contract, "s1", mode=mode)
        for word in words:
            label = word[1:]
            asked = monitor.send(label) if word[0] == "!" else monitor.receive(label)
            assert (session.send(label) if word[0] == "!" else session.receive(label)) == asked
            assert (session.status, session.allowed()) == (monitor.status, monitor.allowed())
        assert session.snapshot() == monitor.snapshot()

    def test_a_violation_knows_its_position(self, store: Store) -> None:
        session = session_of(store, "rec X.!a.X")
        for _ in range(3):
            session.send("a")
        refused = session.send("b")
        assert isinstance(refused, Violation)
        assert refused.position == 3

    def test_odd_values_are_kept(self, store: Store) -> None:
        session = session_of(store, "rec X.!a.X")
        for value in (float("nan"), 2**80, "\ud800", b"\x00\xff", {1: 2}, "é😀\x00", -0.0, 1e300):
            assert session.send("a", {"value": value}) == Ok()
        assert store.verify("s1").ok

    def test_odd_keys_are_kept_apart(self, store: Store) -> None:
        keys = [
            "a",
            "A",
            "a ",
            "ä",
            "a\u0308",
            "a%41",
            "a{b}c",
            "}{",
            "*",
            "a:b",
            "a'b",
            'a"b',
            "a\\b",
            "😀",
            "x" * 200,
            "😀" * 200,
            "%",
            "_",
            "[a]",
            "?",
            "a\\*",
            "{a}",
            "{}",
            "a}:session",
            "s1:ledger",
            "null",
            "' OR 1=1 --",
        ]
        contract = accord.compile("!a.end")
        for key in keys:
            assert StoredSession(store, contract, key).send("a") == Ok(), key
        assert sorted(info.key for info in store.sessions()) == sorted(keys)
        for key in keys:
            assert isinstance(StoredSession(store, contract, key).send("a"), Violation), key

    @pytest.mark.parametrize("key", ["", "x" * 201, "a\x00b", "a\nb", "\ud800", 7, None])
    def test_what_is_no_key(self, store: Store, key: object) -> None:
        with pytest.raises(UsageError, match="the key of a session"):
            StoredSession(store, "!a.end", key)  # type: ignore[arg-type]
