"""What validators remember of a run, and how they report.

Each validator keeps what is open in a run in a slot of its own and forgets what is closed, so memory grows with what is
open at the same time and with the number of runs, not with their length. Of what was closed only the last
`REMEMBERED` ids are known; they serve to tell "after its end" from "before its start".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accord.trace.violations import Violation

if TYPE_CHECKING:
    from accord.trace.events import RunId
    from accord.trace.results import Calls

__all__ = ["REMEMBERED", "Report", "Run", "remember", "trim"]

REMEMBERED = 1000

OpenSpan = list[int]
"""Position, number and, for a stream, the index of the next chunk."""


class Run:
    """One run."""

    __slots__ = (
        "calls",
        "ended_streams",
        "example_id",
        "generations",
        "order",
        "order_at",
        "protocol",
        "recent",
        "run_id",
        "streams",
    )

    def __init__(self, run_id: RunId, example_id: RunId) -> None:
        self.run_id = run_id
        self.example_id = example_id
        self.streams: dict[Any, OpenSpan] = {}
        self.ended_streams: dict[Any, None] = {}
        self.generations: dict[Any, OpenSpan] = {}
        self.calls: Calls | None = None
        self.order: Any = None
        self.order_at = (0, 0, "")
        self.recent: list[str] = []
        self.protocol: Any = None


class Report:
    """Violations as they are found, each with the position of its event."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: list[tuple[int, Violation]] = []

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
        violation = Violation(code, seq, detail, kind, context, run.run_id, run.example_id)
        self.found.append((position, violation))


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
