"""What compiling costs, and how it grows.

A row of distinct actions shows growth with length; eighteen two-way choices in a row show growth with branching: the
protocol goes on the same way whatever was chosen. accord is asked for a contract, the peer for a monitor, its only way
to compile one.
"""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import accord
from bench.children import ChildError, in_child
from bench.contestants import PEER, load_peer
from bench.measure import Entry, race
from bench.scripts import row_of_actions

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measure import Timing

__all__ = ["SIZES", "Compiling", "compile_choices", "largest_peer_contract", "measure_compiling"]

SIZES = (100, 900, 1_000, 10_000, 40_000)
"""Actions in a row; 900 is near the most the peer compiles."""

_ROUNDS = 8
_CHOICES = "?{A,B}." * 18 + "end"
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Compiling:
    """Times by contestant and size; a text where there is no time, saying why."""

    rows: dict[str, dict[int, Timing | str]]
    exponents: dict[str, float]
    largest_peer_contract: int | str | None
    choices: dict[str, dict[str, float] | str]


def measure_compiling(peer: Any) -> Compiling:  # noqa: ANN401 - it has no types
    """Time both on rows of actions and on choices."""
    texts = {size: row_of_actions(size) for size in SIZES}
    compilers: dict[str, Callable[[str], object]] = {"accord": accord.compile}
    if peer is not None:
        compilers[PEER] = peer.Monitor
    rows: dict[str, dict[int, Timing | str]] = {name: {} for name in compilers}
    entries: dict[str, Entry] = {}
    places: dict[str, tuple[str, int]] = {}
    for name, compiler in compilers.items():
        for size, text in texts.items():
            try:
                compiler(text)
            except RecursionError:
                rows[name][size] = "RecursionError"
                continue
            key = f"{name} {size}"
            places[key] = (name, size)
            entries[key] = Entry(_clocked(compiler, text))
    for key, timing in race(entries, rounds=_ROUNDS, warm_up=0).items():
        name, size = places[key]
        rows[name][size] = timing
    exponents = {
        name: _growth({size: t.best for size, t in of.items() if not isinstance(t, str)}) for name, of in rows.items()
    }
    choices = {name: _in_child("compile_choices", name) for name in compilers}
    largest = _in_child("largest_peer_contract") if peer is not None else None
    return Compiling(rows, exponents, largest, choices)


def _in_child(function: str, *arguments: str) -> Any:  # noqa: ANN401
    """What it returns, or a text that says why there is nothing."""
    try:
        return in_child(f"bench.compiling:{function}", *arguments, timeout=_PATIENCE)
    except ChildError as reason:
        return str(reason)


def _clocked(compiler: Callable[[str], object], text: str) -> Callable[[], float]:
    def run() -> float:
        start = perf_counter()
        compiler(text)
        return perf_counter() - start

    return run


def _growth(times: dict[int, float]) -> float:
    """The exponent k of time = c · size^k that fits best; 1 is linear."""
    xs, ys = [math.log(size) for size in times], [math.log(time) for time in times.values()]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / sum((x - x_mean) ** 2 for x in xs)


# -- run in a process of their own -------------------------------------------------------------------------------------


def compile_choices(name: str) -> dict[str, float]:
    """States, seconds and bytes at the peak; compiled once for the time and once more for the memory."""
    compiler = accord.compile if name == "accord" else load_peer().Monitor
    start = perf_counter()
    compiled = compiler(_CHOICES)
    seconds = perf_counter() - start
    states = compiled.machine().states if name == "accord" else vars(compiled)["_automaton"].transitions
    count = len(states)
    del compiled, states
    tracemalloc.start()
    compiler(_CHOICES)
    return {"states": count, "seconds": seconds, "bytes": tracemalloc.get_traced_memory()[1]}


def largest_peer_contract() -> int:
    """The most actions in a row that the peer compiles, called from nearly the bottom of the stack."""
    monitor = load_peer().Monitor
    works, fails = 100, 2_000
    while fails - works > 1:
        middle = (works + fails) // 2
        text = row_of_actions(middle)
        try:
            monitor(text)
        except RecursionError:
            fails = middle
        else:
            works = middle
    return works
