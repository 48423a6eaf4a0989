"""What an event costs where there are many instances, and where there are deadlines.

A session is filled with live instances off the clock, a hundred or a hundred thousand. Rounds are 2,000 events on keys
that are drawn at random, the same for both, and leave every instance where it was, so that the session can go on from
round to round. Before the clock starts, all events of a round have to be accepted, the instances have to be there and
what the contract forbids has to be refused. Time goes on from event to event, so every deadline that is kept is one
more entry in the queue of what is due.

Protocols with deadlines and without slices have no instances; beside them stands the empty method.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from time import perf_counter_ns
from typing import TYPE_CHECKING

import accord
from bench.contestants import FLOOR, Nothing
from bench.measure import Entry, own_copy, race
from bench.scripts import EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measure import Timing

__all__ = ["LIVE", "SliceCosts", "measure_slices"]

LIVE = (100, 100_000)

_ROUNDS = 30
_WARM_UP = 5
_TICK = 1e-6


@dataclass(frozen=True, slots=True)
class _Case:
    """A contract, the word that makes an instance, the words of a visit, and what is refused for a new key."""

    text: str
    first: str
    visit: tuple[str, ...]
    wrong: str


_CALLED = 'rule "q" { each id: before Result require Call }'

_SLICED = {
    "sliced rule": _Case('rule "r" { each id: before Edit require Read }', "!Read", ("!Edit",), "!Edit"),
    "sliced rule, owing": _Case(
        f'rule "r" {{ each id: after each Call require Result }}\n{_CALLED}',
        "!Call",
        ("?Result", "!Call"),
        "?Result",
    ),
    "sliced rule, deadlines": _Case(
        f'rule "r" {{ each id: within 1000s after Call require Result }}\n{_CALLED}',
        "!Call",
        ("?Result", "!Call"),
        "?Result",
    ),
    "sliced protocol": _Case("protocol P = each id: !open.rec L.{!work.L, ?close.end}", "!open", ("!work",), "!work"),
    "sliced protocol, deadlines": _Case(
        "protocol P = each id: !open.rec L.!work within 1000s else end.L", "!open", ("!work",), "!work"
    ),
}

_TIMED = {
    "deadline": ("rec L.!work within 5s else end.L", ("!work",)),
    "deadlines in four parts": (
        f"!go.({' | '.join(f'rec L.!work{n} within 5s else end.L' for n in range(4))})",
        tuple(f"!work{n}" for n in range(4)),
    ),
    "rule with a deadline": ('rule "r" { within 5s after Call require Result }', ("!Call", "?Result")),
}


@dataclass(frozen=True, slots=True)
class SliceCosts:
    """The time of an event by how many instances are live, and without instances."""

    sliced: dict[str, dict[int, Timing]]
    timed: dict[str, Timing]

    def growth(self, case: str) -> float:
        """How many times as much an event costs with the most instances as with the fewest."""
        times = self.sliced[case]
        return times[LIVE[-1]].best / times[LIVE[0]].best

    def times_floor(self, case: str) -> float:
        """How many empty method calls an event costs."""
        return self.timed[case].best / self.timed[FLOOR].best


_Told = list[tuple["Callable[..., object]", str, dict[str, object], float]]


def _through(told: _Told) -> int:
    start = perf_counter_ns()
    for call, label, payload, at in told:
        call(label, payload, at=at)
    return perf_counter_ns() - start


def _through_empty(told: _Told) -> int:
    start = perf_counter_ns()
    for call, _label, _payload, _at in told:
        call()
    return perf_counter_ns() - start


class _Running:
    """A session that is under way, and its clock."""

    def __init__(self, text: str) -> None:
        self.monitor = accord.Monitor(accord.compile(text), mode="refuse", at=0)
        self.now = 0.0

    def told(
        self, word: str, payload: dict[str, object]
    ) -> tuple[Callable[..., object], str, dict[str, object], float]:
        """An event as the loop takes it, a moment later than the last."""
        self.now += _TICK
        return self.monitor.send if word[0] == "!" else self.monitor.receive, word[1:], payload, self.now

    def tell(self, word: str, payload: dict[str, object]) -> object:
        """The answer to an event off the clock."""
        call, label, carried, at = self.told(word, payload)
        return call(label, carried, at=at)

    def must(self, word: str, payload: dict[str, object], kind: type = accord.Ok) -> None:
        """Tell it off the clock; it has to be answered like that."""
        verdict = self.tell(word, payload)
        if not isinstance(verdict, kind):
            raise RuntimeError(f"{verdict!r} to {word} with {payload}")  # noqa: TRY004 - a benchmark that is wrong


def _sliced_entry(case: _Case, live: int) -> Entry:
    running, loop, dice = _Running(case.text), own_copy(_through), Random(0)
    for number in range(live):
        running.must(case.first, {"id": f"key {number}"})
    running.must(case.wrong, {"id": "another"}, accord.Violation)
    keys: list[dict[str, object]] = [{"id": f"key {dice.randrange(live)}"} for _ in range(EVENTS // len(case.visit))]
    for key in keys:
        for word in case.visit:
            running.must(word, key)

    def run() -> float:
        told = [running.told(word, key) for key in keys for word in case.visit]
        return loop(told) / 1e9 / len(told)

    return Entry(run)


def _timed_entry(text: str, words: tuple[str, ...]) -> Entry:
    running, loop = _Running(text), own_copy(_through)
    if text.startswith("!go"):
        running.must("!go", {})
    for word in words:
        running.must(word, {})

    def run() -> float:
        told = [running.told(word, {}) for _ in range(EVENTS // len(words)) for word in words]
        return loop(told) / 1e9 / len(told)

    return Entry(run)


def _empty() -> Entry:
    nothing, loop = Nothing().nothing, own_copy(_through_empty)
    told: _Told = [(nothing, "", {}, 0.0)] * EVENTS
    return Entry(lambda: loop(told) / 1e9 / EVENTS)


def measure_slices() -> SliceCosts:
    """The time of one event, with few and with many instances, and under deadlines."""
    sliced: dict[str, dict[int, Timing]] = {}
    for name, case in _SLICED.items():
        times = race({str(live): _sliced_entry(case, live) for live in LIVE}, rounds=_ROUNDS, warm_up=_WARM_UP)
        sliced[name] = {live: times[str(live)] for live in LIVE}
    entries = {name: _timed_entry(*case) for name, case in _TIMED.items()}
    return SliceCosts(sliced, race({**entries, FLOOR: _empty()}, rounds=_ROUNDS, warm_up=_WARM_UP))
