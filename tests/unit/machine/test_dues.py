"""The queue of what is due: it gives what a plain list would give, and looks at no more than it must."""

from __future__ import annotations

from random import Random

import pytest

from accord import Monitor, compile
from accord.machine.dues import NOTHING_DUE


@pytest.mark.parametrize("seed", range(20))
def test_the_queue_agrees_with_a_plain_mapping(seed):
    random_ = Random(seed)
    queue, current = NOTHING_DUE, {}

    def is_current(due, key):
        return current.get(key) == due

    for _ in range(2_000):
        key = random_.randrange(40)
        if random_.random() < 0.6:
            current[key] = random_.randrange(30)
            queue = queue.with_due(current[key], key)
        else:
            current.pop(key, None)
        before = queue
        queue = queue.tidied(len(current), is_current)
        assert queue.size <= 2 * len(current) + 64
        first, shorter = queue.first(is_current)
        assert (first and first[0]) == min(current.values(), default=None)
        assert first is None or is_current(*first)
        queue = shorter if random_.random() < 0.5 else queue
        assert before.first(is_current)[0] is None or current, "what was there before is as it was"


class Counting:
    """Counts how many entries of a queue are looked at."""

    def __init__(self, current):
        self.current, self.looked = current, 0

    def __call__(self, due, key):
        self.looked += 1
        return self.current.get(key) == due


def test_stale_entries_are_left_out_once():
    queue = NOTHING_DUE
    for number in range(1_000):
        queue = queue.with_due(number, number)
    counting = Counting({number: number for number in range(600, 1_000)})
    first, queue = queue.first(counting)
    assert (first, queue.size, counting.looked) == ((600, 600), 400, 601)
    first, queue = queue.first(counting)
    assert (first, queue.size, counting.looked) == ((600, 600), 400, 602)


def test_tidying_looks_at_the_queue_and_at_nothing_else():
    queue = NOTHING_DUE
    for number in range(200):
        queue = queue.with_due(5, number)
    counting = Counting({3: 5, **dict.fromkeys(range(1_000, 2_000), 9)})
    assert queue.tidied(1, counting).size == 1
    assert counting.looked == 200


def test_an_instance_that_came_back_to_the_same_time_is_kept_once():
    queue = NOTHING_DUE
    for _ in range(100):
        queue = queue.with_due(5, "k")
    assert queue.tidied(1, lambda *_: True).size == 1


# What a session does with it.

RULE = compile('rule "w" { each k: within 1000s after A require B }')
PROTOCOL = compile("protocol P = each k: !A.?B within 1000s else !C")


def test_a_session_does_not_keep_what_was_settled_first():
    """The earliest deadlines are settled and later ones stay open: the settled ones are not met again and again."""
    monitor = Monitor(RULE, mode="refuse", at=0)
    for number in range(1_000):
        monitor.send("A", {"k": number}, at=number / 1_000)
    for number in range(400):
        monitor.send("B", {"k": number}, at=1)
    monitor.tick(1)
    (held,) = monitor._held.slices
    assert held.timed == 600
    assert held.dues.size <= 2 * 600 + 64
    monitor.tick(1000.41)
    (held,) = monitor._held.slices
    assert (held.timed, held.dues.size) == (590, 590)


def test_finished_instances_of_a_protocol_are_not_in_the_queue():
    monitor = Monitor(PROTOCOL, mode="refuse", at=0)
    for number in range(1_000):
        monitor.send("A", {"k": number}, at=0)
        monitor.receive("B", {"k": number}, at=0)
        assert monitor._held.course.dues.size <= 2 + 64
    assert (len(monitor._held.course.instances), monitor._held.course.timed) == (1_000, 0)
