"""What importing adds to the start of a program: fresh processes, wall time, the best of fifteen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.children import start_to_end
from bench.measure import Entry, race

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.measure import Timing

__all__ = ["BARE", "measure_importing"]

BARE = "pass"
_ROUNDS = 15


def measure_importing(peer: Any) -> dict[str, Timing]:  # noqa: ANN401 - it has no types
    """The time from start to end of each program; `BARE` is the interpreter alone."""
    programs = [BARE, "import accord", "from accord import Monitor"]
    if peer is not None:
        programs += ["import llmcontract", "from llmcontract import Monitor"]
    entries = {program: Entry(_starter(program)) for program in programs}
    return race(entries, rounds=_ROUNDS, warm_up=1)


def _starter(program: str) -> Callable[[], float]:
    return lambda: start_to_end(program)
