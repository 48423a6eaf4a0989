"""Rules, registers and sets when many threads use one session: nothing is allowed twice, nothing is lost."""

from collections import Counter

import pytest
from tests.racing import THREADS, all_at_once, frantic_switching

from accord import Monitor, Ok, Violation, compile


@pytest.fixture(autouse=True)
def _frantic_switching():
    with frantic_switching():
        yield


def accepted(results):
    assert all(isinstance(result, Ok | Violation) for result in results), results
    return sum(isinstance(result, Ok) for result in results)


CONTRACTS = {
    "rules alone": 'rule "one" { before each Pay require Approval }',
    "with a protocol": 'protocol P = rec L.{?Approval.L, !Pay.L, end}\nrule "one" { before each Pay require Approval }',
    "by a person": 'rule "one" { before each Pay require Approval by human }',
    "with guards": 'rule "one" { before each Pay(x > 0) require Approval(ok == true) }',
    "with adjacency": 'rule "one" { before each Pay require Approval }\nrule "two" { forbid X then Y }',
    "with registers": "protocol P = rec L.{?Approval(ok as r, x into s).L, !Pay(x in s).L}\n"
    'rule "one" { before each Pay require Approval }',
}


@pytest.mark.parametrize("name", CONTRACTS)
def test_one_approval_never_allows_two_payments(name, soak, health):
    contract = compile(CONTRACTS[name])
    rounds = 1_000 if soak else 60
    payload = {"x": 1, "ok": True}
    for _ in range(rounds):
        monitor = Monitor(contract, mode="refuse")
        assert accepted(all_at_once(lambda _, m=monitor: m.send("Pay", payload))) == 0
        assert monitor.receive("Approval", payload, by="ana") == Ok()
        assert accepted(all_at_once(lambda _, m=monitor: m.send("Pay", payload))) == 1
        assert len(monitor.trace) == 2 * THREADS + 1
    health(f"threads: {rounds * 2:,} payments raced by {THREADS} threads ({name})")


def test_approvals_and_payments_all_at_once():
    """However they interleave, the trace is a history in which every accepted payment has its own approval."""
    contract = compile(CONTRACTS["rules alone"])
    for _ in range(60):
        monitor = Monitor(contract, mode="refuse")

        def work(number, monitor=monitor):
            paid = 0
            for _ in range(5):
                if number % 2:
                    monitor.receive("Approval")
                else:
                    paid += isinstance(monitor.send("Pay"), Ok)
            return paid

        paid = sum(all_at_once(work))
        replayed = Monitor(contract, mode="refuse")
        legal = 0
        for word in monitor.trace:
            verdict = replayed.send("Pay") if word == "!Pay" else replayed.receive("Approval")
            legal += word == "!Pay" and isinstance(verdict, Ok)
        assert paid == legal
        assert len(monitor.trace) == THREADS * 5


def test_a_count_is_never_passed():
    contract = compile('rule "limit" { at most 3 Pay }')
    for _ in range(60):
        monitor = Monitor(contract, mode="refuse")
        assert accepted(all_at_once(lambda _, m=monitor: m.send("Pay"))) == 3


def test_a_halted_session_accepts_nothing_more():
    contract = compile('rule "limit" { at most 3 Pay }')
    for _ in range(60):
        monitor = Monitor(contract)
        kinds = Counter(type(verdict).__name__ for verdict in all_at_once(lambda _, m=monitor: m.send("Pay")))
        assert kinds == {"Ok": 3, "Violation": 1, "Blocked": THREADS - 4}


def test_each_thread_has_its_own_violation():
    contract = compile('rule "never" { at most 0 Pay }')
    for _ in range(40):
        monitor = Monitor(contract, mode="refuse")
        verdicts = all_at_once(lambda _, m=monitor: m.send("Pay"))
        assert sorted(verdict.position for verdict in verdicts) == list(range(THREADS))


def test_nothing_that_is_collected_is_lost():
    contract = compile("rec L.{?seen(id into s).L, !use(id in s).L}")
    for _ in range(40):
        monitor = Monitor(contract, mode="refuse")
        all_at_once(lambda n, m=monitor: [m.receive("seen", {"id": [n, f"{n}:{i}"]}) for i in range(5)])
        for number in range(THREADS):
            assert monitor.send("use", {"id": number}) == Ok()
            for i in range(5):
                assert monitor.send("use", {"id": f"{number}:{i}"}) == Ok()


def test_a_register_and_its_message_belong_together():
    """Whoever binds last is the one whose value is held, and it is held whole."""
    contract = compile("rec L.{?bind(x as r, y as s).L, !use(x == r, y == s).L}")
    for _ in range(40):
        monitor = Monitor(contract, mode="refuse")
        all_at_once(lambda n, m=monitor: [m.receive("bind", {"x": n, "y": n}) for _ in range(5)])
        fitting = [n for n in range(THREADS) if isinstance(monitor.peek_send("use", {"x": n, "y": n}), Ok)]
        assert len(fitting) == 1


def test_snapshots_while_others_work_are_whole():
    contract = compile(CONTRACTS["with registers"])
    for _ in range(15):
        monitor = Monitor(contract, mode="refuse")

        def work(number, monitor=monitor):
            for i in range(8):
                if number == 0:
                    restored = Monitor.restore(monitor.contract, monitor.snapshot())
                    approved = restored.status
                    assert approved in {"running", "complete"}
                elif number % 2:
                    monitor.receive("Approval", {"ok": number, "x": i})
                else:
                    monitor.send("Pay", {"x": i})

        assert all_at_once(work) == [None] * THREADS
