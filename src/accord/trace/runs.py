"""What validators remember of a run, and how they report.

Each validator keeps what is open in a run in a slot of its own and forgets what is closed, so memory grows with what is
open at the same time and with the number of runs, not with their length. Of what was closed only the last
`REMEMBERED` ids are known; they serve to tell "after its end" from "before its start".
"""

from __future__ import annotations

from heapq import heappush, heapreplace
from typing import TYPE_CHECKING, Any

from accord.trace.violations import Violation

if TYPE_CHECKING:
    from accord.trace.events import RunId, RunKey
    from accord.trace.results import Calls

__all__ = ["REMEMBERED", "Report", "Run", "remember", "trim"]

REMEMBERED = 1000

OpenSpan = list[int]
"""Position, number and, for a stream, the index of the next chunk."""


class Run:
    """One run. `begun` is its first event: position, number and kind."""

    __slots__ = (
        "begun",
        "calls",
        "ended_streams",
        "example_id",
        "generations",
        "order",
        "order_at",
        "own",
        "protocol",
        "recent",
        "run_id",
        "streams",
    )

    def __init__(self, run_id: RunId, example_id: RunId, begun: tuple[int, int, str | None] = (0, 0, None)) -> None:
        self.run_id = run_id
        self.example_id = example_id
        self.begun = begun
        self.streams: dict[Any, OpenSpan] = {}
        self.ended_streams: dict[Any, None] = {}
        self.generations: dict[Any, OpenSpan] = {}
        self.calls: Calls | None = None
        self.order: Any = None
        self.order_at = (0, 0, "")
        self.recent: list[str] = []
        self.protocol: Any = None
        self.own: Any = None


class Report:
    """Violations as they are found, each with the position of its event.

    With `most`, only so many are kept, those of the earliest events. Of the others it is known in which run they are,
    their codes and the numbers of their events.
    """

    __slots__ = ("_found", "_most", "count", "places")

    def __init__(self, most: int | None = None) -> None:
        # The position of the event and the number of the violation, both negative: the latest is on top of the heap.
        self._found: list[tuple[int, int, Violation]] = []
        self._most = most
        self.count = 0
        self.places: dict[RunKey, dict[str, list[int]]] = {}
        """By run and code the numbers of events, if not all violations are kept."""

    def add(
        self,
        run: Run,
        position: int,
        code: str,
        seq: int,
        kind: str | None,
        detail: str,
        **context: Any,  # noqa: ANN401
    ) -> None:
        """A violation."""
        self.put(position, Violation(code, seq, detail, kind, context, run.run_id, run.example_id))

    def put(self, position: int, violation: Violation) -> None:
        """A violation that is there already."""
        self.count += 1
        found = self._found
        if self._most is not None:
            run = violation.run_id, violation.example_id
            self.places.setdefault(run, {}).setdefault(violation.code, []).append(violation.event_seq)
            if len(found) >= self._most and (not found or -position <= found[0][0]):
                return
        entry = -position, -self.count, violation
        if self._most is None:
            found.append(entry)
        elif len(found) < self._most:
            heappush(found, entry)
        else:
            heapreplace(found, entry)

    @property
    def first(self) -> int:
        """The position of the first event that a violation is about."""
        return -max(self._found)[0]

    def in_order(self) -> list[Violation]:
        """What is kept, in the order of the events it is about."""
        return [violation for _, _, violation in sorted(self._found, reverse=True)]

    def take(self) -> list[Violation]:
        """What was found, in the order of finding; it is then forgotten."""
        taken = [violation for _, _, violation in sorted(self._found, key=_number)]
        self._found.clear()
        self.count = 0
        return taken


def _number(entry: tuple[int, int, Violation]) -> int:
    return -entry[1]


def remember(known: dict[Any, None], key: Any) -> None:  # noqa: ANN401 - an id
    """Keep an id among the last ones."""
    known.pop(key, None)
    known[key] = None
    if len(known) > 2 * REMEMBERED:
        trim(known)


def trim(known: dict[Any, None]) -> None:
    """Forget all ids but the last ones."""
    for old in list(known)[:-REMEMBERED]:
        del known[old]
