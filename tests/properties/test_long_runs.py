"""Sessions that go on for very long: what they hold follows what is live, and an event costs what it always cost.

The trace, which grows with every event, is thrown away now and then and left out of account. Cost is told by how many
entries an event looks at, never by the clock; the clock's word is only reported.
"""

from __future__ import annotations

import gc
import tracemalloc
from time import process_time

import pytest

from accord import Monitor, Ok, Violation, compile
from accord.machine import slices

OK = Ok()


@pytest.fixture(name="many")
def _many(soak):
    """How many keys a session meets."""
    return 100_000 if soak else 3_000


def tenths(run, events):
    """Run it ten times, each a tenth of the events; seconds for each tenth."""
    seconds = []
    for tenth in range(10):
        start = process_time()
        run(range(tenth * events // 10, (tenth + 1) * events // 10))
        seconds.append(process_time() - start)
    return seconds


def bytes_held(make):
    """How many bytes are held by what `make` makes, the trace left out."""
    gc.collect()
    tracemalloc.start()
    monitor = make()
    monitor._trace = []
    gc.collect()
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held


@pytest.fixture(name="looks")
def _looks(monkeypatch):
    """Counts how often an entry of a queue is held against its instance."""
    counter = {"looks": 0}
    original = slices._is_due

    def is_due(instances, due, key):
        counter["looks"] += 1
        return original(instances, due, key)

    monkeypatch.setattr(slices, "_is_due", is_due)
    return counter


def test_read_before_edit_over_very_many_files(many, health):
    contract = compile('rule "r" { each path: before Edit require Read }')
    monitor = Monitor(contract, mode="refuse")
    events, refused = many * 10, 0

    def run(numbers):
        nonlocal refused
        for number in numbers:
            path = f"/src/{number % many}.py"
            if number < many:
                assert monitor.send("Read", {"path": path}) == OK
            elif number % 100:
                assert monitor.send("Edit", {"path": path}) == OK
            else:
                refused += isinstance(monitor.send("Edit", {"path": f"{path}~"}), Violation)
        monitor._trace = []

    seconds = tenths(run, events)
    (held,) = monitor._held.slices
    assert len(held.instances) == many
    assert refused == sum(number % 100 == 0 for number in range(many, events))
    assert len({id(node) for node in held.instances.values()}) == 1, "all instances in one state share it"
    growth = seconds[9] / seconds[1]
    health(f"long runs: {events:,} events on {many:,} paths, the last tenth took {growth:.2f} x the second")


def test_memory_follows_the_instances_that_are_there(many):
    contract = compile('rule "r" { each id: after each Call require Result }')

    def session(open_, answered):
        monitor = Monitor(contract, mode="refuse")
        for number in range(open_):
            monitor.send("Call", {"id": number})
        for number in range(answered):
            monitor.send("Call", {"id": f"{number}"})
            assert monitor.receive("Result", {"id": f"{number}"}) == OK
        assert len(monitor._held.slices[0].instances) == open_
        assert monitor._held.slices[0].owing == open_
        return monitor

    session(10, 10)  # what is made once for the contract is there now
    alone, after_many = bytes_held(lambda: session(100, 0)), bytes_held(lambda: session(100, many))
    assert after_many < alone + 50_000, "what was answered is forgotten"
    assert bytes_held(lambda: session(many, 0)) > alone + 20 * many


def test_finished_instances_of_a_protocol_are_kept_and_small(many, health):
    contract = compile("protocol P = each id: ?order(total as t).!pay(amount == t).end")

    def session(orders):
        monitor = Monitor(contract, mode="refuse")
        for number in range(orders):
            payload = {"id": number, "total": f"{'x' * 1_000}{number}", "amount": f"{'x' * 1_000}{number}"}
            assert (monitor.receive("order", payload), monitor.send("pay", payload)) == (OK, OK)
        assert len(monitor._held.course.instances) == orders
        assert monitor.status == "complete"
        return monitor

    session(10)
    each = (bytes_held(lambda: session(many)) - bytes_held(lambda: session(10))) / (many - 10)
    assert each < 1_000, "a finished instance keeps nothing of what it carried"
    monitor = session(50)
    for number in range(50):
        assert isinstance(monitor.receive("order", {"id": number, "total": 1}), Violation)
    health(f"long runs: a finished instance takes {each:.0f} bytes")


def test_very_many_settled_deadlines_leave_a_short_queue(many, looks, health):
    """Those that stay open lie behind or before those that are settled: the queue is as long as what is open."""
    contract = compile('rule "r" { each id: within 1000s after Call require Result }')
    monitor = Monitor(contract, mode="refuse", at=0)
    for number in range(50):
        monitor.send("Call", {"id": f"open {number}"}, at=0)

    def run(numbers):
        for number in numbers:
            at = number / many
            assert monitor.send("Call", {"id": number}, at=at) == OK
            assert monitor.receive("Result", {"id": number}, at=at) == OK
            assert monitor._held.slices[0].dues.size <= 2 * 51 + 64 + 1
        monitor._trace = []

    seconds = tenths(run, many)
    held = monitor._held.slices[0]
    assert (len(held.instances), held.timed, held.owing) == (50, 50, 50)
    assert looks["looks"] < 12 * 2 * many
    assert monitor.next_due() == 1_000
    health(
        f"long runs: {many:,} settled deadlines, {looks['looks'] / many / 2:.1f} entries looked at for each event, "
        f"the last tenth took {seconds[9] / seconds[0]:.2f} x the first"
    )


def test_deadlines_settled_in_the_order_in_which_they_are_due(many, looks):
    """The worst order for a queue: what is settled is always at its head."""
    contract = compile('rule "r" { each id: within 1000s after Call require Result }')
    monitor = Monitor(contract, mode="refuse", at=0)
    for number in range(many):
        monitor.send("Call", {"id": number}, at=number / many)
    looks["looks"] = 0
    for number in range(many):
        assert monitor.receive("Result", {"id": number}, at=1) == OK
    assert looks["looks"] < 10 * many
    assert monitor.next_due() is None


def test_very_many_deadlines_pass_at_once(many):
    contract = compile(
        "protocol P = each id: !Call.?Result within 5s else !GiveUp\n"
        'rule "r" { each id: within 9s after Call require Result or GiveUp }'
    )
    monitor = Monitor(contract, mode="refuse", at=0)
    for number in range(many):
        assert monitor.send("Call", {"id": number}, at=0) == OK
    assert monitor.tick(6) == OK
    assert monitor.allowed() == ["!Call", "!GiveUp"]
    late = monitor.tick(10)
    assert isinstance(late, Violation)
    assert len(late.explain()) < 2_000
    assert monitor.tick(11) == OK
    held = monitor._held
    assert (held.slices[0].timed, len(held.slices[0].instances), held.course.timed) == (0, 0, 0)
    assert len(held.course.instances) == many
