"""One session with deadlines and slices, many threads and interrupts: trace and state agree, nothing is lost."""

from __future__ import annotations

import signal
from collections import Counter

import pytest

from accord import Blocked, Monitor, Ok, UsageError, Violation, compile
from tests.racing import THREADS, all_at_once, frantic_switching


@pytest.fixture(name="frantic_switching")
def _frantic_switching():
    with frantic_switching():
        yield


CALLS = compile("""
protocol P = each k: !call.?result within 5s else !retry
rule "answered" { each k: after each call require result or retry }
rule "few" { each k: at most 1 call }
rule "in time" { each k: within 9s after call require result or retry }
""")


def replayed(trace, keys, at):
    """The state after the same events, in the order of the trace."""
    monitor = Monitor(CALLS, mode="refuse", at=0)
    for word, key in zip(trace, keys, strict=True):
        (monitor.send if word[0] == "!" else monitor.receive)(word[1:], {"k": key}, at=at)
    return monitor


def state(monitor):
    """Everything a snapshot says but the checksum, in an order that does not depend on who came first."""
    extent = monitor.snapshot()["extent"]
    return (
        extent["now"],
        sorted(map(str, extent["course"])),
        [(called, sorted(map(str, instances))) for called, instances in extent["slices"]],
        monitor.status,
        monitor.next_due(),
    )


@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_one_key_is_admitted_once(mode, frantic_switching, soak, health):
    rounds = 2_000 if soak else 100
    for _ in range(rounds):
        monitor = Monitor(CALLS, mode=mode, at=0)
        verdicts = all_at_once(lambda _, m=monitor: m.send("call", {"k": 1}, at=1))
        counts = Counter(type(verdict) for verdict in verdicts)
        assert counts[Ok] == 1, verdicts
        assert counts[Ok] + counts[Violation] + counts[Blocked] == THREADS, verdicts
        assert monitor.trace == ["!call"] * THREADS
        assert len(monitor._held.course.instances) == 1
    health(f"threads over time: {rounds:,} rounds of {THREADS} threads that want the same key ({mode})")


def test_every_key_is_kept(frantic_switching, soak, health):
    """Threads work on keys of their own, with ticks and snapshots between: all instances are there at the end."""
    each = 300 if soak else 40
    monitor = Monitor(CALLS, mode="refuse", at=0)

    def work(number):
        verdicts = []
        for index in range(each):
            key = f"{number} {index}"
            verdicts.append(monitor.send("call", {"k": key}, at=1))
            if index % 3:
                verdicts.append(monitor.receive("result", {"k": key}, at=1))
            if index % 7 == 0:
                assert Monitor.restore(CALLS, monitor.snapshot()).status in {"running", "complete"}
                assert monitor.tick(1) == Ok()
        return verdicts

    results = all_at_once(work)
    assert all(isinstance(result, list) for result in results), results
    assert {type(verdict) for result in results for verdict in result} == {Ok}
    held = monitor._held
    unanswered = THREADS * len(range(0, each, 3))
    assert len(held.course.instances) == THREADS * each
    assert [one.owing for one in held.slices] == [unanswered, 0, unanswered]
    assert (held.course.timed, held.course.owing) == (unanswered, unanswered)
    assert len(monitor.trace) == sum(map(len, results))
    health(f"threads over time: {len(monitor.trace):,} events of {THREADS * each:,} keys by {THREADS} threads at once")


LETTING_TIME_PASS = (
    lambda monitor: monitor.tick(6),
    lambda monitor: monitor.send("other", {"k": 2}, at=6),
    lambda monitor: monitor.receive("x", at=6),
)


def test_being_late_is_said_once(frantic_switching, soak, health):
    """However many threads let the time pass, the rule is broken once and one of them is told."""
    contract = compile('rule "in time" { each k: within 5s after call require result }')
    rounds = 1_000 if soak else 100
    for _ in range(rounds):
        monitor = Monitor(contract, mode="refuse", at=0)
        monitor.send("call", {"k": 1}, at=0)
        verdicts = all_at_once(lambda n, m=monitor: LETTING_TIME_PASS[n % 3](m))
        assert Counter(type(verdict) for verdict in verdicts) == {Ok: THREADS - 1, Violation: 1}, verdicts
        assert monitor.next_due() is None
    health(f"threads over time: {rounds:,} deadlines missed by {THREADS} threads at once, each said once")


def test_closing_is_final_among_threads(frantic_switching, soak):
    for _ in range(500 if soak else 60):
        monitor = Monitor(CALLS, mode="refuse", at=0)
        monitor.send("call", {"k": 0}, at=0)

        def work(number, monitor=monitor):
            if number % 4 == 0:
                return "closed", monitor.close(at=1)
            return "sent", monitor.send("call", {"k": number}, at=1)

        results = all_at_once(work)
        assert not any(isinstance(result, BaseException) for result in results), results
        assert {type(v) for what, v in results if what == "closed"} == {Violation}
        assert len(monitor._held.course.instances) == 1 + sum(isinstance(v, Ok) for w, v in results if w == "sent")
        assert monitor.status == "incomplete"
        assert isinstance(monitor.send("call", {"k": "late"}, at=2), Blocked)


def test_time_that_threads_tell_never_goes_back(frantic_switching):
    """Each thread tells its own times; those that come too late are usage errors that change nothing."""
    monitor = Monitor("rec L.!Ask.?Reply within 2s else L", mode="refuse", at=0)
    seen = []

    def work(number):
        refused = 0
        for step in range(100):
            try:
                monitor.tick(step + number / 10)
            except UsageError:
                refused += 1
            seen.append(monitor._held.now)
        return refused

    results = all_at_once(work)
    assert all(isinstance(result, int) for result in results), results
    assert monitor._held.now == max(seen) == 99 + (THREADS - 1) / 10


def test_an_interrupt_at_any_point_leaves_a_working_session(soak, health):
    """A timer raises KeyboardInterrupt all over the place; trace and state must agree and the session go on."""
    wanted, interrupts, events = (5_000 if soak else 300), 0, 0
    monitor, told = Monitor(CALLS, mode="refuse", at=0), []

    def interrupt(*_):
        raise KeyboardInterrupt

    def attempt(act, label, key):
        """The key of what is told is noted first, so there is at most one too many."""
        told.append(key)
        act(label, {"k": key}, at=1)

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        while interrupts < wanted:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0005 + (interrupts % 50) * 0.00002)
                while True:
                    key = len(told) % 97
                    attempt(monitor.send, "call", key)
                    attempt(monitor.receive, "result", key)
                    monitor.tick(1)
                    attempt(monitor.send, "nonsense", key)
            except KeyboardInterrupt:
                interrupts += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            del told[len(monitor.trace) :]
            if interrupts % 20 == 0:
                again = replayed(monitor.trace, told, 1)
                assert state(again) == state(monitor)
                events += len(told)
                monitor.reset(at=0)
                told.clear()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert events > wanted
    health(f"interrupts over time: {interrupts:,} KeyboardInterrupts among {events:,} events, state and trace agreed")
