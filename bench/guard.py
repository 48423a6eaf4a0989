"""What a guard adds to the call of a tool.

Every tool does nothing, so what is measured beside the bare function is the guard: the call is judged and reserved, the
function runs, its result is judged and settled. A case is called 500 times in a round, in a loop of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import accord
from bench.contestants import FLOOR, Nothing
from bench.loops import in_a_row_empty
from bench.measure import Entry, own_copy, race

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measure import Timing

__all__ = ["BARE", "GUARDED", "GuardCosts", "measure_guard"]

BARE = "bare function"
GUARDED = "guarded, in memory"

_CALLS = [""] * 500
_ROUNDS = 400
_WARM_UP = 5
_SLOW = 8
_CONTRACT = "rec L.{!tool.?tool.L}"
_DATA = "rec L.{!tool(amount <= 10).?tool.L}"


@dataclass(frozen=True, slots=True)
class GuardCosts:
    """Seconds for one call."""

    times: dict[str, Timing]

    def added(self, case: str) -> float:
        """How many empty method calls a case takes more than the bare function."""
        of = self.times
        return (of[case].best - of[BARE].best) / of[FLOOR].best


def _tool() -> None:
    """Nothing."""


def _tool_with_amount(amount: int = 3) -> None:
    """Nothing."""


def _reserving(guard: accord.Guard) -> Callable[[], object]:
    """What a framework does that runs tools itself."""
    calls = [accord.ToolCall("tool", {"amount": 3})]

    def call() -> None:
        (decision,) = guard.reserve(calls)
        guard.start(decision.ticket or "")
        verdict = guard.settle(decision.ticket or "")
        if verdict != accord.Ok():
            raise RuntimeError(f"the guard does not let the call through: {verdict}")

    return call


def _entry(call: Callable[[], object], every: int) -> Entry:
    call()
    loop = own_copy(in_a_row_empty)
    return Entry(lambda: loop(call, _CALLS) / 1e9 / len(_CALLS), every)


def measure_guard() -> GuardCosts:
    """Measure every case."""
    Guard = accord.Guard  # noqa: N806 - it is a class
    in_store = Guard(_CONTRACT, store=accord.MemoryStore(), key="s")
    entries = {
        FLOOR: _entry(Nothing().nothing, 1),
        BARE: _entry(_tool, 1),
        GUARDED: _entry(Guard(_CONTRACT).tool(name="tool")(_tool), 1),
        "guarded, the contract looks at data": _entry(Guard(_DATA).tool(name="tool")(_tool_with_amount), _SLOW),
        "reserved, started and settled": _entry(_reserving(Guard(_CONTRACT)), _SLOW),
        "the same in a MemoryStore, with its ledger": _entry(_reserving(in_store), _SLOW),
    }
    return GuardCosts(race(entries, rounds=_ROUNDS, warm_up=_WARM_UP))
