"""The calling loops: everyone is called in one of these, through bound methods, and each takes a copy of its own."""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING, TypeVar

from bench.contestants import FLOOR, ONE_ARGUMENT, Nothing
from bench.measure import Entry, own_copy

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

__all__ = ["empty_row", "in_a_row", "in_a_row_empty", "in_a_row_locked", "in_pairs", "in_pairs_empty", "row"]


T = TypeVar("T")


def in_a_row(call: Callable[[T], object], labels: list[T]) -> int:
    """Nanoseconds to call it with every label, or whatever it takes."""
    start = perf_counter_ns()
    for label in labels:
        call(label)
    return perf_counter_ns() - start


def in_a_row_empty(call: Callable[[], object], labels: list[str]) -> int:
    """As `in_a_row`, called with nothing."""
    start = perf_counter_ns()
    for _label in labels:
        call()
    return perf_counter_ns() - start


def in_a_row_locked(lock: threading.Lock, labels: list[str]) -> int:
    """As `in_a_row`, taking a lock instead of calling anything."""
    start = perf_counter_ns()
    for _label in labels:
        with lock:
            pass
    return perf_counter_ns() - start


def in_pairs(send: Callable[[str], object], receive: Callable[[str], object], pairs: list[tuple[str, str]]) -> int:
    """Nanoseconds to send and receive in turns."""
    start = perf_counter_ns()
    for sent, received in pairs:
        send(sent)
        receive(received)
    return perf_counter_ns() - start


def in_pairs_empty(send: Callable[[], object], receive: Callable[[], object], pairs: list[tuple[str, str]]) -> int:
    """As `in_pairs`, called with nothing."""
    start = perf_counter_ns()
    for _sent, _received in pairs:
        send()
        receive()
    return perf_counter_ns() - start


def row(fresh: Callable[[], Callable[[str], object]], labels: list[str]) -> Entry:
    """Whoever `fresh` gives is called with every label."""
    loop = own_copy(in_a_row)
    return Entry(lambda: loop(fresh(), labels) / 1e9 / len(labels))


def empty_row(labels: list[str]) -> dict[str, Entry]:
    """The methods that do nothing, in the same loop."""
    nothing, bare = Nothing(), own_copy(in_a_row_empty)
    return {
        FLOOR: Entry(lambda: bare(nothing.nothing, labels) / 1e9 / len(labels)),
        ONE_ARGUMENT: row(lambda: nothing.one, labels),
    }
