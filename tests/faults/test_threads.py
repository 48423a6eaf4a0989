"""One monitor, many threads, interrupts at any point: nothing is admitted twice, nothing is lost, nothing wedges."""

from __future__ import annotations

import dis
import signal
import sys
import threading
from collections import Counter

import pytest

from accord import Blocked, Monitor, Ok, Session, Violation, compile
from accord.monitor.atomicity import locked
from accord.monitor.careful import CarefulMonitor
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


SWITCHING = {"CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD", "RESUME", "SEND", "YIELD_VALUE", "FOR_ITER", "PRECALL"}
ALLOCATING = {"BUILD_LIST", "BUILD_TUPLE", "BUILD_MAP", "BUILD_SET", "BUILD_STRING", "BINARY_SLICE", "MAKE_FUNCTION"}


def all_lines(function) -> dict[int, list[dis.Instruction]]:
    """The instructions of each source line."""
    lines: dict[int, list[dis.Instruction]] = {}
    for instruction in dis.get_instructions(function):
        if instruction.positions and instruction.positions.lineno:
            lines.setdefault(instruction.positions.lineno, []).append(instruction)
    return lines


def critical_lines(function) -> list[list[dis.Instruction]]:
    """The instructions of each source line that writes `_at`."""
    lines = all_lines(function).values()
    return [line for line in lines if any(i.opname == "STORE_ATTR" and i.argval == "_at" for i in line)]


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="reads CPython byte code")
@pytest.mark.parametrize(
    ("method", "places"),
    [
        (Monitor.send, 1),
        (Monitor.receive, 1),
        (Monitor._attempt, 1),
        (Monitor.tick, 1),
        (Monitor.close, 1),
        (Monitor.reset, 1),
        (CarefulMonitor.send, 1),
        (CarefulMonitor.receive, 1),
        (Session.observe, 1),
        (Session._attempt, 1),
        (Session.tick, 1),
        (Session.close, 1),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_state_is_read_and_written_without_a_point_where_threads_switch(method, places):
    lines = critical_lines(method)
    assert len(lines) == places, "the state is written there and nowhere else"
    for line in lines:
        opcodes = {instruction.opname for instruction in line}
        assert not opcodes & SWITCHING, opcodes
        assert not opcodes & ALLOCATING, opcodes
        reads = [i for i in line if i.opname == "LOAD_ATTR" and i.argval == "_at"]
        assert reads or method is Monitor.reset, "what is written depends on what is read in the same stretch"


def test_all_parts_of_a_situation_are_read_at_one_moment():
    (line,) = [
        line
        for line in all_lines(Monitor._situation).values()
        if any(i.opname == "LOAD_ATTR" and i.argval == "_at" for i in line)
    ]
    opcodes = {instruction.opname for instruction in line}
    assert {i.argval for i in line if i.opname == "LOAD_ATTR"} == {"_at", "_held"}
    assert not opcodes & SWITCHING, opcodes
