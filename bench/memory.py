"""What a session holds in memory: a fresh monitor, and each event it keeps.

Counted by `tracemalloc`: every byte that Python asks for, headers included. accord and the dict machine share a
contract between sessions; the peer has none to share, so each of its monitors holds one.
"""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import accord
from bench.contestants import PEER, DictMachine
from bench.scripts import LOOP

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.contestants import Session

__all__ = ["Memory", "measure_memory"]

_MONITORS = 20_000
_PEER_MONITORS = 2_000  # it parses its contract each time, and counting makes that slower still
_EVENTS = 100_000


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes."""

    fresh_monitor: float
    kept_event: float


def measure_memory(peer: Any) -> dict[str, Memory]:  # noqa: ANN401 - it has no types
    """For each contestant, on the loop protocol."""
    contract = accord.compile(LOOP.text)
    makers: dict[str, tuple[Callable[[], Session], int]] = {
        "accord": (lambda: accord.Monitor(contract), _MONITORS),
        "dict machine": (lambda: DictMachine(LOOP.sends, LOOP.receives), _MONITORS),
    }
    if peer is not None:
        makers[PEER] = (lambda: peer.Monitor(LOOP.text), _PEER_MONITORS)
    return {name: Memory(_each(make, count), _each_event(make())) for name, (make, count) in makers.items()}


def _each(make: Callable[[], object], count: int) -> float:
    make()
    kept: list[object] = [None] * count
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(count):
            kept[number] = make()
        return (tracemalloc.get_traced_memory()[0] - before) / count
    finally:
        tracemalloc.stop()


def _each_event(session: Session) -> float:
    # The first trip fills what is shared between sessions, so it is not counted.
    session.send("Ping")
    session.receive("Pong")
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(_EVENTS // 2):
            session.send("Ping")
            session.receive("Pong")
        return (tracemalloc.get_traced_memory()[0] - before) / _EVENTS
    finally:
        tracemalloc.stop()
