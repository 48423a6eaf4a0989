"""What protocols between roles cost: to project them, and to watch a session of theirs.

Projected is a protocol of eight roles, from text to the local protocols of all of them as printed text, everything
included: parsing, checks, projection, proof that the roles can follow it, writing. In each round of its steps one role
decides, the others are told, or take no part and learn of it later; every fifth round is a retry loop between two of
them. It is measured at growing numbers of steps, each run on fresh text, so that nothing is remembered.

Watched is a session of three roles that send around in a ring, 2,000 messages a round, in one race with the empty
method, as for the steps of a monitor. All joints have been met before the clock starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING

import accord
from accord.choreography import compile_choreography
from accord.language import print_protocol
from bench.contestants import FLOOR
from bench.loops import empty_row
from bench.measure import Entry, Timing, own_copy, race
from bench.scripts import EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OBSERVED", "PROMISED", "ROLES", "SIZES", "ChoreographyCosts", "measure_choreographies"]

ROLES = 8
PROMISED = 200
SIZES = (50, 100, PROMISED, 400, 800)
OBSERVED, OBSERVED_RECORD = "observe", "observe, with a record"

_RUNS = 3
_ROUNDS = 1_000
_WARM_UP = 20
_RING = "protocol Ring {{ rec X {{ A -> B: {0}; B -> C: {0}; C -> A: {0}; continue X }} }}"
_RECORD = "record Move { by: Int, to: String }\n"


@dataclass(frozen=True, slots=True)
class ChoreographyCosts:
    """Seconds to project, by the number of steps, and the time of an observed message."""

    projecting: dict[int, float]
    times: dict[str, Timing]

    def times_floor(self, case: str) -> float:
        """How many empty method calls an observed message costs."""
        return self.times[case].best / self.times[FLOOR].best

    @property
    def growth(self) -> float:
        """How much longer twice the steps of the promise take."""
        return self.projecting[2 * PROMISED] / self.projecting[PROMISED]


def measure_choreographies() -> ChoreographyCosts:
    """Projection at growing sizes, and an observed message."""
    projecting = {steps: min(_project(steps, run) for run in range(_RUNS)) for steps in SIZES}
    entries = {OBSERVED: _watch(_RING.format("x"), "x", None)}
    entries[OBSERVED_RECORD] = _watch(_RECORD + _RING.format("Move"), "Move", {"by": 3, "to": "left"})
    entries[FLOOR] = empty_row(["x"] * EVENTS)[FLOOR]
    return ChoreographyCosts(projecting, race(entries, rounds=_ROUNDS, warm_up=_WARM_UP))


def protocol_of(steps: int, run: int = 0) -> str:
    """A protocol of that many steps between eight roles that can follow it."""
    roles = [f"R{number}" for number in range(ROLES)]
    lines = [f"// {run}", "protocol Big {"]
    count = number = 0
    while count < steps:
        a, b, c, d = (roles[(number + shift) % ROLES] for shift in (0, 1, 3, 5))
        if number % 5 == 4:
            lines.append(f"rec L{number} {{ {a} -> {b}: try{number}")
            lines.append(f"choice at {b} {{ {b} -> {a}: again; continue L{number} }} or {{ {b} -> {a}: fine }} }}")
            count += 3
        elif number % 2:
            lines.append(f"choice at {a} {{ {a} -> {b}: yes{number}; {a} -> {c}: yes; {c} -> {d}: go }}")
            lines.append(f"or {{ {a} -> {b}: no{number}; {a} -> {c}: no; {c} -> {d}: stop }}")
            count += 6
        else:
            lines.append(f"{a} -> {b}: tell{number}; {b} -> {c}: pass; {c} -> {d}: pass")
            count += 3
        number += 1
    return "\n".join([*lines, "}"])


def _project(steps: int, run: int) -> float:
    text = protocol_of(steps, run)
    start = perf_counter()
    choreography = compile_choreography(accord.compile(text))
    written = [print_protocol(choreography.project(role)) for role in choreography.roles]
    seconds = perf_counter() - start
    if len(written) != ROLES or min(map(len, written)) < steps:
        raise RuntimeError(f"the protocol of {steps} steps is not projected to {ROLES} roles")
    return seconds


def _watch(text: str, label: str, payload: dict[str, object] | None) -> Entry:
    contract = accord.compile(text)
    ring = [("A", "B"), ("B", "C"), ("C", "A")]
    messages = [ring[number % 3] for number in range(EVENTS)]
    session = accord.Session(contract)
    if {session.observe(*ends, label, payload) for ends in messages} != {accord.Ok()}:
        raise RuntimeError("the ring is not accepted")
    loop = own_copy(_observe)
    return Entry(lambda: loop(accord.Session(contract).observe, messages, label, payload) / 1e9 / EVENTS)


def _observe(
    observe: Callable[..., object], messages: list[tuple[str, str]], label: str, payload: dict[str, object] | None
) -> int:
    """Nanoseconds to observe every message."""
    start = perf_counter_ns()
    for sender, receiver in messages:
        observe(sender, receiver, label, payload)
    return perf_counter_ns() - start
