"""What it costs to take up a session again, by the number of events before.

Both start from decoded JSON. accord reads a place in a compiled contract; the peer parses its contract and replays the
trace.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import accord
from bench.contestants import PEER
from bench.measure import Entry, race
from bench.scripts import LOOP

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.contestants import Session
    from bench.measure import Timing

__all__ = ["SIZES", "Restoring", "measure_restoring"]

SIZES = (10, 1_000, 100_000)

_ROUNDS = 300
_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Restoring:
    """The time to restore, and the bytes of what is kept, as compact JSON."""

    time: Timing
    snapshot_bytes: int


def measure_restoring(peer: Any) -> dict[str, dict[int, Restoring]]:  # noqa: ANN401 - it has no types
    """For each contestant and number of events."""
    contract = accord.compile(LOOP.text)
    entries: dict[str, Entry] = {}
    kept: dict[str, tuple[str, int, int]] = {}
    for size in SIZES:
        monitor = accord.Monitor(contract)
        _run(monitor, size)
        entries[f"accord {size}"], stored = _restoring(
            lambda s: accord.Monitor.restore(contract, s), monitor.snapshot()
        )
        kept[f"accord {size}"] = ("accord", size, stored)
        if peer is not None:
            other = peer.Monitor(LOOP.text)
            _run(other, size)
            entries[f"peer {size}"], stored = _restoring(
                lambda s: peer.Monitor.from_dict(LOOP.text, s),
                other.to_dict(),
                at_once=max(1, _AT_ONCE // size),
                every=max(1, size // 1_000),
            )
            kept[f"peer {size}"] = (PEER, size, stored)
    results: dict[str, dict[int, Restoring]] = {}
    for key, timing in race(entries, rounds=_ROUNDS, warm_up=1).items():
        name, size, stored = kept[key]
        results.setdefault(name, {})[size] = Restoring(timing, stored)
    return results


def _run(session: Session, events: int) -> None:
    for _ in range(events // 2):
        session.send("Ping")
        session.receive("Pong")


def _restoring(
    restore: Callable[[dict[str, Any]], object], state: dict[str, Any], *, at_once: int = _AT_ONCE, every: int = 1
) -> tuple[Entry, int]:
    text = json.dumps(state, separators=(",", ":"))
    decoded = json.loads(text)

    def run() -> float:
        start = perf_counter()
        for _ in range(at_once):
            restore(decoded)
        return (perf_counter() - start) / at_once

    return Entry(run, every), len(text.encode())
