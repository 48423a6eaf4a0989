"""One monitor, many threads, interrupts at any point: nothing is admitted twice, nothing is lost, nothing wedges."""

from __future__ import annotations

import signal
import threading
from collections import Counter

import pytest

from accord import Blocked, Monitor, Ok, Violation, compile
from accord.monitor.atomicity import locked
from tests.racing import THREADS, all_at_once, frantic_switching


@pytest.fixture(name="frantic_switching")
def _frantic_switching():
    with frantic_switching():
        yield


class LockedMonitor(Monitor):
    """The monitor as it is where the interpreter promises nothing."""

    __slots__ = ()


locked(LockedMonitor, ("send", "receive", "tick", "close", "reset", "_attempt", "_situation"))


@pytest.mark.parametrize("kind", [Monitor, LockedMonitor])
@pytest.mark.parametrize("mode", ["halt", "refuse"])
def test_a_one_shot_action_is_admitted_once(kind, mode, frantic_switching, soak, health):
    contract = compile("!Once.end")
    rounds = 5_000 if soak else 300
    for _ in range(rounds):
        monitor = kind(contract, mode=mode)
        verdicts = all_at_once(lambda _, m=monitor: m.send("Once"))
        counts = Counter(type(v) for v in verdicts)
        assert counts[Ok] == 1, verdicts
        assert counts[Ok] + counts[Violation] + counts[Blocked] == THREADS, verdicts
        assert monitor.trace == ["!Once"] * THREADS
        positions = sorted(v.position for v in verdicts if isinstance(v, Violation))
        assert len(set(positions)) == len(positions)
    health(f"threads: {rounds:,} one-shot actions raced by {THREADS} threads ({kind.__name__}, {mode})")


@pytest.mark.parametrize("tracing", [False, True])
def test_the_trace_is_the_history(tracing, frantic_switching):
    """Whatever the threads do, replaying the trace leads to the same state; also while a debugger traces every line."""
    contract = compile("rec X.!{a.?{b.X, c.X}, d.X, stop.end}")
    monitor = Monitor(contract, mode="refuse")
    if tracing:
        threading.settrace(lambda *_: lambda *_: None)
    try:
        results = all_at_once(lambda n: [getattr(monitor, s)(label) for _ in range(150) for s, label in MOVES[n % 4 :]])
    finally:
        threading.settrace(None)
    assert all(isinstance(result, list) for result in results), results
    accepted = sum(isinstance(v, Ok) for result in results for v in result)
    replayed = Monitor(contract, mode="refuse")
    again = [replayed.send(w[1:]) if w[0] == "!" else replayed.receive(w[1:]) for w in monitor.trace]
    assert len(monitor.trace) == sum(len(result) for result in results)
    assert sum(isinstance(v, Ok) for v in again) == accepted
    assert replayed.current_state == monitor.current_state


MOVES = [("send", "a"), ("receive", "b"), ("send", "d"), ("receive", "c"), ("send", "a")]


def test_readers_see_whole_sessions(frantic_switching):
    monitor = Monitor(compile("rec X.!a.?b.X"), mode="refuse")

    def work(number):
        for _ in range(200):
            if number % 2:
                monitor.send("a"), monitor.receive("b")
            else:
                snapshot = monitor.snapshot()
                assert Monitor.restore(monitor.contract, snapshot).current_state in {0, 1}
                monitor.allowed(), monitor.status, monitor.trace, monitor.peek_send("a"), repr(monitor)
        return "done"

    assert all_at_once(work) == ["done"] * THREADS


def test_an_interrupt_at_any_point_leaves_a_working_monitor(soak, health):
    """A timer raises KeyboardInterrupt all over the place; trace and state must agree and the session go on."""
    contract = compile("rec X.!a.?{b.X, c.X}")
    monitor = Monitor(contract, mode="refuse")
    wanted, interrupts = (20_000 if soak else 1_000), 0

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        while interrupts < wanted:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00002 + (interrupts % 50) * 0.000002)
                while True:
                    monitor.send("a")
                    monitor.receive("b")
                    monitor.send("nonsense")
                    monitor.receive("c")
            except KeyboardInterrupt:
                interrupts += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            if interrupts % 100 == 0:
                replayed = Monitor(contract, mode="refuse")
                for word in monitor.trace:
                    replayed.send(word[1:]) if word[0] == "!" else replayed.receive(word[1:])
                assert replayed.current_state == monitor.current_state
                monitor.reset()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    health(f"interrupts: {interrupts:,} KeyboardInterrupts while stepping, state and trace agreed each time")
