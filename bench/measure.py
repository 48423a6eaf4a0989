"""The measuring method, the same for everyone.

- Contestants take turns, in a new order each round, so that a busy moment of the machine hits all of them alike.
- Rounds are short and many. The best round is the figure, as noise only ever adds time; the median stands beside it.
- The first rounds are thrown away: they fill caches and let the interpreter specialise its byte code.
- The garbage collector stays on, as it is in the programs we are used in.
- Each contestant runs its own copy of the calling loop. CPython specialises a call site for the function it sees there,
  so a shared loop would charge everyone for everyone else.
- The cost of the loop is subtracted for nobody.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Entry", "Timing", "own_copy", "race"]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds for one operation, over many rounds."""

    best: float
    median: float
    rounds: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A contestant: `run` prepares off the clock, does one round and returns the seconds one operation took.

    `every` lets a slow contestant sit out: it runs in every `every`-th round.
    """

    run: Callable[[], float]
    every: int = 1


def race(entries: Mapping[str, Entry], *, rounds: int, warm_up: int) -> dict[str, Timing]:
    """Let all of them run in turns."""
    order = list(entries)
    shuffle = random.Random(0).shuffle
    seconds: dict[str, list[float]] = {name: [] for name in order}
    for _ in range(warm_up):
        for entry in entries.values():
            entry.run()
    for number in range(rounds):
        shuffle(order)
        for name in order:
            entry = entries[name]
            if number % entry.every == 0:
                seconds[name].append(entry.run())
    return {name: Timing(min(taken), statistics.median(taken), len(taken)) for name, taken in seconds.items()}


def own_copy(function: Callable[P, R]) -> Callable[P, R]:
    """The same function with byte code of its own."""
    original = cast("FunctionType", function)
    return cast("Callable[P, R]", FunctionType(original.__code__.replace(), original.__globals__))
